import CertificateTrust
import PinctlHTTPMessages
import PinctlTLSTransport

// Connections for a transfer that are approved for its request.

extension Transfer {
    /// The proxy for the target's host, or `nil`.
    var proxy: ProxyConfiguration? {
        guard !session.settings.proxies.isEmpty else { return nil }
        let origin = target.origin
        return session.settings.proxies.first { $0.reaches(origin.name, port: origin.port, origin.scheme) }
    }

    var poolKey: ConnectionPool.Key {
        ConnectionPool.Key(origin: target.origin, proxy: proxy, isTunneled: proxy?.isHTTP == true && target.needsTunnel)
    }

    /// Returns a connection whose approval is valid for this request: one from an earlier request, or a new one.
    func connect(to key: ConnectionPool.Key) async throws -> PooledConnection {
        try await SystemTrustStore.whenRead { try await lease(key) }
    }

    private func lease(_ key: ConnectionPool.Key) async throws -> PooledConnection {
        if let held = takeHeld(for: key) {
            let evaluators = try? ServerEvaluators(key, for: task, of: session)
            // mutant login-expired: true for 3 by PolicyChangeTests/expiredDuringLogin
            if let evaluators, evaluators.matches(held), held.isValid(at: Date()) {
                held.permit = evaluators.permit
                return held
            }
            close(held)
        }
        // The connections that used another identity than this task's delegates select.
        var foreign: [PooledConnection] = []
        while true {
            var current: ServerEvaluators?
            let lease = try await session.pool.lease(key) {
                // Uses the settings that are current after the wait.
                let evaluators = try ServerEvaluators(key, for: task, of: session)
                current = evaluators
                let isApproved = approved(by: evaluators)
                return { connection in isApproved(connection) && !foreign.contains { $0 === connection } }
            }
            guard let evaluators = current else { throw CancellationError() }
            switch lease {
            case .reuse(let connection):
                connection.permit = evaluators.permit
                do {
                    if try await reevaluate(connection, evaluators) { return connection }
                } catch {
                    session.pool.keep(connection, for: key)
                    throw error
                }
                foreign.append(connection)
                session.pool.keep(connection, for: key)
            case .open:
                do {
                    if let connection = try await open(key, evaluators) {
                        askedConnections.append(connection)
                        return connection
                    }
                    session.pool.close(nil, for: key)
                } catch is SupersededApproval {
                    session.pool.close(nil, for: key)
                } catch {
                    session.pool.close(nil, for: key)
                    throw error
                }
            }
        }
    }

    /// Takes an idle connection that is approved for this request, if nothing has to be called about it. Never waits.
    func takeIdle(_ key: ConnectionPool.Key) throws -> PooledConnection? {
        guard session.pool.hasIdle, !mustAsk, state.open == nil else { return nil }
        let evaluators: ServerEvaluators
        do {
            evaluators = try ServerEvaluators(key, for: task, of: session)
        } catch is SystemTrustStore.Unread {
            return nil
        }
        guard let connection = session.pool.takeIdle(key, where: approved(by: evaluators)) else { return nil }
        connection.permit = evaluators.permit
        return connection
    }

    /// Returns a function that says whether this request may use a connection: its servers were approved under the
    /// trust settings of the request, and its tunnel and login are those that the request would use.
    private func approved(by evaluators: ServerEvaluators) -> (PooledConnection) -> Bool {
        let (credential, login, task) = (knownTunnelCredential, upcomingLogin, task)
        return { evaluators.matches($0) && $0.matches(credential, for: task) && $0.matches(login) }
    }

    /// Returns whether the session still has the trust settings under which the servers of a connection were approved.
    /// They may have been replaced during a handshake, or while the program was called. If they are the same, they
    /// permit the request.
    func isCurrent(_ connection: PooledConnection, for key: ConnectionPool.Key) -> Bool {
        // Evaluations also fail if the policy doesn't allow cleartext any longer.
        guard let evaluators = try? ServerEvaluators(key, for: task, of: session),
            evaluators.servers(of: connection).allSatisfy({ $0.hasSettings(of: $1.approval) })
        else { return false }
        connection.permit = evaluators.permit
        return true
    }

