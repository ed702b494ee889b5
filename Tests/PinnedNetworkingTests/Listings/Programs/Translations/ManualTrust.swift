import PinnedNetworking

// What "Performing Manual Server Trust Authentication" describes: one host's key is compared with the one in the
// bundle.
final class ManualTrustDelegate: NSObject, URLSessionDelegate {
    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        let space = challenge.protectionSpace
        guard space.authenticationMethod == NSURLAuthenticationMethodServerTrust, space.host == "example.com" else {
            completionHandler(.performDefaultHandling, nil)
            return
        }
        guard let serverTrust = space.serverTrust else {
            completionHandler(.performDefaultHandling, nil)
            return
        }
        if checkValidity(of: serverTrust) {
            completionHandler(.useCredential, URLCredential(trust: serverTrust))
        } else {
            completionHandler(.cancelAuthenticationChallenge, nil)
        }
    }

    private func checkValidity(of trust: SecTrust) -> Bool {
        guard let file = Bundle.main.url(forResource: "example.com", withExtension: "pin"),
            let pin = try? String(contentsOf: file, encoding: .utf8), let leaf = trust.presented.certificates.first
        else { return false }
        return leaf.spkiFingerprint.description == pin
    }
}

/// Fetches `https://HOST/` through the proxy that is the test's server.
func fetchThroughProxy(_ host: String) async throws -> (Data, URLResponse) {
    guard let url = URL(string: "https://\(host)/"), let proxy = Site.url, let port = proxy.port else {
        throw URLError(.badURL)
    }
    let configuration = URLSessionConfiguration.default
    let name = try ServerName(proxy.host(percentEncoded: false) ?? "")
    configuration.proxyConfigurations = [ProxyConfiguration(httpCONNECTProxy: name, port: UInt16(port))]
    let session = URLSession(configuration: configuration, delegate: ManualTrustDelegate(), delegateQueue: nil)
    return try await session.data(from: url)
}
