import CertificateTrust
import OpenSSLBridge

/// Makes connections: all of them on one event loop, which starts with the first.
package final class Transport: Sendable {
    /// The process's transport.
    package static let shared = Transport()

    private struct Running {
        let loop: EventLoop
        let context: TLSContext
    }

    private let running = Locked<Running?>(nil)

    private init() {}

    /// Resolves, connects and shakes hands up to the server's certificate, which it returns as a question.
    ///
    /// Nothing but the handshake has been sent by then. Cancelling the task closes what was opened and throws
    /// ``TransportError/cancelled``.
    package func dial(
        _ endpoint: Endpoint, options: DialOptions = DialOptions()
    ) async throws(TransportError) -> PendingConnection {
        let running = try start()
        let loop = running.loop
        let total = Deadline(for: .total, peer: endpoint.description, limit: options.totalTimeout)
        func deadline(_ phase: TransportError.Phase, _ limit: Duration) -> Deadline {
            .earlier(Deadline(for: phase, peer: endpoint.description, limit: limit), total)
        }

        let engine = try engine(for: endpoint, options, running.context)
        let addresses = try await resolve(
            endpoint.route?.host ?? endpoint.name, port: endpoint.route?.port ?? endpoint.port,
            family: options.addressFamily, until: deadline(.resolve, options.resolveTimeout), on: loop)
        let race = ConnectRace(to: addresses, peer: endpoint.description, on: loop)
        let socket = try await race.run(until: deadline(.connect, options.connectTimeout))
        let address = socket.address.description

        let connection = Connection(socket, engine: engine, peer: "\(endpoint) at \(address)", on: loop)
        let certificates = try await connection.ask(until: deadline(.handshake, options.handshakeTimeout))
        do throws(PresentedChainError) {
            return PendingConnection(
                connection, presented: try PresentedChain(derCertificates: certificates), remoteAddress: address,
                name: endpoint.name, limit: options.handshakeTimeout)
        } catch {
            await connection.refuse()
            throw .unreadableCertificates(peer: connection.peer, reason: error)
        }
    }

    private func engine(
        for endpoint: Endpoint, _ options: DialOptions, _ context: TLSContext
    ) throws(TransportError) -> sending TLSClientEngine {
        do throws(OpenSSLError) {
            return try TLSClientEngine(
                context: context, serverName: endpoint.name.isIPAddress ? nil : endpoint.name.description,
                applicationProtocols: options.applicationProtocols, signatureAlgorithms: options.signatureAlgorithms)
        } catch {
            throw .handshakeFailed(peer: endpoint.description, reason: error)
        }
    }

    /// The loop and the TLS context, made when they are first needed; the next dial tries again what failed.
    private func start() throws(TransportError) -> Running {
        try running.withLock { running throws(TransportError) in
            if let running { return running }
            let context = try Self.makeContext()
            let new = Running(loop: try Self.makeLoop(), context: context)
            running = new
            return new
        }
    }

    private static func makeLoop() throws(TransportError) -> EventLoop {
        do throws(SystemError) { return try EventLoop() } catch {
            throw .exhausted(what: "an event loop", reason: error.description)
        }
    }

    private static func makeContext() throws(TransportError) -> TLSContext {
        do throws(OpenSSLError) { return try TLSContext() } catch {
            throw .exhausted(what: "a TLS context", reason: error.reason)
        }
    }
}
