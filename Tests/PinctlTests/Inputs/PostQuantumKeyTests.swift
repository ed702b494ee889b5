import FoundationEssentials
import PinctlCommands
import TestPKI
import Testing

/// Keys that OpenSSL 3.0 can't read: a pin is a digest of bytes and doesn't need OpenSSL.
@Suite("pinctl with post-quantum keys")
struct PostQuantumKeyTests {
    private static let isSupported = (try? TestKey(.postQuantum("ML-DSA-65"))) != nil

    let folder: TestFolder
    let root: TestCertificate
    let leaf: TestCertificate
    let publicKey: [UInt8]
    let pin: String

    init() throws {
        folder = try TestFolder()
        let algorithm = TestDER.sequence(TestDER.objectIdentifier("2.16.840.1.101.3.4.3.18"))
        let publicKey = TestDER.sequence(algorithm, TestDER.bitString([UInt8](repeating: 0x5A, count: 1_952)))
        root = try TestCertificate.root("Test Root")
        leaf = try root.leaf("api.test") { $0.subjectPublicKeyInfo = publicKey }
        self.publicKey = publicKey
        let digest = try TestCommand.run(["openssl", "dgst", "-sha256", "-binary", folder.add(publicKey)]).output
        pin = "sha256/" + Data(digest).base64EncodedString()
    }

    @Test("hash prints the pin and names the algorithm, in every format that contains the key as it is")
    func hash() async throws {
        let inputs = [
            try folder.add(leaf.pemText), try folder.add(leaf.derBytes), try folder.add(publicKey),
            try folder.add(TestPEM.block("PUBLIC KEY", publicKey)),
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
        let run = await pinctl("show", try folder.add(leaf.pemText))
        #expect(run.output.contains(pin))
        #expect(run.output.contains("ML-DSA-65"))
        #expect(run.status == 0)
    }

    @Test("lint doesn't report a post-quantum key as weak")
    func lint() async throws {
        _ = try folder.add(leaf.pemText, name: "next.pem")
        let policy = try folder.add(
            """
            { "version": 1, "domains": [ { "host": "api.test", "pins": [
            { "pin": "\(pin)", "from": "next.pem" },
            { "pin": "\(strangePin)", "backup": true } ] } ] }
            """, name: "pins.jsonc")
        let run = await pinctl("lint", policy)
        #expect(run.status == 0)
        #expect(run.output == "1 linted: errors 0, warnings 0\n", "\(run.output)\(run.errors)")
    }

    @Test(
        "verify names the OpenSSL version that is required", .enabled(if: !isSupported, "this OpenSSL verifies ML-DSA"))
    func verify() async throws {
        let run = await pinctl(
            "verify", try folder.add(leaf.pemText), "--host", "api.test", "--ca-file", try folder.add(root.pemText))
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
        let run = await pinctl("hash", try folder.add(key))
        #expect(run.output == "")
        #expect(
            run.errors.contains(
                "is a private key of ML-DSA-65, which this OpenSSL cannot read: "
                    + "provide its public key or certificate, or use OpenSSL 3.5 or later"))
        #expect(run.status == 2)
    }
}
