import CertificatePinning
import PinctlBasics

/// A word of a Caddyfile.
struct CaddyWord {
    let text: String
    let isQuoted: Bool
    let position: SourcePosition
}

/// A directive with its arguments, and its block if it has one.
struct CaddyDirective {
    let name: String
    let arguments: [CaddyWord]
    let block: [CaddyDirective]
    let position: SourcePosition
}

/// A block at the top of a Caddyfile: the global options without words, a snippet, or a site with its addresses.
struct CaddyBlock {
    let words: [CaddyWord]
    let body: [CaddyDirective]
}

/// The words of a Caddyfile, line by line (Caddy's documentation, "Caddyfile Concepts").
struct CaddyTokens {
    private var cursor: TextCursor
    private let path: String
    private static let maximumDepth = 64
    /// The maximum number of words: far above what people write.
    private static let maximumWords = 1 << 16
    private var wordCount = 0

    init(_ cursor: TextCursor, path: String) {
        self.cursor = cursor
        self.path = path
    }

    private func problem(_ message: String, at position: SourcePosition? = nil) -> PolicyFileError {
        IssuanceText.problem(message, at: PolicyLocation(path: path, position ?? cursor.position))
    }

    /// Reads the whole text.
    mutating func blocks() throws(PolicyFileError) -> [CaddyBlock] {
        var blocks: [CaddyBlock] = []
        var words: [CaddyWord] = []
        while let line = try line() {
            if line.words.isEmpty { continue }
            words += line.words
            if line.opens {
                words.removeLast()
                blocks.append(CaddyBlock(words: words, body: try body(depth: 1)))
                words = []
            } else if words.first?.text == "import", words.first?.isQuoted == false {
                // An imported file has sites of its own.
                words = []
            } else if words.last?.text.hasSuffix(",") != true {
                // The braces of a single site may be left out.
                guard blocks.allSatisfy({ $0.words.isEmpty || $0.words[0].text.hasPrefix("(") }) else {
                    throw problem("unexpected \(quoted(words[0].text)): open a block after it", at: words[0].position)
                }
                blocks.append(CaddyBlock(words: words, body: try body(depth: 0)))
                words = []
            }
        }
        guard words.isEmpty else { throw problem("unexpected end of the text: open a block after the address") }
        return blocks
    }

    /// Reads directives up to the brace that closes their block, or at depth 0 up to the end of the text.
    private mutating func body(depth: Int) throws(PolicyFileError) -> [CaddyDirective] {
        guard depth <= Self.maximumDepth else {
            throw problem("the text is nested more than \(Self.maximumDepth) levels deep: simplify it")
        }
        var directives: [CaddyDirective] = []
        while let line = try line() {
            guard let first = line.words.first else { continue }
            if first.text == "}", !first.isQuoted {
                guard depth > 0, line.words.count == 1 else { throw problem("unexpected }", at: first.position) }
                return directives
            }
            let arguments = line.opens ? line.words.dropLast() : line.words[...]
            guard let name = arguments.first else { throw problem("unexpected {", at: first.position) }
            directives.append(
                CaddyDirective(
                    name: name.text, arguments: Array(arguments.dropFirst()),
                    block: line.opens ? try body(depth: max(depth, 1) + 1) : [], position: name.position))
        }
        guard depth == 0 else { throw problem("unexpected end of the text: close the block with }") }
        return directives
    }

    /// Reads the words of a line, or returns `nil` at the end. A line opens a block if its last word is a brace.
    private mutating func line() throws(PolicyFileError) -> (words: [CaddyWord], opens: Bool)? {
        guard cursor.byte != nil else { return nil }
        var words: [CaddyWord] = []
        while let byte = cursor.byte {
            if byte.isLineEnd {
                cursor.step()
                break
            } else if byte.isBlank {
                cursor.step()
            } else if byte == UInt8(ascii: "\\"), cursor.peek().map(\.isLineEnd) ?? true {
                // The line continues on the next one.
                cursor.step()
                if cursor.byte == UInt8(ascii: "\r"), cursor.peek() == UInt8(ascii: "\n") { cursor.step() }
                cursor.step()
            } else if byte == UInt8(ascii: "#") {
                _ = cursor.take { !$0.isLineEnd }
            } else {
                words.append(try word())
            }
        }
        return (words, words.last.map { $0.text == "{" && !$0.isQuoted } ?? false)
    }

    private mutating func word() throws(PolicyFileError) -> CaddyWord {
        let position = cursor.position
        wordCount += 1
        guard wordCount <= Self.maximumWords else {
            throw problem("the text has more than \(Self.maximumWords) words: give a file with the sites of one policy")
        }
        guard let quote = cursor.byte, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "`") else {
            let word = cursor.take { !$0.isBlank && !$0.isLineEnd }
            if word.count > 2, word.starts(with: "<<".utf8), cursor.byte?.isLineEnd == true {
                try skipText(endedBy: Array(word.dropFirst(2)), from: position)
                return CaddyWord(text: "", isQuoted: true, position: position)
            }
            return CaddyWord(text: String(decoding: word, as: UTF8.self), isQuoted: false, position: position)
        }
        cursor.step()
        let inner = cursor.index
        while let byte = cursor.byte, byte != quote {
            if byte == UInt8(ascii: "\\"), quote == UInt8(ascii: "\""), cursor.peek() == quote { cursor.step() }
            cursor.step()
        }
        let text = cursor.text(from: inner)
        guard cursor.byte == quote else { throw problem("the quote isn't closed: close it", at: position) }
        cursor.step()
        return CaddyWord(text: text, isQuoted: true, position: position)
    }

    /// Moves over a text on several lines (a heredoc), whose value no setting of this project needs.
    private mutating func skipText(endedBy marker: [UInt8], from position: SourcePosition) throws(PolicyFileError) {
        guard marker.count <= 64 else { throw problem("the marker after << is too long: shorten it", at: position) }
        while cursor.byte != nil {
            if marker.indices.allSatisfy({ cursor.peek($0) == marker[$0] }) {
                for _ in marker { cursor.step() }
                return
            }
            cursor.step()
        }
        throw problem("the text that << begins has no end: write its marker after it", at: position)
    }
}
