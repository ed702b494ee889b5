import PinDialects
import PinctlBasics
import PinctlTestPKI
import Testing

/// A damaged file is reported in a directory, as it is if it is named.
@Suite("Damaged pin files in directories")
struct TreeGateTests {
    /// A small file of a dialect. `key` is one of its keys, which a user may misspell.
    struct Sample: CustomTestStringConvertible, Sendable {
        let name: String
        let key: String
        let text: String
        var testDescription: String { name }
    }

    private static let values: [[UInt8]] = [0, 1].map { first in (0..<32).map { 0xFB ^ ($0 &* (7 + first)) } }
    private static let pins = values.map { Base64.encode($0.span) }
    private static let digits = values.map { Hexadecimal.encode($0) }

    private static let samples: [Sample] = [
        Sample(
            name: "pins.jsonc", key: "host",
            text: """
                { "version": 1, "domains": [ { "host": "api.example.com", "pins": [
                  { "pin": "sha256/\(pins[0])" }, { "pin": "sha256/\(pins[1])", "backup": true } ] } ] }
                """),
        Sample(
            name: "res/xml/config.xml", key: "digest",
            text: """
                <network-security-config><domain-config><domain>api.example.com</domain><pin-set>
                <pin digest="SHA-256">\(pins[0])</pin>
                <pin digest="SHA-256">\(pins[1])</pin>
                </pin-set></domain-config></network-security-config>
                """),
        Sample(
            name: "Info.plist", key: "NSPinnedLeafIdentities",
            text: """
                <plist version="1.0"><dict><key>NSAppTransportSecurity</key><dict><key>NSPinnedDomains</key><dict>
                <key>api.example.com</key><dict><key>NSPinnedLeafIdentities</key><array>
                <dict><key>SPKI-SHA256-BASE64</key><string>\(pins[0])</string></dict>
                <dict><key>SPKI-SHA256-BASE64</key><string>\(pins[1])</string></dict>
                </array></dict></dict></dict></dict></plist>
                """),
        Sample(
            name: "TrustKit.plist", key: "TSKPublicKeyHashes",
            text: """
                <plist version="1.0"><dict><key>TSKConfiguration</key><dict><key>TSKPinnedDomains</key><dict>
                <key>api.example.com</key><dict><key>TSKPublicKeyHashes</key><array>
                <string>\(pins[0])</string><string>\(pins[1])</string>
                </array></dict></dict></dict></dict></plist>
                """),
        Sample(
            name: "Delegate.swift", key: "kTSKPublicKeyHashes",
            text: """
                let configuration: [String: Any] = [kTSKPinnedDomains: ["api.example.com": [
                    kTSKPublicKeyHashes: ["\(pins[0])", "\(pins[1])"]]]]
                """),
        Sample(
            name: "app.json", key: "NSPinnedLeafIdentities",
            text: """
                { "ios": { "NSAppTransportSecurity": { "NSPinnedDomains": { "api.example.com": {
                "NSPinnedLeafIdentities": [
                { "SPKI-SHA256-BASE64": "\(pins[0])" }, { "SPKI-SHA256-BASE64": "\(pins[1])" } ] } } } } }
                """),
        Sample(
            name: "Pins.kt", key: "add",
            text: """
                val pinner = CertificatePinner.Builder()
                    .add("api.example.com", "sha256/\(pins[0])", "sha256/\(pins[1])")
                    .build()
                """),
        Sample(
            name: "headers", key: "max-age",
            text: """
                Public-Key-Pins: pin-sha256="\(pins[0])"; pin-sha256="\(pins[1])"; max-age=5184000

                """),
        Sample(
            name: "check.sh", key: "pinnedpubkey",
            text: """
                #!/bin/sh
                curl --pinnedpubkey 'sha256//\(pins[0]);sha256//\(pins[1])' https://api.example.com/

                """),
        Sample(
            name: "envoy.yaml", key: "verify_certificate_spki",
            text: """
                transport_socket:
                  typed_config:
                    "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext
                    sni: api.example.com
                    common_tls_context:
                      validation_context:
                        trusted_ca: { filename: ca.pem }
                        verify_certificate_spki: [ "\(pins[0])", "\(pins[1])" ]

                """),
        Sample(
            name: "example.zone", key: "TLSA",
            text: """
                $ORIGIN example.com.
                _443._tcp.api IN TLSA 3 1 1 \(digits[0])
                _443._tcp.api IN TLSA 3 1 1 \(digits[1])

                """),
        Sample(
            name: "keys.json", key: "dns_names",
            text: "{\"pubkey_sha256\":\"\(digits[0])\",\"dns_names\":[\"api.example.com\"]}\n"),
        Sample(
            name: "pins.ts", key: "publicKeyHashes",
            text: """
                initialize({ 'api.example.com': { publicKeyHashes: [
                  '\(pins[0])', '\(pins[1])' ] } });
                """),
        Sample(
            name: "Policy.swift", key: "pins",
            text: """
                import CertificatePinning

                extension PinningPolicy {
                    public static func pinned() throws -> PinningPolicy {
                        try PinningPolicy(rules: [PinningRule(host: ServerName("api.example.com"), pins: [
                            Pin("sha256/\(pins[0])"), Pin("sha256/\(pins[1])", isBackup: true)])])
                    }
                }
                """),
        Sample(
            name: "pins.txt", key: "sha256",
            text: "api.example.com sha256/\(pins[0]) sha256/\(pins[1])\npay.example.com sha256/\(pins[0])\n"),
    ]

