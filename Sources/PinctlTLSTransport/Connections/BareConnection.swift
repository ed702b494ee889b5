package import CertificateTrust
import OpenSSLBridge
package import PinctlHTTPMessages

/// An unauthenticated connection to a host: TCP, or a tunnel through a proxy. No request can be sent on it.
///
/// It becomes a ``PendingConnection`` or, for `http`, a ``CleartextConnection``. Dropping it closes it.
package struct BareConnection: ~Copyable, Sendable {
    /// The remote address, `192.0.2.1:443` or `[2001:db8::1]:443`.
    package let remoteAddress: String

    private let connection: Connection
    private let context: TLSContext
    private var isGivenAway = false

    init(_ connection: Connection, remoteAddress: String, context: TLSContext) {
        self.connection = connection
        self.remoteAddress = remoteAddress
        self.context = context
    }

    deinit {
        guard !isGivenAway else { return }
        connection.closeSoon()
    }

    /// Starts a TLS handshake for this name and stops at the server's certificate. The result asks whether to accept
    /// it.
    ///
    /// A session is resumed if the server agrees. The question is then about the chain from the session's first
    /// handshake.
    package consuming func secure(
        as name: ServerName, options: DialOptions = DialOptions(), resuming session: ResumableSession? = nil
    ) async throws(TransportError) -> PendingConnection {
        let engine: TLSClientEngine
        do throws(TransportError) {
            engine = try .engine(for: name, options, resuming: session, peer: connection.peer, in: context)
        } catch {
            await connection.close()
            throw error
        }
        return try await secure(
            as: name, engine, options,
            until: Deadline(for: .handshake, peer: connection.peer, limit: options.handshakeTimeout), total: nil)
    }

    consuming func secure(
        as name: ServerName, _ engine: sending TLSClientEngine, _ options: DialOptions, until deadline: Deadline,
        total: Deadline?
    ) async throws(TransportError) -> PendingConnection {
        isGivenAway = true
        let question: Connection.Question
        do throws(TransportError) {
            question = try await connection.ask(engine, until: deadline)
        } catch {
            throw error.explained(by: await connection.handshakeHead, options)
        }
        let presented: PresentedChain
        do throws(PresentedChainError) {
            presented = try PresentedChain(received: question.certificates)
        } catch {
            await connection.refuse()
            throw .unreadableCertificates(peer: connection.peer, reason: error)
        }
        // Some servers present whatever certificate they have if asked for another kind (RFC 8446, section 4.4.2.2).
        if let wanted = options.serverKey, let leaf = presented.certificates.first, !wanted.isKind(of: leaf) {
            await connection.refuse()
            throw .otherKey(peer: connection.peer, wanted: wanted, reason: "its key is \(leaf.keyKind)")
        }
        return PendingConnection(
            connection, presented: presented, question, remoteAddress: remoteAddress, name: name,
            limit: options.handshakeTimeout, total: total, context: context)
    }

    /// The peer's name for messages.
    var peer: String { connection.peer }

    /// Sends bytes before TLS begins.
    func send(_ bytes: [UInt8], until deadline: Deadline) async throws(TransportError) {
        try await connection.send(bytes, until: deadline)
    }

    func receive(until deadline: Deadline) async throws(TransportError) -> [UInt8]? {
        try await connection.receive(until: deadline)
    }

    /// Asks an HTTP proxy for a tunnel (RFC 9110, section 9.3.6) and returns its answer. After a 2xx the tunnel is open
    /// and this is a connection to the host behind it. After any other answer, the proxy can be asked again on this
    /// connection if `isReusable` is true. Throws ``TransportError/closed(peer:)`` if the permission ends before the
    /// kernel has the request.
    package borrowing func requestTunnel(
        _ request: HTTPRequestHead, limit: Duration, _ permit: SendPermit? = nil
    ) async throws(TransportError) -> (head: HTTPResponseHead, isReusable: Bool) {
        let answer = try await requestTunnel(
            request, permit, until: Deadline(for: .tunnel, peer: connection.peer, limit: limit))
        return (answer.head, answer.isReusable)
    }

    /// Returns whether nothing follows the proxy's answer. Otherwise, don't ask it again on this connection.
    package func isQuiet() async -> Bool { await connection.idleState() == .quiet }

    /// Returns whether the peer has sent bytes before it was asked.
    func hasEarlyBytes() async -> Bool { [.bytes, .busy].contains(await connection.idleState()) }

    /// Asks for a tunnel, and also returns the first bytes of a host that speaks first.
    borrowing func requestTunnel(
        _ request: HTTPRequestHead, _ permit: SendPermit? = nil, hostSpeaksFirst: Bool = false,
        until deadline: Deadline
    ) async throws(TransportError) -> (head: HTTPResponseHead, isReusable: Bool, greeting: [UInt8]) {
        guard await !hasEarlyBytes() else {
            // Rather than that it came too early, the reason is that it isn't HTTP.
            var exchange = HTTPExchange(request)
            exchange.receive(await connection.unaskedBytes)
            do throws(HTTPResponseError) { _ = try exchange.next() } catch { throw unreadable(error) }
            throw unreadable(.bytesBeforeRequest)
        }
        guard try await connection.send(request.bytes, permit, until: deadline) == nil else {
            await connection.drop()
            throw .closed(peer: connection.peer)
        }
        var exchange = HTTPExchange(request)
        var head: HTTPResponseHead?
        var bodyCount = 0
        var unread: ArraySlice<UInt8> = []
        while true {
            do throws(HTTPResponseError) {
                while let event = try exchange.next() {
                    switch event {
                    case .goAhead: break
                    case .head(let received): head = received
                    case .body(let bytes): bodyCount += bytes.count
                    case .end(let isReusable):
                        if let head { return (head, isReusable, Array(unread)) }
                    }
                }
            } catch {
                throw unreadable(error)
            }
            // The body of a refusal isn't shown to the user, so a long one isn't worth reading.
            if let head, bodyCount > Self.refusalLimit { return (head, false, []) }
            if unread.isEmpty {
                guard let bytes = try await connection.receive(until: deadline) else {
                    exchange.receive(nil)
                    continue
                }
                unread = bytes[...]
            }
            // Bytes after the answer come from the host if it speaks first. Only the parser can tell where the answer
            // ends, so it gets one byte at a time.
            exchange.receive(Array(hostSpeaksFirst ? unread.prefix(1) : unread))
            unread = hostSpeaksFirst ? unread.dropFirst() : []
        }
    }

    private func unreadable(_ error: HTTPResponseError) -> TransportError {
        .tunnelRefused(
            peer: connection.peer,
            reason: .unreadable(
                "the proxy's answer was rejected (\(error.reason)): check the proxy's address, port and kind"))
    }

    /// The most bytes of a refusal's body that are read so that the connection can be reused.
    private static let refusalLimit = 64 * 1024

    /// Uses the connection for `http`. The server isn't authenticated, and anyone on the path can read the traffic.
    package consuming func cleartext() -> CleartextConnection {
        isGivenAway = true
        return CleartextConnection(connection, remoteAddress: remoteAddress)
    }
}

extension TLSClientEngine {
    /// Creates an engine for a handshake that offers what the options specify.
    static func engine(
        for name: ServerName, _ options: DialOptions, resuming session: ResumableSession? = nil, peer: String,
        in context: TLSContext
    ) throws(TransportError) -> sending TLSClientEngine {
        do throws(OpenSSLError) {
            return try TLSClientEngine(
                context: context, serverName: options.indicatedName(for: name),
                applicationProtocols: options.applicationProtocols,
                signatureAlgorithms: options.serverKey?.signatureAlgorithms ?? options.signatureAlgorithms,
                cipherList: options.serverKey?.cipherList, minimumVersion: options.minimumVersion.number,
                maximumVersion: options.maximumVersion?.number, requestsStaple: options.requestsStaple,
                session: session?.session)
        } catch {
            throw .handshakeFailed(peer: peer, reason: error)
        }
    }
}
