/// What becomes of a server after the delegates were asked about it. The other outcome is a ``ServerTrustRefusal``.
enum ServerTrustVerdict {
    /// Verified, and accepted by the policy where there is one.
    case verified(VerifiedPath, PinDecision)
    /// Not verified; a delegate accepted it, and no pins hold for the host.
    case acceptedByDelegate(PinningError)

    /// Judges a presented chain: what the delegates answered can only narrow what the policy says.
    ///
    /// The one widening there is: an untrusted chain that a delegate accepts for a host without pins.
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
            let accepted = try Self.evaluate(trust, port, policy, time)
            self = .verified(accepted.path, accepted.decision)
        } catch {
            guard isAcceptedByDelegate, case .untrusted = error,
                policy?.leavesToDelegate(trust, port: port) ?? true
            else { throw .refused(error, trust.name, port: port) }
            self = .acceptedByDelegate(error)
        }
    }

    private static func evaluate(
        _ trust: ServerTrust, _ port: Int, _ policy: PinningPolicy?, _ time: Date
    ) throws(PinningError) -> (path: VerifiedPath, decision: PinDecision) {
        if let policy {
            let accepted = try policy.evaluate(trust, port: port, at: time)
            return (accepted.path, accepted.decision)
        }
        do throws(TrustError) {
            return (try trust.evaluate(at: time), .unpinned(nil))
        } catch {
            throw .untrusted(error)
        }
    }
}

extension PinningPolicy {
    /// Whether an untrusted chain is a delegate's to accept: no pins hold for the host, and no key of it is denied.
    fileprivate func leavesToDelegate(_ trust: ServerTrust, port: Int) -> Bool {
        isUnpinned(trust.name, port: port) && deniedPin(among: trust.presented.certificates) == nil
    }

    /// Whether no pins hold for a host, so that its chain is a delegate's to judge: no rule where unlisted hosts are
    /// trusted, or a rule that is off. A rule that has stopped pinning still wants a chain that verifies.
    func isUnpinned(_ name: ServerName, port: Int) -> Bool {
        guard let rule = rule(for: name, port: port) else { return unlisted == .trust }
        return rule.mode == .off
    }
}

/// Why no request goes to a server.
enum ServerTrustRefusal: Error {
    /// A delegate cancelled the request.
    case cancelled
    /// A delegate rejected the protection space.
    case rejected(ServerName)
    /// A delegate answered with no credential, with one of another kind, or with the trust of another challenge.
    case foreignCredential(ServerName)
    /// The chain is not trusted, or the policy refuses it; with what may be behind it.
    case refused(PinningError, ServerName, port: Int, PinDiagnosis? = nil)
}

extension ServerTrustRefusal {
    /// The same with what may be behind pins that do not match: the chain as it was sent is looked at for it.
    func explained(_ trust: ServerTrust, by policy: PinningPolicy?) -> ServerTrustRefusal {
        guard let policy, case .refused(.mismatch(let mismatch), let name, let port, nil) = self else { return self }
        let diagnosis = PinDiagnosis(of: trust, port: port, by: policy, at: Date())
        return .refused(.mismatch(mismatch), name, port: port, diagnosis)
    }
}

extension ServerTrustRefusal: CustomStringConvertible {
    var description: String {
        switch self {
        case .cancelled: "a delegate cancelled the server trust challenge: look in the delegate for why"
        case .rejected(let name): "a delegate rejected \(name): look in the delegate for why"
        case .foreignCredential(let name):
            "a delegate answered the server trust challenge of \(name) with something else than its own trust: answer "
                + ".performDefaultHandling to methods that you do not mean, and URLCredential(trust:) of "
                + "protectionSpace.serverTrust to accept the server"
        case .refused(.untrusted(let error), let name, let port, _): "\(name) port \(port) is not trusted: \(error)"
        case .refused(let error, _, _, let diagnosis):
            ([error.description] + (diagnosis?.causes.map(\.description) ?? [])).joined(separator: "\n")
        }
    }
}

/// No request goes to a proxy, and none through it.
struct ProxyTrustRefusal: Error, CustomStringConvertible {
    let name: ServerName
    let port: UInt16
    let refusal: ServerTrustRefusal

    var description: String { "the proxy \(name) port \(port) was refused: \(refusal)" }
}
