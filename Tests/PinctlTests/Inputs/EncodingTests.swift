import FoundationEssentials
import PinctlTestPKI
import Testing

/// Certificates in the encodings that Windows programs and configuration files use, in every command that reads them.
@Suite("Encodings of certificates and keys")
struct EncodingTests {
    let site: PinctlSite
    let directory: TestDirectory

    init() throws {
        site = try PinctlSite()
        directory = try TestDirectory()
    }

    /// A text in UTF-16.
    private static func utf16(_ text: String, isBigEndian: Bool = false, hasMark: Bool = true) -> [UInt8] {
        let units = (hasMark ? [0xFEFF] : []) + Array(text.utf16)
        return units.flatMap { unit in
            let (high, low) = (UInt8(unit >> 8), UInt8(unit & 0xFF))
            return isBigEndian ? [high, low] : [low, high]
        }
    }

    private static func indented(_ text: String, by count: Int = 4) -> String {
        text.split(separator: "\n").map { String(repeating: " ", count: count) + $0 + "\n" }.joined()
    }

    private static func base64(_ text: String) -> String { TestPEM.base64(Array(text.utf8)) }

    static let forms = [
        "UTF-16 LE", "UTF-16 BE", "UTF-16 LE without a mark", "UTF-16 BE without a mark", "UTF-16 with CR LF",
        "bare Base64 lines", "bare Base64 in UTF-16", "PKCS #7 under CERTIFICATE", "stringData",
        "stringData with CR LF", "data",
        "data as JSON",
        "a list of Secrets", "two documents", "a quoted text with \\n", "a plain text with \\n", "Helm values",
        "a document in a ConfigMap", "Base64 of DER in JSON", "Traefik's acme.json",
    ]

    /// The chain of the site in one of the forms.
    private func chain(_ form: String) async throws -> [UInt8] {
        let pem = site.chain.map(\.pemText).joined()
        let escaped = pem.replacing("\n", with: "\\n")
        func text(_ text: String) -> [UInt8] { Array(text.utf8) }
        switch form {
        case "UTF-16 LE": return Self.utf16(pem)
        case "UTF-16 BE": return Self.utf16("Größe\n" + pem, isBigEndian: true)
        case "UTF-16 LE without a mark": return Self.utf16(pem, hasMark: false)
        case "UTF-16 BE without a mark": return Self.utf16(pem, isBigEndian: true, hasMark: false)
        case "UTF-16 with CR LF": return Self.utf16(pem.replacing("\n", with: "\r\n"))
        case "bare Base64 lines": return text(site.chain.map { TestPEM.base64($0.derBytes) + "\n" }.joined())
        case "bare Base64 in UTF-16":
            return Self.utf16(site.chain.map { TestPEM.base64($0.derBytes) + "\r\n" }.joined())
        case "PKCS #7 under CERTIFICATE":
            let file = try site.directory.add(site.chainFileText)
            let made = try TestCommand.run(["openssl", "crl2pkcs7", "-nocrl", "-certfile", file, "-outform", "DER"])
            return text(TestPEM.block("CERTIFICATE", made.output))
        case "stringData":
            return text("apiVersion: v1\nkind: Secret\nstringData:\n  tls.crt: |\n" + Self.indented(pem))
        case "stringData with CR LF":
            let lines = "kind: Secret\nstringData:\n  tls.crt: |\n    # the chain\n\n" + Self.indented(pem)
            return text(lines.replacing("\n", with: "\r\n"))
        case "data":
            return text(
                "apiVersion: v1\nkind: Secret\ndata:\n  tls.crt: \(Self.base64(pem))\n  password: aHVudGVyMg==\n")
        case "data as JSON":
            return text("{ \"kind\": \"Secret\", \"data\": { \"tls.crt\": \"\(Self.base64(pem))\" } }")
        case "a list of Secrets":
            return text(
                "kind: List\nitems:\n- kind: ConfigMap\n  data: {a: b}\n- kind: Secret\n  data:\n"
                    + "    tls.crt: \(Self.base64(pem))\n")
        case "two documents":
            return text("a: 1\n---\nkind: Secret\nstringData:\n  tls.crt: |-\n" + Self.indented(pem) + "---\nb: 2\n")
        case "a quoted text with \\n": return text("cert: \"\(escaped)\"\n")
        case "a plain text with \\n": return text("env:\n- name: CERT\n  value: \(escaped)\n")
        case "Helm values":
            return text("# values\ningress:\n  tls:\n    - cert: |\n" + Self.indented(pem, by: 8) + "      key: \"\"\n")
        case "a document in a ConfigMap":
            return text("data:\n  values.yaml: |\n    tls:\n      cert: |\n" + Self.indented(pem, by: 8))
        case "Base64 of DER in JSON":
            let all = site.chain.map { "\"\(TestPEM.base64($0.derBytes))\"" }.joined(separator: ", ")
            return text("{ \"x5c\": [\(all)] }")
        default:
            return text(
                "{ \"le\": { \"Certificates\": [ { \"domain\": { \"main\": \"api.test\" }, "
                    + "\"certificate\": \"\(Self.base64(pem))\", "
                    + "\"key\": \"\(Self.base64(try site.leaf.key.privateKeyPEM))\" } ] } }")
        }
    }

