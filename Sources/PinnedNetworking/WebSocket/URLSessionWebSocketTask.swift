import PinctlHTTPMessages
import PinctlTLSTransport

/// A task that exchanges messages with a server over a WebSocket (RFC 6455).
///
/// The opening handshake is an HTTP request, with the same pins, challenges, redirects, proxies and cookies as any
/// other. Nothing is sent before the server is accepted. Pings of the server are answered without the program. See
/// <doc:OpenWebSockets>.
public final class URLSessionWebSocketTask: URLSessionTask, @unchecked Sendable {
    /// A message.
    public enum Message: Sendable {
        /// A binary message.
        case data(Data)
        /// A text message.
        case string(String)
    }

    /// The status code of a close frame (RFC 6455, section 7.4).
    public enum CloseCode: RawRepresentable, Sendable, Hashable {
        /// 0: the WebSocket isn't closed.
        case invalid
        /// 1000.
        case normalClosure
        /// 1001.
        case goingAway
        /// 1002.
        case protocolError
        /// 1003.
        case unsupportedData
        /// 1005: the close frame has no code. It is never sent.
        case noStatusReceived
        /// 1006: the connection ended without a close frame. It is never sent.
        case abnormalClosure
        /// 1007.
        case invalidFramePayloadData
        /// 1008.
        case policyViolation
        /// 1009.
        case messageTooBig
        /// 1010.
        case mandatoryExtensionMissing
        /// 1011.
        case internalServerError
        /// 1015: the TLS handshake failed. It is never sent.
        case tlsHandshakeFailure
        /// Another number, such as one of the application's own from 3000 to 4999.
        case other(UInt16)

        private static let named: [CloseCode] = [
            .invalid, .normalClosure, .goingAway, .protocolError, .unsupportedData, .noStatusReceived, .abnormalClosure,
            .invalidFramePayloadData, .policyViolation, .messageTooBig, .mandatoryExtensionMissing,
            .internalServerError, .tlsHandshakeFailure,
        ]

        /// Creates the code with this number. Returns `nil` if it doesn't fit into a close frame.
        public init?(rawValue: Int) {
            guard let number = UInt16(exactly: rawValue) else { return nil }
            self = Self.named.first { $0.rawValue == rawValue } ?? .other(number)
        }

        /// The number.
        public var rawValue: Int {
            switch self {
            case .invalid: 0
            case .normalClosure: 1000
            case .goingAway: 1001
            case .protocolError: 1002
            case .unsupportedData: 1003
            case .noStatusReceived: 1005
            case .abnormalClosure: 1006
            case .invalidFramePayloadData: 1007
            case .policyViolation: 1008
            case .messageTooBig: 1009
            case .mandatoryExtensionMissing: 1010
            case .internalServerError: 1011
            case .tlsHandshakeFailure: 1015
            case .other(let number): Int(number)
            }
        }
    }

    let mailbox = WebSocketMailbox()

    /// The maximum size of a received message, in bytes. A larger one closes the WebSocket with
    /// ``CloseCode/messageTooBig``. The default is 1 MiB.
    public var maximumMessageSize: Int {
        get { mailbox.messageLimit }
        set { mailbox.messageLimit = newValue }
    }

    /// The code of the side that closed the WebSocket first. ``CloseCode/invalid`` if it isn't closed.
    public var closeCode: CloseCode { mailbox.closeReason.flatMap { CloseCode(rawValue: $0.code) } ?? .invalid }

    /// The reason that was given with ``closeCode``, if any.
    public var closeReason: Data? { mailbox.closeReason?.reason }

    // MARK: Messages

    /// Sends a message after all earlier ones. Returns when the system has taken it, which doesn't mean that the server
    /// has received it. Before the WebSocket is open, the message waits.
    ///
    /// Throws `URLError`, with the code `.networkConnectionLost` if the WebSocket is closed.
    public func send(_ message: Message) async throws {
        let error = await withCheckedContinuation { continuation in
            mailbox.send(message) { continuation.resume(returning: $0) }
        }
        if let error { throw urlError(error) }
    }

