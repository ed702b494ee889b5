/// Methods that a session calls for WebSocket tasks, on the task's own delegate or on the session's.
public protocol URLSessionWebSocketDelegate: URLSessionTaskDelegate {
    /// Reports that a WebSocket is open, before it sends or receives anything. The subprotocol is one of those that
    /// the request offered, or `nil` if the server selected none.
    func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask, didOpenWithProtocol protocol: String?)

    /// Reports the close frame of the server, also if it confirms
    /// ``URLSessionWebSocketTask/cancel(with:reason:)``. The end of the task follows.
    func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
        didCloseWith closeCode: URLSessionWebSocketTask.CloseCode, reason: Data?)
}

extension URLSessionWebSocketDelegate {
    /// Lets the next delegate receive the call by default.
    public func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask, didOpenWithProtocol protocol: String?
    ) {
        DelegateCall.reachedDefault(of: .webSocketOpening, on: self)
    }

    /// Lets the next delegate receive the call by default.
    public func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
        didCloseWith closeCode: URLSessionWebSocketTask.CloseCode, reason: Data?
    ) {
        DelegateCall.reachedDefault(of: .webSocketClosing, on: self)
    }
}
