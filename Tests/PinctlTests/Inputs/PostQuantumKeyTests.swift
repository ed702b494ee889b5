import FoundationEssentials
import PinctlCommands
import PinctlTestPKI
import Testing

/// Keys that OpenSSL 3.0 can't read: a pin is a digest of bytes and doesn't need OpenSSL.
@Suite("pinctl with post-quantum keys")
struct PostQuantumKeyTests {
    private static let isSupported = (try? TestKey(.postQuantum("ML-DSA-65"))) != nil

    let directory: TestDirectory
    let root: TestCertificate
    let leaf: TestCertificate
    let publicKey: [UInt8]
    let pin: String

    init() throws {
        directory = try TestDirectory()
        let algorithm = TestDER.sequence(TestDER.objectIdentifier("2.16.840.1.101.3.4.3.18"))
        let publicKey = TestDER.sequence(algorithm, TestDER.bitString([UInt8](repeating: 0x5A, count: 1_952)))
        root = try TestCertificate.root("Test Root")
        leaf = try root.leaf("api.test") { $0.subjectPublicKeyInfo = publicKey }
        self.publicKey = publicKey
        let digest = try TestCommand.run(["openssl", "dgst", "-sha256", "-binary", directory.add(publicKey)]).output
        pin = "sha256/" + Data(digest).base64EncodedString()
    }

    @Test("hash prints the pin and names the algorithm, in every format that contains the key as it is")
    func hash() async throws {
        let inputs = [
            try directory.add(leaf.pemText), try directory.add(leaf.derBytes), try directory.add(publicKey),
            try directory.add(TestPEM.block("PUBLIC KEY", publicKey)),
        ]
        for input in inputs {
            let run = await pinctl("hash", input)
            #expect(run.output == pin + "\n")
            #expect(run.errors == "")
            #expect(run.status == 0)
            #expect(await pinctl("hash", "-l", input).output.contains("  ML-DSA-65"))
        }
    }

    @Test("show names the algorithm")
    func show() async throws {
        let run = await pinctl("show", try directory.add(leaf.pemText))
        #expect(run.output.contains(pin))
        #expect(run.output.contains("ML-DSA-65"))
        #expect(run.status == 0)
    }

    @Test("lint doesn't report a post-quantum key as weak")
    func lint() async throws {
        _ = try directory.add(leaf.pemText, name: "next.pem")
        let policy = try directory.add(
            """
            { "version": 1, "domains": [ { "host": "api.test", "pins": [
            { "pin": "\(pin)", "from": "next.pem" },
            { "pin": "\(unknownPin)", "backup": true } ] } ] }
            """, name: "pins.jsonc")
        let run = await pinctl("lint", policy)
        #expect(run.status == 0)
        #expect(run.output == "1 linted: errors 0, warnings 0\n", "\(run.output)\(run.errors)")
    }

    @Test(
        "verify names the OpenSSL version that is required", .enabled(if: !isSupported, "this OpenSSL verifies ML-DSA"))
    func verify() async throws {
        let run = await pinctl(
            "verify", try directory.add(leaf.pemText), "--host", "api.test", "--ca-file",
            try directory.add(root.pemText))
        #expect(run.output.contains("[weak-cryptography]"))
        #expect(run.output.contains("its key is ML-DSA-65, which OpenSSL "))
        #expect(run.output.contains("use OpenSSL 3.5 or later"))
        #expect(!run.output.contains("P-256"))
        #expect(run.status == 4)
    }

    @Test(
        "A private key that OpenSSL can't read is named, with the alternatives",
        .enabled(if: !isSupported, "this OpenSSL reads ML-DSA"))
    func privateKey() async throws {
        let algorithm = TestDER.sequence(TestDER.objectIdentifier("2.16.840.1.101.3.4.3.18"))
        let seed = TestDER.octetString(TestDER.primitive(0, [UInt8](repeating: 1, count: 32)))
        let key = TestPEM.block("PRIVATE KEY", TestDER.sequence(TestDER.integer(0), algorithm, seed))
        let run = await pinctl("hash", try directory.add(key))
        #expect(run.output == "")
        #expect(
            run.errors.contains(
                "is a private key of ML-DSA-65, which this OpenSSL cannot read: "
                    + "provide its public key or certificate, or use OpenSSL 3.5 or later"))
        #expect(run.status == 2)
    }
}

/// Certificates with ML-DSA keys and signatures (RFC 9881), minted by OpenSSL and served over TLS 1.3.
@Suite(
    "pinctl with servers that have ML-DSA keys",
    .enabled(
        if: (try? TestKey(.postQuantum("ML-DSA-65"))) != nil, "OpenSSL 3.5 or later is needed for ML-DSA keys")
)
struct PostQuantumServerTests {
    private struct Site {
        let directory: TestDirectory
        let root: TestCertificate
        let leaf: TestCertificate
        let chain: [TestCertificate]
        let rootFile: String

