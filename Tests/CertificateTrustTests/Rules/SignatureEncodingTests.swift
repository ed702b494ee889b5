import PinctlTestPKI
import Testing

@testable import CertificateTrust

@Suite("The encoding of signature algorithms")
struct SignatureEncodingTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// The AlgorithmIdentifier.
        let algorithm: [UInt8]
        let isOfWebPKI: Bool
    }

    @Test(
        "Strict accepts an RSA signature only in one of the six encodings of the Baseline Requirements",
        arguments: [
            Row(testDescription: "SHA-256", algorithm: rsa(0x0B, null), isOfWebPKI: true),
            Row(testDescription: "SHA-384", algorithm: rsa(0x0C, null), isOfWebPKI: true),
            Row(testDescription: "SHA-512", algorithm: rsa(0x0D, null), isOfWebPKI: true),
            Row(testDescription: "SHA-256 without NULL", algorithm: rsa(0x0B), isOfWebPKI: false),
            Row(testDescription: "SHA-512 without NULL", algorithm: rsa(0x0D), isOfWebPKI: false),
            Row(testDescription: "PSS with SHA-256", algorithm: pss(1, salt: [32]), isOfWebPKI: true),
            Row(testDescription: "PSS with SHA-384", algorithm: pss(2, salt: [48]), isOfWebPKI: true),
            Row(testDescription: "PSS with SHA-512", algorithm: pss(3, salt: [64]), isOfWebPKI: true),
            Row(testDescription: "PSS without NULL", algorithm: pss(1, [], salt: [32]), isOfWebPKI: false),
            Row(testDescription: "PSS with an empty salt", algorithm: pss(1, salt: [0]), isOfWebPKI: false),
            Row(testDescription: "PSS with the default salt of 20", algorithm: pss(1), isOfWebPKI: false),
            Row(testDescription: "PSS with an encoded default", algorithm: pss(1, salt: [20]), isOfWebPKI: false),
            Row(testDescription: "PSS with another hash's salt", algorithm: pss(1, salt: [48]), isOfWebPKI: false),
            Row(testDescription: "PSS with a long salt", algorithm: pss(1, salt: [1, 32]), isOfWebPKI: false),
            Row(
                testDescription: "PSS with an encoded trailer",
                algorithm: pss(1, salt: [32], TestDER.constructed(3, TestDER.integer(1))), isOfWebPKI: false),
            Row(
                testDescription: "ECDSA with SHA-256",
                algorithm: TestDER.sequence(TestDER.objectIdentifier("1.2.840.10045.4.3.2")), isOfWebPKI: true),
            Row(
                testDescription: "Ed25519, whose keys another rule refuses",
                algorithm: TestDER.sequence(TestDER.objectIdentifier("1.3.101.112")), isOfWebPKI: true),
        ])
    func webPKI(_ row: Row) throws {
        let leaf = try TestCertificate.root("Root").leaf("api.example.test") {
            ($0.innerSignatureAlgorithm, $0.outerSignatureAlgorithm) = (row.algorithm, row.algorithm)
        }
        let certificate = try X509Certificate(derBytes: leaf.derBytes)
        let expected: [(TrustPolicy, TrustRule?)] = [
            (.default, nil), (.strict, row.isOfWebPKI ? nil : .signatureAlgorithm),
        ]
        for (policy, rule) in expected {
            let context = CertificateRule.Context(policy: policy, time: 1_800_000_000, name: nil, place: .leaf)
            #expect(CertificateRule.finding(certificate, depth: 0, context)?.rule == rule)
        }
    }

    private static let null: [UInt8] = [0x05, 0x00]

    private static func rsa(_ number: Int, _ parameters: [UInt8]...) -> [UInt8] {
        TestDER.sequence(TestDER.objectIdentifier("1.2.840.113549.1.1.\(number)") + parameters.joined())
    }

    /// Returns an RSASSA-PSS algorithm whose hashes have this number.
    private static func pss(
        _ hash: Int, _ hashParameters: [UInt8] = null, salt: [UInt8] = [], _ rest: [UInt8] = []
    ) -> [UInt8] {
        let algorithm = TestDER.sequence(
            TestDER.objectIdentifier("2.16.840.1.101.3.4.2.\(hash)") + hashParameters)
        let length = salt.isEmpty ? [] : TestDER.constructed(2, TestDER.integer(octets: salt))
        return rsa(
            0x0A,
            TestDER.sequence(
                TestDER.constructed(0, algorithm) + TestDER.constructed(1, rsa(0x08, algorithm)) + length + rest))
    }
}
