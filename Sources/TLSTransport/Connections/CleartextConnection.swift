/// A connection for `http`, without TLS. The server isn't authenticated. Dropping it closes it.
@TransportActor
package final class CleartextConnection: RequestConnection {
    /// The remote address, `192.0.2.1:80` or `[2001:db8::1]:80`.
    package nonisolated let remoteAddress: String

    private let connection: Connection

    nonisolated init(_ connection: Connection, remoteAddress: String) {
        self.connection = connection
        self.remoteAddress = remoteAddress
    }

    deinit { connection.closeSoon() }

    package func send(_ bytes: [UInt8]) async throws(TransportError) {
        try await connection.send(bytes)
    }

    package func receive() async throws(TransportError) -> [UInt8]? {
        try await connection.receive()
    }

    package func sendNow(_ bytes: [UInt8]) throws(TransportError) -> ArraySlice<UInt8>? {
        try connection.sendNow(bytes)
    }

    package func receiveNow() throws(TransportError) -> ReceivedInput? {
        try connection.receiveNow()
    }

    package func whenReady(_ body: @escaping @TransportActor @Sendable () -> Void) {
        connection.whenReady(body)
    }

    package func hasInput() -> Bool {
        connection.hasInput()
    }

    package func close() {
        connection.close()
    }
}

/// A connection that requests are sent on: a ``VerifiedConnection`` or, for `http`, a ``CleartextConnection``.
@TransportActor
package protocol RequestConnection: AnyObject, Sendable {
    /// The remote address, `192.0.2.1:443` or `[2001:db8::1]:443`.
    nonisolated var remoteAddress: String { get }

    /// Sends all bytes, and returns when the kernel has taken them. Only one call at a time, since two would
    /// interleave.
    func send(_ bytes: [UInt8]) async throws(TransportError)

    /// Returns the next bytes, at least one, or nil at the clean end of the stream. Only one call at a time.
    func receive() async throws(TransportError) -> [UInt8]?

    /// Sends the bytes that the kernel takes now. Returns nil if it took all, and otherwise the rest to ``send(_:)``,
    /// which can be empty.
    func sendNow(_ bytes: [UInt8]) throws(TransportError) -> ArraySlice<UInt8>?

    /// Returns the next bytes or the clean end of the stream, or nil if nothing has arrived. See ``whenReady(_:)``.
    func receiveNow() throws(TransportError) -> ReceivedInput?

    /// Calls `body` once, when ``receiveNow()`` may have a result after it returned nil, or when the connection has
    /// ended. `body` must not block.
    func whenReady(_ body: @escaping @TransportActor @Sendable () -> Void)

    /// Returns whether anything arrived on the idle connection, including an end. If so, it can't be reused.
    func hasInput() -> Bool

    /// Closes the connection. A `send` or `receive` that waits throws ``TransportError/closed(peer:)``.
    func close()
}