    /// The file with each kind of damage.
    private static func damaged(_ sample: Sample) -> [(what: String, text: String)] {
        let text = sample.text
        func replacing(_ change: (String) -> String) -> String {
            (pins + digits).reduce(text) { $0.replacing($1, with: change($1)) }
        }
        let urlSafe = replacing { $0.replacing("+", with: "-").replacing("/", with: "_") }
        return [
            ("whole", text), ("unpadded", replacing { $0.replacing("=", with: "") }), ("for URLs", urlSafe),
            ("for URLs, unpadded", urlSafe.replacing("=\"", with: "\"").replacing("=<", with: "<")),
            ("short", replacing { String($0.dropFirst()) }), ("cut off", replacing { String($0.prefix(40)) }),
            ("misspelled", replacing { "!" + $0.dropFirst() }),
            ("in parts", replacing { $0.prefix(20) + " " + $0.dropFirst(20) }),
            ("half", String(text.prefix(text.count / 2))), ("three quarters", String(text.prefix(text.count * 3 / 4))),
            ("without its end", String(text.prefix(text.count - 3))),
            ("unknown key", text.replacing(sample.key, with: sample.key + "x")),
            ("lower case", text.lowercased()), ("upper case", text.uppercased()), ("NUL at the end", text + "\0"),
        ]
    }

