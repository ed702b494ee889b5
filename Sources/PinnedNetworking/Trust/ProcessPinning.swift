import CertificateTrust
import PinctlBasics

/// A policy for every session of the process, also for those that its dependencies create.
///
///     let pinning = try ProcessPinning.adopt(PinningPolicy(contentsOfFile: "pins/pins.jsonc"))
///
/// Call it once, at the start of the program. From then on, a server of any session has to satisfy this policy and, if
/// the session has pins of its own, those too. This includes ``URLSession/shared``, sessions that already exist,
/// proxies over TLS, and connections that are open.
///
/// Only this object can replace the policy, or give a configuration another one in its place. No code can create a
/// second one. So keep it private, or drop it if the policy never changes. See <doc:PinTheProcess>.
public final class ProcessPinning: Sendable {
    fileprivate struct State: Sendable {
        var policy: PinningPolicy?
        var file: String?
        var earlierSessionCount = 0
        /// The trust settings of the sessions that exist.
        var sessions: [ObjectIdentifier: SessionTrust] = [:]
    }

    private static let state = Locked(State())

    private init() {}

    // MARK: Adopting

    /// Makes a policy that of the process. When this returns, no byte of a request is sent to a server that it refuses,
    /// over no connection of any session. What was sent before, by code that ran before, isn't judged: ``Status`` has
    /// the number of sessions that already existed.
    ///
    /// Throws ``ProcessPinningError/alreadyAdopted`` if the process has a policy. It stays.
    @discardableResult
    public static func adopt(_ policy: PinningPolicy) throws(ProcessPinningError) -> ProcessPinning {
        try adopt(policy, file: nil)
    }

    /// Makes the policy in the file that `PINCTL_POLICY` names that of the process. See ``adopt(_:)``.
    ///
    /// The variable has no effect without this call, and is read only here. Throws a ``ProcessPinningError`` if it
    /// isn't set or empty, also in a set-user-ID program, and if the file can't be read as a policy. Nothing is adopted
    /// then: end the program.
    @discardableResult
    public static func adoptFromEnvironment() throws(ProcessPinningError) -> ProcessPinning {
        // mutant process-environment: "" for `processEnvironment["PINCTL_POLICY"] ?? ""` by
        //   ProcessPinningTests/environment
        let path = processEnvironment["PINCTL_POLICY"] ?? ""
        guard !path.isEmpty else { throw .noPolicyInEnvironment }
        let policy: PinningPolicy
        do throws(PolicyFileError) {
            policy = try PinningPolicy(contentsOfFile: path)
        } catch {
            throw .policyFile(error)
        }
        return try adopt(policy, file: path)
    }

    private static func adopt(_ policy: PinningPolicy, file: String?) throws(ProcessPinningError) -> ProcessPinning {
        let status = try state.withLock { state throws(ProcessPinningError) in
            // mutant process-once: true by ProcessPinningTests/attacks
            guard state.policy == nil else { throw .alreadyAdopted }
            // mutant process-roots: {} by ProcessPinningTests/roots
            SystemTrustStore.keepEnvironment()
            state.policy = policy
            state.file = file
            state.earlierSessionCount = state.sessions.count
            state.apply()
            return state.status
        }
        NSLog("%@", "PinnedNetworking: \(status.map(\.description) ?? "")")
        return ProcessPinning()
    }

    // MARK: Changing

    /// Replaces the policy of the process, with the same effect on open connections as ``URLSession/pinning``.
    public func replace(with policy: PinningPolicy) {
        Self.state.withLock { state in
            state.policy = policy
            state.file = nil
            // mutant process-replacement: {} by ProcessPinningTests/earlier
            state.apply()
        }
    }

    /// Gives a configuration a policy in place of the process's. It applies to the sessions that are created with the
    /// configuration or a copy of it, in addition to their own pins. This is logged.
    ///
    /// It isn't part of the configuration that a session returns.
    public func override(with policy: PinningPolicy, in configuration: URLSessionConfiguration) {
        configuration.processOverride = policy
        NSLog("%@", "PinnedNetworking: a configuration has a policy in place of the process's: \(policy.summary)")
    }

    // MARK: Sessions

