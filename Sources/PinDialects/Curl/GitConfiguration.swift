import CertificatePinning
import CertificateTrust
import PinctlBasics

/// The values of `http.pinnedPubkey` in a configuration file of git, which hands them to curl (git-config(1)).
struct GitConfiguration {
    /// A value with the servers that it is for.
    struct Entry {
        /// The value, as git reads it.
        let text: String
        let position: SourcePosition
        /// The bytes of the value, with its quotes.
        let range: Range<Int>
        /// The URL of the section, such as `https://git.example.com`, or `nil` for every server.
        let url: String?
        /// The position of a semicolon outside of quotes, at which a comment with another pin begins.
        let cut: SourcePosition?
    }

    private(set) var entries: [Entry] = []
    /// The position of the first line that git refuses, if any.
    private(set) var malformed: SourcePosition?
    private var cursor: TextCursor

    /// Whether a text has the key in git's settings for HTTP, which begin with a line such as `[http]`.
    static func isRecognized(in bytes: [UInt8]) -> Bool {
        guard bytes.hasAny(of: ["pinnedpubkey"], ignoringCase: true), bytes.hasAny(of: ["[http"], ignoringCase: true)
        else { return false }
        return bytes.split(whereSeparator: \.isLineEnd).contains { line in
            let line = String(decoding: line.drop(while: \.isBlank).prefix(12), as: UTF8.self).lowercased()
            guard line.hasPrefix("[http") else { return false }
            let rest = line.dropFirst(5).drop { $0 == " " || $0 == "\t" }
            // mutant git-section: true by GitConfigurationTests/notGit
            return rest.hasPrefix("\"") || line.dropFirst(5).hasPrefix("]")
        }
    }

    init(_ cursor: TextCursor) {
        self.cursor = cursor
        var section: (isHTTP: Bool, url: String?) = (false, nil)
        while self.cursor.byte != nil {
            _ = self.cursor.takeSpace()
            guard let byte = self.cursor.byte else { break }
            let start = self.cursor.position
            if "#;".utf8.contains(byte) {
                _ = self.cursor.take { !$0.isLineEnd }
            } else if byte == UInt8(ascii: "[") {
                guard let read = readSection() else {
                    malformed = start
                    return
                }
                section = read
            } else {
                guard let (name, value) = readVariable() else {
                    malformed = start
                    return
                }
                guard section.isHTTP, name.lowercased() == "pinnedpubkey" else { continue }
                entries.append(
                    Entry(
                        text: value.text, position: value.position, range: value.range, url: section.url,
                        cut: value.cut))
            }
        }
    }

    /// Reads `[http]` or `[http "https://git.example.com"]`.
    private mutating func readSection() -> (isHTTP: Bool, url: String?)? {
        cursor.step()
        let name = String(decoding: cursor.take { $0.isWordByte || "-.".utf8.contains($0) }, as: UTF8.self)
        var url: String?
        let blanks = cursor.take(while: \.isBlank)
        // git allows blanks only before a name in quotes.
        guard blanks.isEmpty || cursor.byte == UInt8(ascii: "\"") else { return nil }
        if cursor.take("\"") {
            var bytes: [UInt8] = []
            while let byte = cursor.byte, byte != UInt8(ascii: "\""), !byte.isLineEnd {
                if byte == UInt8(ascii: "\\") { cursor.step() }
                if let byte = cursor.byte { bytes.append(byte) }
                cursor.step()
            }
            guard cursor.take("\"") else { return nil }
            url = String(decoding: bytes, as: UTF8.self)
        }
        guard cursor.take("]") else { return nil }
        return (name.lowercased() == "http", url)
    }

    /// Reads `name = value`, or a name alone.
    private mutating func readVariable() -> (
        name: String, value: (text: String, position: SourcePosition, range: Range<Int>, cut: SourcePosition?)
    )? {
        let name = String(decoding: cursor.take { $0.isWordByte || $0 == UInt8(ascii: "-") }, as: UTF8.self)
        guard !name.isEmpty else { return nil }
        _ = cursor.take(while: \.isBlank)
        guard cursor.take("=") else {
            guard cursor.byte?.isLineEnd ?? true || cursor.byte.map("#;".utf8.contains) ?? false else { return nil }
            let (position, start) = (cursor.position, cursor.index)
            _ = cursor.take { !$0.isLineEnd }
            return (name, ("", position, start..<start, nil))
        }
        _ = cursor.take(while: \.isBlank)
        let (position, start) = (cursor.position, cursor.index)
        var text: [UInt8] = []
        var (kept, end) = (0, start)
        var isQuoted = false
        while let byte = cursor.byte, !byte.isLineEnd {
            let here = cursor.position
            if !isQuoted, "#;".utf8.contains(byte) {
                let comment = cursor.take { !$0.isLineEnd }
                let hidesPin = Array(comment).hasAny(of: ["sha256//"])
                let value = String(decoding: text.prefix(kept), as: UTF8.self)
                return (name, (value, position, start..<end, hidesPin ? here : nil))
            }
            cursor.step()
            switch byte {
            case UInt8(ascii: "\""): isQuoted.toggle()
            case UInt8(ascii: "\\"):
                // A line that ends in a backslash goes on in the next one.
                guard let next = cursor.byte else { return nil }
                if next == UInt8(ascii: "\r") { cursor.step() }
                if cursor.byte?.isLineEnd != true {
                    guard "\"\\ntb".utf8.contains(next) else { return nil }
                    text.append(next)
                }
                cursor.step()
            default: text.append(byte)
            }
            if isQuoted || !byte.isBlank { (kept, end) = (text.count, cursor.index) }
        }
        guard !isQuoted else { return nil }
        return (name, (String(decoding: text.prefix(kept), as: UTF8.self), position, start..<end, nil))
    }
}
