import FoundationEssentials
import PinctlTestPKI
import Testing

@testable import CertificateTrust

/// A path and its revocation evidence. By default, it is evaluated in the middle of the validity of both.
struct RevocationClaim {
    /// The path, leaf first and anchor last.
    var path: [TestCertificate]
    var lists: [[UInt8]] = []
    /// Certificates that may have signed lists.
    var certificates: [TestCertificate] = []
    var staple: [UInt8]?
    var mode = RevocationMode.use
    var time: Int64 = 1_800_000_000

    func evaluation() throws -> TrustEvaluation.Result {
        let chain = try PresentedChain(derCertificates: path.prefix(max(1, path.count - 1)).map(\.derBytes))
        let store = TrustStore(certificates: try path.suffix(1).map { try X509Certificate(derBytes: $0.derBytes) })
        let evidence = RevocationEvidence(
            lists: try lists.map { try CertificateRevocationList(derBytes: $0) },
            certificates: try certificates.map { try X509Certificate(derBytes: $0.derBytes) }, stapledOCSP: staple)
        var policy = TrustPolicy.default
        policy.revocation = mode
        let trust = ServerTrust(
            presented: chain, name: try ServerName("api.example.test"), store: store, policy: policy,
            revocation: evidence)
        return trust.evaluation(at: Date(timeIntervalSince1970: Double(time)))
    }

    /// Returns `accepted`, or the identifier of the rule that rejects, with the depth if that isn't the leaf.
    func verdict() throws -> String {
        let result = try evaluation()
        if result.accepted != nil { return "accepted" }
        let depth = result.finding.depth ?? -1
        return result.finding.rule.rawValue + (depth == 0 ? "" : " at \(depth)")
    }
}

/// A table row with the available lists and the verdicts of both modes.
struct RevocationRow: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let use: String
    let require: String
    let lists: @Sendable (TestSite) throws -> [[UInt8]]

    init(
        _ sentence: String, use: String = "accepted", require: String? = nil,
        _ lists: @escaping @Sendable (TestSite) throws -> [[UInt8]]
    ) {
        testDescription = sentence
        self.use = use
        self.require = require ?? use
        self.lists = lists
    }
}

extension TestSite {
    /// Unix seconds around the validity limits of PinctlTestPKI's lists and responses, and the verdicts at those times.
    static let boundaries: [(Int64, String)] = [
        (1_798_999_999, "revocation-stale"), (1_799_000_000, "accepted"), (1_801_000_000, "accepted"),
        (1_801_000_001, "revocation-stale"),
    ]

    /// A certificate of another CA below the root. Its key is always the same.
    var other: TestCertificate { get throws { try root.intermediate("Other", key: .shared(.p256)) } }

    var path: [TestCertificate] { chain + [root] }

    /// Returns the claim with these lists. The root's list reports the intermediate as good.
    func claim(_ lists: [[UInt8]], _ mode: RevocationMode = .use) throws -> RevocationClaim {
        RevocationClaim(path: path, lists: lists + [try root.revocationList()], mode: mode)
    }
}
