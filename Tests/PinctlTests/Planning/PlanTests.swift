import FoundationEssentials
import PinctlCommands
import PinctlTestPKI
import Testing

@Suite("pinctl plan")
struct PlanTests {
    let site: PinctlSite
    let unrelated: TestCertificate
    /// A chain of other keys under the same root.
    let renewed: String

    init() throws {
        site = try PinctlSite()
        unrelated = try TestCertificate.root("Other Root")
        let next = try site.root.intermediate("Next Intermediate")
        let leaf = try next.leaf("api.test", "pay.test")
        renewed = try site.directory.add(leaf.pemText + next.pemText, name: "new.pem")
    }

    /// A release: rules for hosts, each with its pins.
    private func release(_ name: String, _ rules: [(host: String, pins: [String])], _ more: String = "") throws
        -> String
    {
        try site.directory.add(policyText(rules, more), name: name)
    }

    private func plan(_ words: String...) async -> Run {
        await pinctl(["plan", "--ca-file", site.rootFile] + words)
    }

    private func pin(_ certificate: TestCertificate) throws -> String { "\"\(try certificate.key.pin)\"" }

    private func verdicts(_ run: Run) throws -> [String] {
        try run.decoded(as: PlanDocument.self).results.map {
            "\($0.release ?? "") \($0.host ?? "") \($0.verdict ?? "")"
        }
    }

    @Test("The matrix shows the outcome for every release and host, and what to do")
    func matrix() async throws {
        let old = try release(
            "ios-5.0", [("api.test", [pin(site.leaf), "\"\(unknownPin)\""]), ("pay.test", [pin(site.root)])])
        let new = try release(
            "ios-5.1", [("api.test", [pin(site.root), pin(unrelated)]), ("pay.test", [pin(site.root)])])
        let run = await plan("--new", renewed, "--against", old, "--against", new)
        #expect(run.errors == "")
        #expect(run.status == 1)
        let width = old.count
        #expect(run.lines[0].hasPrefix(String(repeating: " ", count: width) + "  api.test"))
        #expect(run.lines.contains { $0.hasPrefix(old + "  BREAKS") && $0.hasSuffix("only CN=Test Root") })
        #expect(run.lines.contains("BREAKS       \(old)  api.test  no pin matches the new chain"))
        #expect(run.lines.contains { $0.contains("\(new)  api.test  survives only by CN=Test Root (root)") })
        #expect(run.lines.contains("1 of 4 combinations breaks"))
        #expect(
            run.lines.contains { $0.hasPrefix("the change is safe when \(old) is retired, or if the leaf uses key ") })
        #expect(run.lines.contains { $0.contains("CN=Test Root") && $0.contains("when \(old), \(new) are retired") })

