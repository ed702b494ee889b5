import CertificateTrust
import FoundationEssentials
import TestPKI

/// A claim over minted certificates, evaluated in the middle of their validity unless told.
struct Claim {
    var leaf: TestCertificate
    var presented: [TestCertificate] = []
    var anchors: [TestCertificate]
    var name = "api.example.test"
    var time: Int64 = 1_800_000_000
    var policy = TrustPolicy.default

    func trust() throws -> ServerTrust {
        let chain = try PresentedChain(derCertificates: [leaf.derBytes] + presented.map(\.derBytes))
        let store = TrustStore(certificates: try anchors.map { try X509Certificate(derBytes: $0.derBytes) })
        return ServerTrust(presented: chain, name: try ServerName(name), store: store, policy: policy)
    }

    func evaluate(accepting: (VerifiedPath) -> Bool = { _ in true }) throws -> [[UInt8]] {
        let date = Date(timeIntervalSince1970: Double(time))
        return try trust().evaluate(at: date, accepting: accepting).certificates.map(\.derBytes)
    }

    /// The identifier of the rule that refuses the claim, or `accepted`.
    func verdict() throws -> String {
        do {
            _ = try evaluate()
            return "accepted"
        } catch TrustError.untrusted(let finding) {
            return finding.rule.rawValue
        }
    }
}