    /// Returns the connection that was kept for the next message of a login, or closes it if it can't be used.
    private func takeHeld(for key: ConnectionPool.Key) -> PooledConnection? {
        guard let held = state.takeHeld() else { return nil }
        if held.key == key, held.connection.idleState() == .quiet {
            held.isReused = true
            return held
        }
        close(held)
        return nil
    }

    /// Whether a delegate or the observer has to be called about a connection.
    private var mustAsk: Bool { session.hasDelegate(for: task) || session.settings.observer != nil }

    /// Asks the delegates about the servers of a reused connection, once per connection, and calls the observer.
    /// Returns false if the connection used another identity than the delegates select.
    private func reevaluate(_ connection: PooledConnection, _ evaluators: ServerEvaluators) async throws -> Bool {
        let isKnown = askedConnections.contains { $0 === connection }
        // Without anything to call, the request doesn't leave the event loop.
        for (evaluator, server) in mustAsk ? evaluators.servers(of: connection) : [] {
            if isKnown {
                await evaluator.observe(server)
            } else if try await !evaluator.reevaluate(server) {
                return false
            }
        }
        if !isKnown { askedConnections.append(connection) }
        return true
    }

    /// Opens a new connection. Returns `nil` if the trust settings were replaced before the proxy was asked for a
    /// tunnel, and throws a ``SupersededApproval`` if they were before the client's identity was shown.
    private func open(_ key: ConnectionPool.Key, _ evaluators: ServerEvaluators) async throws -> PooledConnection? {
        let generation = session.pool.currentGeneration
        task.note { $0.connectStart = Date() }
        defer { task.note { $0.connectEnd = Date() } }
        var options = task.limit.dialOptions
        options.minimumVersion = session.settings.minimumTLS == .TLSv13 ? .tls13 : .tls12
        task.limit.progress(to: .certificate)

        var proxyServer: EvaluatedServer?
        let bare: BareConnection
        switch key.proxy {
        case let proxy? where !proxy.isHTTP:
            bare = try await relay(through: proxy, evaluators, options)
        case let proxy? where !key.isTunneled:
            bare = try await reach(proxy, evaluators, options, &proxyServer)
        case let proxy?:
            guard let tunnel = try await tunnel(through: proxy, key, evaluators, options, &proxyServer) else {
                return nil
            }
            bare = tunnel
        case nil:
            let route = session.settings.route
            bare = try await Transport.shared.connect(
                to: route?.host ?? key.origin.name, port: route?.port ?? key.origin.port, options: options)
        }
        guard let evaluator = evaluators.origin else {
            return PooledConnection(
                bare.cleartext(), key, evaluators.permit, origin: nil, proxy: proxyServer,
                proxyCredential: key.isTunneled ? logins.proxy?.accepted : nil, isProxied: key.proxy != nil,
                taskIdentifier: task.taskIdentifier, generation: generation)
        }
        task.note { $0.secureStart = Date() }
        // mutant session-matches: true for `evaluator.matches($0)` by ConnectionReuseTests ClientCertificateTests
        //   VerdictTests PolicyChangeTests
        let stored = session.pool.takeSession(key) { evaluator.matches($0) }
        let pending = try await bare.secure(as: key.origin.name, options: options, resuming: stored)
        var origin: EvaluatedServer?
        let connection = try await evaluator.accept(pending, as: &origin)
        return PooledConnection(
            connection, key, evaluators.permit, origin: origin, proxy: proxyServer,
            proxyCredential: key.isTunneled ? logins.proxy?.accepted : nil, isProxied: key.proxy != nil,
            taskIdentifier: task.taskIdentifier, generation: generation)
    }

    /// Connects to a proxy by TCP, and by TLS if the proxy uses it.
    private func reach(
        _ proxy: ProxyConfiguration, _ evaluators: ServerEvaluators, _ options: DialOptions,
        _ server: inout EvaluatedServer?
    ) async throws -> BareConnection {
        let bare = try await Transport.shared.connect(to: proxy.host, port: proxy.port, options: options)
        guard let evaluator = evaluators.proxy else { return bare }
        let pending = try await bare.secure(as: proxy.host, options: options)
        return try await evaluator.acceptProxy(pending, as: &server)
    }

