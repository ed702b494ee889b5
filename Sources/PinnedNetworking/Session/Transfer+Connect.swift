import CertificateTrust
import HTTPMessages
import TLSTransport

// How a transfer comes by a connection that may carry its request.

extension Transfer {
    /// The proxy that reaches the target's host; nil for none.
    var proxy: ProxyConfiguration? { session.settings.proxies.first { $0.reaches(target.origin.name) } }

    var place: ConnectionPool.Place {
        ConnectionPool.Place(origin: target.origin, proxy: proxy)
    }

    /// A connection whose approval holds for this very request: one that an earlier request left, or a new one.
    func connect(to place: ConnectionPool.Place) async throws -> PooledConnection {
        let judge = try Judge(target, for: task, of: session)
        switch try await session.pool.lease(place, where: { judge.holds($0) }) {
        case .reuse(let connection):
            do {
                try await judge.askAgain(connection)
                return connection
            } catch {
                await session.pool.keep(connection, at: place)
                throw error
            }
        case .open:
            do {
                return try await open(place, judge)
            } catch {
                await session.pool.close(nil, at: place)
                throw error
            }
        }
    }

    private func open(_ place: ConnectionPool.Place, _ judge: Judge) async throws -> PooledConnection {
        let generation = session.pool.currentGeneration
        var options = task.limit.dialOptions
        options.minimumVersion = session.settings.minimumTLS == .TLSv13 ? .tls13 : .tls12
        task.limit.progress(to: .certificate)
        var proxyCredential: URLCredential?
        let bare: BareConnection
        if let proxy = place.proxy {
            if place.origin.scheme == .https {
                bare = try await tunnel(through: proxy, judge, options)
                proxyCredential = proxyLogin?.accepted
            } else {
                bare = try await way(to: proxy, judge, options)
            }
        } else {
            let route = session.settings.route
            bare = try await Transport.shared.connect(
                to: route?.host ?? target.origin.name, port: route?.port ?? target.origin.port, options: options)
        }
        guard place.origin.scheme == .https else {
            return PooledConnection(
                bare.cleartext(), trust: nil, isJudgedForSession: true, proxyCredential: nil, generation: generation)
        }
        let stored = session.pool.takeSession(place) { judge.holds($0) }
        let pending = try await bare.secure(as: target.origin.name, options: options, resuming: stored)
        return try await judge.accept(pending, proxyCredential: proxyCredential, generation: generation)
    }

    /// TCP to the proxy, and TLS where the proxy has it.
    private func way(
        to proxy: ProxyConfiguration, _ judge: Judge, _ options: DialOptions
    ) async throws -> BareConnection {
        let bare = try await Transport.shared.connect(to: proxy.host, port: proxy.port, options: options)
        guard proxy.usesTLS else { return bare }
        let pending = try await bare.secure(as: proxy.host, options: options)
        return try await judge.acceptProxy(pending, proxy)
    }

    /// A tunnel to the target. A proxy that wants another answer is asked again, on
    /// the same connection where it lets us.
    private func tunnel(
        through proxy: ProxyConfiguration, _ judge: Judge, _ options: DialOptions
    ) async throws -> BareConnection {
        var bare = try await way(to: proxy, judge, options)
        while true {
            let request = try HTTPRequestHead(
                method: "CONNECT", target: .authority, origin: target.origin,
                credentials: proxyCredentials(isTunnel: true))
            task.limit.progress(to: .tunnel)
            let (head, isReusable) = try await bare.requestTunnel(request, limit: options.handshakeTimeout)
            let isAnswered = try await logIntoProxy(head)
            if head.statusCode / 100 == 2 { return bare }
            guard isAnswered else { throw ProxyRefusal(proxy: proxy, statusCode: head.statusCode) }
            if !isReusable { bare = try await way(to: proxy, judge, options) }
        }
    }
}

/// A proxy made no tunnel. What it sent instead is not the origin's answer, and shown to nobody.
struct ProxyRefusal: Error, CustomStringConvertible {
    let proxy: ProxyConfiguration
    let statusCode: Int

    var description: String {
        let what =
            statusCode == 407
            ? "wants a login: answer its challenge, or give the proxy a credential"
            : "answered CONNECT with \(statusCode): ask whoever runs it"
        return "the proxy \(proxy.host) port \(proxy.port) \(what)"
    }
}
