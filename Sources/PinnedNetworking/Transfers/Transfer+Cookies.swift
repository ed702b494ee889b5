import PinctlHTTPMessages

// Cookies of a transfer: those that a request carries, and those that a response sets.

extension Transfer {
    /// The current request for a cookie storage. Nil if the program wants no cookies, or for FTP.
    private var cookieRequest: CookieRequest? {
        guard current.request.httpShouldHandleCookies else { return nil }
        return CookieRequest(target, mainDocument: current.request.mainDocumentURL)
    }

    /// Returns the `Cookie` field of the current request on this connection, or nil if there is none to add.
    func cookieField(on connection: PooledConnection) async -> HTTPField? {
        guard let storage = session.settings.cookieStorage, session.settings.sendsCookies, connection.carriesCookies,
            let request = cookieRequest
        else { return nil }
        let cookies = await storage.cookiesToSend(with: request)
        return cookies.isEmpty ? nil : HTTPCookie.field(with: cookies)
    }

    /// Stores the cookies of a response to the current request.
    func storeCookies(of head: HTTPResponseHead, from connection: PooledConnection) async {
        guard let storage = session.settings.cookieStorage, let request = cookieRequest else { return }
        // The proxy's own response, not one of the server.
        // mutant cookie-proxy: true by CookieSessionTests
        guard !(isForwarded && head.statusCode == 407) else { return }
        let fields = head.fields.filter { $0.isNamed("Set-Cookie") }.map(\.bytes)
        guard !fields.isEmpty else { return }
        guard connection.carriesCookies else {
            if !connection.isReused {
                NSLog(
                    "%@",
                    "PinnedNetworking ignores cookies of \(target.name), whose chain only a delegate accepted: "
                        + "add its CA to the configuration's trustStore")
            }
            return
        }
        await storage.store(fields, from: request, session.settings.cookieAcceptPolicy)
    }
}

extension PooledConnection {
    // mutant cookie-untrusted: true for `origin.map { $0.path != nil } ?? true` by CookieSessionTests
    /// Whether the connection takes part in cookies. It doesn't if a delegate accepted the server's untrusted chain:
    /// its certificate doesn't prove that it is the server that set the cookies, or that will get them back.
    fileprivate var carriesCookies: Bool { origin.map { $0.path != nil } ?? true }
}
