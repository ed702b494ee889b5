import OpenSSLBridge
import PinctlTestPKI
import Testing

@testable import CertificateTrust

/// A client certificate under an intermediate and a root, with its PEM and DER forms.
private struct Client {
    let root: TestCertificate
    let intermediate: TestCertificate
    let leaf: TestCertificate

    init(_ kind: TestKey.Kind = .p256) throws {
        root = try .root("Client Root")
        intermediate = try root.intermediate("Client Intermediate")
        leaf = try intermediate.leaf("client.test", key: try .shared(kind))
    }

    var chain: [[UInt8]] { [leaf, intermediate, root].map(\.derBytes) }
    var certificates: String { leaf.pemText + intermediate.pemText + root.pemText }
}

private func identity(_ pem: String, _ password: String? = nil) throws(ClientIdentityError) -> ClientIdentity {
    try ClientIdentity(pem: Array(pem.utf8), password: password.map { Array($0.utf8) })
}

/// Returns the error that ends the reading. Records an issue if there is none.
private func failure(
    sourceLocation: SourceLocation = #_sourceLocation, _ read: () throws -> ClientIdentity
) throws -> ClientIdentityError {
    try #require(#expect(throws: ClientIdentityError.self, sourceLocation: sourceLocation) { try read() })
}

@Suite struct ClientIdentityTests {
    @Test(
        "A key of any kind is read in every supported encoding",
        arguments: [TestKey.Kind.rsa2048, .p256, .p384, .ed25519, .rsaPSS(bits: 2048)])
    func encodings(kind: TestKey.Kind) throws {
        let client = try Client(kind)
        let key = client.leaf.key
        #expect(try identity(client.certificates + key.privateKeyPEM).certificates.map(\.derBytes) == client.chain)
        let encrypted = try key.encryptedPrivateKeyPEM(passphrase: "secret")
        #expect(try identity(encrypted + client.certificates, "secret").certificates.map(\.derBytes) == client.chain)
        let file = try TestPKCS12.file(client.leaf, chain: [client.intermediate, client.root], password: "secret")
        let read = try ClientIdentity(pkcs12: file, password: Array("secret".utf8))
        #expect(read.certificates.map(\.derBytes) == client.chain)
        guard kind != .ed25519, kind != .rsaPSS(bits: 2048) else { return }
        #expect(try identity(client.certificates + key.traditionalPrivateKeyPEM).certificates.count == 3)
        let traditional = try key.encryptedTraditionalPEM(passphrase: "secret")
        #expect(try identity(client.certificates + traditional, "secret").certificates.count == 3)
    }

    @Test("The key's certificate comes first, then its issuers, wherever they are located in the text")
    func order() throws {
        let client = try Client()
        let unrelated = try TestCertificate.root("Unrelated")
        let key = try client.leaf.key.privateKeyPEM
        let blocks = [client.root.pemText, unrelated.pemText, client.intermediate.pemText, key, client.leaf.pemText]
        let read = try identity("Some text\n" + blocks.joined(separator: "And some\r\n"))
        #expect(read.certificates.map(\.derBytes) == client.chain + [unrelated.derBytes])
        let twice = try identity(client.leaf.pemText + key + client.certificates)
        #expect(twice.certificates.map(\.derBytes) == client.chain)
        #expect(twice == (try identity(client.certificates + key)))
        #expect(twice != read)
    }

    @Test("Certificates and the key can be read from two separate texts")
    func twoTexts() throws {
        let client = try Client()
        let read = try ClientIdentity(
            certificates: Array(client.certificates.utf8), privateKey: Array(try client.leaf.key.privateKeyPEM.utf8))
        #expect(read.certificates.map(\.derBytes) == client.chain)
    }

    @Test("A leaf alone is accepted, and blocks other than certificates and private keys are ignored")
    func others() throws {
        let client = try Client()
        let read = try identity(
            client.leaf.key.publicKeyPEM + client.leaf.pemText + client.leaf.key.traditionalPrivateKeyPEM)
        #expect(read.certificates.map(\.derBytes) == [client.leaf.derBytes])
    }

