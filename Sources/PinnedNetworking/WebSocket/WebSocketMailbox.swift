import PinctlBasics
import PinctlHTTPMessages

/// The messages of one WebSocket between the program, which calls from any thread, and the event loop.
///
/// Messages are sent in the order of the calls, and received in the order of their arrival. Every call gets one answer,
/// at the latest when the WebSocket ends. Answers are given outside of the lock and must not block.
final class WebSocketMailbox: Sendable {
    /// A received message. Text is UTF-8.
    struct Received: Sendable {
        let bytes: [UInt8]
        let isText: Bool
    }

    typealias Receiver = @Sendable (Result<Received, any Error>) -> Void
    typealias Completion = @Sendable ((any Error)?) -> Void

    /// A frame to be sent.
    enum Outgoing: Sendable {
        case message(WebSocketOpcode, [UInt8], Completion)
        case ping([UInt8])
        case pong([UInt8])
        /// The last frame.
        case close(WebSocketClosing)
    }

    private struct State {
        var outgoing = ReleasingQueue<Outgoing>()
        /// The answer to the last ping. Earlier ones needn't be answered (RFC 6455, section 5.5.3).
        var pong: [UInt8]?
        var closing: WebSocketClosing?
        var hasSentClosing = false
        /// Ends the wait for a frame to be sent.
        var wake: OnceOnlyAnswer<Void>?

        var received = ReleasingQueue<Received>()
        var receivedSize = 0
        var receivers = ReleasingQueue<(identifier: Int, receiver: Receiver)>()
        var receiverCount = 0
        /// Ends the wait for room.
        var room: OnceOnlyAnswer<Void>?

        var pings = ReleasingQueue<(number: UInt64, completion: Completion)>()
        var pingCount: UInt64 = 0

        var messageLimit = 1_048_576
        /// The queue for the program's handlers.
        var queue: OperationQueue?
        /// The content of the first close frame, whichever side sent it.
        var firstClosing: WebSocketClosing?
        /// The code given to `cancel(with:reason:)` in any state, with the reason.
        var given: (code: Int, reason: Data?)?
        var isOpen = false
        var end: (any Error)?

        /// The reason why nothing more can be sent, if any.
        var refusal: (any Error)? { end ?? (closing == nil ? nil : WebSocketEndError.closing) }

        /// Whether no more received messages should be stored.
        var isFull: Bool { receivedSize >= WebSocketMailbox.sizeLimit || received.count >= WebSocketMailbox.countLimit }
    }

    /// The stored messages at which the server has to wait: their size in bytes, and their number.
    private static let sizeLimit = 64 * 1024
    private static let countLimit = 256

    private let state = Locked(State())

    /// The maximum size of a received message, in bytes.
    var messageLimit: Int {
        get { state.withLock { $0.messageLimit } }
        set { state.withLock { $0.messageLimit = newValue } }
    }

    /// Sets the queue for the program's handlers.
    func setQueue(_ queue: OperationQueue) { state.withLock { $0.queue = queue } }

    /// Calls a handler of the program on its queue.
    func call(_ handler: @escaping @Sendable () -> Void) {
        state.withLock(\.queue)?.addOperation(handler)
    }

    // MARK: Calls of the program

    /// Sends a message after the earlier ones. `completion` is called when the kernel has taken it.
    func send(_ opcode: WebSocketOpcode, _ bytes: [UInt8], _ completion: @escaping Completion) {
        let refusal = state.withLock { state -> (any Error)? in
            if let refusal = state.refusal { return refusal }
            state.outgoing.append(.message(opcode, bytes, completion))
            return nil
        }
        if let refusal { completion(refusal) } else { wakeWriter() }
    }

