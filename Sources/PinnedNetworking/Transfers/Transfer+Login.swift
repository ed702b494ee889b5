import CertificateTrust
import HTTPMessages
import TLSTransport

// Answers of a transfer to HTTP challenges, both those of the origin and those of a proxy.

extension Transfer {
    /// Passes a response to the logins. Returns true if one has an answer to it, and false if the response is the
    /// task's own.
    func logIn(_ head: HTTPResponseHead, _ response: HTTPURLResponse) async throws -> Bool {
        if isForwarded, let request = proxyRequest(isTunnel: false),
            try await proceed(\.proxyLogin, request, head, response, sentLogin)
        {
            return true
        }
        return try await proceed(\.originLogin, originRequest, head, response, isForwarded ? nil : sentLogin)
    }

    /// Passes the response to CONNECT to the proxy's login. Returns true if it has an answer to a refusal.
    func logIntoProxy(_ head: HTTPResponseHead, _ login: ConnectionLogin?) async throws -> Bool {
        guard let request = proxyRequest(isTunnel: true) else { return false }
        let response = HTTPURLResponse(url: target.url, statusCode: head.statusCode, fields: head.fields)
        bodyProofs = []
        let isAnswered = try await proceed(\.proxyLogin, request, head, response, login)
        // The tunnel starts after the header, so the body covered by a proof is empty.
        if head.statusCode / 100 == 2 { for proof in bodyProofs { try proof.check([]) } }
        return isAnswered
    }

    typealias Login = ReferenceWritableKeyPath<Transfer, AuthenticationExchange?>

    /// Processes the challenges of a response until one is answered or none is left.
    private func proceed(
        _ login: Login, _ request: AuthenticationRequest, _ head: HTTPResponseHead, _ response: HTTPURLResponse,
        _ connection: ConnectionLogin?
    ) async throws -> Bool {
        if self[keyPath: login] == nil {
            guard head.statusCode == request.party.statusCode else { return false }
            self[keyPath: login] = newLogin(after: request)
        }
        if let connection, head.statusCode != request.party.statusCode {
            try await check(connection, request, head)
        }
        lastRefusal = response
        let mayNeedStored = request.connectionLogins == .stored && head.statusCode == request.party.statusCode
        await lookUp(login, mayNeedStored)
        let step = self[keyPath: login]?.received(
            statusCode: head.statusCode, fields: head.fields, login: connection?.progress)
        return try await proceed(login, step)
    }

    /// Continues after a step. Returns true if the request must be sent again.
    func proceed(_ login: Login, _ first: AuthenticationExchange.Step?) async throws -> Bool {
        var step = first
        while true {
            switch step {
            case nil:
                return false
            case .deliver(let outcome):
                await note(outcome)
                return false
            case .retry:
                try await discardBody()
                return true
            case .refused(let error):
                throw error
            case .lookUp:
                await lookUp(login, true)
                step = self[keyPath: login]?.lookedUp()
            case .ask(let question):
                try await holdBody()
                task.limit.progress(to: .login)
                let challenge = URLAuthenticationChallenge(
                    protectionSpace: question.space, proposedCredential: question.proposedCredential,
                    previousFailureCount: question.previousFailureCount, failureResponse: lastRefusal)
                let answer = try await session.answer(to: challenge, of: task)
                // The delegate may have stored a credential.
                await lookUp(login, answer.disposition == .performDefaultHandling)
                step = self[keyPath: login]?.answered(answer)
            }
        }
    }

    /// Drops the credentials from the last lookup, and reads them again if they are needed.
    func lookUp(_ login: Login, _ isNeeded: Bool) async {
        self[keyPath: login]?.stored = nil
        guard isNeeded else { return }
        let stored = await session.storedCredentials()
        self[keyPath: login]?.stored = { stored.credential(for: $0, user: $1) }
    }

    private func note(_ outcome: AuthenticationOutcome) async {
        if let (credential, space) = outcome.accepted { await session.keep(credential, for: space) }
        if let proof = outcome.bodyProof { bodyProofs.append(proof) }
    }

    // MARK: Credentials to send

    /// Returns the origin's credentials for the current request.
    func originCredentials() -> [HTTPField] {
        prepareOriginLogin()
        return originLogin?.field(for: originRequest).map { [$0] } ?? []
    }

    private func prepareOriginLogin() {
        guard originLogin == nil, target.user != nil || !session.logins.isEmpty else { return }
        originLogin = newLogin()
    }

    /// The login that the request requires of its connection, or `nil`.
    var upcomingLogin: KnownAuthentication? {
        if isForwarded, let request = proxyRequest(isTunnel: false) {
            if proxyLogin == nil { proxyLogin = newLogin() }
            return proxyLogin?.connectionLogin(for: request)
        }
        prepareOriginLogin()
        return originLogin?.connectionLogin(for: originRequest)
    }

    /// Returns the proxy's credentials for the current request, or for a tunnel to its origin.
    func proxyCredentials(isTunnel: Bool) -> [HTTPField] {
        guard let request = proxyRequest(isTunnel: isTunnel) else { return [] }
        if proxyLogin == nil { proxyLogin = newLogin() }
        return proxyLogin?.field(for: request).map { [$0] } ?? []
    }

    /// The credential that a new tunnel would be requested with, or `nil`.
    var knownTunnelCredential: URLCredential? {
        guard target.origin.scheme == .https, let request = proxyRequest(isTunnel: true) else { return nil }
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
            body: request.httpBody.map { [UInt8]($0) } ?? [], user: target.user, password: target.password,
            hasOwnField: request.fields.contains { $0.isNamed("Authorization") }, connectionLogins: connectionLogins)
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
    var isForwarded: Bool { proxy?.isHTTP == true && target.origin.scheme != .https }
}