    @Test("Other certificates can be presented after the leaf")
    func presenting() throws {
        let client = try Client()
        let read = try identity(client.certificates + client.leaf.key.privateKeyPEM)
        let intermediate = try X509Certificate(derBytes: client.intermediate.derBytes)
        let other = try read.presenting([read.certificates[0], intermediate])
        #expect(other.certificates == [read.certificates[0], intermediate])
        #expect(other != read)
        #expect(try read.presenting([]) === read)
    }

    @Test("Missing, duplicate or mismatched certificates and keys are reported")
    func incomplete() throws {
        let client = try Client()
        let key = try client.leaf.key.privateKeyPEM
        let other = try TestKey().privateKeyPEM
        #expect(try failure { try identity(key) } == .noCertificate)
        #expect(try failure { try identity(client.certificates) } == .noPrivateKey)
        #expect(try failure { try identity(client.certificates + key + other) } == .severalPrivateKeys)
        #expect(try failure { try identity(client.certificates + other) } == .keyMatchesNoCertificate)
        let bags = [try TestPKCS12.keyBag(client.leaf.key), TestPKCS12.certificateBag(client.leaf)]
        #expect(try ClientIdentity(pkcs12: TestPKCS12.file(bags: bags), password: []).certificates.count == 1)
        for (bags, expected) in [
            ([bags[0]], ClientIdentityError.noCertificate), ([bags[1]], .noPrivateKey),
            ([bags[0], bags[0], bags[1]], .severalPrivateKeys),
            ([try TestPKCS12.keyBag(TestKey()), bags[1]], .keyMatchesNoCertificate),
        ] {
            let file = TestPKCS12.file(bags: bags)
            #expect(try failure { try ClientIdentity(pkcs12: file, password: []) } == expected)
        }
    }

