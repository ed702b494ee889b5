import CertificateTrust
import PinctlTestPKI
import Testing

@Suite("Authority key identifiers under the strict profile")
struct AuthorityKeyIdentifierTests {
    /// A self-issued intermediate: the CA's new key, certified by its old one.
    private static func rollover(hasIdentifier: Bool) throws -> Claim {
        let old = try TestCertificate.root("Root")
        let new = try old.intermediate("Root") { $0.hasAuthorityKeyIdentifier = hasIdentifier }
        return Claim(leaf: try new.leaf("api.example.test"), presented: [new], anchors: [old])
    }

    /// A root that another root cross-signed, as an intermediate or as the anchor.
    private static func crossSigned(hasIdentifier: Bool, isAnchor: Bool) throws -> Claim {
        let other = try TestCertificate.root("Other")
        let root = try TestCertificate.root("Root")
        let cross = try other.crossSign(root) { $0.hasAuthorityKeyIdentifier = hasIdentifier }
        return Claim(
            leaf: try root.leaf("api.example.test"), presented: isAnchor ? [] : [cross],
            anchors: [isAnchor ? cross : other])
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// The verdict of the default profile on the chain without the identifier.
        let usual: String
        let chain: @Sendable (_ hasIdentifier: Bool) throws -> Claim
    }

    static let rows = [
        // OpenSSL treats the intermediate as self-signed because nothing in it says otherwise.
        Row(testDescription: "a self-issued intermediate", usual: "bad-signature") { try rollover(hasIdentifier: $0) },
        Row(testDescription: "a cross-signed root as an intermediate", usual: "accepted") {
            try crossSigned(hasIdentifier: $0, isAnchor: false)
        },
    ]

    @Test("The strict profile rejects an intermediate without an authority key identifier", arguments: rows)
    func missing(_ row: Row) throws {
        var claim = try row.chain(false)
        #expect(try claim.verdict() == row.usual)
        claim.policy = .strict
        let finding = try claim.finding()
        #expect(finding?.rule == .authorityKeyIdentifier)
        #expect(finding?.depth == 1)
        for policy in [TrustPolicy.default, .strict] {
            claim = try row.chain(true)
            claim.policy = policy
            #expect(try claim.verdict() == "accepted")
        }
    }

    @Test("The strict profile accepts an anchor without an authority key identifier, self-signed or not")
    func anchor() throws {
        let root = try TestCertificate.root("Root")
        var claim = Claim(leaf: try root.leaf("api.example.test"), anchors: [root], policy: .strict)
        #expect(try claim.verdict() == "accepted")
        claim = try Self.crossSigned(hasIdentifier: false, isAnchor: true)
        claim.policy = .strict
        #expect(try claim.verdict() == "accepted")
    }
}
