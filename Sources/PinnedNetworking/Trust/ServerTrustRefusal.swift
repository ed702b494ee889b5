/// The reason why no request is sent to a server.
indirect enum ServerTrustRefusal: Error {
    /// A delegate cancelled the request.
    case cancelled
    /// A delegate rejected the protection space.
    case rejected(ServerName)
    /// A delegate answered without a credential, with one of another kind, or with the trust of another challenge.
    case foreignCredential(ServerName)
    /// The chain isn't trusted, or the policy refuses it, with possible causes.
    case refused(PinningError, ServerName, port: Int, causes: [PinFailureCause] = [])
    /// The policy of the process refuses it.
    case refusedByProcess(ServerTrustRefusal)
    /// A proxy was refused.
    case proxyRefused(ServerName, port: Int, ServerTrustRefusal)
}

extension ServerTrustRefusal {
    /// Returns the same refusal with the possible causes of a pin mismatch. They are determined from the chain that the
    /// server sent.
    func explained(_ trust: ServerTrust, by settings: TrustSettings, at time: Date) -> ServerTrustRefusal {
        func explained(_ refusal: ServerTrustRefusal, by policy: PinningPolicy?) -> ServerTrustRefusal {
            guard case .refused(.mismatch(let mismatch), let name, let port, _) = refusal else { return refusal }
            let causes = policy?.failureCauses(for: trust, port: port, at: time) ?? []
            return .refused(.mismatch(mismatch), name, port: port, causes: causes)
        }
        guard case .refusedByProcess(let refusal) = self else { return explained(self, by: settings.pinning) }
        return .refusedByProcess(explained(refusal, by: settings.process))
    }

    /// The same refusal, whose text for a mismatch is the first line alone.
    var summarized: ServerTrustRefusal {
        switch self {
        case .refused(let error, let name, let port, let causes):
            .refused(error.summarized(true), name, port: port, causes: causes)
        case .refusedByProcess(let refusal): .refusedByProcess(refusal.summarized)
        case .proxyRefused(let name, let port, let refusal): .proxyRefused(name, port: port, refusal.summarized)
        case .cancelled, .rejected, .foreignCredential: self
        }
    }

    /// The reason of the evaluation. `nil` if a delegate refused.
    var pinningError: PinningError? {
        switch self {
        case .refused(let error, _, _, _): error
        case .refusedByProcess(let refusal), .proxyRefused(_, _, let refusal): refusal.pinningError
        case .cancelled, .rejected, .foreignCredential: nil
        }
    }
}

extension ServerTrustRefusal: CustomStringConvertible {
    var description: String {
        switch self {
        case .cancelled: "a delegate cancelled the server trust challenge: check the delegate for the reason"
        case .rejected(let name): "a delegate rejected \(name): check the delegate for the reason"
        case .foreignCredential(let name):
            "a delegate answered the server trust challenge of \(name) with a credential that isn't its own trust: "
                + "answer .performDefaultHandling to methods that you don't handle, and URLCredential(trust:) of "
                + "protectionSpace.serverTrust to accept the server"
        case .refused(.untrusted(let finding), let name, let port, _): "\(name) port \(port) is not trusted: \(finding)"
        case .refused(.mismatch(let mismatch), _, _, _) where mismatch.isSummarized: mismatch.description
        case .refused(.mismatch(let mismatch), _, _, let causes):
            ([causes.contains(where: \.explainsMismatch) ? mismatch.facts : mismatch.description]
                + causes.map(\.description)).joined(separator: "\n")
        case .refused(let error, _, _, _): error.description
        case .refusedByProcess(let refusal): "refused by the policy of the process: \(refusal)"
        case .proxyRefused(let name, let port, let refusal): "the proxy \(name) port \(port) was refused: \(refusal)"
        }
    }
}
