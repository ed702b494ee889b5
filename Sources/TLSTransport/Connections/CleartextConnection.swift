/// A connection for `http`, without TLS. The server isn't authenticated. Dropping it closes it.
package final class CleartextConnection: RequestConnection {
    /// The remote address, `192.0.2.1:80` or `[2001:db8::1]:80`.
    package let remoteAddress: String

    private let connection: Connection

    init(_ connection: Connection, remoteAddress: String) {
        self.connection = connection
        self.remoteAddress = remoteAddress
    }

    deinit {
        connection.loop.execute { [connection] in connection.assumeIsolated { $0.close() } }
    }

    package func send(_ bytes: [UInt8]) async throws(TransportError) {
        try await connection.send(bytes)
    }

    package func receive() async throws(TransportError) -> [UInt8]? {
        try await connection.receive()
    }

    package func hasInput() async -> Bool {
        await connection.hasInput()
    }

    package func close() async {
        await connection.close()
    }
}

/// A connection that requests are sent on: a ``VerifiedConnection`` or, for `http`, a ``CleartextConnection``.
package protocol RequestConnection: AnyObject, Sendable {
    /// The remote address, `192.0.2.1:443` or `[2001:db8::1]:443`.
    var remoteAddress: String { get }

    /// Sends all bytes, and returns when the kernel has taken them. Only one call at a time, since two would
    /// interleave.
    func send(_ bytes: [UInt8]) async throws(TransportError)

    /// Returns the next bytes, at least one, or nil at the clean end of the stream. Only one call at a time.
    func receive() async throws(TransportError) -> [UInt8]?

    /// Returns whether anything arrived on the idle connection, including an end. If so, it can't be reused.
    func hasInput() async -> Bool

    /// Closes the connection. A `send` or `receive` that waits throws ``TransportError/closed(peer:)``.
    func close() async
}
