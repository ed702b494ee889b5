import FoundationEssentials
import PinctlTestPKI
import Testing

/// A policy, the files exported from it, and a server: one of the commands fails whenever an app that ships one of the
/// files would fail (GA1).
@Suite("Files that a policy exports")
struct ExportedFileTests {
    let site: PinctlSite

    init() throws { site = try PinctlSite(host: "api.example.com") }

    /// A policy with these pins and one element of `exports` for each file.
    private func policy(
        _ pins: [String], exports: [String], name: String = "pins.jsonc", rule: String = ""
    ) throws -> String {
        try write(
            """
            { "version": 1,
              "exports": [\(exports.joined(separator: ", "))],
              "domains": [{ "host": "api.example.com", \(rule)"pins": [\(pins.joined(separator: ", "))] }] }
            """, name: name)
    }

    /// Writes a file, replacing an existing one.
    private func write(_ text: String, name: String) throws -> String {
        let path = "\(site.directory.path)/\(name)"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    private func pin(_ certificate: TestCertificate, _ more: String) throws -> String {
        "{ \"pin\": \"\(try certificate.key.pin)\"\(more) }"
    }

    /// A root, and a backup for the leaf: the served chain matches only as root.
    private func rootAndBackup() throws -> [String] {
        [
            try pin(site.root, ", \"role\": \"root\""),
            "{ \"pin\": \"\(unknownPin)\", \"role\": \"leaf\", \"backup\": true }",
        ]
    }

    private func plist(_ leaves: [String], _ authorities: [String]) -> String {
        func identities(_ key: String, _ pins: [String]) -> String {
            let list = pins.map { "<dict><key>SPKI-SHA256-BASE64</key><string>\($0.dropFirst(7))</string></dict>" }
            return pins.isEmpty ? "" : "<key>\(key)</key><array>\(list.joined())</array>"
        }
        return """
            <plist version="1.0"><dict><key>NSAppTransportSecurity</key><dict><key>NSPinnedDomains</key><dict>
            <key>api.example.com</key><dict>\(identities("NSPinnedLeafIdentities", leaves))
            \(identities("NSPinnedCAIdentities", authorities))</dict></dict></dict></dict></plist>
            """
    }

    @Test(
        "An export that only backups could satisfy is refused, and --lossy doesn't change that",
        arguments: ["apple", "curl"])
    func backupsOnly(target: String) async throws {
        let policy = try policy(rootAndBackup(), exports: [])
        let lossy = await pinctl("export", "--to", target, "--lossy", policy)
        #expect(lossy.output == "")
        #expect(lossy.errors.contains("backups-only (impossible): "), "\(lossy.errors)")
        #expect(lossy.errors.contains("every server would be refused"))
        #expect(lossy.status == 1)
        let allowed = await pinctl("export", "--to", target, "--allow", "backups-only", "--allow", "role-lost", policy)
        #expect(allowed.output == "" && allowed.status == 1)
        let other = await pinctl("export", "--to", "okhttp", "--lossy", policy)
        #expect(other.status == 0)
    }

    @Test("A file that no server can satisfy fails lint, export --check, check and plan")
    func everyCommand() async throws {
        try await site.serve { server in
            let file = try site.directory.add(
                plist([unknownPin], [try site.root.key.pin]), name: "Info.plist")
            let policy = try policy(
                rootAndBackup(),
                exports: [
                    "{ \"to\": \"apple\", \"file\": \"Info.plist\", \"allow\": [\"role-lost\", \"roles-and-added\"] }"
                ])
            let lint = await pinctl("lint", "--rule", "P021=off", policy)
            #expect(lint.output.contains("error[P018] \"\(file)\" cannot express this policy: "), "\(lint.output)")
            #expect(lint.status == 1)
            let compared = await pinctl("export", "--check", policy)
            #expect(compared.lines[0].hasPrefix("FAIL  \(file)  cannot express this policy: "), "\(compared.output)")
            #expect(compared.status == 1)
            let check = await pinctl(
                "check", "--ca-file", site.rootFile, "--policy", policy, server.target("api.example.com"))
            #expect(
                check.lines[0].contains("rejected by \(file) (NSPinnedDomains): no pin matches as leaf"),
                "\(check.output)")
            #expect(check.status == 1)
            let plan = await pinctl("plan", "--ca-file", site.rootFile, "--new", site.chainFile, "--policy", policy)
            #expect(plan.output.contains("\(file): no pin matches as leaf"), "\(plan.output)")
            #expect(plan.status == 1)
        }
    }

