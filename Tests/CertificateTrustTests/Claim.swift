import CertificateTrust
import FoundationEssentials
import PinctlTestPKI
import Testing

/// A claim over minted certificates. By default, it is evaluated in the middle of their validity.
struct Claim {
    var leaf: TestCertificate
    var presented: [TestCertificate] = []
    var anchors: [TestCertificate]
    /// The requested name. `nil` for a chain that is evaluated without a name.
    var name: String? = "api.example.test"
    var time: Int64 = 1_800_000_000
    var policy = TrustPolicy.default
    var revocation = RevocationEvidence.none

    func trust() throws -> ServerTrust {
        ServerTrust(
            presented: try chain(), name: try ServerName(name ?? ""), store: try store(), policy: policy,
            revocation: revocation)
    }

    private func chain() throws -> PresentedChain {
        try PresentedChain(derCertificates: [leaf.derBytes] + presented.map(\.derBytes))
    }

    private func store() throws -> TrustStore {
        TrustStore(certificates: try anchors.map { try X509Certificate(derBytes: $0.derBytes) })
    }

    private var date: Date { Date(timeIntervalSince1970: Double(time)) }

    /// Returns the path that is accepted, or `nil` if `accepting` rejects all valid paths.
    func evaluate(accepting: (VerifiedPath) -> Bool = { _ in true }) throws -> [[UInt8]]? {
        try trust().evaluate(at: date, accepting: accepting)?.certificates.map(\.derBytes)
    }

    /// Returns the finding that rejects the claim, or `nil` if the claim is accepted.
    func finding() throws -> TrustFinding? {
        do {
            if name == nil {
                _ = try ChainTrust(presented: try chain(), store: try store(), policy: policy).evaluate(at: date)
            } else {
                _ = try #require(try evaluate())
            }
            return nil
        } catch let finding as TrustFinding {
            return finding
        }
    }

    /// Returns the identifier of the rule that rejects the claim, or `accepted`.
    func verdict() throws -> String { try finding()?.rule.rawValue ?? "accepted" }
}
