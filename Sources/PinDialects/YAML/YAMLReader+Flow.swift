import CertificatePinning
import PinctlBasics

/// Texts on one line, and collections in brackets and braces, which include JSON.
extension YAMLReader {
    /// Reads a text or a collection in brackets or braces.
    mutating func scalarOrFlow(inFlow: Bool = false) throws(PolicyFileError) -> YAMLNode {
        if inFlow, let anchor = try anchor() { return keep(try scalarOrFlow(inFlow: true), for: anchor) }
        switch cursor.byte {
        case UInt8(ascii: "*") where references > .none: return try alias()
        case UInt8(ascii: "["): return try nested { (reader) throws(PolicyFileError) in try reader.flowSequence() }
        case UInt8(ascii: "{"): return try nested { (reader) throws(PolicyFileError) in try reader.flowMapping() }
        case UInt8(ascii: "\""): return try quotedScalar(isDouble: true)
        case UInt8(ascii: "'"): return try quotedScalar(isDouble: false)
        default: return try plainScalar(inFlow: inFlow)
        }
    }

    /// Moves over blanks, line ends and comments.
    private mutating func skipFlowSpace() {
        var mayComment = cursor.index == 0
        while let byte = cursor.byte {
            if byte.isBlank || byte.isLineEnd {
                cursor.step()
                mayComment = true
            } else if byte == UInt8(ascii: "#"), mayComment {
                _ = cursor.take { !$0.isLineEnd }
            } else {
                return
            }
        }
    }

    private mutating func flowSequence() throws(PolicyFileError) -> YAMLNode {
        let (position, start) = (cursor.position, cursor.index)
        var elements: [YAMLNode] = []
        cursor.step()
        skipFlowSpace()
        while cursor.byte != UInt8(ascii: "]") {
            elements.append(try scalarOrFlow(inFlow: true))
            try endElement(before: "]")
        }
        cursor.step()
        end()
        return try made(.sequence(elements), position, from: start, isFlow: true)
    }

    private mutating func flowMapping() throws(PolicyFileError) -> YAMLNode {
        let (position, start) = (cursor.position, cursor.index)
        var members: [YAMLNode.Member] = []
        var merges: [YAMLNode] = []
        var keys: Set<String> = []
        cursor.step()
        skipFlowSpace()
        while cursor.byte != UInt8(ascii: "}") {
            let key = try scalarOrFlow(inFlow: true)
            guard case .scalar(let name, let isQuoted) = key.kind else {
                throw problem("a key must be a text: put it in quotes", at: key.position)
            }
            try checkMerge(key)
            // mutant yaml-key-twice: true by YAMLReaderTests
            guard keys.insert(name).inserted else {
                throw problem("the key \(quoted(name)) appears twice: remove one", at: key.position, rule: .duplicate)
            }
            skipBlanks()
            guard cursor.byte == UInt8(ascii: ":"), isQuoted || isAtIndicator(":") else {
                throw problem("unexpected \(found()), expected a colon and a value after the key")
            }
            cursor.step()
            skipFlowSpace()
            let value = try scalarOrFlow(inFlow: true)
            if key.isMergeKey {
                merges.append(value)
            } else {
                members.append(YAMLNode.Member(key: name, keyRange: key.range, position: key.position, value: value))
            }
            try endElement(before: "}")
        }
        cursor.step()
        end()
        return try made(.mapping(try merged(members, merges)), position, from: start, isFlow: true)
    }

    /// Moves over the comma after an element, which may also follow the last one.
    private mutating func endElement(before close: Character) throws(PolicyFileError) {
        skipFlowSpace()
        if cursor.byte == UInt8(ascii: ",") {
            cursor.step()
            skipFlowSpace()
        } else if cursor.byte != close.asciiValue {
            throw problem("unexpected \(found()), expected \",\" or \"\(close)\"")
        }
    }