    @Test("Every command reads a chain in any form, in a file, a directory and standard input", arguments: forms)
    func chains(form: String) async throws {
        let path = try directory.add(try await chain(form), name: "chain.x")
        let (pin, roots) = (try site.leaf.key.pin, ["--ca-file", site.rootFile])
        let policy = try site.policy("{ \"pin\": \"\(pin)\", \"role\": \"leaf\" }, \"\(unknownPin)\"")
        let unknown = try site.policy("\"\(unknownPin)\"")
        let hash = await pinctl("hash", path)
        #expect(hash.lines.prefix(2).map { String($0.prefix(51)) } == [pin, try site.intermediate.key.pin], "\(hash)")
        #expect(hash.status == 0 && hash.errors == "")
        let show = await pinctl(["show", path, "--host", "api.test"] + roots)
        #expect(show.status == 0 && show.output.contains("  trusted  "), "\(show)")
        for (policy, status) in [(policy, Int32(0)), (unknown, 1)] {
            for words in [
                ["verify", path, "--host", "api.test", "--policy", policy],
                ["check", "--policy", policy, "--files", path],
                ["plan", "--new", path, "--against", policy, "--host", "api.test"],
            ] {
                let run = await pinctl(words + roots)
                #expect(run.status == status, "\(words[0]): \(run)")
            }
        }
        let whole = try TestDirectory()
        _ = try whole.add(try await chain(form).map(\.self), name: "new.x")
        _ = try whole.add(site.chainFileText, name: "old.pem")
        let directory = await pinctl(["check", "--policy", unknown, "--files", whole.path] + roots)
        #expect(directory.status == 1 && directory.lines.last == "1 checked: 1 failed", "\(directory)")
        try await StandardInput.reading(path) {
            #expect(await pinctl("hash", "-").lines.first?.hasPrefix(pin) == true)
        }
    }

    @Test("A new certificate beside an old one is checked in every form", arguments: forms)
    func newBesideOld(form: String) async throws {
        // The old one is pinned, the new one isn't.
        let old = try site.intermediate.leaf("api.test")
        _ = try directory.add(old.pemText + site.intermediate.pemText, name: "old.pem")
        _ = try directory.add(try await chain(form), name: "new.x")
        let policy = try site.policy("\"\(try old.key.pin)\", \"\(unknownPin)\"")
        let run = await pinctl("check", "--policy", policy, "--ca-file", site.rootFile, "--files", directory.path)
        #expect(run.lines.last?.hasPrefix("2 checked: 1 ok, 1 failed") == true && run.status == 1, "\(run)")
    }