    @Test("A config whose trust-anchors are empty rejects every chain, and every command reports it")
    func emptyAnchors() async throws {
        try await site.serve { server in
            let pins = [try pin(site.leaf, ", \"role\": \"leaf\""), "{ \"pin\": \"\(unknownPin)\", \"backup\": true }"]
            let allow = "\"allow\": [\"role-lost\"]"
            for (anchors, isGood) in [("<trust-anchors/>", false), ("", true)] {
                let file = try write(
                    """
                    <network-security-config><domain-config><domain>api.example.com</domain>\(anchors)<pin-set>
                    <pin digest="SHA-256">\(try site.leaf.key.pin.dropFirst(7))</pin>
                    <pin digest="SHA-256">\(unknownPin.dropFirst(7))</pin></pin-set></domain-config>
                    </network-security-config>
                    """, name: "nsc.xml")
                let policy = try policy(pins, exports: ["{ \"to\": \"android\", \"file\": \"nsc.xml\", \(allow) }"])
                let runs = [
                    await pinctl("lint", policy), await pinctl("export", "--check", policy),
                    await pinctl(
                        "check", "--ca-file", site.rootFile, "--policy", policy, server.target("api.example.com")),
                    await pinctl("plan", "--ca-file", site.rootFile, "--new", site.chainFile, "--policy", policy),
                    await pinctl("plan", "--ca-file", site.rootFile, "--new", site.chainFile, "--against", file),
                ]
                #expect(runs.map { $0.status == 0 } == runs.map { _ in isGood }, "\(runs)")
                #expect(
                    isGood || runs.allSatisfy { ($0.output + $0.errors).contains("every chain is rejected") }, "\(runs)"
                )
            }
        }
    }

    @Test("Both policies of an exported Info.plist are checked")
    func twoPolicies() async throws {
        try await site.serve { server in
            let leaf = try pin(site.leaf, ", \"role\": \"leaf\"")
            let backup = "{ \"pin\": \"\(unknownPin)\", \"role\": \"leaf\", \"backup\": true }"
            let policy = try policy([leaf, backup], exports: ["{ \"to\": \"apple\", \"file\": \"Info.plist\" }"])
            for key in [try site.leaf.key.pin, "sha256/AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="] {
                let trustKit =
                    "<key>TSKConfiguration</key><dict><key>TSKPinnedDomains</key><dict><key>api.example.com</key><dict>"
                    + "<key>TSKPublicKeyHashes</key><array><string>\(key.dropFirst(7))</string><string>"
                    + "\(unknownPin.dropFirst(7))</string></array></dict></dict></dict></dict></plist>"
                var text = plist([try site.leaf.key.pin, unknownPin], [])
                text = String(text.dropLast("</dict></plist>".count)) + trustKit
                _ = try write(text, name: "Info.plist")
                let isGood = key == (try site.leaf.key.pin)
                let check = await pinctl(
                    "check", "--ca-file", site.rootFile, "--policy", policy, server.target("api.example.com"))
                #expect((check.status == 0) == isGood, "\(check)")
                #expect(isGood || check.output.contains("(TrustKit): no pin matches"), "\(check.output)")
                let plan = await pinctl("plan", "--ca-file", site.rootFile, "--new", site.chainFile, "--policy", policy)
                #expect((plan.status == 0) == isGood, "\(plan)")
            }
        }
    }

    @Test("A file that accepts the server passes every command")
    func good() async throws {
        try await site.serve { server in
            let leaf = try pin(site.leaf, ", \"role\": \"leaf\"")
            let backup = "{ \"pin\": \"\(unknownPin)\", \"role\": \"leaf\", \"backup\": true }"
            _ = try site.directory.add(plist([try site.leaf.key.pin, unknownPin], []), name: "Info.plist")
            let policy = try policy([leaf, backup], exports: ["{ \"to\": \"apple\", \"file\": \"Info.plist\" }"])
            #expect(await pinctl("export", "--check", policy).status == 0)
            let lint = await pinctl("lint", policy)
            #expect(!lint.output.contains("P018"), "\(lint.output)")
            let check = await pinctl(
                "check", "--ca-file", site.rootFile, "--policy", policy, server.target("api.example.com"))
            #expect(check.status == 0 && check.lines[0].hasPrefix("ok "), "\(check.output)\(check.errors)")
            let plan = await pinctl("plan", "--ca-file", site.rootFile, "--new", site.chainFile, "--policy", policy)
            #expect(plan.status == 0, "\(plan.output)\(plan.errors)")
        }
    }

    @Test("Every command allows only the changes that the file's own list allows")
    func allowed() async throws {
        let pins = [
            try pin(site.leaf, ", \"role\": \"leaf\""), try pin(site.root, ", \"role\": \"root\", \"backup\": true"),
        ]
        let source = try site.directory.add(
            "CertificatePinner.Builder().add(\"api.example.com\", \"\(try site.leaf.key.pin)\", "
                + "\"\(try site.root.key.pin)\")",
            name: "Pins.kt")
        func run(_ allow: String, _ words: String...) async throws -> Run {
            await pinctl(
                words + [
                    try policy(
                        pins, exports: ["{ \"to\": \"okhttp\", \"file\": \"Pins.kt\"\(allow) }"], name: "a.jsonc")
                ])
        }
        // Without a list the changes are printed.
        let open = try await run("", "export", "--check")
        #expect(open.status == 0 && open.output.contains("role-lost (weaker)"), "\(open.output)")
        #expect(try await run("", "export", "--to", "okhttp").status == 1)
        let accepted = try await run(", \"allow\": [\"role-lost\"]", "export", "--check")
        #expect(accepted.status == 0 && !accepted.output.contains("role-lost"), "\(accepted.output)")
        #expect(try await run(", \"allow\": [\"role-lost\"]", "export", "--to", "okhttp").status == 0)
        #expect(try await !run(", \"allow\": [\"role-lost\"]", "lint").output.contains("P018"))
        let refused = try await run(", \"allow\": [\"expiry-lost\"]", "export", "--check")
        #expect(refused.status == 1)
        #expect(
            refused.output.contains("\"allow\" does not list: change the policy, or add \"role-lost\" to \"allow\""),
            "\(refused.output)")
        #expect(try await run(", \"allow\": [\"expiry-lost\"]", "export", "--to", "okhttp").status == 1)
        let lint = try await run(", \"allow\": []", "lint")
        #expect(
            lint.output.contains("error[P018] \"\(source)\" differs from the policy (role-lost: "),
            "\(lint.output)")
        let unknown = try await run(", \"allow\": [\"role-list\"]", "export", "--check")
        #expect(unknown.errors.contains("a change of a conversion: did you mean \"role-lost\"?"), "\(unknown.errors)")
        #expect(unknown.status == 2)
        let wrong = try await run(", \"allow\": \"role-lost\"", "export", "--check")
        #expect(
            wrong.errors.contains("\"allow\" must be an array, found a string") && wrong.status == 2, "\(wrong.errors)")
        _ = try write("CertificatePinner.Builder().add(\"b.test\", \"\(unknownPin)\")", name: "Pins.kt")
        let drift = try await run("", "lint")
        #expect(
            drift.output.contains("pinctl export --to okhttp --allow hosts-lost --allow role-lost "), "\(drift.output)")
        #expect(!drift.output.contains("--lossy"))
    }

    @Test("A header in exports is compared for the policy's host, and may have a shorter max-age")
    func header() async throws {
        let pins = ["\"\(try site.leaf.key.pin)\"", "\"\(unknownPin)\""]
        let policy = try policy(pins, exports: ["{ \"to\": \"hpkp\", \"file\": \"pins.conf\" }"])
        func header(_ more: String) throws -> String {
            try write(
                "Public-Key-Pins: \(more); pin-sha256=\"\(unknownPin.dropFirst(7))\"; "
                    + "pin-sha256=\"\(try site.leaf.key.pin.dropFirst(7))\"", name: "pins.conf")
        }
        _ = try header("max-age=2592000")
        let good = await pinctl("export", "--check", policy)
        #expect(good.status == 0, "\(good.output)\(good.errors)")
        _ = try header("max-age=2592000; includeSubDomains")
        #expect(await pinctl("export", "--check", policy).status == 1)
        _ = try header("max-age=0")
        #expect(await pinctl("export", "--check", policy).status == 1)
    }

    @Test("A missing exported file makes check fail, and check names the file")
    func missing() async throws {
        let policy = try policy(["\"\(unknownPin)\""], exports: ["{ \"to\": \"android\", \"file\": \"nsc.xml\" }"])
        let run = await pinctl("check", "--ca-file", site.rootFile, "--policy", policy, "api.example.com")
        #expect(
            run.errors.contains("nsc.xml: ") && run.errors.contains("the policy exports this file"), "\(run.errors)")
        #expect(run.status == 2)
    }

    @Test("An exported file is checked at the tags of its policy, once for identical bytes")
    func tags() async throws {
        for directory in ["pins", "ios"] { _ = try TestCommand.run(["mkdir", "\(site.directory.path)/\(directory)"]) }
        let pins = ["\"\(try site.root.key.pin)\"", "\"\(unknownPin)\""]
        let export = "{ \"to\": \"apple\", \"file\": \"../ios/Info.plist\" }"
        let git = "git -c user.name=t -c user.email=t@example.test -c commit.gpgsign=false -c tag.gpgsign=false"
        func release(_ tag: String, _ file: String?) async throws {
            _ = try policy(pins, exports: [export], name: "pins/pins.jsonc")
            if let file {
                _ = try write(file, name: "ios/Info.plist")
            }
            let run = try await shell(
                "\(git) add -A && \(git) commit -q --allow-empty -m \(tag) && \(git) tag \(tag)", in: site.directory)
            #expect(run.status == 0, "\(run.errors)")
        }
        _ = try await shell("git init -q .", in: site.directory)
        try await release("v1", nil)
        try await release("v2", plist([], [try site.root.key.pin]))
        try await release("v3", nil)
        try await release("v4", plist([unknownPin], [try site.root.key.pin]))
        let run = await pinctl(
            "plan", "--ca-file", site.rootFile, "--new", site.chainFile, "--repository", site.directory.path,
            "--against",
            "git:v*:pins/pins.jsonc", "--json")
        #expect(run.status == 1, "\(run.errors)")
        #expect(
            run.errors.contains("v1: pins/../ios/Info.plist is exported but doesn't exist at this tag"), "\(run.errors)"
        )
        let found = try run.decoded(as: PlanDocument.self).results.map { "\($0.release ?? "") \($0.verdict ?? "")" }
        #expect(found == ["v1 survives_only", "v2 survives_only", "v3 survives_only", "v4 breaks"], "\(found)")
    }
}