    /// Returns the trust settings of a new session with these settings. They have the policy of the process, whichever
    /// thread adopts or replaces it meanwhile.
    static func trust(of settings: SessionSettings) -> SessionTrust {
        var trust = settings.trust
        return state.withLock { state in
            // mutant process-new-sessions: settings.trust.process for `settings…state.policy` by ProcessPinningTests
            trust.process = settings.processOverride ?? state.policy
            let session = SessionTrust(trust, overridesProcess: settings.processOverride != nil)
            state.sessions[ObjectIdentifier(session)] = session
            return session
        }
    }

    /// Forgets the trust settings of a session that no longer exists.
    static func forget(_ session: SessionTrust) {
        _ = state.withLock { $0.sessions.removeValue(forKey: ObjectIdentifier(session)) }
    }
}

extension ProcessPinning.State {
    /// Replaces the process's policy in every session that doesn't have another one in its place.
    func apply() {
        for session in sessions.values where !session.overridesProcess {
            // mutant process-earlier-sessions: {} by ProcessPinningTests/earlier
            session.replace { $0.process = policy }
        }
    }

    var status: ProcessPinning.Status? {
        policy.map { policy in
            let overriding = sessions.values.count(where: \.overridesProcess)
            return ProcessPinning.Status(
                policy: policy, file: file, sessionCount: sessions.count - overriding,
                overridingSessionCount: overriding, earlierSessionCount: earlierSessionCount)
        }
    }
}

// MARK: Status

extension ProcessPinning {
    /// The policy of the process, and the sessions that it applies to.
    public struct Status: Sendable {
        /// The policy. Its rules have the hosts.
        public let policy: PinningPolicy
        /// The path of the file, if the policy comes from the one that `PINCTL_POLICY` names.
        public let file: String?
        /// The number of existing sessions that the policy applies to.
        public let sessionCount: Int
        /// The number of existing sessions with another policy in its place: ``ProcessPinning/override(with:in:)``.
        public let overridingSessionCount: Int
        /// The number of sessions that existed when the policy was adopted. What they sent before wasn't judged.
        public let earlierSessionCount: Int
    }

    /// The current status, or `nil` if the process has adopted no policy.
    public static var status: Status? { state.withLock { $0.status } }
}

extension ProcessPinning.Status: CustomStringConvertible {
    /// One line with the hosts and the numbers of sessions.
    public var description: String {
        func sessions(_ count: Int) -> String { count == 1 ? "1 session" : "\(count) sessions" }
        var parts = ["the policy of the process\(file.map { " (\($0))" } ?? "") applies to every session"]
        parts[0] += ": \(policy.summary)"
        if earlierSessionCount > 0 {
            parts.append("\(sessions(earlierSessionCount)) existed before: adopt the policy earlier")
        }
        if overridingSessionCount > 0 { parts.append("\(sessions(overridingSessionCount)) with another policy") }
        return parts.joined(separator: "; ")
    }
}

extension PinningPolicy {
    /// The first hosts, those that aren't enforced with their mode, and the treatment of other hosts.
    fileprivate var summary: String {
        let hosts = rules.prefix(10).map {
            "\($0.includesSubdomains ? "*." : "")\($0.host)\($0.mode == .enforce ? "" : " (\($0.mode.rawValue))")"
        }
        let more = rules.count > 10 ? ["\(rules.count - 10) more"] : []
        return (hosts + more + ["other hosts: \(unlisted.rawValue)"]).joined(separator: ", ")
    }
}

/// The reason why a policy wasn't adopted for the process.
@nonexhaustive
public enum ProcessPinningError: Error, Sendable {
    /// The process has a policy.
    case alreadyAdopted
    /// `PINCTL_POLICY` isn't set, or is empty.
    case noPolicyInEnvironment
    /// The file that `PINCTL_POLICY` names can't be read as a policy.
    case policyFile(PolicyFileError)
}

extension ProcessPinningError: LocalizedError, CustomStringConvertible {
    public var description: String {
        switch self {
        case .alreadyAdopted:
            "the process has already adopted a policy: adopt it once, at the start of the program, and replace it with "
                + "the object that the first call returned"
        case .noPolicyInEnvironment:
            "PINCTL_POLICY isn't set: set it to the path of the policy file"
        case .policyFile(let error): "PINCTL_POLICY: \(error)"
        }
    }

    /// The error's description.
    public var errorDescription: String? { description }
}
