import CertificatePinning
import CertificateTrust
import PinctlBasics

/// A cursor that moves through a text and tracks its position. No step traps, not even past the end.
struct TextCursor {
    /// The maximum size of a text in bytes: 8 MiB.
    static let maximumSize = 8 << 20

    private let bytes: [UInt8]
    private(set) var index = 0
    private var line: Int32
    private var lineStart = 0
    /// The number of continuation bytes of multi-byte characters on this line, which columns don't count.
    private var continuations = 0

    init(_ bytes: [UInt8], line: Int32 = 1) {
        self.bytes = bytes
        self.line = line
    }

    /// Creates a cursor for the text of a file, or for the part of it that begins on this line. Throws if the text
    /// isn't UTF-8 or is larger than ``maximumSize``.
    init(checking bytes: [UInt8], path: String, line: Int32 = 1) throws(PolicyFileError) {
        let message: String
        if bytes.count > Self.maximumSize {
            message =
                "the text has \(bytes.count) bytes, but the limit is \(Self.maximumSize): check that it is the right "
                + "file"
        } else if String(validating: bytes, as: UTF8.self) == nil {
            message = "the text isn't UTF-8: save it as UTF-8"
        } else {
            self.init(bytes, line: line)
            // A byte order mark isn't part of the text.
            if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { for _ in 0..<3 { step() } }
            return
        }
        throw PolicyFileError(problems: [PolicyProblem(location: PolicyLocation(path: path), message: message)])
    }

    var byte: UInt8? { index < bytes.count ? bytes[index] : nil }

    /// Returns the byte `count` bytes after the current one.
    func peek(_ count: Int = 1) -> UInt8? { index + count < bytes.count ? bytes[index + count] : nil }

    var position: SourcePosition {
        SourcePosition(line: line, column: Int32(truncatingIfNeeded: index - lineStart - continuations + 1))
    }

    /// Advances by one byte.
    mutating func step() {
        guard let byte else { return }
        index += 1
        // CR LF counts as one line end, and so does CR alone.
        if byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") && self.byte != UInt8(ascii: "\n") {
            line &+= 1
            lineStart = index
            continuations = 0
        } else if byte & 0xC0 == 0x80 {
            continuations += 1
        }
    }

    /// Returns whether the text continues with `text`.
    func stands(_ text: StaticString) -> Bool {
        bytes.span.has(text, at: index)
    }

    /// Consumes `text` if the text continues with it, and returns whether it did.
    mutating func take(_ text: StaticString) -> Bool {
        guard stands(text) else { return false }
        for _ in 0..<text.utf8CodeUnitCount { step() }
        return true
    }

    /// Consumes bytes while they satisfy the predicate, and returns them.
    mutating func take(while isTaken: (UInt8) -> Bool) -> ArraySlice<UInt8> {
        let start = index
        while let byte, isTaken(byte) { step() }
        return bytes[start..<index]
    }

    /// Consumes white space and control characters, and returns whether a line ended.
    mutating func takeSpace() -> Bool {
        var endsLine = false
        while let byte, byte.isLineEnd || byte.isBlank || byte < 0x20 {
            endsLine = endsLine || byte.isLineEnd
            step()
        }
        return endsLine
    }

    /// Consumes a comment behind its `/*`, and returns whether a line ended in it. If comments nest, one can contain
    /// another.
    mutating func skipComment(nests: Bool) -> Bool {
        var (depth, endsLine) = (1, false)
        while depth > 0, let byte {
            if nests, take("/*") {
                depth += 1
            } else if take("*/") {
                depth -= 1
            } else {
                endsLine = endsLine || byte.isLineEnd
                step()
            }
        }
        return endsLine
    }

    /// Returns the text from `start` up to the current position.
    func text(from start: Int) -> String { text(in: start..<index) }

    func text(in range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
}

extension UInt8 {
    /// Whether the byte is a space or a tab.
    package var isBlank: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }

    /// Whether the byte begins and ends texts in programs.
    var isQuote: Bool { self == UInt8(ascii: "\"") || self == UInt8(ascii: "'") || self == UInt8(ascii: "`") }

    /// Whether the byte is LF or CR.
    var isLineEnd: Bool { self == UInt8(ascii: "\n") || self == UInt8(ascii: "\r") }

    var isDigit: Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= self }

    /// Whether the byte may be part of an identifier. Every non-ASCII byte counts as a letter.
    var isWordByte: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), 0x80...0xFF: true
        default: isDigit || self == UInt8(ascii: "_")
        }
    }
}

/// The limits on the contents of a text: far above anything that people write, yet small enough to need little memory.
enum TextLimits {
    /// The maximum number of rules in a text.
    static let rules = 10_000
    /// The maximum number of pins in a rule.
    static let pins = 1_000
    /// The maximum number of notes about a text. Further notes appear once these are fixed.
    static let notes = 1_000
}