    @Test("CS5: a missing, empty or wrong password is reported without a prompt at the terminal")
    func passwords() throws {
        let client = try Client()
        let key = client.leaf.key
        for encrypted in [
            try key.encryptedPrivateKeyPEM(passphrase: "secret"), try key.encryptedTraditionalPEM(passphrase: "secret"),
        ] {
            let pem = client.certificates + encrypted
            #expect(try failure { try identity(pem) } == .passwordRequired(file: nil))
            // About one wrong password in 256 decrypts to valid padding. It is detected by the contents without the
            // padding.
            for password in [""] + (0..<600).map({ "wrong \($0)" }) {
                #expect(try failure { try identity(pem, password) } == .wrongPassword(file: nil))
            }
            #expect(try identity(pem, "secret").certificates.count == 3)
        }
        let file = try TestPKCS12.file(client.leaf, password: "secret")
        for password in ["", "wrong", "Secret", "secret\0"] {
            #expect(
                try failure { try ClientIdentity(pkcs12: file, password: Array(password.utf8)) }
                    == .wrongPassword(file: nil))
        }
    }

    @Test("PKCS #12 files open with non-ASCII, empty and absent passwords, with and without a MAC")
    func pkcs12Passwords() throws {
        let client = try Client()
        for password in ["sécret ✓", "", nil] {
            for macIterations: Int32 in [1, 2048, -1] {
                let file = try TestPKCS12.file(client.leaf, password: password, macIterations: macIterations)
                let read = try ClientIdentity(pkcs12: file, password: Array((password ?? "").utf8))
                #expect(read.certificates.map(\.derBytes) == [client.leaf.derBytes])
            }
        }
    }

    @Test(
        "CS5: an excessive iteration count is rejected before the first iteration",
        arguments: [
            TestPKCS12.macced(iterations: 1 << 31), TestPKCS12.encryptedSafe(iterations: 1 << 31),
            TestPKCS12.file(bags: [TestPKCS12.shroudedKeyBag(iterations: 1 << 31)]),
            TestPKCS12.macced(iterations: 10_000_001), TestPKCS12.macced(iterations: 1 << 62),
        ])
    func bombs(file: [UInt8]) throws {
        let error = try failure { try ClientIdentity(pkcs12: file, password: Array("x".utf8)) }
        guard case .tooManyIterations = error else {
            Issue.record("\(error)")
            return
        }
    }

    @Test("CS5: one limit applies to the iterations of a PKCS #12 file in total")
    func iterationsTogether() throws {
        let client = try Client()
        let secret = Array("secret".utf8)
        // The MAC, the certificates and the key.
        let file = try TestPKCS12.file(client.leaf, password: "secret", iterations: 100, macIterations: 50)
        #expect(try PKCS12Contents(file, password: secret, iterations: 250).keys.count == 1)
        for limit: UInt64 in [49, 149, 249] {
            #expect(throws: ProtectedKeyError.tooManyIterations(limit == 49 ? 50 : 100)) {
                try PKCS12Contents(file, password: secret, iterations: limit)
            }
        }
    }

    @Test(
        "CS5: an encrypted key with too many iterations or too much scrypt work is rejected before the first",
        arguments: [
            TestPKCS12.encryptedKey(iterations: 1 << 31), TestPKCS12.encryptedKey(iterations: 10_000_001),
            TestPKCS12.encryptedKeyOfDES(iterations: 1 << 31),
            TestPKCS12.encryptedKey(scryptCost: 1 << 14, blockSize: 8, parallelization: 1 << 14),
            TestPKCS12.encryptedKey(scryptCost: 1 << 40, blockSize: 1 << 40, parallelization: 1),
        ])
    func keyBombs(key: [UInt8]) throws {
        let pem = try Client().certificates + TestPEM.block("ENCRYPTED PRIVATE KEY", key)
        let error = try failure { try identity(pem, "x") }
        guard case .tooManyIterations(_, limit: 10_000_000) = error else {
            Issue.record("\(error)")
            return
        }
        #expect("\(error)".hasSuffix("encrypt it again with fewer"))
    }

    @Test("Many encrypted keys in one text are rejected without decrypting each of them")
    func manyKeys() throws {
        let client = try Client()
        let key = try client.leaf.key.encryptedPrivateKeyPEM(passphrase: "secret")
        let bomb = TestPEM.block("ENCRYPTED PRIVATE KEY", TestPKCS12.encryptedKey(iterations: 10_000_000))
        let pem = client.certificates + key + String(repeating: bomb, count: 3000)
        #expect(try failure { try identity(pem, "secret") } == .severalPrivateKeys)
    }

    @Test("A key encrypted with a cipher that OpenSSL doesn't provide isn't reported as a wrong password")
    func unsupported() throws {
        let client = try Client()
        let key = TestPEM.block("ENCRYPTED PRIVATE KEY", TestPKCS12.encryptedKeyOfDES(iterations: 1))
        let old = try client.leaf.key.encryptedTraditionalPEM(passphrase: "x").replacing("AES-256-CBC", with: "RC2-CBC")
        for key in [key, old] {
            let error = try failure { try identity(client.certificates + key, "x") }
            guard case .unusable = error else {
                Issue.record("\(error)")
                return
            }
        }
    }

    @Test("Malformed blocks are reported with their line, and malformed or oversized files are rejected")
    func malformed() throws {
        let client = try Client()
        let key = try client.leaf.key.privateKeyPEM
        func line(_ pem: String, _ password: String? = nil) throws -> Int? {
            guard case .malformed(let line, _) = try failure({ try identity(pem, password) }) else { return -1 }
            return line
        }
        #expect(try line("") == nil)
        #expect(try line("a\nb\n" + client.leaf.pemText.replacing("M", with: "?")) == 3)
        #expect(try line(key + TestPEM.block("CERTIFICATE", [0x30, 0])) == 6)
        #expect(try line(client.leaf.pemText + TestPEM.block("ENCRYPTED PRIVATE KEY", [0x30, 0]), "x") != -1)
        guard case .unusable = try failure({ try identity(key.replacing("MIG", with: "MIH")) }) else {
            Issue.record("a broken key was read")
            return
        }
        for bytes in [[], [0x30], client.leaf.derBytes, [UInt8](repeating: 0x30, count: 1000)] {
            guard case .malformed(nil, _) = try failure({ try ClientIdentity(pkcs12: bytes, password: []) }) else {
                Issue.record("\(bytes.prefix(8)) was read")
                return
            }
        }
        let large = [UInt8](repeating: 0x0A, count: 1 << 20 | 1)
        #expect(try failure { try ClientIdentity(pem: large) } == .tooLarge(limit: 1 << 20))
        #expect(try failure { try ClientIdentity(pkcs12: large, password: []) } == .tooLarge(limit: 1 << 20))
        #expect(
            try failure { try ClientIdentity(certificates: [], privateKey: large) } == .tooLarge(limit: 1 << 20))
    }

    @Test("An identity matches the names of the CAs that issued any of its certificates")
    func issuers() throws {
        let client = try Client()
        let read = try identity(client.leaf.pemText + client.intermediate.pemText + client.leaf.key.privateKeyPEM)
        let root = client.root.subject.derBytes
        let intermediate = client.intermediate.subject.derBytes
        let leaf = client.leaf.subject.derBytes
        let spelledOtherwise = TestName(.init("2.5.4.3", "client  ROOT", tag: 0x13)).derBytes
        for (names, isMatch) in [
            ([], true), ([root], true), ([intermediate], true), ([leaf], false), ([leaf, root], true),
            ([spelledOtherwise], true), ([TestName("Other").derBytes], false), ([[]], false), ([[0x30]], false),
        ] {
            #expect(read.matches(issuers: names) == isMatch, "\(names)")
        }
    }

    @Test("CS2: descriptions and dumps show only the subject and the fingerprint")
    func descriptions() throws {
        let client = try Client()
        let read = try identity(client.certificates + client.leaf.key.privateKeyPEM)
        #expect(read.description == "ClientIdentity(CN=client.test, \(read.certificates[0].fingerprint))")
        var dumped = ""
        dump(read, to: &dumped)
        #expect(dumped == "- \(read) #0\n")
    }
}

