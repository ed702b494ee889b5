/// A reader that finds the comments of a file: `<!-- -->` in XML, and elsewhere `//`, `/* */`, and `#` or `;` up to the
/// end of the line. Text in strings isn't a comment.
package struct CommentReader {
    private let bytes: [UInt8]
    private let isMarkup: Bool
    private var index = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        // Skip a byte order mark.
        let start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        isMarkup = bytes[start...].first { $0 > 0x20 } == UInt8(ascii: "<")
    }

    /// Returns the texts of all comments, without their delimiters.
    package static func texts(in bytes: [UInt8]) -> [String] {
        var reader = CommentReader(bytes)
        var texts: [String] = []
        while let range = reader.next() { texts.append(String(decoding: bytes[range], as: UTF8.self)) }
        return texts
    }

    /// Returns the range of the next comment's text, without its delimiters, or nil at the end of the file.
    mutating func next() -> Range<Int>? {
        while index < bytes.count {
            if isMarkup {
                if take("<!--") { return text(before: "-->") }
                if take("<![CDATA[") { _ = text(before: "]]>") } else { index += 1 }
            } else if take("//") || take("#") {
                return line()
            } else if take(";") {
                // In code a semicolon ends a statement, and a string can follow.
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

    /// Returns the range up to an end mark, or the rest of the file.
    private mutating func text(before end: String) -> Range<Int> {
        let start = index
        while index < bytes.count {
            let last = index
            if take(end) { return start..<last }
            index += 1
        }
        return start..<index
    }

    /// Returns the range up to the end of the line.
    private mutating func line() -> Range<Int> {
        let start = index
        index = bytes[index...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
        return start..<index
    }

    /// Skips a string. It ends at the end of the line at the latest.
    private mutating func skipString() {
        while index < bytes.count, bytes[index] != UInt8(ascii: "\n") {
            let byte = bytes[index]
            index += byte == UInt8(ascii: "\\") ? 2 : 1
            if byte == UInt8(ascii: "\"") { return }
        }
        index = min(index, bytes.count)
    }
}
