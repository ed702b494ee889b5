/// An error at one position of a JSON text.
package struct JSONCProblem: Error, Hashable, Sendable {
    package let position: SourcePosition
    package let message: String
}

/// A strict reader for JSON (RFC 8259). Comments and trailing commas are allowed only if the dialect has them.
///
/// A policy must not mean different things to different readers. Duplicate keys and bytes that aren't UTF-8 are
/// therefore errors, and every value keeps its position. The time is linear in the length of the text. No input traps.
package struct JSONCReader {
    package enum Dialect: Sendable {
        /// RFC 8259 without extensions.
        case json
        /// JSON with `//` and `/* */` comments, and with an optional comma after the last element.
        case jsonc

        /// Selects the strict dialect if the file name ends in `.json`.
        package init(ofFile path: String) { self = path.lowercased().hasSuffix(".json") ? .json : .jsonc }
    }

    /// The result of reading a text.
    package struct Document: Sendable {
        /// The value, or `nil` if the syntax is invalid.
        package let root: JSONValue?
        /// Every duplicate key, and the syntax error that stopped the reader, if any.
        package let problems: [JSONCProblem]
    }

    /// The maximum size of a text in bytes: 8 MiB.
    package static let maximumSize = 8 << 20
    /// The maximum nesting depth of objects and arrays.
    package static let maximumDepth = 32
    /// The maximum number of duplicate keys that are reported one by one.
    static let maximumDuplicates = 1000

    private let bytes: [UInt8]
    private let dialect: Dialect
    private var index = 0
    private var depth = 0
    private var line: Int32 = 1
    private var lineStart = 0
    /// The number of UTF-8 continuation bytes on this line. Columns don't count them.
    private var continuations = 0
    private var duplicates: [JSONCProblem] = []

    private init(_ bytes: [UInt8], _ dialect: Dialect) {
        self.bytes = bytes
        self.dialect = dialect
    }

    /// Reads a whole text.
    package static func read(_ bytes: [UInt8], dialect: Dialect) -> Document {
        var reader = JSONCReader(bytes, dialect)
        do throws(JSONCProblem) {
            let root = try reader.document()
            return Document(root: root, problems: reader.duplicates)
        } catch {
            return Document(root: nil, problems: reader.duplicates + [error])
        }
    }

    private mutating func document() throws(JSONCProblem) -> JSONValue {
        guard bytes.count <= Self.maximumSize else {
            throw problem(
                "the text has \(bytes.count) bytes, but the limit is \(Self.maximumSize): check that it is the right "
                    + "file"
            )
        }
        guard !bytes.starts(with: [0xEF, 0xBB, 0xBF]) else {
            throw problem("the text starts with a byte order mark: save it as UTF-8 without one")
        }
        try skipBlanks()
        guard index < bytes.count else { throw problem("the text has no JSON value: write an object") }
        let root = try value()
        try skipBlanks()
        // mutant json-trailing: true by JSONCReaderTests
        guard index == bytes.count else { throw problem("unexpected \(found()) after the end of the value: remove it") }
        return root
    }
}

// MARK: - Positions

extension JSONCReader {
    private var position: SourcePosition {
        SourcePosition(line: line, column: Int32(index - lineStart - continuations + 1))
    }

    private func problem(_ message: String, at position: SourcePosition? = nil) -> JSONCProblem {
        JSONCProblem(position: position ?? self.position, message: message)
    }

    private var byte: UInt8? { index < bytes.count ? bytes[index] : nil }

    private var nextByte: UInt8? { index + 1 < bytes.count ? bytes[index + 1] : nil }

    /// Returns the name that messages use for the token at this position: a word or one character.
    private func found() -> String {
        guard let byte else { return "end of text" }
        if byte == UInt8(ascii: "\"") { return "string" }
        guard Self.isWordByte(byte) else {
            guard byte < 0x80 else { return "non-ASCII character" }
            let isPrintable = (0x21...0x7E).contains(byte)
            return isPrintable ? "\"\(Unicode.Scalar(byte))\"" : "byte \(byte)"
        }
        let word = bytes[index...].prefix(20).prefix(while: Self.isWordByte)
        return "\"\(String(decoding: word, as: UTF8.self))\""
    }

