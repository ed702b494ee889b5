package import CertificateTrust
import OpenSSLBridge
import PinctlBasics

/// A factory for connections. They all run on one event loop, which starts with the first.
package final class Transport: Sendable {
    /// The transport of the process.
    package static let shared = Transport()

    private let context = Locked<TLSContext?>(nil)

    private init() {}

    /// Starts the event loop and the TLS context that every connection needs, unless they exist. The next call retries
    /// a failed start.
    package func start() throws(TransportError) {
        _ = try startedContext()
    }

    /// Returns the names of the key exchange groups that every connection offers, the preferred one first. They depend
    /// on the version of OpenSSL.
    package func keyExchangeGroups() throws(TransportError) -> [String] { try startedContext().groups }

    /// Waits on the event loop, or until the task is cancelled. The Swift runtime's own timers open descriptors, and
    /// fail if none are left.
    package func pause(for duration: Duration) async {
        guard (try? startedLoop()) != nil else { return }
        let over = OneShot<Bool>()
        let timer = EventLoop.shared.schedule(at: .now + duration) { over.give(.success(true)) }
        defer { EventLoop.shared.cancel(timer) }
        _ = try? await over.value()
    }

    /// Resolves a host and connects to it by TCP, without TLS.
    ///
    /// Cancelling the task closes the connection and throws ``TransportError/cancelled``.
    package func connect(
        to host: ServerName, port: UInt16, options: DialOptions = DialOptions()
    ) async throws(TransportError) -> BareConnection {
        let endpoint = Endpoint(name: host, port: port)
        return try await connect(endpoint, options, total: total(endpoint, options))
    }

    /// Resolves, connects, and starts a TLS handshake that stops at the server's certificate. The result asks whether
    /// to accept it.
    ///
    /// By then only the handshake has been sent, preceded by what a proxy and STARTTLS require. `address` is one of
    /// ``addresses(of:options:since:)``, or nil for the first that accepts. `start` is the time from which the total
    /// time limit counts. `onConnect` receives the address that accepted, unless there is a proxy. Cancelling the task
    /// closes the connection and throws ``TransportError/cancelled``.
    package func dial(
        _ endpoint: Endpoint, startTLS: StartTLSProtocol? = nil, at address: SocketAddress? = nil,
        through proxy: CleartextProxy? = nil, options: DialOptions = DialOptions(),
        since start: TransportTime = .now, onConnect: (String) -> Void = { _ in }
    ) async throws(TransportError) -> PendingConnection {
        let total = total(endpoint, options, since: start)
        let engine = try TLSClientEngine.engine(
            for: endpoint.name, options, peer: endpoint.description, in: try startedContext())
        let bare = try await reach(
            endpoint, startTLS: startTLS, at: address, through: proxy, options, total: total, onConnect: onConnect)
        let deadline = total.during(.handshake, peer: bare.peer, limit: options.handshakeTimeout)
        return try await bare.secure(as: endpoint.name, engine, options, until: deadline, total: total)
    }

    /// Connects to an endpoint, up to the point where TLS begins.
    func reach(
        _ endpoint: Endpoint, startTLS: StartTLSProtocol?, at address: SocketAddress?, through proxy: CleartextProxy?,
        _ options: DialOptions, total: Deadline, onConnect: (String) -> Void
    ) async throws(TransportError) -> BareConnection {
        let bare: BareConnection
        var greeting: [UInt8] = []
        if let proxy {
            let speaksFirst = startTLS.map { StartTLSNegotiation($0, to: endpoint.name).serverSpeaksFirst }
            bare = try await connect(
                endpoint, through: proxy, options, total: total, hostSpeaksFirst: speaksFirst ?? false, &greeting)
        } else {
            bare = try await connect(endpoint, at: address, options, total: total)
            onConnect(bare.remoteAddress)
        }
        if let startTLS {
            try await bare.startTLS(
                startTLS, to: endpoint.name, behind: greeting,
                until: total.during(.startTLS, peer: bare.peer, limit: options.handshakeTimeout))
        }
        return bare
    }

    /// Returns the addresses of an endpoint, or of its route, in the order in which they are tried.
    package func addresses(
        of endpoint: Endpoint, options: DialOptions = DialOptions(), since start: TransportTime = .now
    ) async throws(TransportError) -> [SocketAddress] {
        try startedLoop()
        return try await addresses(of: endpoint, options, total: total(endpoint, options, since: start))
    }

    private func addresses(
        of endpoint: Endpoint, _ options: DialOptions, total: Deadline
    ) async throws(TransportError) -> [SocketAddress] {
        try await resolve(
            endpoint.route?.host ?? endpoint.name, port: endpoint.route?.port ?? endpoint.port,
            family: options.addressFamily,
            until: total.during(.resolve, peer: endpoint.description, limit: options.resolveTimeout), on: .shared)
    }

    /// Connects to an endpoint through a proxy. `greeting` receives the bytes that the endpoint has already sent.
    private func connect(
        _ endpoint: Endpoint, through proxy: CleartextProxy, _ options: DialOptions, total: Deadline,
        hostSpeaksFirst: Bool, _ greeting: inout [UInt8]
    ) async throws(TransportError) -> BareConnection {
        let way = Endpoint(name: proxy.host, port: proxy.port)
        let peer = "\(endpoint) through the proxy \(way)"
        let bare = try await connect(way, as: ("the proxy \(way)", peer), options, total: total)
        let phase = proxy.kind == .http ? TransportError.Phase.tunnel : .relay
        do throws(TransportError) {
            greeting = try await proxy.lead(
                bare, to: endpoint.route?.host ?? endpoint.name, port: endpoint.route?.port ?? endpoint.port,
                hostSpeaksFirst: hostSpeaksFirst, peer: peer,
                until: total.during(phase, peer: peer, limit: options.handshakeTimeout))
        } catch .lost(let peer, let reason) {
            guard proxy.kind == .http else { throw .relayRefused(peer: peer, reason: .truncatedReply) }
            throw .tunnelRefused(
                peer: peer,
                reason: .unreadable(
                    "the connection was lost (\(reason)): check the proxy's address, port and kind, because the port "
                        + "may speak TLS or another protocol"))
        }
        return bare
    }

    /// Connects to an endpoint. `names` are for messages: `way` until it is connected, and `peer` afterwards.
    private func connect(
        _ endpoint: Endpoint, at address: SocketAddress? = nil, as names: (way: String, peer: String)? = nil,
        _ options: DialOptions, total: Deadline
    ) async throws(TransportError) -> BareConnection {
        let name = names?.way ?? endpoint.description
        let context = try startedContext()
        let loop = EventLoop.shared
        let addresses: [SocketAddress]
        if let address {
            addresses = [address]
        } else {
            addresses = try await self.addresses(of: endpoint, options, total: total)
        }
        let race = ConnectRace(to: addresses, peer: name, on: loop)
        // The message lists the addresses, because nothing else says what didn't answer.
        let waiting = Self.located(name, at: addresses)
        let socket = try await race.run(
            until: total.during(.connect, peer: waiting, limit: options.connectTimeout))
        let reached = socket.address
        let connection = Connection(socket, peer: names?.peer ?? Self.located(name, at: [reached]))
        return BareConnection(connection, remoteAddress: reached.description, context: context)
    }

    /// Returns a name with those of the addresses that it doesn't have yet.
    private static func located(_ name: String, at addresses: [SocketAddress]) -> String {
        let new = addresses.map(\.description).filter { $0 != name && !name.hasSuffix(" via \($0)") }
        return new.isEmpty ? name : "\(name) at \(new.joined(separator: ", "))"
    }

    /// Returns the deadline for everything. Each phase names it after itself.
    func total(
        _ endpoint: Endpoint, _ options: DialOptions, since start: TransportTime = .now
    ) -> Deadline {
        Deadline(for: .resolve, peer: endpoint.description, limit: options.totalTimeout, since: start)
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

/// The actor for code that runs on the event loop, where connections run too, so calls between them don't change
/// threads. ``Transport/start()`` throws if the loop can't be started.
@globalActor
package actor TransportActor {
    package static let shared = TransportActor()

    /// The duration of one piece of work after which other work on the event loop has its turn.
    package static let turnLimit = Duration.microseconds(300)
}
