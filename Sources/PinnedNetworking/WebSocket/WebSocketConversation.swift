import PinctlHTTPMessages
import PinctlTLSTransport

/// The connection of an open WebSocket, from the handshake's end to the end of the connection. It runs on the event
/// loop.
@TransportActor
final class WebSocketConversation {
    /// The subprotocol that the server selected, if any.
    let subprotocol: String?

    private let connection: PooledConnection
    private let session: URLSession
    private let task: URLSessionWebSocketTask
    private let mailbox: WebSocketMailbox
    private var parser: WebSocketParser
    /// The reason why a message wasn't sent, if any.
    private var sendError: (any Error)?
    /// The time since which frames were handled without a pause, at the latest.
    private var turn = TransportTime.now

    /// The number of payload bytes that are masked and sent at a time.
    private static let part = 64 * 1024
    /// The maximum duration of sending the answer to a close frame, and of the wait for the end of the connection. The
    /// server ends it first, so that its port is free at once (RFC 6455, section 7.1.1).
    private static let endLimit = Duration.seconds(2)

    init(_ transfer: Transfer, _ task: URLSessionWebSocketTask) throws {
        let rest: [UInt8]
        (connection, rest, subprotocol) = try transfer.takeWebSocket()
        session = transfer.session
        self.task = task
        mailbox = task.mailbox
        parser = WebSocketParser(messageLimit: mailbox.messageLimit)
        parser.receive(rest)
        mailbox.open()
        // A server may send nothing for as long as it likes.
        task.limit.progress(to: .reader)
    }

    deinit {
        let connection = connection.connection
        TransportActor.execute { connection.close() }
    }

    /// Sends and receives until both sides have closed the WebSocket. Returns the server's close frame.
    func run() async throws -> WebSocketClosing {
        let writer = Task { @TransportActor in await self.write() }
        defer { writer.cancel() }
        do {
            let closing = try await read()
            await end(writer, isConfirmed: true)
            return closing
        } catch let error as WebSocketError {
            mailbox.close(WebSocketClosing(code: error.closeCode))
            await end(writer, isConfirmed: false)
            throw error
        } catch {
            connection.connection.close()
            throw sendError ?? error
        }
    }

    // MARK: Receiving

    /// Reads up to the server's close frame.
    private func read() async throws -> WebSocketClosing {
        while true {
            while let event = try nextEvent() {
                switch event {
                case .message(let bytes, let isText):
                    task.noteReceived(bytes.count)
                    task.noteDecoded(bytes.count)
                    try await mailbox.deliver(WebSocketMailbox.Received(bytes: bytes, isText: isText))
                case .ping(let payload): mailbox.answer(ping: payload)
                case .pong(let payload): mailbox.take(pong: payload)
                case .close(let closing):
                    mailbox.close(closing)
                    return closing
                }
                // What is read at a time can have thousands of frames.
                try await takeTurns()
            }
            try await takeTurns()
            try await task.whileSuspended()
            guard let bytes = try await connection.connection.receive() else { throw WebSocketEndError.noClosing }
            parser.receive(bytes)
        }
    }

    /// Lets other work on the event loop have its turn if this work has taken long.
    private func takeTurns() async throws {
        guard .now - turn > TransportActor.turnLimit else { return }
        await Task.yield()
        try Task.checkCancellation()
        turn = .now
    }

    private func nextEvent() throws(WebSocketError) -> WebSocketParser.Event? {
        parser.messageLimit = mailbox.messageLimit
        return try parser.next()
    }

    // MARK: Sending

    /// Sends frames up to the close frame. After an error the connection is closed, which ends ``read()``.
    private func write() async {
        while let frame = await mailbox.nextOutgoing() {
            switch frame {
            case .message(let opcode, let bytes, let completion):
                do {
                    try await send(opcode, bytes)
                    completion(nil)
                } catch {
                    let error = (error as? SupersededApproval)?.reason ?? error
                    sendError = error
                    // The reason why the task ends, if it is the task that has closed the connection.
                    completion(URLError(task.limit.reason ?? error, url: task.currentRequest?.url))
                    return connection.connection.close()
                }
            case .ping(let payload): try? await send(.ping, payload)
            case .pong(let payload): try? await send(.pong, payload)
            case .close(let closing): try? await send(.close, closing.payload)
            }
        }
    }

    /// Sends one frame in parts, and lets other work on the event loop have its turn between them.
    private func send(_ opcode: WebSocketOpcode, _ payload: [UInt8]) async throws {
        let mask = WebSocketMask()
        var header = WebSocketFrame.header(opcode, length: payload.count, mask: mask)
        var start = 0
        repeat {
            let end = min(start + Self.part, payload.count)
            // The request timeout applies to a server that doesn't read.
            task.limit.progress(to: .sending)
            let part = mask.applied(to: payload[start..<end], from: start)
            try await connection.send(header + part, for: task, of: session)
            if !opcode.isControl { task.noteSent(part.count, framed: header.count + part.count) }
            (header, start) = ([], end)
            if start < payload.count { await Task.yield() }
        } while start < payload.count
        task.limit.progress(to: .reader)
    }

    // MARK: End

    /// Sends what is left, and closes the connection. If both sides have sent a close frame, waits for the server to
    /// end the connection first.
    private func end(_ writer: Task<Void, Never>, isConfirmed: Bool) async {
        let connection = connection.connection
        let timer = TransportTimer(at: .now + Self.endLimit) {
            TransportActor.execute { connection.close() }
        }
        defer { timer.cancel() }
        await writer.value
        // A server that continues to send isn't waited for.
        for _ in 0..<(isConfirmed ? 16 : 0) { guard (try? await connection.receive()) != nil else { break } }
        connection.close()
    }
}
