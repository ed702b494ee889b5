import CertificateTrust
import PinctlTestPKI
import Testing

/// Tests of RFC 5280, section 4.2.1.4: an evaluator that can't interpret a critical certificatePolicies extension,
/// including its qualifiers, must reject the path.
@Suite("Certificate policy qualifiers")
struct PolicyQualifierTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// The qualifiers of the policy. `nil` for a policy without any.
        let qualifiers: [[UInt8]]?
        /// The verdict when the extension is critical.
        let critical: String
        /// Whether the strict profile refuses a certificate below the anchor even if the extension isn't critical.
        let isMalformed: Bool

        init(_ description: String, _ qualifiers: [[UInt8]]?, critical: String, isMalformed: Bool = false) {
            testDescription = description
            self.qualifiers = qualifiers
            self.critical = critical
            self.isMalformed = isMalformed
        }
    }

    private static func qualifier(_ identifier: String, _ value: [UInt8]) -> [UInt8] {
        TestDER.sequence(TestDER.objectIdentifier(identifier), value)
    }

    private static let statement = qualifier("1.3.6.1.5.5.7.2.1", TestDER.element(0x16, Array("http://a.test".utf8)))
    private static let notice = qualifier("1.3.6.1.5.5.7.2.2", TestDER.sequence(TestDER.utf8String("text")))
    private static let unknown = qualifier("1.2.3.4.5", TestDER.utf8String("text"))
    private static let refused = "critical-extension"

    static let rows: [Row] = [
        .init("none", nil, critical: "accepted"),
        .init("a practice statement", [statement], critical: "accepted"),
        .init("a notice", [notice], critical: "accepted"),
        .init("a practice statement and a notice", [statement, notice], critical: "accepted"),
        .init("an unknown one", [unknown], critical: refused),
        .init("an unknown one behind a known one", [statement, unknown], critical: refused),
        .init(
            "an unknown one without a value", [TestDER.sequence(TestDER.objectIdentifier("1.2.3"))], critical: refused),
        .init("one that isn't a sequence", [[0x05, 0x00]], critical: refused, isMalformed: true),
        .init("an empty list", [], critical: refused, isMalformed: true),
    ]

    @Test("An unknown qualifier in a critical extension rejects the path in both profiles", arguments: rows)
    func qualifiers(_ row: Row) throws {
        for isCritical in [true, false] {
            let policy = TestDER.sequence(
                TestDER.objectIdentifier("2.23.140.1.2.1"),
                row.qualifiers.map { TestDER.element(0x30, $0.flatMap(\.self)) } ?? [])
            let policies = TestCertificate.Extension("2.5.29.32", critical: isCritical, TestDER.sequence(policy))
            for place in 0..<3 {
                let root = try TestCertificate.root("Root") { $0.extensions = place == 2 ? [policies] : [] }
                let issuer = try root.intermediate("Intermediate") { $0.extensions = place == 1 ? [policies] : [] }
                let leaf = try issuer.leaf("api.example.test") { $0.extensions = place == 0 ? [policies] : [] }
                for profile in [TrustPolicy.default, .strict] {
                    let claim = Claim(leaf: leaf, presented: [issuer], anchors: [root], policy: profile)
                    let isRefused = row.isMalformed && profile == .strict && place < 2
                    let expected = isRefused ? "certificate-policies" : "accepted"
                    #expect(try claim.verdict() == (isCritical ? row.critical : expected))
                }
            }
        }
    }

    @Test("A policy mapping that isn't a pair of policies makes the certificate unreadable", arguments: 1...3)
    func mappings(_ count: Int) throws {
        let policies = Array(repeating: TestDER.objectIdentifier("1.2.3"), count: count).flatMap(\.self)
        let mapping = TestDER.sequence(TestDER.element(0x30, policies))
        let leaf = try TestCertificate.root("Root").leaf("api.example.test") {
            $0.extensions = [.init("2.5.29.33", critical: false, mapping)]
        }
        #expect(((try? X509Certificate(derBytes: leaf.derBytes)) != nil) == (count == 2))
    }

    @Test("The finding names the unknown qualifier")
    func message() throws {
        let root = try TestCertificate.root("Root")
        let leaf = try root.leaf("api.example.test") {
            let policy = TestDER.sequence(TestDER.objectIdentifier("1.2.3"), TestDER.sequence(Self.unknown))
            $0.extensions = [.init("2.5.29.32", critical: true, TestDER.sequence(policy))]
        }
        #expect(
            try Claim(leaf: leaf, anchors: [root]).finding()?.detail
                == "its critical certificatePolicies has the unsupported qualifier 1.2.3.4.5: reissue it without the "
                + "qualifier, or mark the extension non-critical (RFC 5280, section 4.2.1.4)")
    }
}
