/// Finds the comments of a file: `<!-- -->` in XML; elsewhere `//`, `/* */`, and `#` or `;` to the end of the line. What is
/// in a string is no comment.
struct CommentReader {
    private let bytes: [UInt8]
    private let isMarkup: Bool
    private var index = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        // A file may begin with a byte order mark.
        let start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        isMarkup = bytes[start...].first { $0 > 0x20 } == UInt8(ascii: "<")
    }

    /// Where the text of the next comment is, without what begins and ends it; `nil` at the end of the file.
    mutating func next() -> Range<Int>? {
        while index < bytes.count {
            if isMarkup {
                if take("<!--") { return text(before: "-->") }
                if take("<![CDATA[") { _ = text(before: "]]>") } else { index += 1 }
            } else if take("//") || take("#") {
                return line()
            } else if take(";") {
                // In code it ends a statement, and what follows can be a string.
                if bytes[index...].drop(while: { $0 == 0x20 || $0 == 0x09 }).starts(with: LintAllowance.marker) {
                    return line()
                }
            } else if take("/*") {
                return text(before: "*/")
            } else if take("'\"'") {
                continue
            } else if take("\"\"\"") {
                _ = text(before: "\"\"\"")
            } else if take("\"") {
                skipString()
            } else {
                index += 1
            }
        }
        return nil
    }
}

extension CommentReader {
    private mutating func take(_ text: String) -> Bool {
        guard bytes[index] == text.utf8.first, bytes[index...].starts(with: text.utf8) else { return false }
        index += text.utf8.count
        return true
    }

    /// What is in front of an end mark, or the rest of the file.
    private mutating func text(before end: String) -> Range<Int> {
        let start = index
        while index < bytes.count {
            let last = index
            if take(end) { return start..<last }
            index += 1
        }
        return start..<index
    }

    /// What is in front of the end of the line.
    private mutating func line() -> Range<Int> {
        let start = index
        index = bytes[index...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
        return start..<index
    }

    /// Skips a string, which ends with its line at the latest.
    private mutating func skipString() {
        while index < bytes.count, bytes[index] != UInt8(ascii: "\n") {
            let byte = bytes[index]
            index += byte == UInt8(ascii: "\\") ? 2 : 1
            if byte == UInt8(ascii: "\"") { return }
        }
        index = min(index, bytes.count)
    }
}
