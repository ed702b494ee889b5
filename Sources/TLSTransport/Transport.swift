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
    /// Nothing but the handshake has been sent by then. Cancelling the task closes what was opened and throws
    /// ``TransportError/cancelled``.
    package func dial(
        _ endpoint: Endpoint, options: DialOptions = DialOptions()
    ) async throws(TransportError) -> PendingConnection {
        let total = total(endpoint, options)
        let engine = try TLSClientEngine.engine(
            for: endpoint.name, options, peer: endpoint.description, in: try startedContext())
        let bare = try await connect(endpoint, options, total: total)
        let deadline = Deadline(for: .handshake, peer: endpoint.description, limit: options.handshakeTimeout)
        return try await bare.secure(as: endpoint.name, engine, options, until: .earlier(deadline, total))
    }

    private func connect(
        _ endpoint: Endpoint, _ options: DialOptions, total: Deadline
    ) async throws(TransportError) -> BareConnection {
        let context = try startedContext()
        let loop = EventLoop.shared
        func deadline(_ phase: TransportError.Phase, _ limit: Duration) -> Deadline {
            .earlier(Deadline(for: phase, peer: endpoint.description, limit: limit), total)
        }
        let addresses = try await resolve(
            endpoint.route?.host ?? endpoint.name, port: endpoint.route?.port ?? endpoint.port,
            family: options.addressFamily, until: deadline(.resolve, options.resolveTimeout), on: loop)
        let race = ConnectRace(to: addresses, peer: endpoint.description, on: loop)
        let socket = try await race.run(until: deadline(.connect, options.connectTimeout))
        let address = socket.address.description
        let peer = endpoint.description == address ? address : "\(endpoint) at \(address)"
        let connection = Connection(socket, peer: peer, on: loop)
        return BareConnection(connection, remoteAddress: address, context: context)
    }

    private func total(_ endpoint: Endpoint, _ options: DialOptions) -> Deadline {
        Deadline(for: .total, peer: endpoint.description, limit: options.totalTimeout)
    }

    private func startedContext() throws(TransportError) -> TLSContext {
        do throws(SystemError) { try EventLoop.shared.start() } catch {
            throw .exhausted(what: "an event loop", reason: error.description)
        }
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
