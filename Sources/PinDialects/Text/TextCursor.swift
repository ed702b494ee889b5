import CertificatePinning
import CertificateTrust

/// Walks through a text and knows where it is. No step traps, not even behind the end.
struct TextCursor {
    /// Bytes a text may have: 8 MiB.
    static let maximumSize = 8 << 20

    private let bytes: [UInt8]
    private(set) var index = 0
    private var line: Int32 = 1
    private var lineStart = 0
    /// Bytes of this line that continue a character, which columns do not count.
    private var continuations = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The text of a file, UTF-8 of bounded size; otherwise the one problem it has.
    init(checking bytes: [UInt8], path: String) throws(PolicyFileError) {
        let message: String
        if bytes.count > Self.maximumSize {
            message = "the text has \(bytes.count) bytes: \(Self.maximumSize) is the most, split it"
        } else if String(validating: bytes, as: UTF8.self) == nil {
            message = "the text is not UTF-8: save it as that"
        } else {
            self.init(bytes)
            // A byte order mark is no part of the text.
            if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { for _ in 0..<3 { step() } }
            return
        }
        throw PolicyFileError(problems: [PolicyProblem(location: PolicyLocation(path: path), message: message)])
    }

    var byte: UInt8? { index < bytes.count ? bytes[index] : nil }

    /// The byte `count` behind this one.
    func peek(_ count: Int = 1) -> UInt8? { index + count < bytes.count ? bytes[index + count] : nil }

    var position: SourcePosition {
        SourcePosition(line: line, column: Int32(truncatingIfNeeded: index - lineStart - continuations + 1))
    }

    /// Goes on by one byte.
    mutating func step() {
        guard let byte else { return }
        index += 1
        // CR LF ends one line, CR alone too.
        if byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") && self.byte != UInt8(ascii: "\n") {
            line &+= 1
            lineStart = index
            continuations = 0
        } else if byte & 0xC0 == 0x80 {
            continuations += 1
        }
    }

    /// Whether the text goes on with `text`.
    func stands(_ text: StaticString) -> Bool {
        bytes.dropFirst(index).starts(with: text.description.utf8)
    }

    /// Steps over `text` where it stands here.
    mutating func take(_ text: StaticString) -> Bool {
        guard stands(text) else { return false }
        for _ in 0..<text.utf8CodeUnitCount { step() }
        return true
    }

    /// Steps over bytes as long as they are of a kind, and returns them.
    mutating func take(while isTaken: (UInt8) -> Bool) -> ArraySlice<UInt8> {
        let start = index
        while let byte, isTaken(byte) { step() }
        return bytes[start..<index]
    }

    /// The bytes from `start` up to here.
    func text(from start: Int) -> String { String(decoding: bytes[start..<index], as: UTF8.self) }
}

extension UInt8 {
    /// Space or tab.
    var isBlank: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }

    /// LF or CR.
    var isLineEnd: Bool { self == UInt8(ascii: "\n") || self == UInt8(ascii: "\r") }

    var isDigit: Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= self }

    /// A character of a name in a program; all that is not ASCII counts as a letter.
    var isWordByte: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), 0x80...0xFF: true
        default: isDigit || self == UInt8(ascii: "_")
        }
    }

    /// What a hexadecimal digit stands for.
    var hexadecimalValue: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
