extension PinningPolicy {
    /// Returns this policy's answer to a challenge, for use in your own delegate.
    ///
    ///     func urlSession(
    ///         _ session: URLSession, didReceive challenge: URLAuthenticationChallenge
    ///     ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
    ///         policy.respond(to: challenge)
    ///     }
    ///
    /// A server is accepted if its verified path has the required pins. Any other server with a rule is rejected, and
    /// the log has the reason. The request then fails with `URLError.serverCertificateUntrusted`, since programs often
    /// ignore `.cancelled` silently. Hosts without a rule, and challenges other than server trust, get default
    /// handling. There is always an answer. Prefer ``URLSessionConfiguration/pinning``, which needs no delegate and
    /// which no answer can weaken.
    public func respond(
        to challenge: URLAuthenticationChallenge
    ) -> (disposition: URLSession.AuthChallengeDisposition, credential: URLCredential?) {
        let space = challenge.protectionSpace
        guard space.authenticationMethod == NSURLAuthenticationMethodServerTrust else {
            return (.performDefaultHandling, nil)
        }
        guard let trust = space.serverTrust else { return (.rejectProtectionSpace, nil) }
        let isUnpinned = isUnpinned(trust.name, port: space.port)
        if isUnpinned, deny.isEmpty { return (.performDefaultHandling, nil) }
        do throws(PinningError) {
            let decision = try evaluate(trust, port: space.port, at: Date())
            decision.log()
            return isUnpinned ? (.performDefaultHandling, nil) : (.useCredential, URLCredential(trust: trust))
        } catch .untrusted where isUnpinned && deniedPin(among: trust.presented.certificates) == nil {
            return (.performDefaultHandling, nil)
        } catch {
            NSLog("%@", "PinnedNetworking: \(error)")
            return (.rejectProtectionSpace, nil)
        }
    }
}

extension PinningPolicy {
    /// Whether a delegate may accept an untrusted chain: no pins apply to the host, and none of its keys is denied.
    func leavesToDelegate(_ trust: ServerTrust, port: Int) -> Bool {
        isUnpinned(trust.name, port: port) && deniedPin(among: trust.presented.certificates) == nil
            && rule(for: trust.name, port: port)?.certificateTransparency != .require
    }

    /// Whether no pins apply to a host, so that a delegate may evaluate its chain: there is no rule and unlisted hosts
    /// are trusted, or the rule is off. A rule that has stopped pinning still requires a trusted chain.
    func isUnpinned(_ name: ServerName, port: Int) -> Bool {
        guard let rule = rule(for: name, port: port) else { return unlisted == .trust }
        // mutant unpinned-only: true by ServerTrustChallengeTests PinnedRequestTests VerdictTests
        return rule.mode == .off
    }
}
