extension PinningPolicy {
    /// The answer of this policy to a challenge, for a delegate of your own.
    ///
    ///     func urlSession(
    ///         _ session: URLSession, didReceive challenge: URLAuthenticationChallenge
    ///     ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
    ///         policy.respond(to: challenge)
    ///     }
    ///
    /// A server whose verified path has its pins is accepted. Any other server with a rule is rejected and the log says
    /// why: the request ends with `URLError.serverCertificateUntrusted`, since programs pass over `.cancelled` in silence.
    /// Hosts without a rule and challenges other than server trust are left to default handling. There is always an
    /// answer. Prefer ``URLSessionConfiguration/pinning``, which needs no delegate and which no answer can loosen.
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
            let decision = try evaluate(trust, port: space.port, at: Date()).decision
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
