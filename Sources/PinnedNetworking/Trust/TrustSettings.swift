import CertificatePinning
import CertificateTrust
import PinctlTLSTransport

/// The settings by which the servers of a session are evaluated.
///
/// They can be replaced while the session is used. An evaluation takes those that are current, and a connection is used
/// only under settings with the digest of those that approved it.
struct TrustSettings: Sendable {
    // mutant approval-policy: nil for `pinning?.digest` by PolicyChangeTests ConnectionReuseTests
    /// The pins, if any.
    var pinning: PinningPolicy? { didSet { digest = digest.changing { $0.pinning = pinning?.digest } } }
    // mutant approval-process: nil for `process?.digest` by ProcessPinningTests/replaced
    /// The policy of the process, if it adopted one. It applies in addition to the pins.
    var process: PinningPolicy? { didSet { digest = digest.changing { $0.process = process?.digest } } }
    // mutant approval-roots: nil for `store?.digest` by TrustPolicyTests/changedStore
    /// The trust anchors, or `nil` for the system's.
    var store: TrustStore? { didSet { digest = digest.changing { $0.store = store?.digest } } }
    // mutant approval-trust-policy: TrustPolicy.default for `$0.policy = policy` by TrustPolicyTests/changed
    /// The requirements for a path.
    var policy = TrustPolicy.default { didSet { digest = digest.changing { $0.policy = policy } } }
    /// The evidence about revocation.
    var revocation = RevocationEvidence.none {
        // mutant approval-revocation: [] for `revocation.digest` by TrustPolicyTests/changed
        didSet { digest = digest.changing { $0.revocation = revocation.digest } }
    }
    // mutant approval-transparency: nil for `logs?.digest` by TransparencyTests
    /// The logs of Certificate Transparency, if any.
    var logs: TransparencyLogList? { didSet { digest = digest.changing { $0.logs = logs?.digest } } }

    // A memberwise initializer would assign settings without computing the digest.
    init() {}

    /// The digest of all settings. It is computed when a setting is assigned, because stores and lists can be large.
    private(set) var digest = Digest()

    /// A value that two settings share only if they evaluate every server alike. It is only compared as a whole.
    ///
    /// A class, since each request copies it and compares it with that of its connection, which is usually the same
    /// object. The trust policy is part of it as a value, so that nothing in a policy can be left out.
    final class Digest: Sendable, Equatable {
        fileprivate struct Parts: Sendable, Hashable {
            var pinning: [UInt8]?
            var process: [UInt8]?
            var store: [UInt8]?
            var policy = TrustPolicy.default
            var revocation = RevocationEvidence.none.digest
            var logs: [UInt8]?
        }

        private let parts: Parts

        fileprivate init(_ parts: Parts = Parts()) { self.parts = parts }

        fileprivate func changing(_ change: (inout Parts) -> Void) -> Digest {
            var parts = parts
            change(&parts)
            return Digest(parts)
        }

        static func == (left: Digest, right: Digest) -> Bool { left === right || left.parts == right.parts }
    }
}

/// Trust settings of a session, with the permission to send under them.
///
/// A class, since each request takes it from its session and passes it on to its evaluations.
final class PermittingTrust: Sendable {
    let settings: TrustSettings
    let permit: SendPermit

    init(_ settings: TrustSettings, _ permit: SendPermit) {
        self.settings = settings
        self.permit = permit
    }

    /// Returns the anchors for a server: those of its rule, or those of the settings, or the system's.
    func anchors(for name: ServerName, port: Int) throws(SystemTrustStore.Unread) -> TrustStore {
        let policy = settings.pinning ?? settings.process
        guard let store = policy?.anchors(for: name, port: port) ?? settings.store else {
            return try SystemTrustStore.read()
        }
        return store
    }
}

extension TrustSettings {
    /// Returns the claim of a server that presented a chain. `timestamps` are those in its TLS extension.
    func claim(
        of name: ServerName, presenting presented: PresentedChain, timestamps: [UInt8]?, under anchors: TrustStore
    ) -> ServerTrust {
        ServerTrust(
            presented: presented, name: name, store: anchors, policy: policy, revocation: revocation,
            transparency: TransparencyEvidence(logs: logs, handshakeTimestamps: timestamps))
    }

    /// Returns the time when an acceptance must be evaluated again, because a rule that decided, a revocation list or
    /// the list of logs expires.
    func nextExpiry(under rules: [PinningRule], after now: Date) -> Date? {
        let list = policy.revocation == .ignore ? nil : revocation.nextExpiry(after: now)
        let modes = rules.compactMap(\.certificateTransparency) + [policy.certificateTransparency]
        let logs = modes.allSatisfy { $0 == .ignore } ? nil : logs.flatMap { now < $0.end ? $0.end : nil }
        return (rules.map { $0.nextExpiry(after: now) } + [list, logs]).compactMap(\.self).min()
    }
}