    /// Sends a ping. `completion` is called with its pong.
    func ping(_ completion: @escaping Completion) {
        let refusal = state.withLock { state -> (any Error)? in
            if let refusal = state.refusal { return refusal }
            state.pingCount += 1
            let number = state.pingCount
            state.pings.append((number, completion))
            state.outgoing.append(.ping((0..<8).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }))
            return nil
        }
        if let refusal { completion(refusal) } else { wakeWriter() }
    }

    /// Returns the identifier of a new receiver.
    func newReceiver() -> Int {
        state.withLock { state in
            state.receiverCount += 1
            return state.receiverCount
        }
    }

    /// Takes the next message, now or when it arrives.
    func receive(_ identifier: Int, _ receiver: @escaping Receiver) {
        let (result, room) = state.withLock { state -> (Result<Received, any Error>?, OnceOnlyAnswer<Void>?) in
            if let message = state.received.popFirst() {
                state.receivedSize -= message.bytes.count
                return (.success(message), Self.take(&state.room))
            }
            if let end = state.end { return (.failure(end), nil) }
            state.receivers.append((identifier, receiver))
            return (nil, nil)
        }
        if let result { receiver(result) }
        room?.answer(())
    }

    /// Ends the wait of a receiver with `CancellationError`. Has no effect on one that has its answer.
    func cancelReceive(_ identifier: Int) {
        let receiver = state.withLock { state -> Receiver? in
            state.receivers.remove { $0.identifier == identifier }?.receiver
        }
        receiver?(.failure(CancellationError()))
    }

    /// Starts to close an open WebSocket after the messages that wait. Returns false if it isn't open. Only the first
    /// call has an effect.
    func close(code: Int, reason: Data?) -> Bool {
        let (isOpen, room) = state.withLock { state in
            guard state.end == nil else { return (state.isOpen, OnceOnlyAnswer<Void>?.none) }
            if state.given == nil, state.firstClosing == nil { state.given = (code, reason) }
            guard state.isOpen else { return (false, nil) }
            if state.closing == nil {
                state.closing = WebSocketClosing(
                    code: UInt16(exactly: code), reason: reason.map { [UInt8]($0) } ?? [])
            }
            return (true, Self.take(&state.room))
        }
        if isOpen { wakeWriter() }
        room?.answer(())
        return isOpen
    }

    /// The code and reason of the side that closed first. Nil while the WebSocket isn't closed.
    var closeReason: (code: Int, reason: Data?)? {
        state.withLock { state in
            if let given = state.given { return given }
            if let first = state.firstClosing { return Self.values(of: first) }
            // Without a close frame (RFC 6455, section 7.1.5).
            return state.isOpen && state.end != nil ? (1006, nil) : nil
        }
    }

    /// Returns the code and reason of a close frame. A frame without a code stands for 1005 (RFC 6455, section 7.1.5).
    static func values(of closing: WebSocketClosing) -> (code: Int, reason: Data?) {
        (closing.code.map { Int($0) } ?? 1005, closing.reason.isEmpty ? nil : Data(closing.reason))
    }

    // MARK: Calls of the event loop

    /// Records that the WebSocket is open.
    func open() { state.withLock { $0.isOpen = true } }

    /// Returns the next frame to send, and waits for it. Nil after the close frame, or if the task is cancelled.
    func nextOutgoing() async -> Outgoing? {
        while true {
            let (frame, wake) = state.withLock { state -> (Outgoing?, OnceOnlyAnswer<Void>?) in
                if state.hasSentClosing || state.end != nil { return (nil, nil) }
                if let pong = Self.take(&state.pong) { return (.pong(pong), nil) }
                if let frame = state.outgoing.popFirst() { return (frame, nil) }
                if let closing = state.closing {
                    state.hasSentClosing = true
                    return (.close(closing), nil)
                }
                let wake = OnceOnlyAnswer<Void>()
                state.wake = wake
                return (nil, wake)
            }
            guard let wake else { return frame }
            guard await wake.value != nil else { return nil }
        }
    }

    private func wakeWriter() { state.withLock { Self.take(&$0.wake) }?.answer(()) }

    /// Gives a message to the program. Waits while the program has too many messages to receive, unless it closes the
    /// WebSocket: then the message is dropped.
    func deliver(_ message: Received) async throws(CancellationError) {
        while true {
            let (receiver, room) = state.withLock { state -> (Receiver?, OnceOnlyAnswer<Void>?) in
                if let next = state.receivers.popFirst() { return (next.receiver, nil) }
                guard state.isFull else {
                    state.received.append(message)
                    state.receivedSize += message.bytes.count
                    return (nil, nil)
                }
                guard state.closing == nil else { return (nil, nil) }
                let room = OnceOnlyAnswer<Void>()
                state.room = room
                return (nil, room)
            }
            if let receiver { return receiver(.success(message)) }
            guard let room else { return }
            guard await room.value != nil else { throw CancellationError() }
        }
    }

    /// Answers a ping of the server.
    func answer(ping payload: [UInt8]) {
        state.withLock { $0.pong = payload }
        wakeWriter()
    }

    /// Takes a pong. It also answers the pings before the one that it belongs to. Others are ignored (RFC 6455, section
    /// 5.5.3).
    func take(pong payload: [UInt8]) {
        guard payload.count == 8 else { return }
        let number = payload.reduce(0) { $0 << 8 | UInt64($1) }
        let answered = state.withLock { state -> [Completion] in
            guard number <= state.pingCount else { return [] }
            var answered: [Completion] = []
            while let next = state.pings.first, next.number <= number, let ping = state.pings.popFirst() {
                answered.append(ping.completion)
            }
            return answered
        }
        for completion in answered { completion(nil) }
    }

    /// Closes after a close frame of the server, or after an error in its frames. Messages that wait aren't sent.
    func close(_ closing: WebSocketClosing) {
        let dropped = state.withLock { state in
            if state.given == nil { state.firstClosing = closing }
            if state.closing == nil { state.closing = closing }
            return state.outgoing.takeAll()
        }
        for case .message(_, _, let completion) in dropped { completion(WebSocketEndError.closing) }
        wakeWriter()
    }

    /// Ends the WebSocket. Every waiting and later call gets this error. Messages that arrived can still be received.
    /// Returns the error of the first call.
    @discardableResult
    func end(_ error: any Error) -> any Error {
        let (error, outgoing, receivers, pings) = state.withLock { state in
            let first = state.end ?? error
            state.end = first
            return (first, state.outgoing.takeAll(), state.receivers.takeAll(), state.pings.takeAll())
        }
        for case .message(_, _, let completion) in outgoing { completion(error) }
        for entry in receivers { entry.receiver(.failure(error)) }
        for ping in pings { ping.completion(error) }
        wakeWriter()
        return error
    }

    private static func take<Value>(_ value: inout Value?) -> Value? { exchange(&value, with: nil) }
}

/// The end of a WebSocket, for calls that need an open one.
enum WebSocketEndError: Error, CustomStringConvertible {
    /// The WebSocket was closed with this code.
    case closed(code: Int, reason: Data?)
    /// The WebSocket is being closed.
    case closing
    /// The connection ended without a close frame.
    case noClosing
    /// The server didn't answer the close frame in time.
    case unansweredClosing(Duration)

    var description: String {
        switch self {
        case .closed(let code, let reason):
            "the WebSocket was closed with code \(code)"
                + (reason.map { " (\(HTTPExcerpt($0)))" } ?? "") + ": open a new one if it is still needed"
        case .closing: "the WebSocket is being closed: send before cancel(with:reason:), or open a new one"
        case .noClosing: "the server ended the connection without closing the WebSocket: open a new one"
        case .unansweredClosing(let limit):
            "the server didn't confirm within \(limit) that the WebSocket is closed: it may have missed messages"
        }
    }
}
