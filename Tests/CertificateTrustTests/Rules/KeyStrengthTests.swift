import CertificateTrust
import PinctlTestPKI
import Testing

@Suite("The strength of keys")
struct KeyStrengthTests {
    struct Row: Sendable {
        let kind: TestKey.Kind
        /// The key as messages name it.
        let text: String
        /// The security bits (NIST SP 800-57, part 1, table 2; RFC 8032, sections 1 and 8.5).
        let bits: Int
    }

    @Test(
        "A key is accepted exactly up to its own strength (CB14)",
        arguments: [
            Row(kind: .rsa(bits: 512), text: "RSA 512", bits: 0),
            Row(kind: .rsa(bits: 1_024), text: "RSA 1024", bits: 80),
            Row(kind: .rsa(bits: 2_048), text: "RSA 2048", bits: 112),
            Row(kind: .rsa(bits: 3_072), text: "RSA 3072", bits: 128),
            Row(kind: .curve("secp224r1"), text: "EC P-224", bits: 112),
            Row(kind: .p256, text: "EC P-256", bits: 128), Row(kind: .ed25519, text: "Ed25519", bits: 128),
            Row(kind: .p384, text: "EC P-384", bits: 192), Row(kind: .ed448, text: "Ed448", bits: 224),
            Row(kind: .p521, text: "EC P-521", bits: 256),
        ])
    func bits(_ row: Row) throws {
        let root = try TestCertificate.root("Root", key: .shared(.p521))
        let leaf = try root.leaf("api.example.test", key: .shared(row.kind)) { $0.digest = .sha512 }
        var claim = Claim(leaf: leaf, anchors: [root])
        let strengths: [(TrustPolicy.Strength, bits: Int)] = [
            (.bits80, 80), (.bits112, 112), (.bits128, 128), (.bits192, 192), (.bits256, 256),
        ]
        for (strength, required) in strengths {
            claim.policy.strength = strength
            let finding = try claim.finding()
            guard row.bits < required else {
                #expect(finding == nil, "\(strength): \(finding?.detail ?? "")")
                continue
            }
            #expect(finding?.rule == .weakCryptography && finding?.depth == 0, "\(strength)")
            let detail =
                "its key is too weak (\(row.text) gives \(row.bits) bits of security, \(required) are required)"
            #expect(finding?.detail.hasPrefix(detail) == true, "\(strength): \(finding?.detail ?? "accepted")")
        }
    }
}
