import CertificateTrust
import HTTPMessages
import TLSTransport

// Connections for a transfer that are approved for its request.

extension Transfer {
    /// The proxy for the target's host, or `nil`.
    var proxy: ProxyConfiguration? { session.settings.proxies.first { $0.reaches(target.origin.name) } }

    var place: ConnectionPool.Place {
        ConnectionPool.Place(origin: target.origin, proxy: proxy)
    }

    /// Returns a connection whose approval is valid for this request: one from an earlier request, or a new one.
    func connect(to place: ConnectionPool.Place) async throws -> PooledConnection {
        try await SystemTrustStore.whenRead { try await lease(place) }
    }

    private func lease(_ place: ConnectionPool.Place) async throws -> PooledConnection {
        if let held = await takeHeld(at: place) {
            let judges = try? Judges(place, for: task, of: session)
            if judges?.hold(held) == true, held.isValid(at: Date()) { return held }
            await session.pool.close(held, at: place)
        }
        // The connections that used another identity than this task's delegates select.
        var foreign: [PooledConnection] = []
        while true {
            var current: Judges?
            let lease = try await session.pool.lease(place) {
                // Uses the settings that are current after the wait.
                let judges = try Judges(place, for: task, of: session)
                let credential = knownTunnelCredential
                let login = upcomingLogin
                current = judges
                return { connection in
                    judges.hold(connection) && connection.holds(credential, for: self.task) && connection.holds(login)
                        && !foreign.contains { $0 === connection }
                }
            }
            guard let judges = current else { throw CancellationError() }
            switch lease {
            case .reuse(let connection):
                do {
                    if try await askAgain(about: connection, judges) { return connection }
                } catch {
                    await session.pool.keep(connection, at: place)
                    throw error
                }
                foreign.append(connection)
                await session.pool.keep(connection, at: place)
            case .open:
                do {
                    let connection = try await open(place, judges)
                    asked.append(connection)
                    return connection
                } catch {
                    await session.pool.close(nil, at: place)
                    throw error
                }
            }
        }
    }

    /// Asks the delegates about the servers of a reused connection, once per connection. Returns false if the
    /// connection used another identity than they select.
    private func askAgain(about connection: PooledConnection, _ judges: Judges) async throws -> Bool {
        let isKnown = asked.contains { $0 === connection }
        for (judge, server) in judges.servers(of: connection) {
            if isKnown {
                await judge.observe(server)
            } else if try await !judge.askAgain(about: server) {
                return false
            }
        }
        if !isKnown { asked.append(connection) }
        return true
    }

    private func open(_ place: ConnectionPool.Place, _ judges: Judges) async throws -> PooledConnection {
        let generation = session.pool.currentGeneration
        task.note { $0.connectStart = Date() }
        defer { task.note { $0.connectEnd = Date() } }
        var options = task.limit.dialOptions
        options.minimumVersion = session.settings.minimumTLS == .TLSv13 ? .tls13 : .tls12
        task.limit.progress(to: .certificate)

        var proxy: JudgedServer?
        let bare: BareConnection
        switch (place.proxy, judges.origin) {
        case (let way?, _) where !way.isHTTP:
            bare = try await relay(through: way, judges, options)
        case (let way?, nil):
            bare = try await reach(way, judges, options, &proxy)
        case (let way?, _?):
            bare = try await tunnel(through: way, judges, options, &proxy)
        case (nil, _):
            let route = session.settings.route
            bare = try await Transport.shared.connect(
                to: route?.host ?? place.origin.name, port: route?.port ?? place.origin.port, options: options)
        }
        guard let judge = judges.origin else {
            return PooledConnection(
                bare.cleartext(), origin: nil, proxy: proxy, proxyCredential: nil, isProxied: place.proxy != nil,
                taskIdentifier: task.taskIdentifier, generation: generation)
        }
        task.note { $0.secureStart = Date() }
        let stored = session.pool.takeSession(place) { judge.holds($0) }
        let pending = try await bare.secure(as: place.origin.name, options: options, resuming: stored)
        var origin: JudgedServer?
        let connection = try await judge.accept(pending, as: &origin)
        return PooledConnection(
            connection, origin: origin, proxy: proxy,
            proxyCredential: place.proxy == nil ? nil : proxyLogin?.accepted, isProxied: place.proxy != nil,
            taskIdentifier: task.taskIdentifier, generation: generation)
    }

    /// Connects to a proxy by TCP, and by TLS if the proxy uses it.
    private func reach(
        _ proxy: ProxyConfiguration, _ judges: Judges, _ options: DialOptions, _ server: inout JudgedServer?
    ) async throws -> BareConnection {
        let bare = try await Transport.shared.connect(to: proxy.host, port: proxy.port, options: options)
        guard let judge = judges.proxy else { return bare }
        let pending = try await bare.secure(as: proxy.host, options: options)
        return try await judge.acceptProxy(pending, as: &server)
    }