    @Test("Kubernetes' ca.crt completes the chain, and the certificates of a kubeconfig's user aren't a server's")
    func roles() async throws {
        let policy = try site.policy("\"\(try site.root.key.pin)\"")
        let secret = """
            kind: Secret
            metadata:
              annotations:
                kubectl.kubernetes.io/last-applied-configuration: |
                  {"data":{"tls.crt":"\(Self.base64(try TestCertificate.root("Old").leaf("api.test").pemText))"}}
            data:
              ca.crt: \(Self.base64(site.intermediate.pemText + site.root.pemText))
              tls.crt: \(Self.base64(site.leaf.pemText))
              tls.key: \(Self.base64(try site.leaf.key.privateKeyPEM))

            """
        let path = try directory.add(secret, name: "secret.yaml")
        let run = await pinctl("check", "--policy", policy, "--ca-file", site.rootFile, "--files", path)
        #expect(run.lines.last == "1 checked: 1 ok" && run.status == 0, "\(run)")
        let client = try site.intermediate.issue(.client("admin"))
        let configuration = """
            apiVersion: v1
            kind: Config
            clusters:
            - name: c
              cluster: { server: "https://api.test", certificate-authority-data: \(Self.base64(site.root.pemText)) }
            users:
            - name: admin
              user:
                client-certificate-data: \(Self.base64(client.pemText))
                client-key-data: \(Self.base64(try client.key.privateKeyPEM))

            """
        let config = try directory.add(configuration, name: "config")
        let both = await pinctl("check", "--policy", policy, "--ca-file", site.rootFile, "--files", directory.path)
        #expect(both.lines.last == "1 checked: 1 ok" && both.status == 0, "\(both)")
        let listed = await pinctl("hash", config)
        #expect(listed.lines.count == 3 && listed.output.contains("CN=admin") && listed.status == 0, "\(listed)")
    }

    @Test(
        "A value that looks like a certificate and can't be read is reported",
        arguments: [
            ("folded", "is not on a line of its own"), ("cut off", "has no -----END CERTIFICATE-----"),
            ("an alias", "has no anchor above it"), ("in a text", "has what looks like a certificate"),
            ("damaged Base64", "has what looks like a certificate"),
        ])
    func badValues(form: String, reason: String) async throws {
        let pem = site.leaf.pemText
        let text =
            switch form {
            case "folded": "cert: >\n" + Self.indented(pem)
            case "cut off": "a: b\ncert: |\n" + Self.indented(String(pem.prefix(400)))
            case "an alias": "a: *x\ncert: |\n" + Self.indented(pem)
            case "in a text": "note: \"see \(TestPEM.base64(site.leaf.derBytes)), please\"\n"
            default: "cert: \(TestPEM.base64(site.leaf.derBytes).dropLast(9))!\n"
            }
        let path = try directory.add(text)
        for words in [
            ["hash", path], ["check", "--pin", try site.leaf.key.pin, "--files", path],
            ["check", "--pin", unknownPin, "--files", directory.path],
            ["verify", path, "--host", "api.test"],
        ] {
            let run = await pinctl(words + (words[0] == "hash" ? [] : ["--ca-file", site.rootFile]))
            #expect(run.status == 2 && run.errors.contains(reason), "\(words[0]): \(run)")
        }
    }

