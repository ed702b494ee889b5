@testable import PinctlHTTPMessages

extension FuzzTarget {
    /// The frames of a server, whole and in pieces: they come to the same, and nothing is larger than allowed.
    static let webSocket = FuzzTarget(name: "websocket") { bytes in
        let whole = events([bytes])
        let cut = events(pieces(of: bytes))
        precondition(whole.0 == cut.0 && whole.1 == cut.1, "how the bytes were cut made a difference")
        for event in whole.0 {
            switch event {
            case .message(let message, let isText):
                precondition(message.count <= min(limit, bytes.count), "a message above the limit")
                precondition(!isText || String(validating: message, as: UTF8.self) != nil, "a text that isn't UTF-8")
            case .ping(let payload), .pong(let payload): precondition(payload.count <= WebSocketFrame.controlLimit)
            case .close(let closing):
                precondition(String(validating: closing.reason, as: UTF8.self) != nil, "a reason that isn't UTF-8")
                precondition(closing == WebSocketClosing(code: closing.code, reason: closing.reason))
                let again = try? WebSocketClosing(payload: closing.payload)
                precondition(again == closing, "a close frame that can't be sent back")
            }
        }
        // The client's own frames differ from a server's only in their mask.
        guard case .message(let message, let isText)? = whole.0.first else { return }
        var frame = WebSocketFrame.encoded(isText ? .text : .binary, message, mask: WebSocketMask(0))
        frame[1] &= 0x7F
        let header = frame.count - message.count - 4
        frame.removeSubrange(header..<(header + 4))
        precondition(events([frame]).0 == [.message(message, isText: isText)], "a frame that isn't read as written")
    }

    private static let limit = 4096

    private static func events(_ pieces: [[UInt8]]) -> ([WebSocketParser.Event], WebSocketError?) {
        var parser = WebSocketParser(messageLimit: limit)
        var events: [WebSocketParser.Event] = []
        do throws(WebSocketError) {
            for piece in pieces {
                parser.receive(piece)
                while let event = try parser.next() { events.append(event) }
            }
        } catch {
            return (events, error)
        }
        return (events, nil)
    }
}
