import OpenSSLBridge
import PinctlTestPKI
import Testing

@testable import CertificateTrust

/// Tests of ML-DSA (FIPS 204, RFC 9881) and SLH-DSA (FIPS 205, RFC 9909), which OpenSSL supports since 3.5.
@Suite("Post-quantum keys and signatures")
struct PostQuantumTests {
    private static let canVerify = OpenSSLLibrary.verifies("ML-DSA-44")

    private static func algorithm(_ arc: Int) -> [UInt8] {
        TestDER.sequence(TestDER.objectIdentifier("2.16.840.1.101.3.4.3.\(arc)"))
    }

    private static func publicKey(_ arc: Int) -> [UInt8] {
        TestDER.sequence(algorithm(arc), TestDER.bitString([UInt8](repeating: 0x5A, count: 1_312)))
    }

    @Test(
        "Post-quantum keys are named by their algorithm and pinned by their bytes",
        arguments: [
            (17, "ML-DSA-44"), (18, "ML-DSA-65"), (19, "ML-DSA-87"), (20, "SLH-DSA-SHA2-128s"),
            (21, "SLH-DSA-SHA2-128f"), (22, "SLH-DSA-SHA2-192s"), (23, "SLH-DSA-SHA2-192f"),
            (24, "SLH-DSA-SHA2-256s"), (25, "SLH-DSA-SHA2-256f"), (26, "SLH-DSA-SHAKE-128s"),
            (27, "SLH-DSA-SHAKE-128f"), (28, "SLH-DSA-SHAKE-192s"), (29, "SLH-DSA-SHAKE-192f"),
            (30, "SLH-DSA-SHAKE-256s"), (31, "SLH-DSA-SHAKE-256f"), (32, "HashML-DSA-44"), (34, "HashML-DSA-87"),
            (35, "HashSLH-DSA-SHA2-128s"), (46, "HashSLH-DSA-SHAKE-256f"), (16, "key 2.16.840.1.101.3.4.3.16"),
            (47, "key 2.16.840.1.101.3.4.3.47"),
        ])
    func names(arc: Int, name: String) throws {
        let key = try SubjectPublicKeyInfo(derBytes: Self.publicKey(arc))
        #expect(key.keyKind.description == name)
        #expect(key.fingerprint == SPKIFingerprint(hashing: Self.publicKey(arc).span))
        let leaf = try TestCertificate.root("Root").leaf("api.example.test") {
            $0.subjectPublicKeyInfo = Self.publicKey(arc)
        }
        let parsed = try X509Certificate(derBytes: leaf.derBytes)
        #expect(parsed.spkiFingerprint == key.fingerprint)
        #expect(parsed.subjectPublicKeyInfo.keyKind.description == name)
    }

    @Test("Algorithm parameters make a post-quantum key malformed")
    func parameters() throws {
        let algorithm = TestDER.sequence(TestDER.objectIdentifier("2.16.840.1.101.3.4.3.17"), [0x05, 0x00])
        let key = try SubjectPublicKeyInfo(derBytes: TestDER.sequence(algorithm, TestDER.bitString([1, 2, 3])))
        #expect(key.keyKind == .malformed)
    }

    /// Chains with a key or a signature that has only the identifier of the algorithm.
    private static func chains(_ arc: Int) throws -> [(depth: Int, what: String, claim: Claim)] {
        let root = try TestCertificate.root("Root")
        let quantumRoot = try TestCertificate.root("Root") { $0.subjectPublicKeyInfo = publicKey(arc) }
        let authority = try root.intermediate("Intermediate") { $0.subjectPublicKeyInfo = publicKey(arc) }
        return [
            (
                0, "key is",
                Claim(
                    leaf: try root.leaf("api.example.test") { $0.subjectPublicKeyInfo = publicKey(arc) },
                    anchors: [root])
            ),
            (1, "key is", Claim(leaf: try authority.leaf("api.example.test"), presented: [authority], anchors: [root])),
            (1, "key is", Claim(leaf: try quantumRoot.leaf("api.example.test"), anchors: [quantumRoot])),
            (
                0, "signature algorithm is",
                Claim(
                    leaf: try root.leaf("api.example.test") {
                        $0.innerSignatureAlgorithm = algorithm(arc)
                        $0.outerSignatureAlgorithm = algorithm(arc)
                    }, anchors: [root])
            ),
        ]
    }