    @Test("A file that is refused by its name is refused in a directory too", arguments: samples)
    func gate(sample: Sample) async throws {
        for (what, text) in Self.damaged(sample) {
            let directory = try TestDirectory()
            func write(_ name: String, _ text: String) throws {
                let file = sample.name.split(separator: "/").last.map(String.init) ?? ""
                _ = try directory.add(text, name: name == sample.name ? file : name)
            }
            try write(sample.name, text)
            try write("good.xml", androidText(Self.pins.map { "sha256/\($0)" }))
            let file = "\(directory.path)/\(sample.name.split(separator: "/").last ?? "")"
            // A text that isn't recognized by its name either has no more marks than any other.
            guard PinDialect.recognized(in: Array(text.utf8)) != nil else { continue }
            let (lint, inTree) = (await pinctl("lint", file), await pinctl("lint", directory.path))
            // Pins of a program that are found by their form are noted.
            let isNoted = inTree.errors.contains("in other files can't be read by a dialect")
            #expect(lint.status == 0 || inTree.status != 0 || isNoted, "lint, \(what): \(lint) \(inTree)")
            let named = await pinctl("import", "--lossy", file)
            let tree = await pinctl("import", "--lossy", directory.path)
            // Files that aren't imported by a directory fail only if they can't be read, those without pins never.
            let isOther = ["pins.jsonc", "Policy.swift", "headers", "check.sh"].contains(sample.name)
            let isEmpty = named.errors.contains("no pins") && !(Self.pins + Self.digits).contains { text.contains($0) }
            #expect(
                named.status == 0 || tree.status != 0 || isOther && lint.status != 2 || isNoted
                    || isEmpty && sample.name == "envoy.yaml", "import, \(what): \(named) \(tree)")
            let find = await pinctl("find", directory.path)
            let isListed = find.output.contains("\(file):") && (isNoted || what == "NUL at the end")
            #expect(lint.status != 2 || find.status != 0 || isListed, "find, \(what): \(lint) \(find)")
            if what == "whole" {
                #expect(find.status == 0 && find.output.contains("\(file):"), "\(find)")
                #expect(inTree.lines.last?.hasPrefix("2 linted") == true, "\(inTree)")
            }
        }
    }

    /// Files that only mention pins.
    private static let others: [(name: String, text: String)] = [
        ("README.md", "<p>Pins</p>\n```xml\n<network-security-config><pin-set>\n```\n`sha256/AAAA` and TLSA 3 1 1"),
        ("a.ts", "// NSPinnedDomains: {, kTSKPinnedDomains: [, \"sha256/AAAAAAAAAAAAAAAAAAAA1b\"\nexport const a = 1;"),
        ("b.ts", "switch (key) { case 'NSPinnedDomains': case \"TSKPinnedDomains\": return 1 }"),
        ("A.kt", "import okhttp3.CertificatePinner // CertificatePinner.Builder().add(\"a.example.com\", \"sha256/\")"),
        ("B.kt", "fun client(pinner: CertificatePinner) = OkHttpClient.Builder().certificatePinner(pinner).build()"),
        ("C.kt", "val help = \"\"\"\nCertificatePinner.Builder().add(\"a.example.com\", \"sha256/x\")\n\"\"\""),
        ("A.swift", "let policy = try PinningPolicy(rules: rules) // PinningRule(pins: [Pin(\"sha256/x\")])"),
        ("Part.swift", "let part = isApple ? \"NSPinnedDomains\" : \"TrustKit\"; let text = \"func pinned() throws\""),
        ("envoy.yaml", "# verify_certificate_spki: [x]\nname: envoy\n"),
        ("zone.conf", "# TLSA 3 1 1 abc\nlisten = 80\n"),
        ("dane.sh", "#!/bin/sh\n# _443._tcp.a.example. IN TLSA 3 1 1 ab\necho \"TLSA 3 1 1\"\n"),
        ("_curl", "#compdef curl\n'--pinnedpubkey[public key to verify peer against]'\n"),
        ("board.json", #"{ "version": 1, "host": "board.example.com", "pins": { "led": 13, "button": 4 } }"#),
        ("gpio.js", "boards = { 'pi.example.com': { pins: [17, 27, 'A0', LED], pinned: true } }"),
        ("package-lock.json", #"{ "version": "1", "domains": ["a.example.com"], "integrity": "sha512-abcABC123==" }"#),
        ("broken.json", #"{ "version": "1.0", "dependencies": { "pin": "^1.0", "#),
        ("schema.json", ##"{ "properties": { "version": {}, "domains": { "items": "#/pins" }, "pins": {} } }"##),
        ("Info.plist", "<plist version=\"1.0\"><dict><key>CFBundleName</key><string>NSPin</string></dict></plist>"),
        ("page.xml", "<html><pre><network-security-config><pin-set/></network-security-config></pre></html>"),
        ("layout.xml", "<LinearLayout><!-- <network-security-config><pin-set> --><Pin/></LinearLayout>"),
        (
            "notes.txt",
            "Use the header Public-Key-Pins: no more.\nWe publish TLSA 3 1 1 records, and sha256//x for curl.\n"
        ),
        ("nginx.conf", "# Public-Key-Pins: pin-sha256=\"abc\"\nserver { listen 443; }\n"),
        ("go.sum", "example.com/pin v1.0.0 h1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n"),
        (
            "blob.go",
            "path := \"/v2/blobs/sha256/0123Abc\"; import \"crypto/sha256/internal\"; x = \"sha256/\" + digest\n"
        ),
        ("min.js", "!function(){var pin='x',a={pins:[1,2],host:'a.example.com'},b={'b.example.com':pin}}();"),
        ("tests/Pins.kt", "CertificatePinner.Builder().add(HOST, \"sha256/broken\")"),
    ]

    @Test("A file that only mentions pins, or belongs to tests, isn't read in a directory", arguments: others)
    func mentions(file: (name: String, text: String)) async throws {
        let directory = try TestDirectory()
        _ = try directory.add(androidText(Self.pins.map { "sha256/\($0)" }), name: "good.xml")
        if file.name.hasPrefix("tests/") {
            _ = try TestCommand.run(["mkdir", directory.path + "/tests"])
        }
        _ = try directory.add(file.text, name: file.name)
        for command in ["find", "lint", "import"] {
            let run = await pinctl([command] + (command == "import" ? ["--lossy"] : []) + [directory.path])
            #expect(run.status == 0, "\(command) \(file.name): \(run)")
            let path = "\(directory.path)/\(file.name)"
            let isNoted = file.name.hasPrefix("tests/") && run.errors.contains("note: \(path)")
            #expect(isNoted || !(run.output + run.errors).contains(path), "\(command) \(file.name): \(run)")
        }
    }
}
