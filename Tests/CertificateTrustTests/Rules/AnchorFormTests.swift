import CertificateTrust
import PinctlTestPKI
import Testing

/// Tests of trust anchors. An anchor is trusted by configuration, so its limits on what it may sign apply, but the form
/// of its encoding doesn't matter.
@Suite("Anchors under the strict profile")
struct AnchorFormTests {
    /// A CA certificate with one peculiarity.
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// The rule that rejects it as an intermediate.
        let rule: TrustRule
        let key: TestKey.Kind
        let adjust: @Sendable (inout TestCertificate.Settings) -> Void

        init(
            _ description: String, _ rule: TrustRule, key: TestKey.Kind = .p256,
            _ adjust: @escaping @Sendable (inout TestCertificate.Settings) -> Void
        ) {
            testDescription = description
            self.rule = rule
            self.key = key
            self.adjust = adjust
        }
    }

    static let forms: [Row] = [
        .init("serial number zero", .serialNumber) { $0.serial = [0] },
        .init("a negative serial number", .serialNumber) { $0.serial = [0xFF] },
        .init("a serial number of 21 octets", .serialNumber) { $0.serial = [UInt8](repeating: 1, count: 21) },
        .init("a GeneralizedTime before 2050", .encoding) { $0.startsWithGeneralizedTime = true },
        .init("a unique identifier", .encoding) { $0.uniqueIdentifier = [0, 1] },
        .init("name constraints that are not critical", .nameConstraints) {
            $0.extensions = [.nameConstraints(permitted: [.dns("example.test")], critical: false)]
        },
        .init("policy constraints that are not critical", .policyConstraints) {
            $0.extensions = [
                .policyConstraints(requireExplicit: 9, critical: false), .certificatePolicies(["2.5.29.32.0"]),
            ]
        },
        .init("a malformed authorityInfoAccess", .informationAccess) {
            $0.extensions = [.init("1.3.6.1.5.5.7.1.1", [0x05, 0x00])]
        },
        .init("one signature algorithm in two spellings", .signatureAlgorithm, key: .rsa2048) {
            $0.innerSignatureAlgorithm = TestDER.sequence(TestDER.objectIdentifier("1.2.840.113549.1.1.11"))
        },
    ]

    @Test(
        "The strict profile ignores the form of an anchor and rejects the same form in an intermediate",
        arguments: forms)
    func form(_ row: Row) throws {
        let root = try TestCertificate.root("Root", key: .shared(row.key), adjusting: row.adjust)
        let issuer = try root.intermediate("Intermediate")
        let anchored = Claim(
            leaf: try issuer.leaf("api.example.test"), presented: [issuer], anchors: [root], policy: .strict)
        #expect(try anchored.finding() == nil)
        let plain = try TestCertificate.root("Plain", key: .shared(row.key))
        let odd = try plain.intermediate("Odd", adjusting: row.adjust)
        var below = Claim(leaf: try odd.leaf("api.example.test"), presented: [odd], anchors: [plain], policy: .strict)
        #expect(try below.finding()?.rule == row.rule)
        #expect(try below.finding()?.depth == 1)
        // An intermediate that the caller configures as an anchor is trusted like a root.
        below.anchors = [odd]
        #expect(try below.finding() == nil)
    }

    static let limits: [Row] = [
        .init("a path length", .pathLength) { $0.pathLength = 0 },
        .init("excluded names", .nameConstraints) { $0.excludedSubtrees = [.dns("example.test")] },
        .init("excluded names, not critical", .nameConstraints) {
            $0.extensions = [.nameConstraints(excluded: [.dns("example.test")], critical: false)]
        },
        .init("another purpose", .purpose) { $0.extendedKeyUsages = [TestCertificate.ExtendedKeyUsage.clientAuth] },
        .init("no cA", .notAnAuthority) {
            $0.isAuthority = false
            $0.extensions = [.basicConstraints(isAuthority: false)]
        },
        .init("no keyCertSign", .notAnAuthority) { $0.keyUsage = .cRLSign },
        .init("an unknown critical extension", .criticalExtension) {
            $0.extensions = [.init("1.2.3.4.5", critical: true, [0x05, 0x00])]
        },
        .init("a weak key", .weakCryptography, key: .rsa(bits: 1024)) { _ in },
    ]

    @Test("Both profiles apply an anchor's limits to the certificates below it", arguments: limits)
    func limit(_ row: Row) throws {
        let root = try TestCertificate.root("Root", key: .shared(row.key), adjusting: row.adjust)
        let issuer = try root.intermediate("Intermediate")
        var claim = Claim(leaf: try issuer.leaf("api.example.test"), presented: [issuer], anchors: [root])
        for policy in [TrustPolicy.default, .strict] {
            claim.policy = policy
            #expect(try claim.finding()?.rule == row.rule)
        }
    }
}
