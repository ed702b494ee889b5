import FoundationEssentials
import PinDialects
import PinctlTestPKI
import Testing

extension DialectTests {
    private func pins(_ more: String = "") throws -> String {
        try site.directory.add(
            """
            { "version": 1, "pins": { "hsm": { "pin": "\(unknownPin)", "backup": true } },
              "domains": [ { "host": "api.example.com",\(more) "pins": ["\(try site.leaf.key.pin)", "hsm"] } ] }
            """)
    }

    @Test("import of a policy keeps the notes of its pins, in a new policy and in another one")
    func pinNotes() async throws {
        let pins = "{ \"pin\": \"\(unknownPin)\", \"note\": \"from Pins.kt:3\" }, \"named\""
        let named = "\"pins\": { \"named\": { \"pin\": \"\(try site.leaf.key.pin)\", \"note\": \"in the safe\" } }, "
        let source = try site.directory.add(
            "{ \"version\": 1, \(named)\"domains\": [{ \"host\": \"api.test\", \"pins\": [\(pins)] }] }",
            name: "noted.jsonc")
        let target = try site.directory.add(policyText([("b.test", ["\"\(unknownPin)\""])]), name: "target.jsonc")
        let new = await pinctl("import", source)
        #expect(
            new.status == 0 && new.output.contains("from Pins.kt:3") && new.output.contains("in the safe"), "\(new)")
        let into = await pinctl("import", "--into", target, source)
        let text = try String(contentsOfFile: target, encoding: .utf8)
        #expect(into.status == 0 && text.contains("from Pins.kt:3") && text.contains("in the safe"), "\(into)\(text)")
    }

    @Test("A policy without \"exports\" passes export --check with a note, and a file in another dialect is refused")
    func noExports() async throws {
        let alone = try pins()
        for words in [["--check", alone], ["--check", alone, "--json"], ["--allow", "role-lost", alone, "--check"]] {
            let run = await pinctl(["export"] + words)
            #expect(run.status == 0 && !run.output.contains("FAIL"), "\(run)")
            #expect(run.errors.contains("note: \(alone) lists no exports, so there is nothing to compare: "), "\(run)")
        }
        let empty = try site.directory.add(
            try String(contentsOfFile: alone, encoding: .utf8).replacing(
                "\"version\"", with: "\"exports\": [], \"version\""))
        #expect(await pinctl("export", "--check", empty).status == 0)
        let config = try site.directory.add(androidText([unknownPin]))
        let other = await pinctl("export", "--check", config)
        #expect(other.status == 2 && other.errors.contains("isn't a policy, so it lists no exports"), "\(other)")
        let broken = await pinctl("export", "--check", try site.directory.add("{ \"version\": 1, \"domains\": 7 }"))
        #expect(broken.status == 2, "\(broken)")
        #expect(await pinctl("export", "--check", site.directory.path + "/none.jsonc").status == 2)
    }

    @Test("An export with a host has only its rule, and a host without a rule is refused")
    func exportedHost() async throws {
        func policy(_ hosts: [String]) throws -> String {
            let exports = hosts.map {
                "{ \"to\": \"hpkp\", \"file\": \"\($0).conf\", \"host\": \"\($0)\", \"allow\": [\"expiry-zone\"] }"
            }
            return try site.directory.add(
                """
                { "version": 1, "exports": [\(exports.joined(separator: ", "))], "domains": [
                  { "host": "api.test", "pins": ["\(try site.leaf.key.pin)", "\(unknownPin)"] },
                  { "host": "b.test", "pins": ["\(try site.root.key.pin)", "\(unknownPin)"] } ] }
                """)
        }
        let both = try policy(["api.test", "b.test"])
        for host in ["api.test", "b.test"] {
            let file = site.directory.path + "/\(host).conf"
            #expect(await pinctl("export", "--to", "hpkp", "--host", host, both, "--output", file).status == 0)
        }
        let good = await pinctl("export", "--check", both)
        #expect(good.status == 0 && good.output.split(separator: "\n").count == 2, "\(good)")
        let check = await pinctl(
            "check", "--policy", both, "--ca-file", site.rootFile, "--allow-missing", "--files", site.chainFile)
        #expect(check.status == 0, "\(check)")
        // The headers of each other.
        let (first, second) = (site.directory.path + "/api.test.conf", site.directory.path + "/b.test.conf")
        _ = try TestCommand.run(["mv", first, first + ".old"])
        _ = try TestCommand.run(["cp", second, first])
        let drift = await pinctl("export", "--check", both)
        #expect(drift.status == 1 && drift.output.contains("FAIL  \(first)"), "\(drift)")
        #expect(drift.output.contains("--host api.test") && drift.output.contains("ok    \(second)"), "\(drift)")
        for (host, words) in [("c.test", "no rule covers c.test"), ("b test", "is not a hostname")] {
            let wrong = try policy([host])
            _ = try site.directory.add(try String(contentsOfFile: second, encoding: .utf8), name: "\(host).conf")
            for command in [
                ["export", "--check", wrong], ["lint", wrong],
                ["check", "--policy", wrong, "--ca-file", site.rootFile, "--files", site.chainFile],
            ] {
                let run = await pinctl(command)
                #expect(run.status != 0 && (run.output + run.errors).contains(words), "\(run)")
            }
        }
    }

    @Test("export --check finds the constants of a program in other files, and --into says where to change them")
    func exportedConstants() async throws {
        _ = try TestCommand.run(["mkdir", site.directory.path + "/app"])
        _ = try site.directory.add("", name: "settings.gradle.kts")
        func constants(_ pin: String) throws {
            _ = try TestCommand.run(["rm", "-f", site.directory.path + "/app/Pins.kt"])
            _ = try site.directory.add(
                "object Pins { const val NOW = \"\(pin)\"\nconst val NEXT = \"\(unknownPin)\" }", name: "app/Pins.kt")
        }
        let program = try site.directory.add(
            "val p = CertificatePinner.Builder().add(\"api.test\", Pins.NOW, Pins.NEXT).build()",
            name: "app/Main.kt")
        let policy = try site.policy("\"\(try site.leaf.key.pin)\", \"\(unknownPin)\"")
        let listed = try site.directory.add(
            try String(contentsOfFile: policy, encoding: .utf8).replacing(
                "\"version\"",
                with: "\"exports\": [{ \"to\": \"okhttp\", \"file\": \"app/Main.kt\" }], \"version\""))
        try constants(try site.leaf.key.pin)
        for words in [
            ["export", "--check", listed], ["export", "--update", listed], ["lint", listed],
            ["export", "--check", "--to", "okhttp", "--into", program, policy],
            ["check", "--policy", listed, "--ca-file", site.rootFile, "--files", site.chainFile],
        ] {
            let run = await pinctl(words)
            #expect(run.status == 0, "\(run)")
        }
        try constants(try site.root.key.pin)
        let drift = await pinctl("export", "--check", listed)
        #expect(drift.status == 1 && drift.output.contains("(NOW), which the policy doesn't have"), "\(drift)")
        let update = await pinctl("export", "--update", listed)
        #expect(update.status == 2 && update.errors.contains("change its value where it is declared"), "\(update)")
        #expect(await pinctl("lint", listed).status == 1)
    }

    @Test("The format of --into is that of the file, unless it is none or one of several")
    func intoWithoutTo() async throws {
        let policy = try pins()
        let file = try site.directory.add(
            androidText([unknownPin]).replacing("api.test", with: "api.example.com"), name: "nsc.xml")
        let drift = await pinctl("export", "--check", "--into", file, policy)
        #expect(drift.status == 1 && drift.output.contains("differs from the policy"), "\(drift)")
        let written = await pinctl("export", "--into", file, policy, "--lossy")
        #expect(written.status == 0, "\(written)")
        #expect(await pinctl("export", "--check", "--into", file, policy).status == 0)
        let text = try site.directory.add("nothing", name: "notes.txt")
        let unknown = await pinctl("export", "--into", text, policy)
        #expect(unknown.status == 2, "\(unknown)")
        for text in ["--to is required: give --to with one of ", "android", "tlsa"] {
            #expect(unknown.errors.contains(text), "\(unknown)")
        }
    }

    @Test(
        "The header of a rule that expires agrees with the rule until it expires",
        arguments: [(2, 0), (86_400, 0), (40 * 86_400, 0), (42 * 86_400, 1)])
    func expiringHeader(seconds: Int, status: Int32) async throws {
        let policy = try pins(#" "expires": "2026-12-31T00:00:00Z", "onExpiry": "stop-pinning","#)
        let file = site.directory.path + "/header"
        let words = ["export", "--to", "hpkp", "--lossy", policy]
        let written = await pinctl(words + ["--output", file])
        #expect(written.status == 0 && written.errors.contains("clients count the time"), "\(written)")
        #expect(try String(contentsOfFile: file, encoding: .utf8).contains("max-age=3542400"))
        #expect(await pinctl("export", "--to", "hpkp", policy).status == 1)
        let check = await pinctl(words + ["--check", "--into", file], now: testTime + Double(seconds))
        #expect(check.status == status, "\(check)")
    }

    @Test("The header of a rule that never expires expires after 60 days, which is a change to accept")
    func unlimitedHeader() async throws {
        let policy = try pins()
        let refused = await pinctl("export", "--to", "hpkp", policy)
        #expect(refused.status == 1 && refused.output == "", "\(refused)")
        #expect(
            refused.errors.contains("expiry-zone (weaker): the pins of api.example.com expire 60 days"), "\(refused)")
        let file = site.directory.path + "/header"
        let words = ["export", "--to", "hpkp", "--allow", "expiry-zone", policy]
        #expect(await pinctl(words + ["--output", file]).status == 0)
        #expect(await pinctl(words + ["--check", "--into", file], now: testTime + 100 * 86_400).status == 0)
        let longer = try String(contentsOfFile: file, encoding: .utf8).replacing(
            "max-age=5184000", with: "max-age=31536000")
        let check = await pinctl(words + ["--check", "--into", try site.directory.add(longer)])
        #expect(check.status == 1, "\(check)")
    }

    @Test("Notes of an export name a pin by its name")
    func namedPins() async throws {
        let policy = try site.directory.add(
            """
            { "version": 1, "pins": {
                "old-certificate": "cert-sha256/\(unknownPin.dropFirst(7))",
                "our-ca": { "pin": "\(try site.root.key.pin)", "role": "ca" } },
              "domains": [ { "host": "api.example.com", \
            "pins": ["\(try site.leaf.key.pin)", "old-certificate", "our-ca"] } ] }
            """)
        let okHTTP = await pinctl("export", "--to", "okhttp", policy)
        #expect(okHTTP.errors.contains("old-certificate pins a certificate and is left out"), "\(okHTTP)")
        #expect(okHTTP.errors.contains("role-lost (weaker): our-ca counted only as ca"), "\(okHTTP)")
        let file = try site.directory.add(androidText([unknownPin]).replacing("api.test", with: "api.example.com"))
        let into = await pinctl("export", "--to", "android", "--lossy", "--into", file, policy)
        #expect(into.errors.contains("(our-ca)") && into.status == 0, "\(into)")
    }

    @Test(
        "Pins aren't written where a setting of the file makes them ineffective",
        arguments: [
            (
                PinDialect.android,
                #"<base-config><trust-anchors><certificates src="system" overridePins="true"/>"#
                    + "</trust-anchors></base-config>", ""
            ),
            (.android, "", #"<trust-anchors><certificates src="system" overridePins="true"/></trust-anchors>"#),
            (
                .android, "",
                #"<trust-anchors><certificates src="system"/><certificates src="user" overridePins="true"/>"#
                    + "</trust-anchors>"
            ),
            (.android, "", #"<trust-anchors><certificates src="@raw/ca" overridePins="true"/></trust-anchors>"#),
            (.envoy, "trust_chain_verification: ACCEPT_UNTRUSTED", ""),
            (.envoy, "custom_validator_config: {name: x, typed_config: {}}", ""),
        ])
    func ineffective(dialect: PinDialect, setting: String, own: String) async throws {
        func text(_ setting: String, _ own: String) -> String {
            dialect == .android
                ? "<network-security-config>\(setting)<domain-config><domain>api.example.com</domain>\(own)"
                    + "<pin-set><pin digest=\"SHA-256\">\(unknownPin.dropFirst(7))</pin></pin-set></domain-config>"
                    + "</network-security-config>"
                : "sni: api.example.com\ncommon_tls_context:\n  validation_context:\n"
                    + "    trusted_ca: {filename: r}\n    \(setting.isEmpty ? "# none" : setting)\n"
                    + "    verify_certificate_spki: [\"\(unknownPin.dropFirst(7))\"]\n"
        }
        let policy = try pins()
        for (setting, own) in [(setting, own), ("", "")] {
            let isGood = setting.isEmpty && own.isEmpty
            let before = text(setting, own)
            let file = try site.directory.add(before)
            let run = await pinctl("export", "--to", dialect.rawValue, "--allow", "role-lost", "--into", file, policy)
            #expect(run.status == (isGood ? 0 : 2), "\(run)")
            #expect(isGood || run.errors.contains("wouldn't count"), "\(run)")
            #expect((try String(contentsOfFile: file, encoding: .utf8) == before) == !isGood)
        }
    }

    private static let suffixList = "/usr/share/publicsuffix/public_suffix_list.dat"

    @Test(
        "A host for which TrustKit finds no suffix is refused by export, lint and plan",
        .enabled(
            if: FileManager.default.isReadableFile(atPath: suffixList), "the package publicsuffix is not installed"),
        arguments: [
            ("api.internal", false), ("db.corp.local", false), ("amazonaws.com", false), ("eu.compute.example", false),
            ("api.example.com", true), ("shop.co.uk", true), ("team.github.io", true), ("xn--bcher-kva.de", true),
        ])
    func unlistedSuffix(host: String, isGood: Bool) async throws {
        let file = site.directory.path + "/Info.plist"
        let policy = try site.directory.add(
            try String(contentsOfFile: try pins(), encoding: .utf8).replacing("api.example.com", with: host))
        let written = await pinctl("export", "--to", "trustkit", "--lossy", "--output", file, policy)
        #expect(written.status == (isGood ? 0 : 1), "\(written)")
        if !isGood {
            let listed = await pinctl("export", "--to", "trustkit", "--output", file, try pins())
            #expect(listed.status == 0)
            let text = try String(contentsOfFile: file, encoding: .utf8).replacing("api.example.com", with: host)
            try text.write(toFile: file, atomically: true, encoding: .utf8)
        }
        let certificate = try site.root.leaf(host, key: site.leaf.key)
        let chain = try site.directory.add(certificate.pemText)
        let runs = [
            await pinctl("lint", file),
            await pinctl("plan", "--ca-file", site.rootFile, "--new", chain, "--against", file),
        ]
        for run in runs {
            #expect((run.status == 0) == isGood, "\(run)")
            #expect((run.output + run.errors).contains("TrustKit finds no public suffix") == !isGood, "\(run)")
        }
    }
}