    /// Connects to the target through a SOCKS proxy. Uses the configured login, and never asks a delegate.
    private func relay(
        through proxy: ProxyConfiguration, _ evaluators: ServerEvaluators, _ options: DialOptions
    ) async throws -> BareConnection {
        var server: EvaluatedServer?
        let bare = try await reach(proxy, evaluators, options, &server)
        guard case .socks(let version) = proxy.kind else { return bare }
        task.limit.progress(to: .tunnel)
        try await bare.requestHost(
            target.name, port: target.port, from: version, login: proxy.socksLogin, limit: options.handshakeTimeout)
        return bare
    }

    /// Opens a tunnel to the target. If the proxy requires another answer, asks it again, on the same connection if
    /// possible. Returns `nil`, without sending anything more, if the trust settings were replaced since the proxy was
    /// approved.
    private func tunnel(
        through proxy: ProxyConfiguration, _ key: ConnectionPool.Key, _ evaluators: ServerEvaluators,
        _ options: DialOptions, _ server: inout EvaluatedServer?
    ) async throws -> BareConnection? {
        var bare = try await reach(proxy, evaluators, options, &server)
        var login: (any ConnectionLogin)?
        while true {
            var credentials = proxyCredentials(isTunnel: true)
            switch try await nextTurn(at: .proxy, continuing: login, certificate: server?.trust.presented.leaf) {
            case .none, .loggedIn, .noMessage: break
            case .field(let field, let current):
                credentials.append(field)
                login = current
            case .failed: continue
            }
            let request = try HTTPRequestHead(
                method: "CONNECT", target: .authority, origin: target.origin, credentials: credentials)
            let current = try ServerEvaluators(key, for: task, of: session)
            // mutant settings-replaced-tunnel: false for 2 by PolicyChangeTests/replacedBeforeTunnel
            if let server, current.proxy?.hasSettings(of: server.approval) != true { return nil }
            let permit = server == nil ? nil : current.permit
            task.limit.progress(to: .tunnel)
            let (head, isReusable): (HTTPResponseHead, Bool)
            do throws(TransportError) {
                (head, isReusable) = try await bare.requestTunnel(request, limit: options.handshakeTimeout, permit)
            } catch {
                if case .closed = error, permit?.isCurrent == false { return nil }
                throw error
            }
            let isAnswered = try await logIntoProxy(head, login)
            // mutant tunnel-status: head.statusCode != 407 by ProxyTests
            if head.statusCode / 100 == 2 { return bare }
            guard isAnswered else {
                throw ProxyRefusal(
                    proxy: proxy, statusCode: head.statusCode, hadLogin: logins.proxy?.hasFailed ?? false)
            }
            let isQuiet = await bare.isQuiet()
            if !isReusable || !isQuiet {
                bare = try await reach(proxy, evaluators, options, &server)
                login = nil
            }
        }
    }
}

extension TransactionRecord {
    /// Records the connection of a request.
    @TransportActor
    mutating func note(_ connection: PooledConnection) {
        note(address: connection.connection.remoteAddress)
        isReused = connection.isReused
        isProxied = connection.isProxied
        guard let verified = connection.connection as? VerifiedConnection else { return }
        note(verified.negotiated)
        if !isReused { trustDuration = connection.origin?.evaluationTime }
    }

    mutating func note(_ negotiated: NegotiatedTLS) {
        version = negotiated.version == "TLSv1.3" ? .TLSv13 : .TLSv12
        cipherSuite = negotiated.cipherSuite
        isResumed = negotiated.isResumed
    }
}

/// The error for a proxy that didn't open a tunnel. Its response isn't the origin's, so it is never returned.
struct ProxyRefusal: Error, CustomStringConvertible {
    let proxy: ProxyConfiguration
    let statusCode: Int
    /// Whether the proxy refused a login.
    let hadLogin: Bool

    var description: String {
        let what =
            statusCode == 407
            ? hadLogin
                ? "rejected the login: correct its user or password"
                : "requires a login: answer its challenge, or give the proxy a credential"
            : "answered CONNECT with \(statusCode): ask its operator"
        return "the proxy \(proxy.host) port \(proxy.port) \(what)"
    }
}
