/// A parser for the frames of a WebSocket server that takes bytes in portions of any size (RFC 6455, section 5). It is
/// a pure state machine. It joins the fragments of a message.
///
/// Pass bytes to ``receive(_:)``, then call ``next()`` until it returns nil. After an error nothing more is read.
package struct WebSocketParser: Sendable {
    package enum Event: Sendable, Hashable {
        /// A whole message, UTF-8 if it is text.
        case message([UInt8], isText: Bool)
        case ping([UInt8])
        case pong([UInt8])
        /// The server closes the WebSocket. No event follows.
        case close(WebSocketClosing)
    }

    private struct Header {
        let opcode: WebSocketOpcode
        let isFinal: Bool
        let length: Int
    }

    private enum State {
        case header
        case payload(Header)
        case closed
        case failed(WebSocketError)
    }

    /// The maximum size of a message, in bytes.
    package var messageLimit: Int

    private var state = State.header
    /// The received bytes that weren't parsed yet.
    private var input: ArraySlice<UInt8> = []
    /// The payload of the current control frame so far.
    private var control: [UInt8] = []
    /// The message so far, if a message has begun.
    private var message: [UInt8]?
    private var isText = false
    private var text = WebSocketText()

    package init(messageLimit: Int) {
        self.messageLimit = messageLimit
    }

    package mutating func receive(_ bytes: [UInt8]) {
        if input.isEmpty { input = bytes[...] } else { input += bytes }
    }

    /// Returns the next event, or nil if more bytes are needed.
    package mutating func next() throws(WebSocketError) -> Event? {
        do throws(WebSocketError) {
            while true {
                switch state {
                case .header:
                    guard let header = try takeHeader() else { return nil }
                    state = .payload(header)
                    control = []
                case .payload(let header):
                    let part = input.prefix(remaining(of: header))
                    input = input.dropFirst(part.count)
                    try take(part, of: header)
                    guard remaining(of: header) == 0 else { return nil }
                    state = .header
                    received = 0
                    if let event = try end(of: header) { return event }
                case .closed: return nil
                case .failed(let error): throw error
                }
            }
        } catch {
            state = .failed(error)
            throw error
        }
    }

    /// The number of bytes of the current frame's payload that were taken.
    private var received = 0

    private func remaining(of header: Header) -> Int { header.length - received }

    /// Takes the header of a frame, if all of it has arrived.
    private mutating func takeHeader() throws(WebSocketError) -> Header? {
        guard input.count >= 2 else { return nil }
        let first = input[input.startIndex]
        let second = input[input.startIndex + 1]
        // mutant websocket-reserved: true by WebSocketParserTests
        guard first & 0x70 == 0 else { throw .reservedBits }
        guard let opcode = WebSocketOpcode(rawValue: first & 0x0F) else { throw .unknownOpcode(first & 0x0F) }
        // mutant websocket-masked: true by WebSocketParserTests
        guard second & 0x80 == 0 else { throw .masked }
        let isFinal = first & 0x80 != 0
        switch opcode {
        case .continuation: guard message != nil else { throw .unexpectedContinuation }
        case .text, .binary: guard message == nil else { throw .unfinishedMessage }
        // mutant websocket-control: true for 2 by WebSocketParserTests
        case .close, .ping, .pong: guard isFinal, second <= 125 else { throw .longControlFrame }
        }
        let extra = second == 126 ? 2 : second == 127 ? 8 : 0
        guard input.count >= 2 + extra else { return nil }
        var length = UInt64(second)
        if extra > 0 {
            length = input.dropFirst(2).prefix(extra).reduce(0) { $0 << 8 | UInt64($1) }
            // The shortest form is required (RFC 6455, section 5.2), and the highest bit is 0.
            // mutant websocket-shortest: true for 1 by WebSocketParserTests
            guard length > (extra == 2 ? 125 : 0xFFFF), length <= UInt64(Int.max) else { throw .malformedLength }
        }
        let begun = message?.count ?? 0
        // mutant websocket-size: true by WebSocketParserTests
        guard opcode.isControl || length <= UInt64(max(0, max(0, messageLimit) - begun)) else {
            throw .messageTooBig(limit: messageLimit)
        }
        input = input.dropFirst(2 + extra)
        return Header(opcode: opcode, isFinal: isFinal, length: Int(length))
    }

    private mutating func take(_ part: ArraySlice<UInt8>, of header: Header) throws(WebSocketError) {
        received += part.count
        guard !header.opcode.isControl else {
            control += part
            return
        }
        if header.opcode != .continuation, message == nil {
            (message, isText, text) = ([], header.opcode == .text, WebSocketText())
        }
        // mutant websocket-text: false for 2 by WebSocketParserTests
        if isText, !text.append(part) { throw .invalidText }
        message? += part
    }

    private mutating func end(of header: Header) throws(WebSocketError) -> Event? {
        switch header.opcode {
        case .ping: return .ping(control)
        case .pong: return .pong(control)
        case .close:
            let closing = try WebSocketClosing(payload: control)
            state = .closed
            return .close(closing)
        case .continuation, .text, .binary:
            guard header.isFinal else { return nil }
            // mutant websocket-text-end: true by WebSocketParserTests
            guard !isText || text.isComplete else { throw .invalidText }
            defer { message = nil }
            return message.map { .message($0, isText: isText) }
        }
    }
}

/// An error in the frames of a WebSocket server.
package enum WebSocketError: Error, Hashable, Sendable {
    /// A reserved bit is set, although no extension defines it.
    case reservedBits
    case unknownOpcode(UInt8)
    /// A frame is masked, which only clients do (RFC 6455, section 5.1).
    case masked
    case malformedLength
    /// A control frame is fragmented, or longer than 125 bytes.
    case longControlFrame
    /// A continuation without a message before it.
    case unexpectedContinuation
    /// A new message before the end of the last one.
    case unfinishedMessage
    /// A text or reason isn't UTF-8.
    case invalidText
    /// A message is larger than this many bytes.
    case messageTooBig(limit: Int)
    /// A close frame has one byte.
    case malformedClose
    case invalidCloseCode(UInt16)

    /// The status code that tells the server about the error (RFC 6455, section 7.4.1).
    package var closeCode: UInt16 {
        switch self {
        case .invalidText: 1007
        case .messageTooBig: 1009
        default: 1002
        }
    }
}

extension WebSocketError: CustomStringConvertible {
    package var description: String {
        let reason =
            switch self {
            case .reservedBits: "a frame has a reserved bit"
            case .unknownOpcode(let opcode): "a frame has the unknown opcode \(opcode)"
            case .masked: "a frame is masked"
            case .malformedLength: "the length of a frame is malformed"
            case .longControlFrame: "a control frame is fragmented, or longer than \(WebSocketFrame.controlLimit) bytes"
            case .unexpectedContinuation: "a continuation has no message"
            case .unfinishedMessage: "a message begins before the end of the last one"
            case .invalidText: "a text isn't UTF-8"
            case .messageTooBig(let limit): "a message is larger than \(limit) bytes"
            case .malformedClose: "a close frame has one byte"
            case .invalidCloseCode(let code): "a close frame has the invalid code \(code)"
            }
        let advice =
            if case .messageTooBig = self { "raise maximumMessageSize" } else { "contact the server's operator" }
        return "the WebSocket was closed (\(reason)): \(advice)"
    }
}
