import CertificatePinning
import CertificateTrust
import PinctlBasics
import PinctlTestPKI
import Testing

@Suite("Digest explanations")
struct DigestExplanationTests {
    private func explain(_ text: String, _ certificates: TestCertificate...) throws -> [String] {
        let digest = try #require(DigestText(text))
        return DigestExplanation.all(of: digest, among: try certificates.map { KeyHolder(try $0.parsed) })
            .map { "\($0)\($0.index.map { " \($0)" } ?? "")" }
    }

    private static func run(_ script: String, in directory: TestDirectory) throws -> String {
        let result = try TestCommand.run(["sh", "-c", "cd \(directory.path) && \(script)"])
        try #require(result.status == 0)
        return String(decoding: result.output, as: UTF8.self)
    }

    @Test("A digest with up to three other bytes is the pin of a key, mistyped, and one with more is unknown")
    func mistyped() throws {
        let certificate = try TestCertificate.root("Test")
        let digest = Array(sha256Digest(try certificate.parsed.subjectPublicKeyInfo.derBytes.span))
        for count in 0...5 {
            var bytes = digest
            for index in 0..<count { bytes[index * 7] ^= 0x41 }
            let found = try explain("sha256/" + Base64.encode(bytes.span), TestCertificate.root("Other"), certificate)
            let expected = [
                0: ["SHA-256 of the SubjectPublicKeyInfo 1"], 4: [], 5: [],
            ][count, default: ["SHA-256 of the SubjectPublicKeyInfo, but for a digit or a few 1"]]
            #expect(found == expected, "\(count)")
        }
    }

    /// Commands that people type, and the bytes that they hash.
    static let commands: [(String, String)] = [
        (
            "openssl x509 -in c.pem -pubkey -noout | openssl pkey -pubin -outform DER | BASE64",
            "the SubjectPublicKeyInfo"
        ),
        ("openssl x509 -in c.pem -outform DER | BASE64", "the whole certificate"),
        ("openssl x509 -in c.pem -pubkey -noout | BASE64", "the PEM text of the key"),
        ("cat c.pem | BASE64", "the PEM text of the certificate"),
        (
            "openssl x509 -in c.pem -outform DER | openssl asn1parse -inform DER -strparse 4 -noout -out - | BASE64",
            "the certificate without its signature (TBSCertificate)"
        ),
        ("openssl x509 -in c.pem -modulus -noout | BASE64", "the line that openssl prints with the RSA modulus"),
        (
            "openssl x509 -in c.pem -pubkey -noout | openssl rsa -pubin -RSAPublicKey_out -outform DER 2>/dev/null | "
                + "BASE64",
            "the raw key (PKCS #1 or X9.63, without its algorithm)"
        ),
        (
            "openssl x509 -in c.pem -pubkey -noout | openssl pkey -pubin -outform DER | openssl dgst -sha256 -r "
                + "| cut -c1-64 | BASE64",
            "the pin's hexadecimal text"
        ),
        ("openssl x509 -in /no/such -outform DER 2>/dev/null | BASE64", "empty input"), ("echo | BASE64", "a line end"),
    ]

