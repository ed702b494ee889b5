/// A connection that requests are sent on: a ``VerifiedConnection`` or, for `http`, a ``CleartextConnection``. Dropping
/// it closes it.
@TransportActor
package class RequestConnection {
    /// The remote address, `192.0.2.1:443` or `[2001:db8::1]:443`.
    package nonisolated let remoteAddress: String

    nonisolated let connection: Connection

    nonisolated init(_ connection: Connection, remoteAddress: String) {
        self.connection = connection
        self.remoteAddress = remoteAddress
    }

    deinit { connection.closeSoon() }

    /// Sends bytes, and returns nil when the kernel has taken all. If the permission ends before, because the settings
    /// that approve the connection were replaced, returns the rest to send with a new one, which can be empty. Until
    /// then nothing is sent. Only one call at a time, since two would interleave.
    package final func send(_ bytes: [UInt8], _ permit: SendPermit) async throws(TransportError) -> ArraySlice<UInt8>? {
        try await connection.send(bytes, permit)
    }

    /// Returns the next bytes, at least one, or nil at the clean end of the stream, which is the peer's close_notify
    /// with TLS. Only one call at a time.
    ///
    /// If TCP ends without close_notify, throws ``TransportError/truncated(peer:)``.
    package final func receive() async throws(TransportError) -> [UInt8]? {
        try await connection.receive()
    }

    /// Sends the bytes that the kernel takes now. Returns nil if it took all, and otherwise the rest to
    /// ``send(_:_:)``, which can be empty.
    package final func sendNow(_ bytes: [UInt8], _ permit: SendPermit) throws(TransportError) -> ArraySlice<UInt8>? {
        try connection.sendNow(bytes, permit)
    }

    /// Returns the next bytes or the clean end of the stream, or nil if nothing has arrived. See ``whenReady(_:)``.
    package final func receiveNow() throws(TransportError) -> ReceivedInput? {
        try connection.receiveNow()
    }

    /// Calls `body` once, when ``receiveNow()`` may have a result after it returned nil, or when the connection has
    /// ended. `body` must not block.
    package final func whenReady(_ body: @escaping @TransportActor @Sendable () -> Void) {
        connection.whenReady(body)
    }

    /// Whether the kernel has taken everything that was to be sent, including answers to messages of TLS.
    package final var hasSentAll: Bool { connection.hasSentAll }

    /// Returns the state of the idle connection. It can be reused only if it is quiet.
    package final func idleState() -> IdleState {
        connection.idleState()
    }

    /// Closes the connection, with TLS after a close_notify. A `send` or `receive` that waits throws
    /// ``TransportError/closed(peer:)``.
    package final func close() {
        connection.close()
    }
}

/// A connection for `http`, without TLS. The server isn't authenticated.
package final class CleartextConnection: RequestConnection {}