    /// Connects to the target through a SOCKS proxy. Uses the configured login, and never asks a delegate.
    private func relay(
        through proxy: ProxyConfiguration, _ judges: Judges, _ options: DialOptions
    ) async throws -> BareConnection {
        var server: JudgedServer?
        let bare = try await reach(proxy, judges, options, &server)
        guard case .socks(let version) = proxy.kind else { return bare }
        task.limit.progress(to: .tunnel)
        try await bare.requestHost(
            target.name, port: target.port, from: version, login: proxy.socksLogin, limit: options.handshakeTimeout)
        return bare
    }

    /// Opens a tunnel to the target. If the proxy requires another answer, asks it again, on the same connection if
    /// possible.
    private func tunnel(
        through proxy: ProxyConfiguration, _ judges: Judges, _ options: DialOptions, _ server: inout JudgedServer?
    ) async throws -> BareConnection {
        var bare = try await reach(proxy, judges, options, &server)
        var login: ConnectionLogin?
        while true {
            var credentials = proxyCredentials(isTunnel: true)
            switch try await message(
                of: \.proxyLogin, begun: login,
                certificate: server?.trust.presented.leaf)
            {
            case .none: break
            case .field(let field, let current):
                credentials.append(field)
                login = current
            case .impossible: continue
            }
            let request = try HTTPRequestHead(
                method: "CONNECT", target: .authority, origin: target.origin, credentials: credentials)
            task.limit.progress(to: .tunnel)
            let (head, isReusable) = try await bare.requestTunnel(request, limit: options.handshakeTimeout)
            let isAnswered = try await logIntoProxy(head, login)
            if head.statusCode / 100 == 2 { return bare }
            guard isAnswered else {
                throw ProxyRefusal(proxy: proxy, statusCode: head.statusCode, hadLogin: proxyLogin?.hasFailed ?? false)
            }
            let hasInput = await bare.hasInput()
            if !isReusable || hasInput {
                bare = try await reach(proxy, judges, options, &server)
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
        if !isReused { trustDuration = connection.origin?.judgingTime }
    }

    mutating func note(_ negotiated: NegotiatedTLS) {
        version = negotiated.version == "TLSv1.3" ? .TLSv13 : .TLSv12
        cipherSuite = negotiated.cipherSuite
        isResumed = negotiated.isResumed
    }
}

/// The evaluations of the servers that a request connects to.
private struct Judges: Sendable {
    /// The evaluation of the origin, or `nil` for `http`, where there is no certificate.
    let origin: Judge?
    /// The evaluation of the proxy, or `nil` without a proxy and for a cleartext proxy.
    let proxy: Judge?

    /// Creates the evaluations. Throws if the policy doesn't allow cleartext to the origin.
    init(_ place: ConnectionPool.Place, for task: URLSessionTask, of session: URLSession) throws {
        let trust = session.trust
        let name = place.origin.name
        switch place.origin.scheme {
        case .https:
            origin = try Judge(name, port: place.origin.port, by: trust, for: task, of: session)
        case .http, .ftp:
            guard trust.pinning?.permitsCleartext(to: name) ?? true else {
                throw RequestTargetError.pinnedCleartext(name)
            }
            origin = nil
        }
        proxy = try place.proxy.flatMap { proxy in
            guard proxy.usesTLS else { return nil }
            return try Judge(
                proxy.host, port: proxy.port, proxyType: NSURLProtectionSpaceHTTPSProxy, by: trust, for: task,
                of: session)
        }
    }

    /// Whether the approval of every server of a connection is also valid for this request.
    @TransportActor
    func hold(_ connection: PooledConnection) -> Bool {
        guard (origin == nil) == (connection.origin == nil), (proxy == nil) == (connection.proxy == nil) else {
            return false
        }
        return (connection.origin.map { origin?.holds($0) ?? false } ?? true)
            && (connection.proxy.map { proxy?.holds($0) ?? false } ?? true)
    }

    /// Returns the servers of a connection that were evaluated, in the order in which the request reaches them.
    @TransportActor
    func servers(of connection: PooledConnection) -> [(Judge, JudgedServer)] {
        [(proxy, connection.proxy), (origin, connection.origin)].compactMap { judge, server in
            if let judge, let server { (judge, server) } else { nil }
        }
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
                ? "refused the login that it was given: correct its user or password"
                : "wants a login: answer its challenge, or give the proxy a credential"
            : "answered CONNECT with \(statusCode): ask whoever runs it"
        return "the proxy \(proxy.host) port \(proxy.port) \(what)"
    }
}
