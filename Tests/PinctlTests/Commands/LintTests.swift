import FoundationEssentials
import PinctlTestPKI
import Testing

@Suite("pinctl lint")
struct LintTests {
    let site: PinctlSite

    init() throws { site = try PinctlSite() }

    struct Document: Decodable {
        struct Result: Decodable {
            let line: Int
            let severity: String
            let rule: String?
            let message: String
        }
        let results: [Result]
    }

    /// A policy without a backup, whose certificate pin is on line 3.
    private func policy(comment: String = "") throws -> String {
        try site.directory.add(
            """
            { "version": 1, "domains": [ { "host": "api.test", "pins": [
            \(comment)
            "cert-sha256/lrzsBiZJdvN0YHeazyjFp8/o/Cq4RqP/O4FwL3fCMXY=", "\(unknownPin)" ] } ] }
            """)
    }

    @Test("The default policy is judged as a policy, whatever it looks like")
    func defaultPolicy() async throws {
        let rule = #"{ "host": "api.test", "pins": ["\#(unknownPin)", "\#(try site.leaf.key.pin)"] }"#
        for text in [
            #"{ "version": 1, "domain": [\#(rule)] }"#, #"{ "Domains": [\#(rule)] }"#, "[\(rule)]",
            #"{ "version": 1, "x": { "domains": [\#(rule)] } }"#,
        ] {
            let file = try site.directory.add(text, name: "\(UInt64.random(in: 0...UInt64.max)).jsonc")
            let run = await pinctl("lint", variables: ["PINCTL_POLICY": file])
            #expect(run.status == 2, "\(text): \(run)")
            guard text.contains("version") else { continue }
            #expect(await pinctl("lint", file).status == 2, "\(text)")
        }
    }