    private static func isWordByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "$"): true
        default: false
        }
    }

    /// Skips a line end: LF, CR LF, or CR alone.
    private mutating func stepLine() {
        index += bytes[index] == UInt8(ascii: "\r") && nextByte == UInt8(ascii: "\n") ? 2 : 1
        line += 1
        lineStart = index
        continuations = 0
    }

    /// Skips one character that isn't a line end, and checks that it is valid UTF-8 (RFC 3629, section 4).
    private mutating func stepCharacter() throws(JSONCProblem) {
        let first = bytes[index]
        guard first >= 0x80 else {
            index += 1
            return
        }
        // The range of the second byte excludes overlong forms, surrogates and values above U+10FFFF.
        let (length, second): (Int, ClosedRange<UInt8>) =
            switch first {
            case 0xC2...0xDF: (2, 0x80...0xBF)
            case 0xE0: (3, 0xA0...0xBF)
            case 0xED: (3, 0x80...0x9F)
            case 0xE1...0xEF: (3, 0x80...0xBF)
            case 0xF0: (4, 0x90...0xBF)
            case 0xF1...0xF3: (4, 0x80...0xBF)
            case 0xF4: (4, 0x80...0x8F)
            default: (0, 0...0)
            }
        guard length > 0, index + length <= bytes.count, second.contains(bytes[index + 1]),
            bytes[(index + 2)..<(index + length)].allSatisfy({ $0 & 0xC0 == 0x80 })
        else { throw problem("invalid UTF-8: save the file as UTF-8") }
        // mutant json-deceptive: true by JSONCReaderTests/deceptive
        guard !Self.isDeceptive(bytes[index..<(index + length)]) else {
            let scalar = String(decoding: bytes[index..<(index + length)], as: UTF8.self)
            throw problem(
                "\(visibleText(scalar)) makes text appear in another order or on another line: remove it, or write it "
                    + "as an escape in a string")
        }
        index += length
        continuations += length - 1
    }

    /// Whether a character, 2 to 4 bytes, makes some editors show the text around it on another line or in another
    /// order (CVE-2021-42574): U+0085, U+2028 and U+2029, which end lines, and the embeddings, overrides and isolates
    /// of UAX #9.
    private static func isDeceptive(_ character: ArraySlice<UInt8>) -> Bool {
        let last = character[character.endIndex - 1]
        return character.elementsEqual([0xC2, 0x85]) || character.starts(with: [0xE2, 0x80]) && 0xA8...0xAE ~= last
            || character.starts(with: [0xE2, 0x81]) && 0xA6...0xA9 ~= last
    }

    private mutating func skipBlanks() throws(JSONCProblem) {
        while let byte {
            switch byte {
            case UInt8(ascii: " "), UInt8(ascii: "\t"): index += 1
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"): stepLine()
            case UInt8(ascii: "/"): try skipComment()
            default: return
            }
        }
    }

    private mutating func skipComment() throws(JSONCProblem) {
        let start = position
        let isBlock = nextByte == UInt8(ascii: "*")
        guard isBlock || nextByte == UInt8(ascii: "/") else {
            throw problem("\"/\" doesn't start a comment here: write \"//\" or \"/*\"")
        }
        guard dialect == .jsonc else {
            throw problem("strict JSON doesn't allow comments: give the file a name that ends in .jsonc")
        }
        index += 2
        while let byte {
            if byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") {
                // Many editors and reviews show what follows on the line of the comment.
                // mutant json-carriage-return: true by JSONCReaderTests/carriageReturn
                guard byte == UInt8(ascii: "\n") || nextByte == UInt8(ascii: "\n") else {
                    throw problem("carriage return without a line feed in a comment: end lines with LF or CR LF")
                }
                guard isBlock else { return }
                stepLine()
            } else if isBlock, byte == UInt8(ascii: "*"), nextByte == UInt8(ascii: "/") {
                index += 2
                return
            } else {
                try stepCharacter()
            }
        }
        guard !isBlock else { throw problem("unterminated comment: close it with \"*/\"", at: start) }
    }
}