        let json = await plan("--new", renewed, "--against", old, "--against", new, "--json")
        #expect(
            try verdicts(json) == [
                "\(old) api.test breaks", "\(old) pay.test survives_only", "\(new) api.test survives_only",
                "\(new) pay.test survives_only",
            ])
        let document = try json.decoded(as: PlanDocument.self)
        #expect(document.schema == "pinctl.plan/1")
        #expect(document.summary.exitCode == 1)
        #expect(document.summary.breaks == 1)
    }

    @Test("An encrypted key is planned with its password")
    func encryptedKey() async throws {
        let key = try TestKey()
        let file = try site.directory.add(key.encryptedPrivateKeyPEM(passphrase: "open sesame"))
        let old = try release("old", [("api.test", ["\"\(try key.pin)\"", "\"\(unknownPin)\""])])
        let password = try site.directory.add("open sesame\n")
        let run = await plan("--new", file, "--password-file", password, "--against", old)
        #expect(run.status == 0 && run.errors == "", "\(run)")
        let closed = await plan("--new", file, "--against", old)
        #expect(closed.status == 2 && closed.errors.contains("give --password-file FILE"))
    }

    @Test("A matrix that is too wide is printed as a list, the worst first")
    func list() async throws {
        let hosts = (1...6).map { "host-number-\($0).example.test" }
        let leaf = try site.intermediate.issue(.server(hosts))
        let chain = try site.directory.add(leaf.pemText + site.intermediate.pemText)
        let file = try release(
            "all",
            try hosts.map { ($0, [$0.contains("3") ? "\"\(unknownPin)\"" : try pin(site.root), try pin(unrelated)]) })
        let run = await plan("--new", chain, "--against", file)
        #expect(run.status == 1)
        #expect(run.lines[0].hasPrefix("BREAKS       \(file)  host-number-3.example.test  "))
        #expect(run.lines[1].hasPrefix("survives     \(file)  host-number-1.example.test  survives only by "))
    }

    @Test("A key without a certificate decides for leaf pins, and depends on its issuer for CA pins")
    func keys() async throws {
        let key = try TestKey()
        let request = try site.directory.add(
            TestSigningRequest(TestName(.commonName("api.test")), key: key).pemText, name: "backup.csr")
        let file = try release(
            "a", [("api.test", ["\"\(try key.pin)\"", pin(site.root)]), ("pay.test", [pin(site.root)])])
        let leafOnly = try site.directory.add(
            """
            { "version": 1, "domains": [{ "host": "pay.test", "pins": [
              { "pin": \(try pin(site.leaf)), "role": "leaf" }, { "pin": "\(unknownPin)", "role": "leaf" }] }] }
            """, name: "b")
        let run = await plan("--new", request, "--current", site.chainFile, "--against", file, "--against", leafOnly)
        #expect(run.errors == "")
        #expect(run.status == 1)
        #expect(run.output.contains("depends      \(file)  pay.test  survives only if issued under CN=Test Root"))
        #expect(run.output.contains("BREAKS       \(leafOnly)  pay.test  no pin matches this key"))
        let alone = await plan("--new", request, "--against", file, "--json")
        #expect(try verdicts(alone) == ["\(file) api.test survives_only", "\(file) pay.test depends"])
        #expect(alone.status == 0)
        // The names in a signing request are checked, and no others.
        let named = try site.directory.add(
            TestSigningRequest(
                TestName(.commonName("x")), key: key,
                extensions: [.init("2.5.29.17", TestDER.sequence(TestCertificate.GeneralName.dns("api.test").derBytes))]
            ).pemText)
        #expect(
            try verdicts(await plan("--new", named, "--against", file, "--json")) == ["\(file) api.test survives_only"])
        let publicKey = try site.directory.add(TestPEM.block("PUBLIC KEY", key.publicKeyDER))
        #expect(try verdicts(await plan("--new", publicKey, "--against", file, "--json")).count == 2)
    }

    @Test("With an RSA and an ECDSA chain, clients get either one, so both have to survive")
    func pair() async throws {
        let rsa = try site.intermediate.leaf("api.test", key: .shared(.rsa2048))
        let chain = try site.directory.add(rsa.pemText + site.intermediate.pemText)
        let file = try release("a", [("api.test", [pin(site.leaf), "\"\(unknownPin)\""])])
        let one = await plan("--new", site.chainFile, "--against", file)
        #expect(one.status == 0)
        let both = await plan("--new", site.chainFile, "--new", chain, "--against", file)
        #expect(both.status == 1)
        #expect(both.output.contains("no pin matches the new chain with \(chain); the others survive"))
    }

    @Test("Every store and every path is checked, because clients of each build their own")
    func stores() async throws {
        let crossSigned = try unrelated.crossSign(site.root)
        let chain = try site.directory.add(site.leaf.pemText + site.intermediate.pemText + crossSigned.pemText)
        let other = try site.directory.add(unrelated.pemText)
        let file = try release("a", [("api.test", [pin(unrelated), "\"\(unknownPin)\""])])
        let words = ["plan", "--new", chain, "--against", file]
        let both = await pinctl(words + ["--store", "new=\(site.rootFile)", "--store", "old=\(other)"])
        #expect(both.status == 1)
        #expect(both.output.contains("no pin matches the new chain under new with \(chain); the others survive"))
        // One store with both roots: this project's clients find the path that matches, other systems may not.
        let mixed = ["--store", "all=\(site.rootFile)", "--store", "all=\(other)"]
        let own = await pinctl(words + mixed)
        #expect(own.status == 0)
        #expect(own.output.contains("survives only by the path to Other Root, which its clients find"))
        let config = try site.directory.add(androidText([try unrelated.key.pin, unknownPin]))
        let android = await pinctl(["plan", "--new", chain, "--against", config] + mixed)
        #expect(android.status == 1)
        #expect(android.output.contains("no pin matches the new chain on the path to Test Root"))
        // Trusted under no store: exit code 4, and the pins aren't checked.
        let untrusted = await pinctl(
            words + ["--store", "x=\(try site.directory.add(TestCertificate.root("X").pemText))"])
        #expect(untrusted.status == 4)
        #expect(untrusted.output.contains("not trusted"))
        // Trusted under one of two stores: clients with the other break, whatever the pins.
        let pinned = try release("b", [("api.test", [pin(site.root), "\"\(unknownPin)\""])])
        let divided = await pinctl([
            "plan", "--new", site.chainFile, "--against", pinned, "--store", "new=\(site.rootFile)", "--store",
            "old=\(other)",
        ])
        #expect(divided.status == 1)
        #expect(divided.output.contains("BREAKS"))
        #expect(divided.output.contains("under old"))
        // A rule's own anchors are used for that rule.
        _ = try site.directory.add(site.root.pemText, name: "own.pem")
        let anchored = try site.directory.add(
            """
            { "version": 1, "domains": [{ "host": "api.test", "pins": [\(try pin(site.root)), "\(unknownPin)"],
              "anchors": { "files": ["own.pem"] } }] }
            """)
        #expect(await pinctl(["plan", "--new", chain, "--against", anchored, "--store", "old=\(other)"]).status == 0)
    }

    @Test("Anything that expires within --fail-within is reported with day and reason, and makes the exit code 1")
    func ends() async throws {
        let rule = #""expires": "2027-01-31", "onExpiry": "fail","#
        let file = try site.policy("\(try pin(site.root)), \"\(unknownPin)\"", rule: rule)
        let fine = await plan("--new", site.chainFile, "--against", file)
        #expect(fine.status == 0)
        let soon = await plan("--new", site.chainFile, "--against", file, "--fail-within", "12w")
        #expect(soon.status == 1)
        #expect(soon.output.contains("until 2027-02-01"))
        #expect(soon.output.contains("its rule expires"))
        #expect(await plan("--new", site.chainFile, "--against", file, "--fail-within", "70d").status == 0)
        // The rule expires at the last second of the period, or one second later.
        for (time, status) in [("2027-01-20T00:00:00Z", Int32(1)), ("2027-01-19T23:59:59Z", 0)] {
            let run = await plan("--new", site.chainFile, "--against", file, "--at", time, "--fail-within", "12d")
            #expect(run.status == status, "\(time)")
        }
        let config = try site.directory.add(androidText([try site.root.key.pin, unknownPin], expiration: "2027-01-31"))
        let off = await plan("--new", site.chainFile, "--against", config, "--fail-within", "100d")
        #expect(off.status == 1)
        #expect(off.output.contains("its rule expires, and its pins are off then"))
        let later = await plan("--new", site.chainFile, "--against", config, "--at", "2027-03-01")
        #expect(later.status == 0)
        #expect(later.output.contains("pinning off since 2027-01-31"))
        let wrong = await plan("--new", site.chainFile, "--against", config, "--fail-within", "soon")
        #expect(wrong.status == 2)
        #expect(wrong.errors.contains("\"soon\" isn't a period: write 100d for days"))
    }

    @Test(
        "A pin-set's expiration day is extended by twelve hours on either side, because it ends by the device's clock",
        arguments: [
            // The pins match: from twelve hours before midnight UTC they are off on some devices.
            ("2027-01-30T11:00:00Z", true, "survives_only"), ("2027-01-30T13:00:00Z", true, "pinning_off"),
            // The pins don't match: until twelve hours after midnight UTC some devices reject the server.
            ("2027-01-30T13:00:00Z", false, "breaks"), ("2027-01-31T11:00:00Z", false, "breaks"),
            ("2027-01-31T13:00:00Z", false, "pinning_off"),
        ])
    func localDays(time: String, isPinned: Bool, expected: String) async throws {
        let key = isPinned ? site.root.key : unrelated.key
        let config = try site.directory.add(androidText([try key.pin, unknownPin], expiration: "2027-01-31"))
        let run = await plan("--new", site.chainFile, "--against", config, "--at", time, "--json")
        #expect(try verdicts(run) == ["\(config) api.test \(expected)"])
    }

    @Test("Without --against, the policy's own releases and the policy itself are checked")
    func ownReleases() async throws {
        _ = try release("old.jsonc", [("api.test", [pin(unrelated), "\"\(unknownPin)\""])])
        let policy = try release(
            "pins.jsonc", [("api.test", [pin(site.root), "\"\(unknownPin)\""])], #""releases": ["old.jsonc"],"#)
        let run = await pinctl(
            "plan", "--ca-file", site.rootFile, "--new", site.chainFile, "--json", variables: ["PINCTL_POLICY": policy])
        #expect(
            try verdicts(run) == [
                "\(site.directory.path)/old.jsonc api.test breaks", "\(policy) api.test survives_only",
            ])
        let broken = await plan(
            "--new", renewed, "--policy", try release("own.jsonc", [("api.test", [pin(unrelated)])]))
        #expect(broken.status == 1)
        #expect(broken.output.contains("own.jsonc hasn't shipped, pin sha256/"))
        #expect(broken.errors.contains("lists no \"releases\", so only the policy itself is checked"))
    }

    @Test("Every dialect can be a release, checked as its own system does, and a directory means all of its files")
    func dialects() async throws {
        // TrustKit knows no suffix "test".
        let site = try PinctlSite(host: "api.example.com")
        func plan(_ words: String...) async -> Run { await pinctl(["plan", "--ca-file", site.rootFile] + words) }
        let directory = site.directory.path + "/releases"
        _ = try TestCommand.run(["mkdir", directory])
        let pins = [try site.root.key.pin, unknownPin]
        _ = try site.directory.add(
            androidText(pins).replacing("api.test", with: "api.example.com"), name: "releases/android.xml")
        _ = try site.directory.add("not pins at all\n", name: "releases/README")
        let policy = try site.directory.add(
            policyText([("api.example.com", pins.map { #"{ "pin": "\#($0)", "role": "ca" }"# })]), name: "p.jsonc")
        for dialect in ["apple", "trustkit", "okhttp", "hpkp", "tlsa"] {
            let run = await pinctl(
                "export", "--to", dialect, "--lossy", "--output", "\(directory)/\(dialect)", policy)
            #expect(run.status == 0, "\(dialect): \(run.errors)")
        }
        _ = try site.directory.add(
            (try site.leaf.key.pin).replacing("sha256/", with: "sha256//"), name: "releases/curl")
        let run = await plan("--new", site.chainFile, "--against", directory, "--json")
        #expect(run.errors.contains("note: not releases: \(directory)/README\n"))
        let found = try verdicts(run)
        #expect(found.count == 7)
        #expect(found.allSatisfy { $0.hasSuffix(" survives_only") || $0.hasSuffix(" survives") }, "\(found)")
        // An unreadable file hides none of the others.
        _ = try site.directory.add("{ \"version\": 1, \"domains\": 7 }", name: "releases/a.json")
        let partly = await plan("--new", site.chainFile, "--against", directory, "--json")
        #expect(partly.status == 2 && partly.errors.contains("releases/a.json:1:28: error: "), "\(partly.errors)")
        #expect(try verdicts(partly).filter { $0.contains(" survives") }.count == 7)
        _ = try TestCommand.run(["rm", directory + "/a.json"])
        let moved = await plan(
            "--new", try site.directory.add(unrelated.leaf("api.example.com").pemText + unrelated.pemText), "--ca-file",
            try site.directory.add(unrelated.pemText), "--against", directory, "--json")
        #expect(try verdicts(moved).allSatisfy { $0.hasSuffix(" breaks") })
        #expect(moved.status == 1)
    }

    @Test("A directory hides no signed bundle and no policy that was written by half (GA1)")
    func hiddenReleases() async throws {
        let policy = policyText([("api.test", ["\"\(unknownPin)\""])])
        let directory = site.directory.path + "/hidden"
        _ = try TestCommand.run(["mkdir", directory])
        _ = try release("hidden/good.jsonc", [("api.test", [pin(site.leaf)])])
        let good = await plan("--new", site.chainFile, "--against", directory)
        #expect(good.status == 0, "\(good)")
        for (name, text) in [
            ("cut.jsonc", String(policy.prefix(12))), ("cut", "{"), ("empty.json", ""), ("empty.jsonc", "\n"),
        ] {
            let file = try site.directory.add(text, name: "hidden/" + name)
            let run = await plan("--new", site.chainFile, "--against", directory)
            #expect(run.status == 2 && run.errors.contains("\(name): isn't a policy: "), "\(name): \(run)")
            _ = try TestCommand.run(["rm", file])
        }
        let payload = """
            {"version": 1, "audience": "a", "sequence": 1, "issued": "2026-11-01T00:00:00Z",
             "expires": "2026-12-01T00:00:00Z", "keySet": 1, "policy": "p.jsonc",
             "files": {"p.jsonc": "\(Data(policy.utf8).base64EncodedString())"}}
            """
        _ = try site.directory.add(
            """
            {"payloadType": "application/vnd.pinctl.policy-bundle.v1+json",
             "payload": "\(Data(payload.utf8).base64EncodedString())", "signatures": []}
            """, name: "hidden/bundle.json")
        let bundle = await plan("--new", site.chainFile, "--against", directory)
        #expect(bundle.status == 1 && bundle.output.contains("bundle.json  api.test  no pin matches"), "\(bundle)")
    }

    @Test("Shares of breaking releases are added up, and a share for an unknown release is rejected")
    func shares() async throws {
        let file = try release("a", [("api.test", ["\"\(unknownPin)\""])])
        let run = await plan("--new", site.chainFile, "--against", file, "--share", "\(file)=2.5%")
        #expect(run.output.contains("1 of 1 combination breaks, 2.5 % of users have a release that breaks"))
        // A release without a share may have any share, and the sum can't exceed 100 %.
        let other = try release("b", [("api.test", ["\"\(unknownPin)\""])])
        let least = await plan("--new", site.chainFile, "--against", file, "--against", other, "--share", "\(file)=3%")
        #expect(
            least.output.contains(
                "at least 3 % of users have a release that breaks (no share given for \(other))"), "\(least.output)")
        let many = await plan(
            "--new", site.chainFile, "--against", file, "--against", other, "--share", "\(file)=60%", "--share",
            "\(other)=70%")
        #expect(many.status == 2)
        #expect(many.output == "" && many.errors.contains("add up to over 100 %"), "\(many.errors)")
        let wrong = await plan("--new", site.chainFile, "--against", file, "--share", "b=2%")
        #expect(wrong.status == 2)
        #expect(wrong.errors.contains("--share does not support \"b\""))
    }

    @Test("Reports have an entry for each release and host")
    func reports() async throws {
        let file = try release("a", [("api.test", ["\"\(unknownPin)\""]), ("pay.test", [pin(site.root)])])
        for format in ["junit", "sarif", "markdown", "html", "prometheus", "json"] {
            let path = "\(site.directory.path)/report.\(format)"
            let run = await plan("--new", renewed, "--against", file, "--report", "\(format)=\(path)")
            #expect(run.status == 1, "\(format): \(run.errors)")
            let text = try String(contentsOfFile: path, encoding: .utf8)
            // Metrics are by release only.
            #expect(text.contains(format == "prometheus" ? "breaks" : "api.test"), "\(format): \(text)")
        }
    }

    @Test("HTML and Markdown have the matrix, what makes the change safe, and when keys can be removed")
    func matrixInReports() async throws {
        let old = try release("old", [("api.test", ["\"\(unknownPin)\""])])
        let new = try release("new", [("api.test", [pin(site.root)])])
        for (format, cells) in [
            (
                "html",
                [
                    "<th scope=\"col\">api.test</th>",
                    "<td class=\"bad\" data-host=\"api.test\">"
                        + "<span class=\"mark\" aria-hidden=\"true\">✕</span> BREAKS</td>",
                    "<td class=\"good\" data-host=\"api.test\">"
                        + "<span class=\"mark\" aria-hidden=\"true\">✓</span> only CN=Test Root</td>",
                    "<p class=\"do\">the change is safe when \(old) is retired",
                    "<td>keep: a chain with this key lets \(old) connect again</td>",
                    "<details class=\"entry bad\" data-outcome=\"failed\" open>", "<h3>Pins without a match</h3>",
                ]
            ),
            (
                "markdown",
                [
                    "| release | `api.test` |\n| --- | --- |\n| `\(old)` | `BREAKS` |\n"
                        + "| `\(new)` | `only CN=Test Root` |\n",
                    "`the change is safe when \(old) is retired",
                    "| `\(unknownPin)` | `keep: a chain with this key lets \(old) connect again` |",
                ]
            ),
        ] {
            let path = "\(site.directory.path)/report.\(format)"
            let run = await plan("--new", renewed, "--against", old, "--against", new, "--report", "\(format)=\(path)")
            #expect(run.status == 1, "\(run.errors)")
            let text = try String(contentsOfFile: path, encoding: .utf8)
            for cell in cells { #expect(text.contains(cell), "\(cell): \(text)") }
        }
    }

    @Test(
        "Unusable input exits with 2 and prints the remedy",
        arguments: [
            (["--against", "a"], "--new is required"),
            (["--new", "CHAIN", "--against", "/no/such/file"], "no such file"),
            (["--new", "CHAIN", "--against", "git:v*"], "write git:TAGGLOB:PATH"),
            (["--new", "ROOT", "--against", "POLICY"], "its first certificate is a CA certificate"),
            (["--new", "CHAIN", "--against", "OTHER"], "no release has a rule for a hostname of"),
            (["--new", "CHAIN", "--against", "ROOT"], "no dialect is recognized"),
        ])
    func unusable(_ words: [String], _ message: String) async throws {
        let files = [
            "CHAIN": site.chainFile, "ROOT": site.rootFile,
            "POLICY": try release("p", [("api.test", ["\"\(unknownPin)\""])]),
            "OTHER": try release("o", [("other.test", ["\"\(unknownPin)\""])]),
        ]
        let run = await pinctl(["plan"] + words.map { files[$0] ?? $0 })
        #expect(run.status == 2)
        #expect(run.errors.contains(message), "\(run.errors)")
    }

    @Test("The current chain keeps its pins until the new one is served")
    func timeline() async throws {
        let file = try release("a", [("api.test", [pin(site.intermediate), pin(site.root), pin(unrelated)])])
        let cross = try unrelated.intermediate("I")
        let new = try site.directory.add(cross.leaf("api.test").pemText + cross.pemText)
        let both = try site.directory.add(site.root.pemText + unrelated.pemText)
        let run = await pinctl(
            "plan", "--ca-file", both, "--new", new, "--current",
            try site.directory.add(site.leaf.pemText + site.intermediate.pemText), "--against", file)
        #expect(run.status == 0)
        #expect(run.output.contains("when the key of each pin can be removed:"))
        #expect(
            run.lines.contains { $0.contains("CN=Other Root") && $0.contains("when \(file) is retired (api.test)") })
        // It isn't in use any more, but released apps still rely on it.
        #expect(
            run.lines.contains {
                $0.contains("CN=Test Root") && $0.hasSuffix("when \(file) is retired (a backup for api.test)")
            })
    }

    @Test("An unshipped pin is removable when the current chain doesn't need it, but never all of several that match")
    func free() async throws {
        let file = try release("a", [("api.test", [pin(site.intermediate), pin(site.root), pin(unrelated)])])
        func moments(_ words: String...) async -> [String] {
            await pinctl(["plan", "--ca-file", site.rootFile, "--new", site.chainFile, "--policy", file] + words).lines
        }
        let shared = ", if another matching pin stays"
        let unknown = await moments()
        #expect(
            unknown.contains {
                $0.contains("CN=Test Root") && $0.hasSuffix("when the new chain is served everywhere" + shared)
            }, "\(unknown)")
        #expect(!unknown.contains { $0.contains("  now") })
        let known = await moments("--current", site.chainFile)
        #expect(known.contains { $0.hasSuffix("now: nothing needs it") }, "\(known)")
        #expect(
            known.contains { $0.contains("CN=Test Root") && $0.contains("served everywhere") }, "\(known)")
    }

    @Test("A wildcard certificate is checked for the hosts of rules that it covers, and for its own pattern")
    func wildcard() async throws {
        let leaf = try site.intermediate.leaf("*.test.example")
        let chain = try site.directory.add(leaf.pemText + site.intermediate.pemText)
        let file = try release(
            "a", [("api.test.example", ["\"\(unknownPin)\""]), ("b.c.test.example", [pin(site.root)])])
        #expect(
            try verdicts(await plan("--new", chain, "--against", file, "--json")) == [
                "\(file) api.test.example breaks"
            ])
        let below = try site.directory.add(
            """
            { "version": 1, "domains": [{ "host": "test.example", "subdomains": true, "pins": ["\(unknownPin)"] }] }
            """)
        #expect(
            try verdicts(await plan("--new", chain, "--against", below, "--json")) == ["\(below) *.test.example breaks"]
        )
    }
}

/// The parts of the JSON document that tests look at.
struct PlanDocument: Decodable {
    struct Result: Decodable {
        let release: String?
        let host: String?
        let verdict: String?
        let until: String?
        let needs: [String]?
    }

    struct Summary: Decodable {
        let exitCode: Int
        let breaks: Int?
    }

    let schema: String
    let results: [Result]
    let summary: Summary
}
