/// The kinds of frames (RFC 6455, section 5.2).
package enum WebSocketOpcode: UInt8, Sendable {
    case continuation = 0x0
    case text = 0x1
    case binary = 0x2
    case close = 0x8
    case ping = 0x9
    case pong = 0xA

    /// Whether frames of this kind are about the connection. They are short and never fragmented.
    package var isControl: Bool { rawValue >= 0x8 }
}

/// The frames that a client sends. They are masked (RFC 6455, section 5.3).
package enum WebSocketFrame {
    /// The maximum payload of a control frame, in bytes (RFC 6455, section 5.5).
    static let controlLimit = 125

    /// Returns the header of a frame that isn't fragmented.
    package static func header(_ opcode: WebSocketOpcode, length: Int, mask: WebSocketMask) -> [UInt8] {
        var header: [UInt8] = [0x80 | opcode.rawValue]
        switch length {
        case ...125: header.append(0x80 | UInt8(length))
        case ...0xFFFF:
            header.append(0x80 | 126)
            header += [UInt8(length >> 8), UInt8(length & 0xFF)]
        default:
            header.append(0x80 | 127)
            header += (0..<8).reversed().map { UInt8(truncatingIfNeeded: length >> ($0 * 8)) }
        }
        return header + mask.bytes
    }

    /// Returns a whole frame.
    package static func encoded(
        _ opcode: WebSocketOpcode, _ payload: [UInt8], mask: WebSocketMask = WebSocketMask()
    ) -> [UInt8] {
        header(opcode, length: payload.count, mask: mask) + mask.applied(to: payload[...], from: 0)
    }
}

/// The mask of one frame: 4 bytes that scripts behind a client can't predict (RFC 6455, section 10.3).
package struct WebSocketMask: Sendable {
    let bytes: [UInt8]

    /// Creates a random mask. The system's generator is a cryptographic one.
    package init() {
        var random = SystemRandomNumberGenerator()
        self.init(UInt32.random(in: 0...UInt32.max, using: &random))
    }

    init(_ value: UInt32) {
        bytes = (0..<4).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    }

    /// Returns a part of a payload masked. `start` is the position of its first byte in the payload.
    package func applied(to part: ArraySlice<UInt8>, from start: Int) -> [UInt8] {
        let mask = (bytes[start & 3], bytes[(start + 1) & 3], bytes[(start + 2) & 3], bytes[(start + 3) & 3])
        return [UInt8](capacity: part.count) { output in
            var index = part.startIndex
            let end = part.endIndex
            while end - index >= 4 {
                output.append(part[index] ^ mask.0)
                output.append(part[index + 1] ^ mask.1)
                output.append(part[index + 2] ^ mask.2)
                output.append(part[index + 3] ^ mask.3)
                index += 4
            }
            for rest in [mask.0, mask.1, mask.2] where index < end {
                output.append(part[index] ^ rest)
                index += 1
            }
        }
    }
}

/// The content of a close frame (RFC 6455, section 5.5.1).
package struct WebSocketClosing: Sendable, Hashable {
    /// The status code, or nil if the frame is empty.
    package let code: UInt16?
    /// The reason, UTF-8, at most 123 bytes.
    package let reason: [UInt8]

    /// Creates the content for a frame to send. A code that frames can't have is left out, together with the reason. A
    /// reason that isn't UTF-8 is left out, and a long one is cut between two characters.
    package init(code: UInt16? = nil, reason: [UInt8] = []) {
        guard let code, Self.isAllowed(code) else {
            (self.code, self.reason) = (nil, [])
            return
        }
        self.code = code
        var text = WebSocketText()
        self.reason = text.append(reason[...]) && text.isComplete ? Self.cut(reason) : []
    }

    /// Parses the payload of a received frame.
    package init(payload: [UInt8]) throws(WebSocketError) {
        guard !payload.isEmpty else {
            (code, reason) = (nil, [])
            return
        }
        guard payload.count >= 2 else { throw .malformedClose }
        let code = UInt16(payload[0]) << 8 | UInt16(payload[1])
        // mutant websocket-close-code: true by WebSocketParserTests
        guard Self.isAllowed(code) else { throw .invalidCloseCode(code) }
        var text = WebSocketText()
        guard text.append(payload[2...]), text.isComplete else { throw .invalidText }
        self.code = code
        reason = Array(payload[2...])
    }

    package var payload: [UInt8] {
        guard let code else { return [] }
        return [UInt8(code >> 8), UInt8(code & 0xFF)] + reason
    }

    /// Returns whether a frame may have this code: one that IANA has registered for frames, or one for libraries and
    /// applications (RFC 6455, section 7.4).
    private static func isAllowed(_ code: UInt16) -> Bool {
        switch code {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }

    private static func cut(_ text: [UInt8]) -> [UInt8] {
        var end = min(text.count, WebSocketFrame.controlLimit - 2)
        while end > 0, end < text.count, text[end] & 0xC0 == 0x80 { end -= 1 }
        return Array(text[..<end])
    }
}

/// A check of text that arrives in parts: it must be UTF-8 without surrogates and overlong forms (RFC 3629, section 4).
struct WebSocketText: Sendable {
    /// The number of bytes that the current character still needs.
    private var missing = 0
    /// The range of the next of them.
    private var range: ClosedRange<UInt8> = 0x80...0xBF

    /// Whether the text ends with a whole character.
    var isComplete: Bool { missing == 0 }

    /// Adds a part. Returns false if no text begins like this.
    mutating func append(_ part: ArraySlice<UInt8>) -> Bool {
        for byte in part {
            guard missing == 0 else {
                guard range ~= byte else { return false }
                missing -= 1
                range = 0x80...0xBF
                continue
            }
            switch byte {
            case ..<0x80: break
            case 0xC2...0xDF: missing = 1
            case 0xE0: (missing, range) = (2, 0xA0...0xBF)
            case 0xED: (missing, range) = (2, 0x80...0x9F)
            case 0xE1...0xEF: missing = 2
            case 0xF0: (missing, range) = (3, 0x90...0xBF)
            case 0xF1...0xF3: missing = 3
            case 0xF4: (missing, range) = (3, 0x80...0x8F)
            default: return false
            }
        }
        return true
    }
}