    @Test("A file of no known dialect is reported as one, with the command that searches it")
    func unrecognized() async throws {
        for name in ["Session.swift", "app.ts", "pinning.cpp", "theme.xml", "pins.txt"] {
            let file = try site.directory.add("import x\npins: \(unknownPin.dropFirst(7))\n", name: name)
            let run = await pinctl("lint", file)
            #expect(run.status == 2)
            #expect(
                run.errors == "pinctl: \(file): no dialect is recognized: name it with --from, or see its pins with "
                    + "pinctl find \(file)\n")
        }
    }

    @Test("--rule changes a rule's severity, and rejects unknown levels and rules")
    func settings() async throws {
        let file = try policy()
        let plain = await pinctl("lint", file)
        #expect(plain.lines.last == "1 linted: errors 0, warnings 2")
        #expect(plain.status == 0)
        let grave = await pinctl("lint", file, "--rule", "P022=error", "--rule", "P003=off")
        #expect(grave.lines[0].contains(":3:1: error[P022] "))
        #expect(grave.lines[1] == "1 linted: errors 1, warnings 0")
        #expect(grave.status == 1)
        for wrong in ["P022", "P022=", "P022=maybe", "P999=off", "=off"] {
            let run = await pinctl("lint", file, "--rule", wrong)
            #expect(run.errors.contains("--rule does not support "))
            #expect(run.status == 2)
        }
    }

    @Test("A comment with a reason suppresses a finding, and one without a reason is a finding")
    func allowance() async throws {
        let allowed = await pinctl("lint", try policy(comment: "// pinctl-allow P022: the vendor's only certificate"))
        #expect(!allowed.output.contains("P022"))
        let unreasoned = await pinctl("lint", try policy(comment: "// pinctl-allow P022"))
        #expect(unreasoned.output.contains("warning[P022]"))
        #expect(unreasoned.output.contains(":2:4: warning[P023] pinctl-allow P022 gives no reason"))
    }

    @Test("--at sets the time at which lint checks the files that pins come from")
    func time() async throws {
        let file = try site.directory.add(
            """
            { "version": 1, "domains": [ { "host": "api.test", "pins": [
              { "pin": "\(try site.root.key.pin)", "from": "root.pem" }, \
            { "pin": "\(unknownPin)", "backup": true } ] } ] }
            """)
        #expect(await pinctl("lint", file, "--rule=P021=off").status == 0)
        let later = await pinctl("lint", file, "--rule=P021=off", "--at", "2035-12-01")
        #expect(later.lines[0].contains(":2:3: error[P016] "))
        #expect(later.status == 1)
    }

    @Test("lint recognizes other dialects by their contents")
    func dialects() async throws {
        let android = try site.directory.add(
            """
            <network-security-config>
              <domain-config>
                <domain>api.test</domain>
                <pin-set expiration="2026-12-01">
                  <pin digest="SHA-256">\(unknownPin.dropFirst("sha256/".count))</pin>
                </pin-set>
              </domain-config>
            </network-security-config>
            """, name: "nsc.xml")
        let run = await pinctl("lint", "--json", android)
        let results = try run.decoded(as: Document.self).results
        #expect(results.compactMap(\.rule) == ["P003", "P006", "P007"])
        #expect(results.allSatisfy { $0.line > 1 })
        #expect(run.status == 1)
    }

    @Test("P018: lint reports an exported file that differs from the policy")
    func drift() async throws {
        func policy(_ pin: String, _ name: String) throws -> String {
            try site.directory.add(
                """
                { "version": 1, "domains": [ { "host": "api.test", "pins": ["\(pin)"] } ],
                  "exports": [ { "to": "okhttp", "file": "Pins.kt" } ] }
                """, name: name)
        }
        let first = try policy(unknownPin, "a.jsonc")
        let export = await pinctl(
            "export", first, "--to", "okhttp", "--lossy", "--output", site.directory.path + "/Pins.kt")
        #expect(export.status == 0)
        #expect(!(await pinctl("lint", first)).output.contains("P018"))
        let second = await pinctl("lint", try policy(try site.leaf.key.pin, "b.jsonc"))
        #expect(second.output.contains(":2:16: error[P018] "))
        #expect(second.output.contains("differs from the policy"))
        #expect(second.status == 1)
    }

    @Test("lint finds nothing in the policy of the article on policies and in the project's own files")
    func publicRoots() async throws {
        let article = try String(
            contentsOfFile: "Sources/CertificatePinning/CertificatePinning.docc/CertificatePinning.md", encoding: .utf8)
        let section = try #require(
            article.components(separatedBy: "### A policy that pins public roots\n").dropFirst().first)
        let text = try #require(
            section.components(separatedBy: "```jsonc\n").dropFirst().first?.components(separatedBy: "```").first)
        let file = try site.directory.add(text, name: "pins.jsonc")
        for path in [file, "pins/pins.jsonc", "pins/public-roots.jsonc"] {
            let run = await pinctl("lint", path)
            #expect(run.lines == ["1 linted: errors 0, warnings 0"], "\(run.output)\(run.errors)")
            #expect(run.status == 0)
        }
        let changed = try site.directory.add(text.replacing("pinctl-allow", with: "allow"))
        #expect(await pinctl("lint", changed).output.contains("warning[P021]"))
    }

    @Test("A file is recognized by its contents, whatever its name")
    func recognized() async throws {
        let (leaf, other) = (try site.leaf.key.pin.dropFirst("sha256/".count), unknownPin.dropFirst("sha256/".count))
        let envoy = """
            { "static_resources": { "clusters": [ { "name": "a", "transport_socket": { "typed_config": {
              "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
              "common_tls_context": { "validation_context": { "trusted_ca": { "filename": "/ca.pem" },
                "match_typed_subject_alt_names": [ { "san_type": "DNS", "matcher": { "exact": "api.test" } } ],
                "verify_certificate_spki": [ "\(leaf)", "\(other)" ] } } } } } ] } }
            """
        let android = androidText([try site.leaf.key.pin, unknownPin])
        let curl = "sha256//\(leaf);sha256//\(other)"
        let map = "{ \"api.test\": [\"sha256/\(leaf)\", \"sha256/\(other)\"] }"
        for (number, text) in [envoy, android, curl, map].enumerated() {
            for name in ["a.json", "a.jsonc", "a.txt", "a"] {
                let file = try site.directory.add(text, name: "\(number)\(name)")
                let run = await pinctl("lint", file)
                // A text that isn't JSON is a broken policy if its name says so.
                let isPolicy = ![envoy, map].contains(text) && name.hasPrefix("a.json")
                #expect(run.status == (isPolicy ? 2 : 0), "\(name): \(run.output)\(run.errors)")
            }
        }
        // A policy that quotes another format is a policy.
        let policy = #"{ "version": 1, "x-note": "verify_certificate_spki", "domains": [ { "hst": "a.test" } ] }"#
        for name in ["a.json", "a.txt"] {
            let run = await pinctl("lint", try site.directory.add(policy, name: name))
            #expect(run.status == 2 && run.output.contains("unknown key \"hst\""), "\(run.output)")
        }
    }

    @Test("Pins, keys and hosts that are wrong in the same way have the same identifier in every format")
    func identifiers() async throws {
        let pin = unknownPin.dropFirst("sha256/".count)
        func android(_ domains: String, _ pins: String) -> String {
            """
            <network-security-config><domain-config>\(domains)
            <pin-set>\(pins)</pin-set></domain-config></network-security-config>
            """
        }
        func xmlPin(_ text: some StringProtocol) -> String { "<pin digest=\"SHA-256\">\(text)</pin>" }
        func apple(_ entries: String) -> String {
            """
            <plist version="1.0"><dict><key>NSAppTransportSecurity</key><dict><key>NSPinnedDomains</key><dict>
            \(entries)
            </dict></dict></dict></plist>
            """
        }
        func appleHost(_ name: String, _ pin: some StringProtocol, _ more: String = "") -> String {
            """
            <key>\(name)</key><dict>\(more)<key>NSPinnedLeafIdentities</key><array><dict>\
            <key>SPKI-SHA256-BASE64</key><string>\(pin)</string></dict></array></dict>
            """
        }
        func okHttp(_ host: String, _ pin: String) -> String {
            "val a = CertificatePinner.Builder().add(\"\(host)\", \"\(pin)\").build()"
        }
        let (below, pinned) = ("<key>NSIncludesSubdomains</key><true/>", "\"\(unknownPin)\"")
        let (host, other) = ("<domain>a.test</domain>", xmlPin(try site.leaf.key.pin.dropFirst("sha256/".count)))
        let rows: [(String, rules: [String], status: Int32)] = [
            (android(host, xmlPin("no base64!") + other), ["P001"], 2),
            (android(host, xmlPin("AAECAwQFBgcICQoLDA0ODxAREhM=") + other), ["P001"], 2),
            (android(host, xmlPin(pin) + xmlPin("")), ["P001"], 2),
            (android("<domain includeSubdomains=\"true\">co.uk</domain>", xmlPin(pin) + other), ["P010"], 1),
            (android(host + "<domain>A.test</domain>", xmlPin(pin) + other), ["P005"], 2),
            (apple(appleHost("a.test", "short")), ["P025", "P001"], 1),
            (apple(appleHost("com", pin, below)), ["P010"], 1),
            (apple(appleHost("a.test", pin) + appleHost("a.test", pin)), ["P005"], 2),
            (apple(appleHost("a.test", pin) + appleHost("A.test", pin)), ["P005", "P008"], 0),
            (okHttp("*.com", unknownPin), ["P010"], 1), (okHttp("**.com", unknownPin), ["P010"], 1),
            (okHttp("a.test", "sha256/no"), ["P001"], 1), (policyText([("a.test", ["\"sha256/no\""])]), ["P001"], 2),
            (policyText([("a.test", [pinned]), ("a.test", [pinned])]), ["P005"], 2),
        ]
        for (text, rules, status) in rows {
            let run = await pinctl("lint", "--json", "--rule", "P003=off", try site.directory.add(text))
            let found = try run.decoded(as: Document.self).results.compactMap(\.rule)
            #expect(found == rules && run.status == status, "\(rules): \(text)\n\(run.output)\(run.errors)")
        }
    }

    @Test("The API level of an Android app is that of --target-sdk, or of the files around its config")
    func target() async throws {
        let text = androidText([try site.leaf.key.pin, unknownPin])
        for (level, file, contents, isWarned) in [
            ("27", nil, "", true), ("28", nil, "", false), ("37", nil, "", false), (nil, nil, "", false),
            (nil, "app/build.gradle", "android { defaultConfig { targetSdkVersion 26 } }", true),
            (nil, "app/build.gradle.kts", "android { defaultConfig { targetSdk = 37 } }", false),
            (
                nil, "app/src/main/AndroidManifest.xml",
                "<manifest xmlns:android=\"http://schemas.android.com/apk/res/android\">"
                    + "<uses-sdk android:targetSdkVersion=\"26\"/></manifest>", true
            ),
            ("37", "app/build.gradle", "android { defaultConfig { targetSdkVersion 26 } }", false),
        ] as [(String?, String?, String, Bool)] {
            let directory = try TestDirectory()
            #expect(try await shell("mkdir -p app/src/main/res/xml", in: directory).status == 0)
            if let file { _ = try directory.add(contents, name: file) }
            let config = try directory.add(text, name: "app/src/main/res/xml/n.xml")
            let run = await pinctl(["lint", config] + (level.map { ["--target-sdk", $0] } ?? []))
            #expect(run.status == 0 && run.errors == "", "\(run.output)\(run.errors)")
            #expect(run.output.contains("warning[P027] apps that target API level") == isWarned, "\(run.output)")
        }
        #expect(await pinctl("lint", "--target-sdk", "17.0", try site.directory.add(text)).status == 2)
    }

    @Test(
        "The files around a config are found from every directory",
        arguments: [
            ("app/src/main/res/xml", "n.xml"), ("app/src/main/res/xml", "./n.xml"), ("app/src/main/res", "xml/n.xml"),
            ("app/src/main/res/raw", "../xml/n.xml"), ("app", "src/main/res/xml/n.xml"),
            ("app/src/main/res/xml/deeper", "../n.xml"),
        ])
    func targetAbove(directory: String, path: String) async throws {
        let place = try TestDirectory()
        let made = try await shell("mkdir -p app/src/main/res/xml/deeper app/src/main/res/raw", in: place)
        #expect(made.status == 0)
        _ = try place.add("android { defaultConfig { targetSdkVersion 26 } }", name: "app/build.gradle")
        let text = androidText([try site.leaf.key.pin, unknownPin])
        _ = try place.add(text, name: "app/src/main/res/xml/n.xml")
        let run = try await shell("cd \(directory) && pinctl lint \(path)", in: place)
        #expect(run.output.contains("warning[P027] apps that target API level 26"), "\(run)")
        // Standard input has no place above the working directory.
        let input = try await shell("cd app/src && pinctl lint - < main/res/xml/n.xml", in: place)
        #expect(!input.output.contains("P027"), "\(input)")
    }

    @Test("Without a policy, lint and export say how to create one")
    func noPolicy() async {
        for command in [["lint"], ["export", "--to", "android"], ["export", "--check"]] {
            let run = await pinctl(command)
            #expect(run.status == 2)
            #expect(
                run.errors
                    == "pinctl: no policy was given, and the default, /no/such/pins.jsonc, doesn't exist: name a FILE, "
                    + "or create one with pinctl init\n", "\(command)")
        }
    }

    @Test("help lint-rules lists every rule")
    func help() async throws {
        let run = await pinctl("help", "lint-rules")
        #expect(run.lines[0] == "P001  error    a pin of the wrong length, or not in canonical base64")
        #expect(run.lines.count { $0.hasPrefix("P0") } == 38)
        #expect(
            run.lines.suffix(2) == [
                "P038  error    a rule whose pins don't match every chain of its \"x-provider\", or",
                "               an unknown provider",
            ])
    }
}
