import CertificatePinning
import CertificateTrust

/// The owner of a policy, for the texts of refusals.
enum PolicyOwner: Hashable, Sendable {
    case session, process

    /// A noun phrase for the pins, which a plural verb follows.
    var pins: String { self == .session ? "pins" : "pins of the process" }
}

/// One of the policies that a server of a session has to satisfy.
struct AppliedPolicy {
    let policy: PinningPolicy
    let owner: PolicyOwner
    /// Whether the session has anchors of its own, which the policy's owner didn't choose.
    fileprivate let isUnderOtherAnchors: Bool

    /// Verifies the chain and compares the pins: `PinningPolicy.evaluate`.
    ///
    /// The process's rules bypass pins only for anchors that their owner or the operating system has. Otherwise any
    /// library could switch its pins off with a trust store of its own.
    func evaluate(_ trust: ServerTrust, port: Int, at time: Date) throws(PinningError) -> PinDecision {
        let decision = try policy.evaluate(trust, port: port, at: time)
        guard isUnderOtherAnchors, case .bypassed(let mismatch) = decision,
            // mutant process-bypass: false by ProcessPinningTests/bypass
            policy.anchors(for: trust.name, port: port) == nil
        else { return decision }
        throw .mismatch(mismatch)
    }

    /// Returns the reason to refuse a server. It names the process, unless the chain would be refused without it too.
    func refusal(_ error: PinningError, _ name: ServerName, port: Int) -> ServerTrustRefusal {
        let refusal = ServerTrustRefusal.refused(error, name, port: port)
        if case .untrusted = error, policy.rule(for: name, port: port) == nil { return refusal }
        return owner == .process ? .refusedByProcess(refusal) : refusal
    }
}

extension TrustSettings {
    /// The policies that a server has to satisfy, all of them. Without any, a policy that only verifies.
    var policies: [AppliedPolicy] {
        let own = pinning.map { AppliedPolicy(policy: $0, owner: .session, isUnderOtherAnchors: false) }
        // mutant process-policy: nil for `process` by ProcessPinningTests
        guard let policy = process else { return [own ?? Self.unpinned] }
        let isUnderOtherAnchors = store != nil || pinning?.hasAnchors == true
        let first = AppliedPolicy(policy: policy, owner: .process, isUnderOtherAnchors: isUnderOtherAnchors)
        // mutant process-adds: [first] for `[first, own].compactMap(\.self)` by ProcessPinningTests/addition
        return [first, own].compactMap(\.self)
    }

    private static let unpinned = AppliedPolicy(policy: .unpinned, owner: .session, isUnderOtherAnchors: false)

    /// Whether the session or the process has pins.
    // mutant process-classes: pinning != nil for `pinning != nil || process != nil` by ProcessPinningTests/ways
    var isPinned: Bool { pinning != nil || process != nil }

    /// Returns the owner of a policy that doesn't allow cleartext to a host, or `nil` if it is allowed.
    func ownerForbiddingCleartext(to name: ServerName) -> PolicyOwner? {
        // mutant process-cleartext: false for 2 by ProcessPinningTests/ways
        if let process, !process.permitsCleartext(to: name) { return .process }
        if let pinning, !pinning.permitsCleartext(to: name) { return .session }
        return nil
    }

    /// Whether a delegate may accept an untrusted chain: no policy pins the host or denies one of its keys.
    func leavesToDelegate(_ trust: ServerTrust, port: Int) -> Bool {
        // mutant process-delegate: true for `$0.policy…(trust, port: port)` by ProcessPinningTests/ways
        policies.allSatisfy { $0.policy.leavesToDelegate(trust, port: port) }
    }
}