@Suite struct ClientIdentityFileTests {
    private let client: Client
    private let directory: TestDirectory
    private let pem: String

    init() throws {
        client = try Client()
        directory = try TestDirectory()
        pem = client.certificates + (try client.leaf.key.encryptedPrivateKeyPEM(passphrase: "secret"))
    }

    @Test("CS4: a private key file that others can read is rejected", arguments: [0o644, 0o640, 0o604, 0o601])
    func open(mode: UInt32) throws {
        let path = try directory.add(Array(pem.utf8), mode: mode)
        let error = try failure { try ClientIdentity(contentsOfFile: path, password: Array("secret".utf8)) }
        #expect(error == .readableByOthers(path: path, permissions: mode))
        #expect(
            "\(error)".hasSuffix(
                "its permissions 0\(String(mode, radix: 8)) let other users read it: run chmod 600"))
        let certificates = try directory.add(Array(client.certificates.utf8), mode: 0o644)
        #expect(
            try failure {
                try ClientIdentity(contentsOfFile: certificates, privateKeyFile: path, password: Array("secret".utf8))
            } == error)
    }

    @Test("An identity is read from PEM, from PKCS #12 and from two files", arguments: [0o600, 0o400])
    func read(mode: UInt32) throws {
        let secret = Array("secret".utf8)
        let file = try directory.add(Array(pem.utf8), mode: mode)
        #expect(try ClientIdentity(contentsOfFile: file, password: secret).certificates.count == 3)
        let pkcs12 = try directory.add(try TestPKCS12.file(client.leaf, password: "secret"), mode: mode)
        #expect(try ClientIdentity(contentsOfFile: pkcs12, password: secret).certificates.count == 1)
        let certificates = try directory.add(Array(client.certificates.utf8), mode: 0o644)
        let key = try directory.add(Array(try client.leaf.key.privateKeyPEM.utf8), mode: mode)
        #expect(try ClientIdentity(contentsOfFile: certificates, privateKeyFile: key).certificates.count == 3)
    }

    @Test("A missing file, a directory and an oversized file are reported with the path")
    func unreadable() throws {
        let large = try directory.add([UInt8](repeating: 0x0A, count: 1 << 20 | 1), mode: 0o600)
        for path in [directory.path + "/none", directory.path, large] {
            let error = try failure { try ClientIdentity(contentsOfFile: path) }
            guard case .unreadable(path, _) = error else {
                Issue.record("\(error)")
                return
            }
        }
    }
}
