import CertificateTrust
import FoundationEssentials
import PinctlBasics
import PinctlTestPKI
import Testing

@Suite("Files with keys and certificates")
struct KeyFileTests {
    private static func read(_ path: String) throws -> [String] {
        var output: [String] = []
        let file = try InputFile(path: path)
        try KeyFile.read(file) { item in
            switch item.content {
            case .success(let material): output.append("\(item.index) \(material.kind) \(material.fingerprint)")
            case .failure(let error): output.append("\(item.index) \(error)")
            }
        }
        return output
    }

    private static func pin(of certificate: [UInt8]) throws -> SPKIFingerprint {
        try SPKIFingerprint(ofCertificate: certificate.span)
    }

    @Test(
        "A certificate, a request, a public key and a private key of one key pair have the same pin",
        arguments: [.p256, .rsa2048, .ed25519] as [TestKey.Kind])
    func onePin(_ kind: TestKey.Kind) throws {
        let directory = try TestDirectory()
        let key = try TestKey(kind)
        let root = try TestCertificate.root("Root", key: key)
        let request = try TestSigningRequest("Request", key: key)
        let publicKey = try key.publicKeyDER
        let pin = SPKIFingerprint(hashing: publicKey.span)
        let pem = [
            root.pemText, request.pemText, try key.publicKeyPEM, try key.privateKeyPEM,
        ].joined()
        #expect(
            try Self.read(directory.add(pem)) == [
                "0 certificate \(pin)", "1 certificateRequest \(pin)", "2 publicKey \(pin)", "3 privateKey \(pin)",
            ])
        if kind != .ed25519 {
            #expect(try Self.read(directory.add(key.traditionalPrivateKeyPEM)) == ["0 privateKey \(pin)"])
        }
        #expect(try Self.read(directory.add(root.derBytes)) == ["0 certificate \(pin)"])
        #expect(try Self.read(directory.add(request.derBytes)) == ["0 certificateRequest \(pin)"])
        #expect(try Self.read(directory.add(key.publicKeyDER)) == ["0 publicKey \(pin)"])
        #expect(try Self.read(directory.add(key.privateKeyDER)) == ["0 privateKey \(pin)"])
    }

    @Test("The pins of a file are returned in file order, including those next to a broken block")
    func fingerprints() throws {
        let directory = try TestDirectory()
        let certificates = try ["One", "Two", "Three"].map { try TestCertificate.root($0, key: TestKey(.p256)) }
        let pins = try certificates.map { try Self.pin(of: $0.derBytes) }
        var seen: [SPKIFingerprint] = []
        let whole = try directory.add(certificates.map(\.pemText).joined())
        try CertificateFile.forEachFingerprint(in: whole) { seen.append($0) }
        #expect(seen == pins)

        let broken = certificates[1].pemText.replacing("MII", with: "M*I")
        let path = try directory.add(certificates[0].pemText + broken + certificates[2].pemText)
        seen = []
        #expect(throws: CertificateFileError.self) {
            try CertificateFile.forEachFingerprint(in: path) { seen.append($0) }
        }
        #expect(seen == [pins[0], pins[2]])
    }

    @Test("CB22: a key with an algorithm that OpenSSL can't decode is pinned by its bytes as sent")
    func unknownAlgorithm() throws {
        let directory = try TestDirectory()
        let unknown = TestKey.unknownPublicKeyDER()
        let root = try TestCertificate.root("Root") { $0.subjectPublicKeyInfo = unknown }
        let pin = SPKIFingerprint(hashing: unknown.span)
        #expect(try Self.read(directory.add(root.pemText)) == ["0 certificate \(pin)"])
        #expect(try Self.pin(of: root.derBytes) == pin)
    }

    @Test("CB20: OpenSSL trust settings after a certificate don't change its pin, but prevent its use as an anchor")
    func trustedCertificate() throws {
        let directory = try TestDirectory()
        let root = try TestCertificate.root("Root")
        let settings = TestDER.sequence(TestDER.sequence(TestDER.objectIdentifier("1.3.6.1.5.5.7.3.2")))
        let path = try directory.add(TestPEM.block("TRUSTED CERTIFICATE", root.derBytes + settings))
        let pin = try Self.pin(of: root.derBytes)
        #expect(try Self.read(path) == ["0 certificate \(pin)"])
        #expect(try CertificateFile.read(path).map(\.derBytes) == [root.derBytes])
        #expect(throws: TrustStoreError.self) { try TrustStore(files: [path]) }
    }

    @Test("An encrypted private key is reported as encrypted, and nothing else about it is shown")
    func encrypted() throws {
        let directory = try TestDirectory()
        let pem = try TestKey().encryptedPrivateKeyPEM(passphrase: "secret")
        let lines = try Self.read(directory.add(pem))
        #expect(lines == ["0 \(KeyMaterialError.encrypted)"])
    }

    @Test("A broken block doesn't affect the other blocks of a file")
    func oneBroken() throws {
        let directory = try TestDirectory()
        let root = try TestCertificate.root("Root")
        let blocks = (0..<150).map { index in
            index == 70 ? TestPEM.block("CERTIFICATE", Array(root.derBytes.dropLast(9))) : root.pemText
        }
        let lines = try Self.read(directory.add(blocks.joined()))
        #expect(lines.count == 150)
        #expect(lines.filter { $0.contains("sha256/") }.count == 149)
        #expect(lines[70].contains("bytes short"))
    }

    @Test(
        "CB21: DER that is truncated, has an indefinite length or has trailing bytes yields no pin",
        arguments: ["cut", "trailing", "indefinite", "one byte", "zeros"])
    func badDER(_ what: String) throws {
        let directory = try TestDirectory()
        var der = try TestCertificate.root("Root").derBytes
        switch what {
        case "cut": der.removeLast(20)
        case "trailing": der += [0]
        case "indefinite": der = [0x30, 0x80] + der.dropFirst(4) + [0, 0]
        case "one byte": der = [0x30]
        default: der = [UInt8](repeating: 0, count: 5_000)
        }
        let path = try directory.add(der)
        let lines = (try? Self.read(path)) ?? []
        #expect(!lines.contains { $0.contains("sha256/") })
    }

    @Test("An empty file, a directory and a missing file are rejected, each with its reason")
    func badFiles() throws {
        let directory = try TestDirectory()
        let empty = try directory.add([UInt8]())
        #expect(throws: KeyFile.Failure.empty) { try Self.read(empty) }
        for (path, reason) in [
            (directory.path, "is a directory: specify the files in it"),
            (directory.path + "/none", "no such file: check the path"),
            ("a\0b", "cannot open it: Invalid argument"),
            ("a\u{FFFD}b", "its name is not UTF-8: rename it, or use standard input"),
        ] {
            let error = #expect(throws: InputFileError.self) { try Self.read(path) }
            #expect(error?.description == reason)
        }
        #expect(throws: KeyFile.Failure.self) { try Self.read("/dev/zero") }
    }

    @Test("CB21: every truncation and every changed byte of a certificate is hashed or rejected without a trap")
    func hostile() throws {
        let der = try TestCertificate.root("Root").leaf("a.test", "b.test").derBytes
        for length in der.indices {
            #expect(throws: DERError.self) { try Self.pin(of: Array(der[..<length])) }
        }
        for index in der.indices {
            for byte: UInt8 in [0x00, 0x01, 0x30, 0x7F, 0x80, 0x84, 0xFF] {
                var changed = der
                changed[index] = byte
                _ = try? Self.pin(of: changed)
                _ = try? X509Certificate(derBytes: changed).subject.description
                if let material = try? KeyMaterial(der: changed.span) { _ = material.keyKind }
            }
        }
    }

    @Test("A PEM text gives one certificate, or a store of all of them, by the rules of files")
    func pemText() throws {
        let root = try TestCertificate.root("Root")
        let leaf = try root.leaf("api.example.test")
        let both = "text before\n" + root.pemText + leaf.pemText
        #expect(try X509Certificate(pem: root.pemText).derBytes == root.derBytes)
        #expect(try CertificateFile.read(pem: both).map(\.derBytes) == [root.derBytes, leaf.derBytes])
        let presented = PresentedChain(leaf: try X509Certificate(pem: leaf.pemText), intermediates: [])
        let name = try ServerName("api.example.test")
        let path = try ServerTrust(presented: presented, name: name, store: try TrustStore(pem: both)).evaluate(
            at: Date(timeIntervalSince1970: 1_800_000_000))
        #expect(path.anchor.derBytes == leaf.derBytes || path.anchor.derBytes == root.derBytes)
        for (text, reason) in [
            (both, "contains 2 certificates instead of one"), ("", "is empty"),
            ("no PEM\n", "contains neither PEM nor DER"),
            (root.pemText.replacing("MII", with: "M!I", maxReplacements: 1), "has invalid base64 in line 2"),
            (TestPEM.block("PUBLIC KEY", Array(root.derBytes.prefix(10))), "contains no certificate"),
        ] {
            let error = #expect(throws: CertificateFileError.self) { try X509Certificate(pem: text) }
            #expect(error?.description.contains(reason) == true, "\(error?.description ?? "accepted")")
        }
        // Trust settings could distrust a certificate, so it can't become an anchor.
        let trusted = TestPEM.block("TRUSTED CERTIFICATE", root.derBytes + [0x30, 0x00])
        #expect(try CertificateFile.read(pem: trusted).map(\.derBytes) == [root.derBytes])
        #expect(throws: TrustStoreError.self) { try TrustStore(pem: trusted) }
    }
}
