import CertificatePinning
import CertificateTrust
import FoundationEssentials
import PinctlTestPKI

extension TestSite {
    /// A time within the validity of every certificate that the test PKI mints by default.
    static let time = Date(timeIntervalSince1970: 1_800_000_000)

    /// Returns the claim of a server that sends these certificates, leaf first.
    static func trust(
        sent: [TestCertificate], anchors: [TestCertificate], name: String = host
    ) throws -> ServerTrust {
        ServerTrust(
            presented: try PresentedChain(derCertificates: sent.map(\.derBytes)), name: try ServerName(name),
            store: TrustStore(certificates: try anchors.map { try X509Certificate(derBytes: $0.derBytes) }))
    }

    var trust: ServerTrust { get throws { try Self.trust(sent: chain, anchors: [root]) } }

    /// The verified path: leaf, intermediate, root.
    var path: VerifiedPath { get throws { try trust.evaluate(at: Self.time) } }
}

extension TestCertificate {
    var parsed: X509Certificate { get throws { try X509Certificate(derBytes: derBytes) } }

    /// Returns a pin of this certificate's key.
    func pin(_ role: PinRole = .any, name: String? = nil) throws -> Pin {
        Pin(.publicKey(try parsed.spkiFingerprint), role: role, name: name)
    }
}

extension PinningPolicy {
    /// Creates a policy with one rule for the test server.
    init(
        pins: [Pin], requirement: PinRequirement = .any, mode: PinningMode = .enforce, expiry: PinningExpiry? = nil,
        anchors: TrustStore? = nil, pinsApplyOnlyUnder: TrustStore? = nil, deny: [Pin] = []
    ) throws {
        let rule = PinningRule(
            host: try ServerName(TestSite.host), pins: pins, requirement: requirement, mode: mode, expiry: expiry,
            anchors: anchors, pinsApplyOnlyUnder: pinsApplyOnlyUnder)
        try self.init(rules: [rule], deny: deny)
    }

    /// Returns whether a server is accepted, and the decision, as in `refused: mismatch`. A returned decision reads
    /// `accepted` and a thrown one `refused`, whatever they contain, so that an accepted mismatch doesn't look like a
    /// rejected one.
    func verdict(_ trust: ServerTrust, port: Int = 443, at time: Date = TestSite.time) -> String {
        do throws(PinningError) {
            return "accepted: \(try evaluate(trust, port: port, at: time).name)"
        } catch {
            return "refused: \(error.name)"
        }
    }

    /// Returns the decision on a path, or the refusal.
    func outcome(_ path: VerifiedPath, port: Int, at time: Date) -> Result<PinDecision, PinningError> {
        do throws(PinningError) {
            return .success(try decide(path, port: port, at: time))
        } catch {
            return .failure(error)
        }
    }
}

extension PinDecision {
    fileprivate var name: String {
        switch self {
        case .matched: "matched"
        case .unpinned: "unpinned"
        case .forgiven: "forgiven"
        case .bypassed: "bypassed"
        case .stopped: "stopped"
        }
    }
}

extension PinningError {
    fileprivate var name: String {
        switch self {
        case .denied: "denied"
        case .expired: "expired"
        case .mismatch: "mismatch"
        case .unlisted: "unlisted"
        case .untrusted: "untrusted"
        }
    }
}

extension Result<PinDecision, PinningError> {
    /// The verdict in the words of `verdict(_:port:at:)`, for a decision alone.
    var verdict: String {
        switch self {
        case .success(let decision): "accepted: \(decision.name)"
        case .failure(let error): "refused: \(error.name)"
        }
    }

    var isAccepted: Bool { if case .success = self { true } else { false } }

    var description: String {
        switch self {
        case .success(let decision): decision.description
        case .failure(let error): error.description
        }
    }

    var mismatch: PinMismatch? {
        switch self {
        case .success(.forgiven(let mismatch)), .success(.bypassed(let mismatch)), .failure(.mismatch(let mismatch)):
            mismatch
        default: nil
        }
    }

    var matches: [PinMatch]? {
        if case .success(.matched(_, let matches, _)) = self { matches } else { nil }
    }
}
