/// A connection for `http`: without TLS, so nobody knows who answers. Dropping it closes it.
package final class CleartextConnection: RequestConnection {
    /// The address that was reached, `192.0.2.1:80` or `[2001:db8::1]:80`.
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

/// What a request is sent on: a ``VerifiedConnection`` or, for `http`, a ``CleartextConnection``.
package protocol RequestConnection: AnyObject, Sendable {
    /// The address that was reached, `192.0.2.1:443` or `[2001:db8::1]:443`.
    var remoteAddress: String { get }

    /// Sends all bytes; returns when the kernel has them. One call at a time, since two would interleave.
    func send(_ bytes: [UInt8]) async throws(TransportError)

    /// The next bytes, at least one; nil at the clean end of the stream. One call at a time.
    func receive() async throws(TransportError) -> [UInt8]?

    /// Whether anything has come while nothing was asked, an end included: the connection is of no use then.
    func hasInput() async -> Bool

    /// Closes; a `send` or `receive` that waits throws ``TransportError/closed(peer:)``.
    func close() async
}
