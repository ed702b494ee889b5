import CertificateTrust
import PinctlHTTPMessages
import PinctlTLSTransport

// Answers of a transfer to HTTP challenges, both those of the origin and those of a proxy.

/// The authentication of one transfer at the origin and at a proxy.
struct TransferLogins {
    enum Side { case origin, proxy }

    var origin: AuthenticationExchange?
    var proxy: AuthenticationExchange?
    /// The response that the delegates are asked about.
    var lastRefusal: HTTPURLResponse?

    subscript(side: Side) -> AuthenticationExchange? {
        get { side == .origin ? origin : proxy }
        set { if side == .origin { origin = newValue } else { proxy = newValue } }
    }
}

extension Transfer {
    /// Whether a response can be one to a login. For nearly every response it is false, and nothing has to wait.
    func mayLogIn(after head: HTTPResponseHead) -> Bool {
        isForwarded || logins.origin != nil || head.statusCode == 401
    }

    /// Passes a response to the logins. Returns true if one has an answer to it, and false if the response is the
    /// task's own. `login` is the one that the request was sent with.
    func logIn(
        _ head: HTTPResponseHead, _ response: HTTPURLResponse, _ login: (any ConnectionLogin)?
    ) async throws -> Bool {
        if isForwarded, let request = proxyRequest(isTunnel: false),
            try await proceed(.proxy, request, head, response, login)
        {
            return true
        }
        // For nearly every response there is nothing to do, and the request for a login would copy the body.
        guard logins.origin != nil || head.statusCode == 401 else { return false }
        return try await proceed(.origin, originRequest, head, response, isForwarded ? nil : login)
    }

    /// Passes the response to CONNECT to the proxy's login. Returns true if it has an answer to a refusal.
    func logIntoProxy(_ head: HTTPResponseHead, _ login: (any ConnectionLogin)?) async throws -> Bool {
        guard let request = proxyRequest(isTunnel: true) else { return false }
        let response = HTTPURLResponse(url: target.url, statusCode: head.statusCode, fields: head.fields)
        proofs = BodyProofs()
        let isAnswered = try await proceed(.proxy, request, head, response, login)
        // The tunnel starts after the header, so the body covered by a proof is empty.
        if head.statusCode / 100 == 2 { try proofs.check() }
        return isAnswered
    }

    /// Processes the challenges of a response until one is answered or none is left.
    private func proceed(
        _ side: TransferLogins.Side, _ request: AuthenticationRequest, _ head: HTTPResponseHead,
        _ response: HTTPURLResponse, _ login: (any ConnectionLogin)?
    ) async throws -> Bool {
        let isRefused = head.statusCode == request.party.statusCode
        if logins[side] == nil {
            guard isRefused else { return false }
            logins[side] = newLogin(after: request)
        }
        if let login, !isRefused { try await login.verifyServer(head) }
        logins.lastRefusal = response
        await lookUp(side, request.connectionLogins == .stored && isRefused)
        let step = logins[side]?.received(
            statusCode: head.statusCode, fields: head.fields, login: login?.progress)
        return try await proceed(side, step)
    }

    /// Continues after a step. Returns true if the request must be sent again.
    private func proceed(_ side: TransferLogins.Side, _ first: AuthenticationExchange.Step?) async throws -> Bool {
        var step = first
        while true {
            switch step {
            case nil:
                return false
            case .deliver(let outcome):
                await apply(outcome)
                return false
            case .retry:
                try await discardResponse()
                return true
            case .refused(let error):
                throw error
            case .lookUp:
                await lookUp(side, true)
                step = logins[side]?.lookedUp()
            case .ask(let question):
                try await bufferResponse()
                task.limit.progress(to: .login)
                let challenge = URLAuthenticationChallenge(
                    protectionSpace: question.space, proposedCredential: question.proposedCredential,
                    previousFailureCount: question.previousFailureCount, failureResponse: logins.lastRefusal)
                let answer = try await session.answer(to: challenge, of: task)
                // The delegate may have stored a credential.
                await lookUp(side, answer.disposition == .performDefaultHandling)
                step = logins[side]?.answered(answer)
            }
        }
    }

    /// Drops the credentials from the last lookup, and reads them again if they are needed.
    private func lookUp(_ side: TransferLogins.Side, _ isNeeded: Bool) async {
        logins[side]?.stored = nil
        guard isNeeded else { return }
        let stored = await session.storedCredentials()
        logins[side]?.stored = { stored.credential(for: $0, user: $1) }
    }

    private func apply(_ outcome: AuthenticationOutcome) async {
        if let (credential, space) = outcome.accepted { await session.keep(credential, for: space) }
        if let proof = outcome.bodyProof { proofs.add(proof) }
    }

    // MARK: Logins of connections

    /// Whether a login of a connection is in progress or required, so that ``nextTurn(on:)`` has something to do.
    var hasTurn: Bool { isForwarded ? logins.proxy?.loginTurn != nil : logins.origin?.loginTurn != nil }