// MARK: - Values

extension JSONCReader {
    private mutating func value() throws(JSONCProblem) -> JSONValue {
        let start = position
        let kind: JSONValue.Kind =
            switch byte {
            case UInt8(ascii: "{"): .object(try object())
            case UInt8(ascii: "["): .array(try array())
            case UInt8(ascii: "\""): .string(try string())
            case UInt8(ascii: "-"), (UInt8(ascii: "0")...UInt8(ascii: "9"))?: .number(try number())
            default: try literal()
            }
        return JSONValue(kind: kind, position: start)
    }

    private mutating func object() throws(JSONCProblem) -> [JSONValue.Member] {
        var members: [JSONValue.Member] = []
        var keys: [String: SourcePosition] = [:]
        try list(until: UInt8(ascii: "}"), "\"}\"") { reader throws(JSONCProblem) in
            let keyPosition = reader.position
            guard reader.byte == UInt8(ascii: "\"") else {
                throw reader.problem("unexpected \(reader.found()), expected a key: write it in double quotes")
            }
            let key = try reader.string()
            try reader.skipBlanks()
            guard reader.byte == UInt8(ascii: ":") else {
                throw reader.problem("unexpected \(reader.found()), expected \":\"")
            }
            reader.index += 1
            try reader.skipBlanks()
            // mutant duplicate-key: nil by JSONCReaderTests
            if let earlier = keys[key] {
                try reader.note(duplicate: key, at: keyPosition, earlier: earlier)
            } else {
                keys[key] = keyPosition
            }
            members.append(JSONValue.Member(key: key, keyPosition: keyPosition, value: try reader.value()))
        }
        return members
    }

    private mutating func note(
        duplicate key: String, at position: SourcePosition, earlier: SourcePosition
    ) throws(JSONCProblem) {
        guard duplicates.count < Self.maximumDuplicates else {
            throw problem("more than \(Self.maximumDuplicates) duplicate keys: fix those first", at: position)
        }
        let place = "\(earlier.line):\(earlier.column)"
        duplicates.append(
            problem("duplicate key \"\(key)\", first at \(place): keep one", at: position))
    }

    private mutating func array() throws(JSONCProblem) -> [JSONValue] {
        var elements: [JSONValue] = []
        try list(until: UInt8(ascii: "]"), "\"]\"") { reader throws(JSONCProblem) in
            elements.append(try reader.value())
        }
        return elements
    }

    /// Reads a list from its opening bracket through its closing one. Calls `item` for each element.
    private mutating func list(
        until end: UInt8, _ endText: String, _ item: (inout JSONCReader) throws(JSONCProblem) -> Void
    ) throws(JSONCProblem) {
        // mutant json-depth: true by JSONCReaderTests
        guard depth < Self.maximumDepth else {
            throw problem("objects and arrays are nested deeper than \(Self.maximumDepth) levels: flatten them")
        }
        depth += 1
        defer { depth -= 1 }
        index += 1
        try skipBlanks()
        var comma: SourcePosition?
        while byte != end {
            try item(&self)
            let itemEnd = position
            try skipBlanks()
            comma = nil
            guard byte == UInt8(ascii: ",") else {
                // mutant json-missing-comma: false for `startsItem(until: end)` by JSONCReaderTests/missingComma
                guard startsItem(until: end) else { break }
                throw problem("missing comma: write \",\" after this value", at: itemEnd)
            }
            comma = position
            index += 1
            try skipBlanks()
        }
        guard byte == end else { throw problem("unexpected \(found()), expected \",\" or \(endText)") }
        if let comma, dialect == .json {
            throw problem("strict JSON doesn't allow a comma after the last element: remove it", at: comma)
        }
        index += 1
    }

