/// A decision about a server, for ``URLSessionConfiguration/serverTrustObserver``.
public struct ServerTrustDecision: Sendable {
    /// The result and the reason.
    @nonexhaustive
    public enum Outcome: Sendable {
        /// The server was verified, and accepted by the policy if there is one. `.forgiven` is a mismatch in report
        /// mode.
        case accepted(AcceptedPath)
        /// The server wasn't verified, with this reason. A delegate accepted it, and no pins apply to the host.
        case acceptedByDelegate(PinningError)
        /// The server was refused, with the reason. The error is `nil` if a delegate refused.
        case refused(PinningError?, reason: String)
    }

    /// The kind of connection.
    public enum Connection: Sendable, Hashable {
        /// A full TLS handshake.
        case new
        /// A handshake that resumed a session. The stored chain was evaluated again.
        case resumed
        /// A connection that an earlier request left open. The decision about it is still valid.
        case reused
    }

    /// The name that was verified.
    public let host: ServerName
    /// The server's TCP port.
    public let port: Int
    /// Whether the server is a proxy.
    public let isProxy: Bool
    /// The kind of connection.
    public let connection: Connection
    /// The task that needed the server. See ``URLSessionTask/taskIdentifier``.
    public let taskIdentifier: Int
    /// The result and the reason.
    public let outcome: Outcome
}

extension ServerTrustDecision.Outcome {
    /// Evaluates a presented chain. The delegates' answer can only restrict what the policy accepts, with one
    /// exception: an untrusted chain that a delegate accepts for a host without pins.
    init(
        _ trust: ServerTrust, port: Int, answer: ChallengeAnswer, policy: PinningPolicy?, at time: Date
    ) throws(ServerTrustRefusal) {
        var isAcceptedByDelegate = false
        switch answer.disposition {
        case .performDefaultHandling: break
        case .cancelAuthenticationChallenge: throw .cancelled
        case .rejectProtectionSpace: throw .rejected(trust.name)
        case .useCredential:
            guard case .trust(let accepted)? = answer.credential?.kind, accepted === trust else {
                throw .foreignCredential(trust.name)
            }
            isAcceptedByDelegate = true
        }
        do throws(PinningError) {
            self = .accepted(try Self.evaluate(trust, port, policy, time))
        } catch {
            guard isAcceptedByDelegate, case .untrusted = error,
                policy?.leavesToDelegate(trust, port: port) ?? true
            else { throw .refused(error, trust.name, port: port) }
            self = .acceptedByDelegate(error)
        }
    }

    private static func evaluate(
        _ trust: ServerTrust, _ port: Int, _ policy: PinningPolicy?, _ time: Date
    ) throws(PinningError) -> AcceptedPath {
        if let policy { return try policy.evaluate(trust, port: port, at: time) }
        do throws(TrustFinding) {
            return AcceptedPath(path: try trust.evaluate(at: time), decision: .unpinned(nil))
        } catch {
            throw .untrusted(error)
        }
    }

    init(_ refusal: ServerTrustRefusal) {
        self = .refused(refusal.pinningError, reason: refusal.description)
    }

    /// The verified path and the policy's reason to accept it. `nil` if a delegate accepted the server, and for
    /// refusals.
    var acceptedPath: AcceptedPath? {
        if case .accepted(let path) = self { path } else { nil }
    }
}

extension PinningPolicy {
    /// Whether a delegate may accept an untrusted chain: no pins apply to the host, and none of its keys is denied.
    fileprivate func leavesToDelegate(_ trust: ServerTrust, port: Int) -> Bool {
        isUnpinned(trust.name, port: port) && deniedPin(among: trust.presented.certificates) == nil
    }

    /// Whether no pins apply to a host, so that a delegate may evaluate its chain: there is no rule and unlisted hosts
    /// are trusted, or the rule is off. A rule that has stopped pinning still requires a trusted chain.
    func isUnpinned(_ name: ServerName, port: Int) -> Bool {
        guard let rule = rule(for: name, port: port) else { return unlisted == .trust }
        return rule.mode == .off
    }
}

extension ServerTrustDecision: CustomStringConvertible {
    /// The server and the result, such as `api.example.com port 443 (new): accepted: …`.
    public var description: String {
        let result =
            switch outcome {
            case .accepted(let accepted): "accepted: \(accepted.decision)"
            case .acceptedByDelegate(let error): "accepted by a delegate, not trusted: \(error)"
            case .refused(_, let reason): "refused: \(reason)"
            }
        return "\(isProxy ? "proxy " : "")\(host) port \(port) (\(connection)): \(result)"
    }
}
