import FoundationEssentials
import PinctlBasics
import PinctlTestPKI
import Testing

@testable import CertificateTrust

/// A leaf, and everything that decides whether it is compliant with Certificate Transparency. By default, it is valid
/// for 180 days, and evaluated on 2026-07-01 with a list of 2026-06-15.
struct TransparencyClaim {
    /// Two logs of two operators, and a third one of the first operator. All are usable.
    var logs: [TestLog]
    var published = "2026-06-15T12:00:00Z"
    /// The identifiers of logs whose private keys are public.
    var mimics: Set<[UInt8]> = []
    var leaf: TestCertificate
    var issuer: TestCertificate
    var root: TestCertificate
    var handshake: [UInt8]?
    var staple: [UInt8]?
    var mode = CertificateTransparencyMode.require
    var time = "2026-07-01T00:00:00Z"

    /// 2026-05-31, and 180 days later with the last second included.
    static let start: Int64 = 1_780_185_600
    static let shortEnd = start + 180 * 86_400 - 1

    static func shorten(_ settings: inout TestCertificate.Settings) {
        (settings.notBefore, settings.notAfter) = (start, shortEnd)
    }

    /// Creates a claim whose leaf has timestamps of the first two logs, unless `leaf` makes another one.
    init(leaf makeLeaf: (TestCertificate, [TestLog]) throws -> TestCertificate = { try Self.good($0, $1) }) throws {
        let logs = [
            try TestLog("A1", owner: "A"), try TestLog("B1", owner: "B"), try TestLog("A2", owner: "A"),
        ]
        root = try .root("Root")
        issuer = try root.intermediate("Issuer")
        self.logs = logs
        leaf = try makeLeaf(issuer, logs)
    }

    static func good(_ issuer: TestCertificate, _ logs: [TestLog]) throws -> TestCertificate {
        try issuer.leaf(TestSite.host, loggedBy: Array(logs.prefix(2)), adjusting: shorten)
    }

    /// Returns a leaf without timestamps.
    static func silent(_ issuer: TestCertificate, _ logs: [TestLog]) throws -> TestCertificate {
        try issuer.leaf(TestSite.host, adjusting: shorten)
    }

    var list: TransparencyLogList {
        get throws {
            let json = Array(try TestLog.listJSON(logs, published: published).utf8)
            return try TransparencyLogList(json: json, path: "logs.json", mimics: mimics)
        }
    }

    var date: Date { get throws { try #require(Date(rfc3339: time)) } }

    func trust() throws -> ServerTrust {
        var policy = TrustPolicy.default
        policy.certificateTransparency = mode
        return ServerTrust(
            presented: try PresentedChain(derCertificates: [leaf.derBytes, issuer.derBytes]),
            name: try ServerName(TestSite.host),
            store: TrustStore(certificates: [try X509Certificate(derBytes: root.derBytes)]), policy: policy,
            revocation: RevocationEvidence(stapledOCSP: staple),
            transparency: TransparencyEvidence(logs: logs.isEmpty ? nil : try list, handshakeTimestamps: handshake))
    }

    /// Returns `accepted`, or the rule and the detail up to the remedy.
    func verdict() throws -> String {
        let (trust, date) = (try trust(), try date)
        do throws(TrustFinding) {
            _ = try trust.evaluate(at: date)
            return "accepted"
        } catch {
            return "\(error.rule): \(error.detail.prefix { $0 != ":" })"
        }
    }

    /// Returns the status of every timestamp, in order.
    func statuses() throws -> [CheckedTimestamp.Status] {
        let check = TimestampCheck(
            of: try X509Certificate(derBytes: leaf.derBytes), try trust().transparency, stapledOCSP: staple,
            at: try date)
        return check.timestamps(issuer: try X509Certificate(derBytes: issuer.derBytes)).map(\.status)
    }
}