    /// Returns whether an element of the list with this closing bracket starts here: a value, or a key and its value.
    private func startsItem(until end: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "\""): true
        case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "-"), (UInt8(ascii: "0")...UInt8(ascii: "9"))?:
            end == UInt8(ascii: "]")
        default:
            end == UInt8(ascii: "]") && ["true", "false", "null"].contains { bytes[index...].starts(with: $0.utf8) }
        }
    }

    private mutating func literal() throws(JSONCProblem) -> JSONValue.Kind {
        for (text, kind) in [("true", JSONValue.Kind.bool(true)), ("false", .bool(false)), ("null", .null)]
        where bytes[index...].starts(with: text.utf8) {
            guard index + text.utf8.count == bytes.count || !Self.isWordByte(bytes[index + text.utf8.count]) else {
                continue
            }
            index += text.utf8.count
            return kind
        }
        throw problem("unexpected \(found()), expected a value")
    }

    private mutating func number() throws(JSONCProblem) -> String {
        let start = index
        let place = position
        if byte == UInt8(ascii: "-") { index += 1 }
        if byte == UInt8(ascii: "0") { index += 1 } else { try skipDigits(place) }
        if byte == UInt8(ascii: ".") {
            index += 1
            try skipDigits(place)
        }
        if byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E") {
            index += 1
            if byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-") { index += 1 }
            try skipDigits(place)
        }
        if let byte, Self.isWordByte(byte) || byte == UInt8(ascii: ".") {
            throw problem("invalid JSON number: write it in decimal, without leading zeros", at: place)
        }
        return String(decoding: bytes[start..<index], as: UTF8.self)
    }

    private mutating func skipDigits(_ start: SourcePosition) throws(JSONCProblem) {
        let first = index
        while let byte, UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte { index += 1 }
        guard index > first else {
            throw problem("invalid JSON number: write it in decimal, without leading zeros", at: start)
        }
    }
}

// MARK: - Strings

extension JSONCReader {
    private mutating func string() throws(JSONCProblem) -> String {
        let start = position
        index += 1
        var text: [UInt8] = []
        var run = index
        while let byte {
            switch byte {
            case UInt8(ascii: "\""):
                text += bytes[run..<index]
                index += 1
                return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"):
                text += bytes[run..<index]
                text += try escape().utf8
                run = index
            case 0x00..<0x20:
                throw problem("unescaped control character \(byte) in a string: write it as an escape, \\n or \\u00XX")
            default:
                try stepCharacter()
            }
        }
        throw problem("unterminated string: close it with a double quote", at: start)
    }

    /// Reads one escape (RFC 8259, section 7), or two if they form a surrogate pair.
    private mutating func escape() throws(JSONCProblem) -> Unicode.Scalar {
        let start = position
        guard let letter = nextByte else { throw problem("unterminated escape: write a backslash as \\\\") }
        let simple: Unicode.Scalar? =
            switch letter {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): Unicode.Scalar(letter)
            case UInt8(ascii: "b"): "\u{8}"
            case UInt8(ascii: "f"): "\u{C}"
            case UInt8(ascii: "n"): "\n"
            case UInt8(ascii: "r"): "\r"
            case UInt8(ascii: "t"): "\t"
            default: nil
            }
        if let simple {
            index += 2
            return simple
        }
        var code = try codeUnit()
        if 0xD800...0xDBFF ~= code, byte == UInt8(ascii: "\\") {
            let low = try codeUnit()
            guard 0xDC00...0xDFFF ~= low else {
                throw problem("unpaired surrogate: write both halves, \\uD8XX\\uDCXX", at: start)
            }
            code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
        }
        guard let scalar = Unicode.Scalar(code) else {
            throw problem("unpaired surrogate: write both halves, \\uD8XX\\uDCXX", at: start)
        }
        return scalar
    }

    /// Reads `\uXXXX`.
    private mutating func codeUnit() throws(JSONCProblem) -> UInt32 {
        guard nextByte == UInt8(ascii: "u") else {
            throw problem("invalid escape: write a backslash as \\\\")
        }
        let digits = bytes[(index + 2)...].prefix(4)
        guard digits.count == 4, digits.allSatisfy({ Unicode.Scalar($0).properties.isASCIIHexDigit }),
            let code = UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
        else { throw problem("invalid escape: write four hexadecimal digits after \\u") }
        index += 6
        return code
    }
}