    @Test(
        "The explanation names the bytes that each usual command hashed",
        .enabled(if: TestCommand.isPresent("openssl", "version")),
        arguments: commands)
    func usualCommands(command: String, input: String) throws {
        let directory = try TestDirectory()
        let certificate = try TestCertificate.root("Test", key: TestKey.shared(.rsa2048))
        _ = try directory.add(certificate.pemText, name: "c.pem")
        let isOfKey = input != "empty input" && input != "a line end"
        for (algorithm, name) in [("sha1", "SHA-1"), ("sha256", "SHA-256"), ("sha512", "SHA-512")] {
            let script = command.replacing("BASE64", with: "openssl dgst -\(algorithm) -binary | openssl base64 -A")
            let digest = try Self.run(script, in: directory)
            #expect(
                try explain("\(algorithm)/\(digest)", try TestCertificate.root("Other"), certificate)
                    == ["\(name) of \(input)" + (isOfKey ? " 1" : "")])
        }
    }

    @Test("The raw point of a curve and its BIT STRING are recognized")
    func point() throws {
        let certificate = try TestCertificate.root("Test")
        let key = try certificate.key.publicKeyDER
        let octets = Array(key.suffix(65))
        let raw = "the raw key (PKCS #1 or X9.63, without its algorithm)"
        let rows: [([UInt8], String)] = [
            (octets, raw), (Array(octets.dropFirst()), raw), (Array(key.suffix(66)), "the BIT STRING of the key"),
            (Array(key.suffix(68)), "the BIT STRING of the key"), (key, "the SubjectPublicKeyInfo"),
        ]
        for (bytes, input) in rows {
            let pin = SPKIFingerprint(hashing: bytes.span).description
            #expect(try explain(pin, certificate) == ["SHA-256 of \(input) 0"])
        }
        #expect(try explain("sha256/\(String(repeating: "x", count: 42))0=", certificate).isEmpty)
    }

    @Test("The modulus of an RSA key is recognized")
    func modulus() throws {
        let certificate = try TestCertificate.root("Test", key: TestKey.shared(.rsa2048))
        // The key ends with a zero, the modulus of 256 bytes, and the exponent with its header.
        let modulus = Array(try certificate.key.publicKeyDER.suffix(262).dropLast(5))
        for bytes in [modulus, Array(modulus.dropFirst())] {
            let pin = SPKIFingerprint(hashing: bytes.span).description
            #expect(try explain(pin, certificate) == ["SHA-256 of the RSA modulus 0"])
        }
    }

    @Test("The fingerprint that http_certificate_pinning takes is explained as that of a certificate, not as a pin")
    func certificateFingerprint() throws {
        let certificate = try TestCertificate.root("Test")
        let directory = try TestDirectory()
        _ = try directory.add(certificate.pemText, name: "c.pem")
        // The command that the package's README names prints the digest after an equals sign.
        let line = try Self.run("openssl x509 -noout -fingerprint -sha256 -inform pem -in c.pem", in: directory)
        let digest = line.split(separator: "=").last.map { $0.dropLast() } ?? ""
        #expect(digest.utf8.count == 95)
        #expect(try explain(String(digest), certificate) == ["SHA-256 of the whole certificate 0"])
    }

    @Test(
        "Digests are read in every common spelling",
        arguments: [
            "sha256/C5+lpZ7tcVwmwQIMcRtPbsQtWLABXhQzejna0wHFr8M=", "C5+lpZ7tcVwmwQIMcRtPbsQtWLABXhQzejna0wHFr8M",
            "sha256//C5+lpZ7tcVwmwQIMcRtPbsQtWLABXhQzejna0wHFr8M=;", "C5-lpZ7tcVwmwQIMcRtPbsQtWLABXhQzejna0wHFr8M=",
            "pin-sha256=\"C5+lpZ7tcVwmwQIMcRtPbsQtWLABXhQzejna0wHFr8M=\"",
            "b'C5+lpZ7tcVwmwQIMcRtPbsQtWLABXhQzejna0wHFr8M='\n",
            "cert-sha256/C5+lpZ7tcVwmwQIMcRtPbsQtWLABXhQzejna0wHFr8M=",
            "0b9fa5a59eed715c26c1020c711b4f6ec42d58b0015e14337a39dad301c5afc3",
            "SHA256 Fingerprint=0B:9F:A5:A5:9E:ED:71:5C:26:C1:02:0C:71:1B:4F:6E:C4:2D:58:B0:01:5E:14:33:7A:39:DA:D3:01:"
                + "C5:AF:C3",
        ])
    func spellings(text: String) throws {
        #expect(DigestText(text) == DigestText("C5+lpZ7tcVwmwQIMcRtPbsQtWLABXhQzejna0wHFr8M="))
        #expect(DigestText(text)?.bytes.prefix(2) == [0x0B, 0x9F])
    }

    @Test("Placeholders are recognized, and text that isn't a digest is rejected")
    func placeholders() throws {
        for letter in ["A", "B"] {
            let text = "sha256/\(String(repeating: letter, count: 43))="
            #expect(try explain(text) == ["a placeholder, one character repeated"])
        }
        for text in ["", "sha256/", "sha256/AAAA", "api.example.com", String(repeating: "AB:", count: 100)] {
            #expect(DigestText(text) == nil)
        }
    }

    @Test("A leading slash in base64 isn't taken for part of a prefix")
    func leadingSlash() throws {
        let digest = "/ElLZXOPW68F7BH8rpHVUekOgW3UkmsWqbBSPmuQwbg="
        let bytes = try #require(DigestText(digest)).bytes
        #expect(bytes.count == 32)
        for mark in ["sha256/", "sha256//", "sha256:", "pin-sha256="] {
            #expect(DigestText(mark + digest)?.bytes == bytes)
        }
    }
}