    /// Returns the field to send with a request for the login of its connection.
    func nextTurn(on connection: PooledConnection) async throws -> ConnectionLoginTurn.Step {
        let side: TransferLogins.Side = isForwarded ? .proxy : .origin
        if let login = connection.login, logins[side]?.loginTurn?.isCovered(by: login) == true {
            return .loggedIn(login)
        }
        let certificate = (isForwarded ? connection.proxy : connection.origin)?.trust.presented.leaf
        let step = try await nextTurn(at: side, continuing: connection.login, certificate: certificate)
        if case .field(_, let login) = step { connection.login = login }
        return step
    }

    /// Returns the field to send for a login in progress, or for a new one. After a failed login, asks for the answer
    /// to the server's next challenge.
    func nextTurn(
        at side: TransferLogins.Side, continuing login: (any ConnectionLogin)?, certificate: X509Certificate?
    ) async throws -> ConnectionLoginTurn.Step {
        guard let turn = logins[side]?.loginTurn else { return .none }
        task.limit.progress(to: .loginMessage)
        let step = try await turn.message(continuing: login, certificate: certificate)
        if case .failed = step {
            await lookUp(side, false)
            _ = try await proceed(side, logins[side]?.cannotLogIn())
        } else {
            task.limit.progress(to: .sending)
        }
        return step
    }

    // MARK: Credentials to send

    /// Returns the origin's credentials for the current request.
    func originCredentials() -> [HTTPField] {
        prepareOriginLogin()
        return logins.origin?.field(for: originRequest).map { [$0] } ?? []
    }

    private func prepareOriginLogin() {
        guard logins.origin == nil, target.user != nil || !session.logins.isEmpty else { return }
        logins.origin = newLogin()
    }

    /// The login that the request requires of its connection, or `nil`.
    var upcomingLogin: KnownAuthentication? {
        if isForwarded, let request = proxyRequest(isTunnel: false) {
            if logins.proxy == nil { logins.proxy = newLogin() }
            return logins.proxy?.connectionLogin(for: request)
        }
        prepareOriginLogin()
        guard logins.origin != nil else { return nil }
        return logins.origin?.connectionLogin(for: originRequest)
    }

    /// Returns the proxy's credentials for the current request, or for a tunnel to its origin.
    func proxyCredentials(isTunnel: Bool) -> [HTTPField] {
        guard let request = proxyRequest(isTunnel: isTunnel) else { return [] }
        if logins.proxy == nil { logins.proxy = newLogin() }
        return logins.proxy?.field(for: request).map { [$0] } ?? []
    }

    /// The credential that a new tunnel would be requested with, or `nil`.
    var knownTunnelCredential: URLCredential? {
        guard target.needsTunnel, let request = proxyRequest(isTunnel: true) else { return nil }
        return session.logins.authentication(ahead: request)?.credential
    }

    private func newLogin(after request: AuthenticationRequest? = nil) -> AuthenticationExchange {
        AuthenticationExchange(cache: session.logins, after: request)
    }

    private var originRequest: AuthenticationRequest {
        let scheme =
            switch target.origin.scheme {
            case .https: NSURLProtectionSpaceHTTPS
            case .http: NSURLProtectionSpaceHTTP
            case .ftp: NSURLProtectionSpaceFTP
            }
        return AuthenticationRequest(
            party: .origin(target.name, port: target.port, protocol: scheme), method: target.method,
            target: isForwarded ? target.origin.description + target.path : target.path,
            body: current.request.httpBody.map { [UInt8]($0) } ?? [], user: target.user, password: target.password,
            hasOwnField: current.request.fields.contains { $0.isNamed("Authorization") },
            connectionLogins: connectionLogins)
    }

    /// The permission for connection logins. The host named by the user is that of the first request.
    private var connectionLogins: ConnectionLogins {
        guard !isForwarded else { return .refused }
        let first = task.originalRequest?.url?.absoluteURL.host(percentEncoded: false)
        return first.flatMap { try? ServerName($0) } == target.name ? .permitted : .stored
    }

    private func proxyRequest(isTunnel: Bool) -> AuthenticationRequest? {
        guard let proxy, proxy.isHTTP else { return nil }
        let type = proxy.usesTLS ? NSURLProtectionSpaceHTTPSProxy : NSURLProtectionSpaceHTTPProxy
        return AuthenticationRequest(
            party: .proxy(proxy.host, port: proxy.port, type: type), method: isTunnel ? "CONNECT" : target.method,
            target: isTunnel ? target.origin.authorityWithPort : target.origin.description + target.path,
            user: proxy.credential?.user, password: proxy.credential?.password)
    }

    /// Whether the request itself is sent to a proxy, which forwards it.
    var isForwarded: Bool { proxy?.isHTTP == true && !target.needsTunnel }
}
