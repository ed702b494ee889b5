public import Foundation
import PinctlBasics
import PinctlHTTPMessages

extension URLSession {
    /// Creates a task for a WebSocket, `wss` or `ws`. It opens with ``URLSessionTask/resume()``.
    public func webSocketTask(with url: URL) -> URLSessionWebSocketTask {
        webSocketTask(with: URLRequest(url: url))
    }

    /// Creates a task for a WebSocket that offers subprotocols, in order of preference.
    public func webSocketTask(with url: URL, protocols: [String]) -> URLSessionWebSocketTask {
        var request = URLRequest(url: url)
        if !protocols.isEmpty {
            request.setValue(protocols.joined(separator: ", "), forHTTPHeaderField: "Sec-WebSocket-Protocol")
        }
        return webSocketTask(with: request)
    }

    /// Creates a task for a WebSocket. The request can have header fields of the program's own, among them
    /// `Sec-WebSocket-Protocol` with subprotocols. It is sent as a GET without a body, and is never handled by a
    /// ``URLProtocol``.
    public func webSocketTask(with request: URLRequest) -> URLSessionWebSocketTask {
        let task = makeTask(URLSessionWebSocketTask.init, request.asHandshake) { self.converse($0) }
        task.mailbox.setQueue(delegateQueue)
        return task
    }

    private static let asWebSocketDelegate: @Sendable (any URLSessionDelegate) -> (any URLSessionWebSocketDelegate)? = {
        $0 as? any URLSessionWebSocketDelegate
    }

    /// Runs a WebSocket task from its handshake to its end.
    private func converse(_ task: URLSessionTask) {
        guard let task = task as? URLSessionWebSocketTask else { return }
        Task {
            var failure: (any Error)?
            do {
                let conversation = try await open(task)
                await report(.webSocketOpening, about: task, Self.asWebSocketDelegate) { delegate in
                    delegate.urlSession(self, webSocketTask: task, didOpenWithProtocol: conversation.subprotocol)
                }
                let closing = try await task.limit.run { try await conversation.run() }
                task.complete(with: nil)
                let (code, reason) = WebSocketMailbox.values(of: closing)
                task.mailbox.end(WebSocketEndError.closed(code: code, reason: reason))
                await report(.webSocketClosing, about: task, Self.asWebSocketDelegate) { delegate in
                    delegate.urlSession(
                        self, webSocketTask: task, didCloseWith: .init(rawValue: code) ?? .invalid, reason: reason)
                }
            } catch {
                failure = fail(task, task.mailbox.end(error))
            }
            await reportEnd(of: task, failure)
        }
    }

    /// Performs the opening handshake.
    private func open(_ task: URLSessionWebSocketTask) async throws -> WebSocketConversation {
        if let refusal = task.status.withLock({ $0.refusal }) { throw refusal }
        guard let transfer = try makeNetworkTransfer(task) as? Transfer else {
            throw RequestTargetError.unsupportedScheme(task.currentRequest?.url?.scheme ?? "")
        }
        _ = try await transfer.begin()
        return try await task.limit.run { try WebSocketConversation(transfer, task) }
    }
}

extension URLRequest {
    /// The request as the handshake of a WebSocket: a GET without a body, in whose place frames follow. A stored
    /// response can't answer it.
    var asHandshake: URLRequest {
        var request = with(body: nil)
        request.httpMethod = "GET"
        request.cachePolicy = .reloadIgnoringLocalCacheData
        return request
    }
}
