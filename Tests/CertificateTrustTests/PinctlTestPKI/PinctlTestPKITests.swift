import PinctlTestPKI
import Testing

/// Tests of the test PKI with the `openssl` command, which shares no code with this project.
@Suite("PinctlTestPKI", .enabled(if: TestCommand.isPresent("openssl", "version"), "no openssl command in PATH"))
struct PinctlTestPKITests {
    /// A time inside the default validity.
    static let time = "1800000000"

    @Test(
        "The openssl command verifies chains with every kind of key",
        arguments: [
            .rsa(bits: 1024), .rsa2048, .rsaPSS(bits: 2048), .p256, .p384, .p521, .curve("secp224r1"), .ed25519,
            .ed448, .dsa(bits: 1024),
        ] as [TestKey.Kind])
    func chain(kind: TestKey.Kind) throws {
        let key = try TestKey.shared(kind)
        let root = try TestCertificate.root("Test Root", key: key)
        let intermediate = try root.intermediate("Test Intermediate", key: key)
        let leaf = try intermediate.leaf("api.example.test", key: key)
        let result = try verify(leaf, [intermediate], root, "-x509_strict", "-verify_hostname", "api.example.test")
        #expect(result.status == 0, "\(result.text)")
    }

    struct Wrong: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let message: String
        var adjustLeaf: @Sendable (inout TestCertificate.Settings) -> Void = { _ in }
        var adjustIntermediate: @Sendable (inout TestCertificate.Settings) -> Void = { _ in }
    }

    @Test(
        "The openssl command rejects each faulty setting for the right reason",
        arguments: [
            Wrong(
                testDescription: "expired", message: "certificate has expired",
                adjustLeaf: { $0.notAfter = 1_799_999_999 }),
            Wrong(
                testDescription: "not yet valid", message: "certificate is not yet valid",
                adjustIntermediate: { $0.notBefore = 1_800_000_001 }),
            Wrong(
                testDescription: "other host", message: "hostname mismatch",
                adjustLeaf: { $0.alternativeNames = [.dns("other.example.test")] }),
            Wrong(
                testDescription: "excluded name", message: "excluded subtree violation",
                adjustIntermediate: { $0.excludedSubtrees = [.dns("example.test")] }),
            Wrong(
                testDescription: "excluded address", message: "excluded subtree violation",
                adjustLeaf: { $0.alternativeNames.append(.ip([127, 0, 0, 1])) },
                adjustIntermediate: { $0.excludedSubtrees = [.ip([127, 0, 0, 0, 255, 0, 0, 0])] }),
            Wrong(
                testDescription: "name not permitted", message: "permitted subtree violation",
                adjustIntermediate: { $0.permittedSubtrees = [.dns("elsewhere.test")] }),
            Wrong(
                testDescription: "no authority", message: "invalid CA certificate",
                adjustIntermediate: { $0.isAuthority = false }),
            Wrong(
                testDescription: "no keyCertSign", message: "invalid CA certificate",
                adjustIntermediate: { $0.keyUsage = .digitalSignature }),
            Wrong(
                testDescription: "version 1", message: "invalid CA certificate",
                adjustIntermediate: { $0.version = 1 }),
            Wrong(
                testDescription: "client's certificate", message: "unsuitable certificate purpose",
                adjustLeaf: { $0.extendedKeyUsages = [TestCertificate.ExtendedKeyUsage.clientAuth] }),
            Wrong(
                testDescription: "unknown critical extension", message: "unhandled critical extension",
                adjustLeaf: { $0.extensions.append(.init("1.3.6.1.4.1.55555.2", critical: true, [0x05, 0x00])) }),
            Wrong(
                testDescription: "MD5", message: "CA signature digest algorithm too weak",
                adjustLeaf: { $0.digest = .md5 }),
            Wrong(
                testDescription: "SHA-1", message: "CA signature digest algorithm too weak",
                adjustLeaf: { $0.digest = .sha1 }),
        ])
    func wrong(_ row: Wrong) throws {
        let root = try TestCertificate.root("Test Root")
        let intermediate = try root.intermediate(
            "Test Intermediate", key: .shared(.rsa2048), adjusting: row.adjustIntermediate)
        let leaf = try intermediate.leaf("api.example.test", adjusting: row.adjustLeaf)
        let result = try verify(
            leaf, [intermediate], root, "-auth_level", "2", "-verify_hostname", "api.example.test")
        #expect(result.status != 0)
        #expect(result.text.contains(row.message), "\(result.text)")
    }

    @Test("A path length limits the number of CA certificates below")
    func pathLength() throws {
        let root = try TestCertificate.root("Test Root") { $0.pathLength = 1 }
        let upper = try root.intermediate("Upper") { $0.pathLength = 0 }
        let lower = try upper.intermediate("Lower")
        let good = try verify(try upper.leaf("api.example.test"), [upper], root)
        #expect(good.status == 0, "\(good.text)")
        let bad = try verify(try lower.leaf("api.example.test"), [lower, upper], root)
        #expect(bad.text.contains("path length constraint exceeded"), "\(bad.text)")
    }

    @Test("A cross-signed CA certificate connects the same leaf to either root")
    func crossSigned() throws {
        let (old, new) = (try TestCertificate.root("Old Root"), try TestCertificate.root("New Root"))
        let leaf = try new.leaf("api.example.test")
        let cross = try old.crossSign(new)
        #expect(cross.subject == new.subject && cross.derBytes != new.derBytes)
        #expect(try verify(leaf, [], new).status == 0)
        #expect(try verify(leaf, [cross], old).status == 0)
        #expect(try verify(leaf, [], old).status != 0)
    }

    @Test("The openssl command rejects a broken signature and a leaf that issues certificates")
    func forged() throws {
        let root = try TestCertificate.root("Test Root")
        let leaf = try root.leaf("api.example.test")
        let broken = TestPEM.block("CERTIFICATE", leaf.derBytesWithBrokenSignature)
        let result = try verify(broken, [], root)
        #expect(result.text.contains("certificate signature failure"), "\(result.text)")
        let victim = try verify(try leaf.leaf("victim.example.test"), [leaf], root)
        #expect(victim.text.contains("invalid CA certificate"), "\(victim.text)")
    }

    @Test("Names, serial numbers and times are written as configured")
    func contents() throws {
        let certificate = try TestCertificate.root("Test Root") {
            $0.subject = TestName(.country("DE"), .organization("Prüf\u{1B}[2J"), .commonName("a\0b"))
            $0.alternativeNames = [
                .dns("a.test"), .ip([127, 0, 0, 1]), .ip([UInt8](repeating: 0, count: 15) + [1]), .email("x@a.test"),
                .uri("https://a.test/"), .registeredID("1.2.3.4"), .directory("Inner"),
            ]
            $0.serial = [0xFF]
            $0.notBefore = -1
            $0.notAfter = 2_524_608_000
        }
        let text = try openssl(["x509", "-noout", "-text", "-nameopt", "RFC2253", "-in"], certificate.pemText).text
        for expected in [
            #"CN=a\00b,O=Pr\C3\BCf\1B[2J,C=DE"#, "Not Before: Dec 31 23:59:59 1969 GMT",
            "Not After : Jan  1 00:00:00 2050 GMT",
            "DNS:a.test, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1, email:x@a.test, URI:https://a.test/, "
                + "Registered ID:1.2.3.4, DirName:/CN=Inner",
        ] {
            #expect(text.contains(expected), "\(text)")
        }
        // Before and since OpenSSL 4.0.
        #expect(text.contains("(Negative)01") || text.contains("Serial Number: -1 (-0x1)"), "\(text)")
    }

    @Test("A version 1 certificate has no extensions, and key identifiers can be left out")
    func withoutExtensions() throws {
        let root = try TestCertificate.root("Test Root")
        let old = try openssl(["x509", "-noout", "-text", "-in"], root.leaf("a.test") { $0.version = 1 }.pemText).text
        #expect(old.contains("Version: 1 (0x0)") && !old.contains("X509v3"), "\(old)")
        let bare = try root.leaf("a.test") {
            $0.hasSubjectKeyIdentifier = false
            $0.hasAuthorityKeyIdentifier = false
        }
        let text = try openssl(["x509", "-noout", "-text", "-in"], bare.pemText).text
        #expect(text.contains("DNS:a.test") && !text.contains("Key Identifier"), "\(text)")
    }

    @Test("The two signature algorithms of a certificate can differ")
    func signatureAlgorithms() throws {
        let ed25519 = TestDER.sequence(TestDER.objectIdentifier("1.3.101.112"))
        for part in [\TestCertificate.Settings.innerSignatureAlgorithm, \.outerSignatureAlgorithm] {
            let leaf = try TestCertificate.root("Test Root").leaf("a.test") { $0[keyPath: part] = ed25519 }
            let text = try openssl(["x509", "-noout", "-text", "-in"], leaf.pemText).text
            #expect(text.contains("Signature Algorithm: ED25519"), "\(text)")
            #expect(text.contains("Signature Algorithm: ecdsa-with-SHA256"), "\(text)")
        }
    }

    @Test("A digest that a key can't sign with is an error")
    func impossibleDigest() throws {
        #expect(throws: TestPKIError.self) { try TestCertificate.root("Test Root") { $0.digest = .md5 } }
    }

    @Test("An unknown public key is one that openssl can locate but not decode")
    func unknownKey() throws {
        let leaf = try TestCertificate.root("Test Root").leaf("api.example.test") {
            $0.subjectPublicKeyInfo = TestKey.unknownPublicKeyDER()
        }
        #expect(try openssl(["asn1parse", "-in"], leaf.pemText).text.contains("1.3.6.1.4.1.55555.1"))
        let result = try openssl(["x509", "-noout", "-pubkey", "-in"], leaf.pemText)
        #expect(result.text.contains("Error getting public key"), "\(result.text)")
    }

    @Test(
        "The openssl command reads every form of a key",
        arguments: [.rsa(bits: 1024), .rsaPSS(bits: 1024), .p384, .ed25519, .ed448, .dsa(bits: 1024)] as [TestKey.Kind])
    func keyForms(kind: TestKey.Kind) throws {
        let key = try TestKey.shared(kind)
        let publicKey = try openssl(["pkey", "-pubin", "-pubout", "-in"], try key.publicKeyPEM).text
        var forms = [try key.privateKeyPEM, try key.encryptedPrivateKeyPEM(passphrase: "open sesame")]
        switch kind {
        case .rsaPSS, .ed25519, .ed448: break
        default: forms.append(try key.traditionalPrivateKeyPEM)
        }
        for form in forms {
            let result = try openssl(["pkey", "-passin", "pass:open sesame", "-pubout", "-in"], form)
            #expect(result.status == 0 && result.text == publicKey, "\(result.text)")
        }
        #expect(publicKey == (try key.publicKeyPEM))
    }

    @Test("The pin of a key equals the output of the common openssl pipeline")
    func pin() throws {
        let key = try TestKey()
        let directory = try TestDirectory()
        let pipeline = "openssl pkey -pubin -outform der -in \"$1\" | openssl dgst -sha256 -binary | openssl base64"
        let result = try TestCommand.run(["sh", "-c", pipeline, "sh", try directory.add(key.publicKeyPEM)])
        #expect("sha256/\(result.text)" == (try key.pin) + "\n")
    }

    @Test("The openssl command verifies a signing request and shows the requested names")
    func signingRequest() throws {
        let request = try TestSigningRequest(
            "api.example.test", key: TestKey(), extensions: [.alternativeNames([.dns("api.example.test")])])
        let result = try openssl(["req", "-verify", "-noout", "-text", "-in"], request.pemText)
        #expect(result.status == 0 && result.text.contains("DNS:api.example.test"), "\(result.text)")
        let bare = try TestSigningRequest("api.example.test", key: TestKey())
        #expect(try openssl(["req", "-verify", "-noout", "-in"], bare.pemText).status == 0)
    }

    func verify(
        _ leaf: TestCertificate, _ untrusted: [TestCertificate], _ root: TestCertificate, _ options: String...
    ) throws -> TestCommand.Result {
        try verify(leaf.pemText, untrusted, root, options)
    }

    func verify(
        _ leafPEM: String, _ untrusted: [TestCertificate], _ root: TestCertificate, _ options: [String] = []
    ) throws -> TestCommand.Result {
        let files = try TestDirectory()
        var arguments = ["openssl", "verify", "-attime", Self.time, "-purpose", "sslserver"] + options
        arguments += ["-CAfile", try files.add(root.pemText)]
        if !untrusted.isEmpty { arguments += ["-untrusted", try files.add(untrusted.map(\.pemText).joined())] }
        return try TestCommand.run(arguments + [files.add(leafPEM)])
    }

    /// Runs a subcommand whose last option takes a file.
    func openssl(_ arguments: [String], _ input: String) throws -> TestCommand.Result {
        let files = try TestDirectory()
        return try TestCommand.run(["openssl"] + arguments + [files.add(input)])
    }
}