    @Test(
        "Post-quantum chains that OpenSSL cannot verify are rejected, naming the algorithm and OpenSSL version",
        .enabled(if: !canVerify, "this OpenSSL verifies ML-DSA"),
        arguments: [(17, "ML-DSA-44"), (26, "SLH-DSA-SHAKE-128s")])
    func unsupported(arc: Int, name: String) throws {
        for policy in [TrustPolicy.default, .strict] {
            for (depth, what, claim) in try Self.chains(arc) {
                var claim = claim
                claim.policy = policy
                let finding = try claim.finding()
                #expect(finding?.rule == .weakCryptography)
                #expect(finding?.depth == depth)
                #expect(
                    finding?.detail.hasPrefix(
                        "its \(what) \(name), which OpenSSL \(OpenSSLLibrary.version) cannot verify: "
                            + "use OpenSSL 3.5 or later (") == true, "\(finding?.detail ?? "accepted")")
            }
        }
    }

    @Test("The variants for hashes aren't accepted in certificates, with any OpenSSL")
    func hashVariants() throws {
        for (depth, what, claim) in try Self.chains(32) {
            let finding = try claim.finding()
            #expect(finding?.rule == .weakCryptography)
            #expect(finding?.depth == depth)
            #expect(
                finding?.detail.hasPrefix(
                    "its \(what) HashML-DSA-44, which OpenSSL cannot verify: reissue it with ML-DSA-44 (") == true,
                "\(finding?.detail ?? "accepted")")
        }
    }

    @Test(
        "Where OpenSSL verifies ML-DSA, the default profile accepts it and the strict profile rejects it",
        .enabled(if: canVerify, "OpenSSL 3.5 or later is needed"), arguments: ["ML-DSA-44", "ML-DSA-65", "ML-DSA-87"])
    func supported(name: String) throws {
        let key = try TestKey.shared(.postQuantum(name))
        let root = try TestCertificate.root("Root", key: key)
        let issuer = try root.intermediate("Intermediate", key: .shared(.postQuantum(name)))
        let leaf = try issuer.leaf("api.example.test", key: key)
        var claim = Claim(leaf: leaf, presented: [issuer], anchors: [root])
        #expect(try claim.finding() == nil)
        claim.policy.strength = .bits256
        #expect(try claim.verdict() == (name == "ML-DSA-87" ? "accepted" : "weak-cryptography"))
        claim.policy = .strict
        #expect(try claim.verdict() == "web-key")
        let forged = try TestCertificate.root("Root").leaf("api.example.test", key: key)
        #expect(try Claim(leaf: forged, anchors: [root]).verdict() != "accepted")
    }

    @Test("OpenSSL is asked at run time which algorithms it verifies")
    func probe() {
        #expect(OpenSSLLibrary.verifies("ED25519"))
        #expect(!OpenSSLLibrary.verifies("no such algorithm"))
        #expect(OpenSSLVersion.loaded.split(separator: ".").count == 3)
    }

    @Test("OpenSSL is refused if its major version isn't that of the headers")
    func incompatible() throws {
        // The loaded library is that of the headers, as far as its major version goes.
        #expect(OpenSSLVersion.problem == nil)
        let major = try #require(UInt(OpenSSLVersion.loaded.prefix { $0 != "." }))
        #expect(OpenSSLLibrary.incompatibility(of: major << 28, "x") == nil)
        #expect(OpenSSLLibrary.incompatibility(of: major << 28 | 0xFFF_FFFF, "x") == nil)
        for other in [major - 1, major + 1] {
            let found = OpenSSLLibrary.incompatibility(of: other << 28, "9.8.7")
            #expect(
                found?.reason.hasPrefix("OpenSSL 9.8.7 was loaded, but this program was built for OpenSSL \(major)")
                    == true)
        }
    }
}