    /// Sends a message. The handler is called on the delegates' queue. See ``send(_:)``.
    public func send(_ message: Message, completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
        mailbox.send(message) { [weak self] error in
            self?.call { completionHandler(error.map($0.urlError)) }
        }
    }

    /// Returns the next message, and waits for it. The messages that arrived before the end can be received after it.
    ///
    /// A server whose messages aren't received has to wait after 64 KiB of them, and its pings aren't answered then.
    ///
    /// Throws `URLError` when the WebSocket has ended, with the code `.networkConnectionLost` if it was closed, and
    /// `CancellationError` if the calling task is cancelled, which loses no message.
    public func receive() async throws -> Message {
        let identifier = mailbox.newReceiver()
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                mailbox.receive(identifier) { continuation.resume(returning: $0) }
                // The cancellation may have come before the receiver.
                if Task.isCancelled { mailbox.cancelReceive(identifier) }
            }
        } onCancel: {
            mailbox.cancelReceive(identifier)
        }
        return try message(result).get()
    }

    /// Receives a message. The handler is called on the delegates' queue, once. See ``receive()``.
    public func receive(completionHandler: @escaping @Sendable (Result<Message, any Error>) -> Void) {
        mailbox.receive(mailbox.newReceiver()) { [weak self] result in
            self?.call { completionHandler($0.message(result)) }
        }
    }

    /// Sends a ping. The handler is called on the delegates' queue when its pong has arrived, or with an error when the
    /// WebSocket ends first.
    public func sendPing(pongReceiveHandler: @escaping @Sendable ((any Error)?) -> Void) {
        mailbox.ping { [weak self] error in self?.call { pongReceiveHandler(error.map($0.urlError)) } }
    }

    /// Sends a ping, and returns when its pong has arrived. Throws `URLError` if the WebSocket ends first, and
    /// `CancellationError` if the calling task is cancelled.
    public func sendPing() async throws {
        let pong = OnceOnlyAnswer<(any Error)?>()
        mailbox.ping { pong.answer($0) }
        guard let error = await pong.value else { throw CancellationError() }
        if let error { throw urlError(error) }
    }

    /// Calls a handler of the program on its queue. The mailbox must not keep the task: one that never starts is
    /// released, and its handlers aren't called. A task that has started is kept by its session until its end.
    private func call(_ handler: @escaping @Sendable (URLSessionWebSocketTask) -> Void) {
        mailbox.call { handler(self) }
    }

    // MARK: End

    /// The maximum duration of the wait for the server to confirm the end.
    private static let closingLimit = Duration.seconds(10)

    /// Closes the WebSocket with a code and a reason, after the messages that wait to be sent. The task ends when the
    /// server has confirmed it, and fails if it doesn't within 10 seconds or the request timeout, if that is shorter. A
    /// task that isn't open yet is cancelled.
    ///
    /// A code that can't be sent is left out, together with the reason, and so is a reason that isn't UTF-8. A reason
    /// longer than 123 bytes is cut.
    public func cancel(with closeCode: CloseCode, reason: Data?) {
        guard mailbox.close(code: closeCode.rawValue, reason: reason) else { return cancel() }
        let limit = min(Self.closingLimit, limit.requestTimeout)
        _ = TransportTimer(at: .now + limit) { [weak self] in
            self?.mailbox.end(WebSocketEndError.unansweredClosing(limit))
            self?.limit.end(.cancelled)
        }
    }

    private func message(_ result: Result<WebSocketMailbox.Received, any Error>) -> Result<Message, any Error> {
        result.map { received in
            received.isText ? .string(String(decoding: received.bytes, as: UTF8.self)) : .data(Data(received.bytes))
        }.mapError(urlError)
    }

    private func urlError(_ reason: any Error) -> any Error {
        reason is URLError || reason is CancellationError ? reason : URLError(reason, url: currentRequest?.url)
    }
}

extension WebSocketMailbox {
    fileprivate func send(_ message: URLSessionWebSocketTask.Message, _ completion: @escaping Completion) {
        switch message {
        case .string(let text): send(.text, Array(text.utf8), completion)
        case .data(let data): send(.binary, [UInt8](data), completion)
        }
    }
}
