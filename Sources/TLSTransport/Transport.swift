/// Makes connections: all of them on one event loop, which starts with the first.
package final class Transport: Sendable {
    /// The process's transport.
    package static let shared = Transport()

    private init() {}

    /// Resolves, connects and shakes hands up to the server's certificate, which it returns as a question.
    ///
    /// Nothing but the handshake has been sent by then. Cancelling the task closes what was opened and throws
    /// ``TransportError/cancelled``.
    package func dial(
        _ endpoint: Endpoint, options: DialOptions = DialOptions()
    ) async throws(TransportError) -> PendingConnection {
        throw .cancelled
    }
}
