package import CertificateTrust
import OpenSSLBridge

/// Makes connections: all of them on one event loop, which starts with the first.
package final class Transport: Sendable {
    /// The process's transport.
    package static let shared = Transport()

    private let context = Locked<TLSContext?>(nil)

    private init() {}

    /// Starts what every connection needs, when it does not run; the next call tries again what failed.
    package func start() throws(TransportError) {
        _ = try startedContext()
    }

    /// Waits on the event loop, or until the task is cancelled: the runtime's own timers open descriptors, and fail
    /// where there are none left.
    package func pause(for duration: Duration) async {
        guard (try? startedLoop()) != nil else { return }
        let over = OneShot<Bool>()
        let timer = EventLoop.shared.schedule(at: .now + duration) { over.give(.success(true)) }
        defer { EventLoop.shared.cancel(timer) }
        _ = try? await over.value()
    }

    /// Resolves and connects to a host, by TCP alone.
    ///
    /// Cancelling the task closes what was opened and throws ``TransportError/cancelled``.
    package func connect(
        to host: ServerName, port: UInt16, options: DialOptions = DialOptions()
    ) async throws(TransportError) -> BareConnection {
        let endpoint = Endpoint(name: host, port: port)
        return try await connect(endpoint, options, total: total(endpoint, options))
    }

    /// Resolves, connects and shakes hands up to the server's certificate, which it returns as a question.
    ///
    /// Nothing but the handshake has been sent by then, and what a proxy and STARTTLS take. `address` is one of
    /// ``addresses(of:options:since:)``, nil for the first that accepts; `start` is when the total time began. Cancelling
    /// the task closes what was opened and throws ``TransportError/cancelled``.
    package func dial(
        _ endpoint: Endpoint, startTLS: StartTLSProtocol? = nil, at address: SocketAddress? = nil,
        through proxy: CleartextProxy? = nil, options: DialOptions = DialOptions(),
        since start: ContinuousClock.Instant = .now
    ) async throws(TransportError) -> PendingConnection {
        let total = total(endpoint, options, since: start)
        let engine = try TLSClientEngine.engine(
            for: endpoint.name, options, peer: endpoint.description, in: try startedContext())
        let bare: BareConnection
        var greeting: [UInt8] = []
        if let proxy {
            let speaksFirst = startTLS.map { StartTLSNegotiation($0, to: endpoint.name).serverSpeaksFirst }
            bare = try await connect(
                endpoint, through: proxy, options, total: total, hostSpeaksFirst: speaksFirst ?? false, &greeting)
        } else {
            bare = try await connect(endpoint, at: address, options, total: total)
        }
        if let startTLS {
            let deadline = Deadline(for: .startTLS, peer: endpoint.description, limit: options.handshakeTimeout)
            try await bare.startTLS(startTLS, to: endpoint.name, behind: greeting, until: .earlier(deadline, total))
        }
        let deadline = Deadline(for: .handshake, peer: endpoint.description, limit: options.handshakeTimeout)
        return try await bare.secure(as: endpoint.name, engine, options, until: .earlier(deadline, total), total: total)
    }

    /// The addresses of an endpoint, or of its route, in the order in which they are tried.
    package func addresses(
        of endpoint: Endpoint, options: DialOptions = DialOptions(), since start: ContinuousClock.Instant = .now
    ) async throws(TransportError) -> [SocketAddress] {
        try startedLoop()
        return try await addresses(of: endpoint, options, total: total(endpoint, options, since: start))
    }

    private func addresses(
        of endpoint: Endpoint, _ options: DialOptions, total: Deadline
    ) async throws(TransportError) -> [SocketAddress] {
        let deadline = Deadline(for: .resolve, peer: endpoint.description, limit: options.resolveTimeout)
        return try await resolve(
            endpoint.route?.host ?? endpoint.name, port: endpoint.route?.port ?? endpoint.port,
            family: options.addressFamily, until: .earlier(deadline, total), on: .shared)
    }

    /// A proxy's way to an endpoint, with what it has said already.
    private func connect(
        _ endpoint: Endpoint, through proxy: CleartextProxy, _ options: DialOptions, total: Deadline,
        hostSpeaksFirst: Bool, _ greeting: inout [UInt8]
    ) async throws(TransportError) -> BareConnection {
        let way = Endpoint(name: proxy.host, port: proxy.port)
        let peer = "\(endpoint) through the proxy \(way)"
        let bare = try await connect(way, as: ("the proxy \(way)", peer), options, total: total)
        let phase = proxy.kind == .http ? TransportError.Phase.tunnel : .relay
        greeting = try await proxy.lead(
            bare, to: endpoint.route?.host ?? endpoint.name, port: endpoint.route?.port ?? endpoint.port,
            hostSpeaksFirst: hostSpeaksFirst, peer: peer,
            until: .earlier(Deadline(for: phase, peer: peer, limit: options.handshakeTimeout), total))
        return bare
    }

    /// `names` are what messages call it: until it is connected, and from then on.
    private func connect(
        _ endpoint: Endpoint, at address: SocketAddress? = nil, as names: (way: String, peer: String)? = nil,
        _ options: DialOptions, total: Deadline
    ) async throws(TransportError) -> BareConnection {
        let name = names?.way ?? endpoint.description
        let context = try startedContext()
        let loop = EventLoop.shared
        func deadline(_ phase: TransportError.Phase, _ limit: Duration) -> Deadline {
            .earlier(Deadline(for: phase, peer: name, limit: limit), total)
        }
        let addresses: [SocketAddress]
        if let address {
            addresses = [address]
        } else {
            addresses = try await self.addresses(of: endpoint, options, total: total)
        }
        let race = ConnectRace(to: addresses, peer: name, on: loop)
        let socket = try await race.run(until: deadline(.connect, options.connectTimeout))
        let address = socket.address.description
        let peer = names?.peer ?? (endpoint.description == address ? address : "\(endpoint) at \(address)")
        let connection = Connection(socket, peer: peer, on: loop)
        return BareConnection(connection, remoteAddress: address, context: context)
    }

    private func total(
        _ endpoint: Endpoint, _ options: DialOptions, since start: ContinuousClock.Instant = .now
    ) -> Deadline {
        Deadline(for: .total, peer: endpoint.description, limit: options.totalTimeout, since: start)
    }

    private func startedLoop() throws(TransportError) {
        do throws(SystemError) { try EventLoop.shared.start() } catch {
            throw .exhausted(what: "an event loop", reason: error.description)
        }
    }

    private func startedContext() throws(TransportError) -> TLSContext {
        try startedLoop()
        return try context.withLock { context throws(TransportError) in
            if let context { return context }
            let new = try Self.makeContext()
            context = new
            return new
        }
    }

    private static func makeContext() throws(TransportError) -> TLSContext {
        do throws(OpenSSLError) { return try TLSContext() } catch {
            throw .exhausted(what: "a TLS context", reason: error.reason)
        }
    }
}