    @Test("A configuration profile has the certificates of its payloads")
    func profiles() async throws {
        func profile(_ payloads: [(String, [UInt8])]) -> String {
            let all = payloads.map { type, bytes in
                "<dict><key>PayloadType</key><string>\(type)</string><key>PayloadContent</key><data>\n"
                    + "\(TestPEM.base64(bytes))\n</data></dict>"
            }
            return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<plist version=\"1.0\"><dict><key>PayloadContent</key>"
                + "<array>\(all.joined())</array><key>PayloadType</key><string>Configuration</string></dict></plist>\n"
        }
        let two = try directory.add(
            profile([
                ("com.apple.security.root", site.root.derBytes),
                ("com.apple.security.pem", Array(site.intermediate.pemText.utf8)), ("com.apple.wifi.managed", [1, 2]),
            ]), name: "ca.mobileconfig")
        let run = await pinctl("hash", two)
        #expect(
            run.lines.map { String($0.prefix(51)) } == [try site.root.key.pin, try site.intermediate.key.pin], "\(run)")
        #expect(run.status == 0)
        let none = await pinctl("hash", try directory.add(profile([("com.apple.wifi.managed", [1])])))
        #expect(none.status == 2 && none.errors.contains("is a configuration profile without certificates"), "\(none)")
        let broken = await pinctl("hash", try directory.add(profile([("com.apple.security.root", [1, 2, 3])])))
        #expect(broken.status == 2 && broken.errors.contains("the payload PayloadContent[0] "), "\(broken)")
        // The outer certificates of a signed profile are those of its signer, which it isn't about.
        let signer = try TestCertificate.root("Signer")
        let (certificate, key) = (try directory.add(signer.pemText), try directory.add(signer.key.privateKeyPEM))
        let signed = try TestCommand.run([
            "openssl", "smime", "-sign", "-in", two, "-signer", certificate, "-inkey", key, "-outform", "DER",
            "-nodetach",
        ])
        let outer = await pinctl("hash", try directory.add(signed.output))
        #expect(outer.output == "" && outer.status == 2, "\(outer)")
        #expect(outer.errors.contains("is a signed configuration profile (.mobileconfig), "), "\(outer)")
    }

    // MARK: Keys and containers

    @Test(
        "A private key of version 2 of PKCS #8 has the pin of its key",
        arguments: ["alone", "with attributes", "in DER"])
    func secondVersion(_ form: String) async throws {
        let key = try TestKey(.ed25519)
        // The seed is the last 32 bytes of version 1.
        let seed = try Array(key.privateKeyDER.suffix(32))
        let algorithm = TestDER.sequence(TestDER.objectIdentifier("1.3.101.112"))
        let attributes =
            form == "with attributes"
            ? TestDER.constructed(
                0,
                TestDER.sequence(
                    TestDER.objectIdentifier("1.2.840.113549.1.9.20"), TestDER.set(TestDER.utf8String("x"))))
            : []
        func file(_ publicKey: [UInt8]) throws -> String {
            let der = TestDER.sequence(
                TestDER.integer(1), algorithm, TestDER.octetString(TestDER.octetString(seed)), attributes,
                TestDER.primitive(1, [0] + publicKey))
            return form == "in DER" ? try directory.add(der) : try directory.add(TestPEM.block("PRIVATE KEY", der))
        }
        let run = await pinctl("hash", try file(try Array(key.publicKeyDER.suffix(32))))
        #expect(run.lines == [try key.pin] && run.status == 0, "\(run)")
        // Another key's public half isn't believed.
        let wrong = await pinctl("hash", try file(try Array(TestKey(.ed25519).publicKeyDER.suffix(32))))
        #expect(wrong.output == "" && wrong.status == 2, "\(wrong)")
        #expect(wrong.errors.contains("is a private key with the public key of another one"), "\(wrong)")
    }

    @Test(
        "What OpenSSL doesn't read by default, and what needs another password, is named with what to do",
        arguments: [
            (
                "-legacy -certpbe PBE-SHA1-RC2-40 -keypbe PBE-SHA1-3DES", "secret",
                "openssl pkcs12 -legacy -in FILE -nokeys"
            ),
            ("-legacy -certpbe PBE-SHA1-RC2-128 -keypbe PBE-SHA1-RC2-40", "secret", "openssl pkcs12 -legacy"),
            ("-certpbe AES-256-CBC", "wrong", "give the one that it was encrypted with"),
            ("-certpbe AES-256-CBC", nil, "is encrypted PKCS #12: give --password-file FILE"),
            ("-nokeys -certpbe NONE", nil, "is PKCS #12 that is not encrypted, but protected by a MAC"),
        ] as [(String, String?, String)])
    func containers(options: String, password: String?, reason: String) async throws {
        _ = try directory.add(site.leaf.pemText + (try site.leaf.key.privateKeyPEM), name: "both.pem")
        let made = try await shell(
            "openssl pkcs12 -export -in both.pem -passout pass:secret -out x.p12 \(options)", in: directory)
        try #require(made.status == 0, "\(made.errors)")
        let path = directory.path + "/x.p12"
        let more = try password.map { ["--password-file", try directory.add($0)] } ?? []
        let run = await pinctl(["hash", path] + more)
        #expect(run.output == "" && run.status == 2 && run.errors.contains(reason), "\(run)")
        #expect(!run.errors.contains("cannot read"), "\(run)")
        // In a directory it fails the run too.
        _ = try TestCommand.run(["rm", directory.path + "/both.pem"])
        let check = await pinctl(
            ["check", "--pin", unknownPin, "--files", directory.path, "--ca-file", site.rootFile] + more)
        #expect(check.status == 2 && check.errors.contains(reason), "\(check)")
    }

    @Test("A PKCS #12 file with a MAC only is read with its password")
    func onlyMAC() async throws {
        _ = try directory.add(site.leaf.pemText, name: "leaf.pem")
        let made = try await shell(
            "openssl pkcs12 -export -in leaf.pem -nokeys -certpbe NONE -passout pass:secret -out x.p12", in: directory)
        #expect(made.status == 0, "\(made.errors)")
        let run = await pinctl("hash", directory.path + "/x.p12", "--password-file", try directory.add("secret"))
        #expect(run.lines == [try site.leaf.key.pin] && run.status == 0, "\(run)")
    }

    @Test("An encrypted key in DES is named with what to do")
    func legacyKey() async throws {
        let path = try directory.add(TestPKCS12.encryptedKeyOfDES(iterations: 1))
        let run = await pinctl("hash", path, "--password-file", try directory.add("secret"))
        #expect(run.status == 2, "\(run)")
        #expect(
            run.errors.contains("openssl pkey -provider legacy") || run.errors.contains("another password"), "\(run)")
    }

    @Test("END and BEGIN on one line are named, and the block before is read")
    func joinedLines() async throws {
        let (leaf, issuer) = (site.leaf.pemText, site.intermediate.pemText)
        for text in [
            leaf.dropLast() + issuer, leaf.dropLast() + " " + issuer,
            leaf.replacing("\n", with: "\r\n").dropLast() + issuer.replacing("\n", with: "\r\n"),
        ] {
            let run = await pinctl("hash", try directory.add(String(text)))
            let pin = try site.leaf.key.pin
            #expect(run.lines.count == 1 && run.lines[0].hasPrefix(pin), "\(run)")
            #expect(run.errors.contains("is not on a line of its own, in line "), "\(run)")
            #expect(run.errors.contains(": insert a line break there") && run.status == 2, "\(run)")
        }
        for text in [
            leaf.replacing("\n", with: ""), leaf.replacing("\n", with: " "),
            leaf.replacing("\n-----END", with: "-----END"),
        ] {
            let run = await pinctl("hash", try directory.add(text))
            #expect(run.output == "" && run.status == 2, "\(run)")
            #expect(run.errors.contains("is not on a line of its own, in line "), "\(run)")
        }
    }

    @Test("A certificate with a malformed time is named, with and without --leaf")
    func malformedTimes() async throws {
        // All have the length of the time that they replace.
        for (time, reason) in [
            ("2026010100.5Z", "with a fraction of a second"), ("202601010000Z", "without seconds"),
            ("26010100+0000", "not as RFC 5280 requires"),
        ] {
            var der = site.leaf.derBytes
            let start = try #require(der.firstRange(of: TestDER.element(0x17, Array("260101000000Z".utf8))))
            der.replaceSubrange(start, with: TestDER.element(0x18, Array(time.utf8)))
            let path = try directory.add(TestPEM.block("CERTIFICATE", der))
            #expect(await pinctl("hash", path).lines == [try site.leaf.key.pin])
            let run = await pinctl("hash", "--leaf", path)
            #expect(run.output == "" && run.status == 2 && run.errors.contains(reason), "\(run)")
            let check = await pinctl("check", "--pin", unknownPin, "--ca-file", site.rootFile, "--files", path)
            #expect(check.status == 2 && check.errors.contains(reason), "\(check)")
        }
    }
}

extension PinctlSite {
    /// The text of ``chainFile``.
    var chainFileText: String { certificates.chain.map(\.pemText).joined() }
}