    private mutating func plainScalar(inFlow: Bool) throws(PolicyFileError) -> YAMLNode {
        let (position, start) = (cursor.position, cursor.index)
        try checkPlainStart(inFlow: inFlow)
        while let byte = cursor.byte, !byte.isLineEnd {
            if byte == UInt8(ascii: ":"), isAtIndicator(":") || inFlow && isFlowIndicator(cursor.peek()) { break }
            if inFlow, isFlowIndicator(byte) { break }
            guard !inFlow || byte != UInt8(ascii: "?") else {
                throw problem("a question mark in brackets isn't supported: put the text in quotes")
            }
            if byte.isBlank {
                // Blanks belong to the text only if more of it follows.
                let blank = cursor
                let blanks = cursor.take(while: \.isBlank)
                guard let next = cursor.byte, !next.isLineEnd, next != UInt8(ascii: "#"),
                    !(inFlow && isFlowIndicator(next)), !isAtIndicator(":")
                else {
                    cursor = blank
                    break
                }
                guard !blanks.contains(UInt8(ascii: "\t")) else {
                    throw problem("a tab in a text isn't supported: put the text in quotes", at: blank.position)
                }
            } else {
                cursor.step()
            }
        }
        end()
        return try made(.scalar(cursor.text(from: start), isQuoted: false), position, from: start)
    }

    private func isFlowIndicator(_ byte: UInt8?) -> Bool {
        byte.map { ",[]{}".utf8.contains($0) } ?? false
    }

    /// Throws if a text without quotes can't begin with the next character.
    private func checkPlainStart(inFlow: Bool) throws(PolicyFileError) {
        switch cursor.byte {
        case UInt8(ascii: "&"): throw problem("anchors (&) aren't supported: write the value out where it is used")
        case UInt8(ascii: "*"): throw problem("aliases (*) aren't supported: write the value out")
        case UInt8(ascii: "!"): throw problem("tags (!) aren't supported: remove it")
        case UInt8(ascii: "|"), UInt8(ascii: ">"):
            throw problem("a text over several lines isn't supported here: write it on one line")
        case UInt8(ascii: "?") where isAtIndicator("?"):
            throw problem("complex keys (?) aren't supported: write key: value")
        case UInt8(ascii: "-") where isAtIndicator("-"), nil:
            throw problem("unexpected \(found()), expected a value")
        case let byte? where byte.isLineEnd || byte.isBlank || ":#,[]{}%@`".utf8.contains(byte):
            throw problem("unexpected \(found()), expected a value: put a text that begins with it in quotes")
        default: return
        }
    }

    private mutating func quotedScalar(isDouble: Bool) throws(PolicyFileError) -> YAMLNode {
        let (position, start) = (cursor.position, cursor.index)
        let quote = isDouble ? UInt8(ascii: "\"") : UInt8(ascii: "'")
        var text = ""
        cursor.step()
        while cursor.byte != quote || !isDouble && cursor.peek() == quote {
            guard let byte = cursor.byte, !byte.isLineEnd else {
                throw problem("the quote isn't closed on its line: write the text on one line", at: position)
            }
            if byte == quote {
                cursor.step()
                cursor.step()
                text += "'"
            } else if isDouble, byte == UInt8(ascii: "\\") {
                text.unicodeScalars.append(try escape())
            } else {
                let run = cursor.take { $0 != quote && $0 != UInt8(ascii: "\\") && !$0.isLineEnd }
                text += run.isEmpty ? "\\" : String(decoding: run, as: UTF8.self)
                if run.isEmpty { cursor.step() }
            }
        }
        cursor.step()
        end()
        return try made(.scalar(text, isQuoted: true), position, from: start)
    }

    /// Reads an escape of JSON, or one of YAML's for a byte.
    private mutating func escape() throws(PolicyFileError) -> Unicode.Scalar {
        let position = cursor.position
        cursor.step()
        let letter = cursor.byte ?? 0
        cursor.step()
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(letter)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "x"):
            if let number = hexadecimal(2), let scalar = Unicode.Scalar(number) { return scalar }
        case UInt8(ascii: "u"):
            if let number = hexadecimal(4) {
                if let scalar = Unicode.Scalar(number) { return scalar }
                // A character beyond the basic plane is a pair of surrogates.
                if (0xD800..<0xDC00).contains(number), cursor.take("\\u"), let low = hexadecimal(4),
                    (0xDC00..<0xE000).contains(low),
                    let scalar = Unicode.Scalar(0x10000 + (number - 0xD800) << 10 + (low - 0xDC00))
                {
                    return scalar
                }
            }
        default: break
        }
        throw problem("unsupported escape: write the character itself, or one of JSON's escapes", at: position)
    }

    /// Reads a number of hexadecimal digits.
    private mutating func hexadecimal(_ count: Int) -> UInt32? {
        var number: UInt32 = 0
        for _ in 0..<count {
            guard let byte = cursor.byte, byte < 0x80,
                let digit = Character(Unicode.Scalar(byte)).hexDigitValue
            else { return nil }
            number = number << 4 | UInt32(digit)
            cursor.step()
        }
        return number
    }
}