        init(_ name: String) throws {
            directory = try TestDirectory()
            root = try TestCertificate.root("Test Root", key: TestKey(.postQuantum(name)))
            let issuer = try root.intermediate("Test Intermediate", key: TestKey(.postQuantum(name)))
            leaf = try issuer.leaf("api.test", key: TestKey(.postQuantum(name)))
            chain = [leaf, issuer]
            rootFile = try directory.add(root.pemText, name: "root.pem")
        }
    }

    private static let names = ["ML-DSA-44", "ML-DSA-65", "ML-DSA-87"]

    @Test("check accepts the pinned key of a server, and no other", arguments: names)
    func check(name: String) async throws {
        let site = try Site(name)
        try await LoopbackServer(chain: site.chain).run { server in
            for certificate in site.chain + [site.root] {
                let run = await pinctl(
                    "check", "--ca-file", site.rootFile, "--pin", try certificate.key.pin, server.target())
                #expect(run.status == 0, "\(run)")
            }
            let other = await pinctl(
                "check", "--ca-file", site.rootFile, "--pin", try TestKey(.postQuantum(name)).pin, server.target())
            #expect(other.status == 1 && other.output.contains("pin"), "\(other)")
            let unknown = try site.directory.add(try TestCertificate.root("Test Root").pemText)
            let untrusted = await pinctl(
                "check", "--ca-file", unknown, "--pin", try site.leaf.key.pin, server.target())
            #expect(untrusted.status == 4, "\(untrusted)")
            let group = await pinctl(
                "check", "--ca-file", site.rootFile, "--require-group", "X25519MLKEM768", "--pin",
                try site.leaf.key.pin, server.target())
            #expect(group.status == 0, "\(group)")
            let shown = await pinctl("show", "--ca-file", site.rootFile, server.target())
            #expect(shown.status == 0 && shown.output.contains(name), "\(shown)")
            #expect(shown.output.contains(try site.leaf.key.pin) && shown.output.contains("X25519MLKEM768"))
        }
    }

    @Test("verify accepts the chain, and rejects it if a byte of a signature is changed", arguments: names)
    func verify(name: String) async throws {
        let site = try Site(name)
        func verify(_ leaf: [UInt8]) async throws -> Run {
            let chain = TestPEM.block("CERTIFICATE", leaf) + site.chain[1].pemText
            return await pinctl(
                "verify", try site.directory.add(chain), "--host", "api.test", "--ca-file", site.rootFile)
        }
        #expect(try await verify(site.leaf.derBytes).status == 0)
        var changed = site.leaf.derBytes
        changed[changed.count - 9] ^= 1
        let run = try await verify(changed)
        #expect(run.status == 4 && run.output.contains("[bad-signature]"), "\(run)")
    }

    @Test("The private key, the public key, the request and the certificate have one pin", arguments: names)
    func hash(name: String) async throws {
        let site = try Site(name)
        let pin = try site.leaf.key.pin
        let key = try site.directory.add(site.leaf.key.privateKeyPEM, name: "key.pem")
        let made = try await shell(
            "openssl req -new -key key.pem -subj /CN=api.test -out request.pem && openssl pkey -in key.pem -pubout "
                + "-out public.pem", in: site.directory)
        #expect(made.status == 0, "\(made.errors)")
        for file in [
            key, site.directory.path + "/request.pem", site.directory.path + "/public.pem",
            try site.directory.add(site.leaf.pemText),
        ] {
            let run = await pinctl("hash", "--long", file)
            #expect(run.output.contains(pin) && run.output.contains(name), "\(run)")
        }
    }

    @Test("plan and lint use the keys like any others", arguments: names)
    func plan(name: String) async throws {
        let site = try Site(name)
        let chain = try site.directory.add(site.chain.map(\.pemText).joined(), name: "chain.pem")
        let policy = try site.directory.add(
            """
            { "version": 1, "domains": [ { "host": "api.test", "pins": [
            { "pin": "\(try site.leaf.key.pin)", "role": "leaf", "from": "chain.pem" },
            { "pin": "\(try TestKey(.postQuantum(name)).pin)", "role": "leaf", "backup": true } ] } ] }
            """, name: "pins.jsonc")
        let lint = await pinctl("lint", policy)
        #expect(lint.status == 0 && lint.output.hasPrefix("1 linted: errors 0"), "\(lint)")
        let kept = await pinctl("plan", "--ca-file", site.rootFile, "--new", chain, "--against", policy)
        #expect(kept.status == 0 && kept.output.contains("survives"), "\(kept)")
        let other = try Site(name)
        let new = try site.directory.add(other.chain.map(\.pemText).joined())
        let broken = await pinctl("plan", "--ca-file", other.rootFile, "--new", new, "--against", policy)
        #expect(broken.status == 1 && broken.output.contains("BREAKS"), "\(broken)")
    }
}
