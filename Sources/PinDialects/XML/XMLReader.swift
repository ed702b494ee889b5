import CertificatePinning
import CertificateTrust
package import PinctlBasics

/// A problem at a position in a text with markup.
package struct MarkupProblem: Error, Hashable, Sendable {
    package let position: SourcePosition
    package let message: String
    /// The lint rule that the problem breaks, if any.
    var rule: LintRule?
}

/// A reader of the part of XML 1.0 that configuration files use: elements, attributes, text, CDATA, comments, and the
/// references that XML itself defines. The encoding must be UTF-8, or UTF-16 with a byte order mark.
///
/// Document types, entities and processing instructions aren't supported, so a document can't refer to another file,
/// and its text is never longer than the document. The time is linear in the size of the document. No input traps.
package struct XMLReader {
    /// The maximum size of a document in bytes: 8 MiB.
    package static let maximumSize = 8 << 20
    /// The maximum nesting depth of elements.
    package static let maximumDepth = 64
    /// The maximum number of elements in a document. It bounds memory and is far above what an app's Info.plist
    /// contains.
    package static let maximumElements = 1 << 16
    /// The maximum number of attributes of an element.
    package static let maximumAttributes = 64
    /// The maximum size of a name or attribute value in bytes.
    package static let maximumTokenSize = 1 << 16

    private let bytes: [UInt8]
    /// The encoding that a byte order mark shows, `utf-16le` or `utf-16be`, or `nil` for UTF-8.
    private let wideEncoding: String?
    private let allowsPropertyListType: Bool
    private var index = 0
    private var elementCount = 0
    /// The last position that was asked for. Positions are asked for in increasing order.
    private var place = (offset: 0, line: Int32(1), column: Int32(1))

    private init(_ bytes: [UInt8], in wideEncoding: String?, allowsPropertyListType: Bool) {
        self.bytes = bytes
        self.wideEncoding = wideEncoding
        self.allowsPropertyListType = allowsPropertyListType
    }

    /// Reads a whole document and returns its root element.
    ///
    /// The only document type that can be allowed is the one of Apple's property lists, which is skipped. In a document
    /// in UTF-16, the ranges of elements are those of the same text in UTF-8.
    package static func read(
        _ bytes: [UInt8], allowsPropertyListType: Bool = false
    ) throws(MarkupProblem) -> XMLElement {
        let (bytes, wideEncoding) = try decoded(bytes)
        var reader = XMLReader(bytes, in: wideEncoding, allowsPropertyListType: allowsPropertyListType)
        return try reader.document()
    }

    /// Returns the encoding that a byte order mark shows if it is UTF-16, `utf-16le` or `utf-16be`.
    package static func wideEncoding(of bytes: Span<UInt8>) -> String? {
        guard bytes.count >= 2 else { return nil }
        if bytes[0] == 0xFE, bytes[1] == 0xFF { return "utf-16be" }
        let isNarrow = bytes[0] != 0xFF || bytes[1] != 0xFE
        // The mark of UTF-32 begins with that of UTF-16.
        return isNarrow || bytes.count >= 4 && bytes[2] == 0 && bytes[3] == 0 ? nil : "utf-16le"
    }

    /// Returns the text of a document in UTF-8 without its byte order mark if it is in UTF-16, or else its bytes.
    package static func decoded(_ bytes: [UInt8]) throws(MarkupProblem) -> (bytes: [UInt8], wideEncoding: String?) {
        guard let encoding = wideEncoding(of: bytes.span) else { return (bytes, nil) }
        let start = SourcePosition(line: 1, column: 1)
        guard bytes.count <= 2 * maximumSize else {
            throw MarkupProblem(
                position: start,
                message:
                    "the document has \(bytes.count) bytes, but the limit is \(2 * maximumSize): check that it is the "
                    + "right file"
            )
        }
        let isLittle = encoding == "utf-16le"
        let units = stride(from: 2, to: bytes.count - 1, by: 2).map { index in
            UInt16(bytes[isLittle ? index + 1 : index]) << 8 | UInt16(bytes[isLittle ? index : index + 1])
        }
        guard bytes.count.isMultiple(of: 2), let text = String(validating: units, as: UTF16.self) else {
            throw MarkupProblem(position: start, message: "invalid UTF-16: save the document as UTF-8")
        }
        return (Array(text.utf8), encoding)
    }
}

// MARK: - Positions

extension XMLReader {
    private var byte: UInt8? { index < bytes.count ? bytes[index] : nil }

    private func starts(with text: String) -> Bool {
        byte == text.utf8.first && bytes[index...].starts(with: text.utf8)
    }

    /// Returns the position of the next byte.
    private mutating func position() -> SourcePosition {
        while place.offset < index {
            let byte = bytes[place.offset]
            place.offset += 1
            let isReturn = byte == UInt8(ascii: "\r") && !(place.offset < bytes.count && bytes[place.offset] == 10)
            if byte == UInt8(ascii: "\n") || isReturn {
                place.line += 1
                place.column = 1
            } else if byte & 0xC0 != 0x80 {
                place.column += 1
            }
        }
        return SourcePosition(line: place.line, column: place.column)
    }

    private mutating func problem(_ message: String, at position: SourcePosition? = nil) -> MarkupProblem {
        MarkupProblem(position: position ?? self.position(), message: message)
    }

    /// Returns the name of the next character in messages.
    private func found() -> String {
        guard let byte else { return "end of document" }
        guard byte < 0x80 else { return "non-ASCII character" }
        return (0x21...0x7E).contains(byte) ? "\"\(Unicode.Scalar(byte))\"" : "byte \(byte)"
    }
}

// MARK: - The document

extension XMLReader {
    private mutating func document() throws(MarkupProblem) -> XMLElement {
        try checkEncoding()
        try skipDeclaration()
        var hasType = false
        while true {
            try skipSpaceAndComments()
            guard starts(with: "<!DOCTYPE") else { break }
            // mutant xml-doctype: true for 1 by XMLReaderTests
            guard allowsPropertyListType, !hasType else {
                throw problem(
                    "a document type isn't supported, because it can refer to other files: remove the <!DOCTYPE …>")
            }
            try skipPropertyListType()
            hasType = true
        }
        guard byte == UInt8(ascii: "<") else { throw problem("unexpected \(found()), expected the root element") }
        let root = try element(depth: 1)
        try skipSpaceAndComments()
        guard index == bytes.count else { throw problem("unexpected \(found()) after the root element: remove it") }
        return root
    }

    /// Checks that the bytes are UTF-8 and contain only characters that XML allows (production 2).
    private mutating func checkEncoding() throws(MarkupProblem) {
        guard bytes.count <= Self.maximumSize else {
            throw problem(
                "the document has \(bytes.count) bytes, but the limit is \(Self.maximumSize): check that it is the "
                    + "right file"
            )
        }
        let signatures: [([UInt8], String)] = [
            ([0, 0, 0xFE, 0xFF], "UTF-32"), ([0xFF, 0xFE, 0, 0], "UTF-32"), ([0, 0, 0, 0x3C], "UTF-32"),
            ([0x3C, 0, 0, 0], "UTF-32"), ([0xFE, 0xFF], "UTF-16"), ([0xFF, 0xFE], "UTF-16"), ([0, 0x3C], "UTF-16"),
            ([0x3C, 0], "UTF-16"), (Array("+/v".utf8), "UTF-7"), ([0x4C, 0x6F, 0xA7, 0x94], "EBCDIC"),
        ]
        if let (_, name) = signatures.first(where: { bytes.starts(with: $0.0) }) {
            throw problem("the document is encoded in \(name): save it as UTF-8")
        }
        let input = bytes
        let span = input.span
        do throws(UTF8.ValidationError) {
            _ = try UTF8Span(validating: span)
        } catch {
            index = error.byteOffsets.lowerBound
            throw problem("invalid UTF-8: save the document as UTF-8")
        }
        for offset in span.indices {
            let byte = span[offset]
            guard byte < 0x20 && ![9, 10, 13].contains(byte) || byte == 0xEF else { continue }
            // U+FFFE and U+FFFF are EF BF BE and EF BF BF.
            if byte == 0xEF, span[offset + 1] != 0xBF || span[offset + 2] < 0xBE { continue }
            index = offset
            throw problem("this character isn't allowed in XML: remove it")
        }
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) {
            index = 3
            place = (3, 1, 1)
        }
    }

    private mutating func skipDeclaration() throws(MarkupProblem) {
        guard starts(with: "<?xml"), index + 5 < bytes.count, isXMLSpace(bytes[index + 5]) else { return }
        index += 5
        for attribute in try attributes() {
            switch attribute.name {
            case "version" where attribute.value == "1.0": break
            case "version":
                throw problem(
                    "unsupported XML version \(quoted(attribute.value)): write version=\"1.0\"", at: attribute.position)
            case "encoding" where wideEncoding == nil && attribute.value.lowercased() == "utf-8": break
            case "encoding"
            where ["utf-16", wideEncoding].contains(attribute.value.lowercased()) && wideEncoding != nil:
                break
            case "encoding" where wideEncoding != nil:
                throw problem(
                    "the encoding is declared as \(quoted(attribute.value)), but the document is in UTF-16: save it as "
                        + "UTF-8, and write encoding=\"UTF-8\"", at: attribute.position)
            case "encoding":
                throw problem(
                    "unsupported encoding \(quoted(attribute.value)): save the document as UTF-8, and write "
                        + "encoding=\"UTF-8\"",
                    at: attribute.position)
            case "standalone" where ["yes", "no"].contains(attribute.value): break
            default:
                throw problem(
                    "unexpected \(quoted(attribute.name)) in the XML declaration: write only version and encoding",
                    at: attribute.position)
            }
        }
        guard starts(with: "?>") else {
            throw problem("unexpected \(found()) in the XML declaration: end it with \"?>\"")
        }
        index += 2
    }

    private mutating func skipSpaceAndComments() throws(MarkupProblem) {
        while true {
            skipSpace()
            guard try skipComment() else { return }
        }
    }

    private mutating func skipSpace() {
        while let byte, isXMLSpace(byte) { index += 1 }
    }

    /// Skips a comment if there is one here, and returns whether there was.
    private mutating func skipComment() throws(MarkupProblem) -> Bool {
        guard starts(with: "<!--") else {
            guard starts(with: "<?") else { return false }
            throw problem("a processing instruction isn't supported: remove the <?…?>")
        }
        let start = position()
        index += 4
        while index < bytes.count {
            if starts(with: "--") {
                guard starts(with: "-->") else { throw problem("\"--\" isn't allowed in a comment: remove it") }
                index += 3
                return true
            }
            index += 1
        }
        throw problem("unterminated comment: close it with \"-->\"", at: start)
    }

    /// Skips the document type of Apple's property lists. The URL in it is never opened.
    private mutating func skipPropertyListType() throws(MarkupProblem) {
        let start = position()
        var words: [String] = []
        index += "<!DOCTYPE".utf8.count
        while words.count <= 4 {
            skipSpace()
            guard let byte, byte != UInt8(ascii: ">") else { break }
            let isQuoted = byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'")
            let first = index
            index += 1
            while let next = self.byte, isQuoted ? next != byte : !isXMLSpace(next) && next != UInt8(ascii: ">") {
                index += 1
            }
            words.append(String(decoding: bytes[(isQuoted ? first + 1 : first)..<index], as: UTF8.self))
            if isQuoted { index += 1 }
        }
        let owners = ["-//Apple//DTD PLIST 1.0//EN", "-//Apple Computer//DTD PLIST 1.0//EN"]
        let addresses = ["http", "https"].map { "\($0)://www.apple.com/DTDs/PropertyList-1.0.dtd" }
        guard byte == UInt8(ascii: ">"), words.count == 4, words[0] == "plist", words[1] == "PUBLIC",
            owners.contains(words[2]), addresses.contains(words[3])
        else {
            throw problem(
                "only the document type of Apple's property lists is supported, because others can refer to other "
                    + "files: remove the <!DOCTYPE …>", at: start)
        }
        index += 1
    }
}

// MARK: - Elements

extension XMLReader {
    private mutating func element(depth: Int) throws(MarkupProblem) -> XMLElement {
        let start = index
        let position = position()
        // mutant xml-depth: true by XMLReaderTests
        guard depth <= Self.maximumDepth else {
            throw problem("elements are nested deeper than \(Self.maximumDepth) levels: flatten them")
        }
        elementCount += 1
        // mutant xml-elements: true by XMLReaderTests
        guard elementCount <= Self.maximumElements else {
            throw problem(
                "the document has more than \(Self.maximumElements) elements: check that it is the right file")
        }
        index += 1
        let name = try name()
        let attributes = try attributes()
        var nodes: [XMLElement.Node] = []
        if starts(with: "/>") {
            index += 2
        } else if byte == UInt8(ascii: ">") {
            index += 1
            nodes = try content(of: name, from: position, depth: depth)
        } else {
            throw problem("unexpected \(found()) in a tag: end it with \">\"")
        }
        return XMLElement(
            name: name, attributes: attributes, nodes: nodes, position: position, range: start..<index)
    }

    /// Reads the content of an element, including its end tag.
    private mutating func content(
        of name: String, from start: SourcePosition, depth: Int
    ) throws(MarkupProblem) -> [XMLElement.Node] {
        var nodes: [XMLElement.Node] = []
        var text: [UInt8] = []
        var comment: String?
        var hasSideComment = false
        func flush() {
            guard !text.isEmpty else { return }
            nodes.append(.text(String(decoding: text, as: UTF8.self)))
            text.removeAll(keepingCapacity: true)
        }
        while let byte {
            if byte != UInt8(ascii: "<") {
                guard !starts(with: "]]>") else { throw problem("\"]]>\" isn't allowed here: write \"]]&gt;\"") }
                try character(into: &text)
            } else if starts(with: "</") {
                flush()
                try endTag(of: name, from: start)
                return nodes
            } else if starts(with: "<![CDATA[") {
                try section(into: &text)
            } else if starts(with: "<!DOCTYPE") || starts(with: "<!ENTITY") {
                throw problem("a declaration isn't supported here: remove it")
            } else {
                let start = index
                if try skipComment() {
                    let body = String(decoding: bytes[(start + 4)..<(index - 3)], as: UTF8.self)
                    if case .element(var element)? = nodes.last, !hasSideComment, comment == nil,
                        !text.contains(UInt8(ascii: "\n"))
                    {
                        hasSideComment = true
                        element.comment = body
                        nodes[nodes.count - 1] = .element(element)
                    } else {
                        comment = body
                    }
                } else {
                    flush()
                    var element = try element(depth: depth + 1)
                    element.comment = comment
                    (comment, hasSideComment) = (nil, false)
                    nodes.append(.element(element))
                }
            }
        }
        throw problem("unclosed element <\(quotedName(name))>: close it with </\(quotedName(name))>", at: start)
    }

    private mutating func endTag(of name: String, from start: SourcePosition) throws(MarkupProblem) {
        let position = position()
        index += 2
        let found = try self.name()
        guard found == name else {
            throw problem(
                "unexpected </\(quotedName(found))>, expected </\(quotedName(name))> for the element opened at "
                    + "\(start.line):\(start.column)", at: position)
        }
        skipSpace()
        guard byte == UInt8(ascii: ">") else {
            throw problem("unexpected \(self.found()) in an end tag: end it with \">\"")
        }
        index += 1
    }

    private func quotedName(_ name: String) -> String { String(quoted(name).dropFirst().dropLast()) }

    private mutating func section(into text: inout [UInt8]) throws(MarkupProblem) {
        let start = position()
        index += "<![CDATA[".utf8.count
        while index < bytes.count {
            if starts(with: "]]>") {
                index += 3
                return
            }
            literal(into: &text)
        }
        throw problem("unterminated CDATA section: close it with \"]]>\"", at: start)
    }

    private mutating func name() throws(MarkupProblem) -> String {
        let first = index
        while let byte, Self.isNameByte(byte) { index += 1 }
        let isStart = bytes[first..<index].first.map {
            !(UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "."))
        }
        guard isStart == true, index - first <= Self.maximumTokenSize else {
            index = first
            throw problem("unexpected \(found()), expected a name: write \"<\" in text as \"&lt;\"")
        }
        return String(decoding: bytes[first..<index], as: UTF8.self)
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: ":"): true
        case UInt8(ascii: "-"), UInt8(ascii: "."), 0x80...: true
        default: false
        }
    }

    private mutating func attributes() throws(MarkupProblem) -> [XMLElement.Attribute] {
        var attributes: [XMLElement.Attribute] = []
        while let byte, isXMLSpace(byte) {
            skipSpace()
            guard let byte = self.byte, Self.isNameByte(byte) else { break }
            let (position, start) = (position(), index)
            let name = try name()
            guard attributes.count < Self.maximumAttributes else {
                throw problem(
                    "an element has more than \(Self.maximumAttributes) attributes: move some to elements",
                    at: position)
            }
            // mutant xml-attribute-twice: true by XMLReaderTests
            guard !attributes.contains(where: { $0.name == name }) else {
                throw problem("duplicate attribute \(quoted(name)): keep one", at: position)
            }
            skipSpace()
            guard self.byte == UInt8(ascii: "=") else { throw problem("unexpected \(found()), expected \"=\"") }
            index += 1
            skipSpace()
            let value = try quotedValue()
            attributes.append(
                XMLElement.Attribute(name: name, value: value, position: position, range: start..<index))
        }
        return attributes
    }

    private mutating func quotedValue() throws(MarkupProblem) -> String {
        guard let quote = byte, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else {
            throw problem("unexpected \(found()), expected a value: write it in double quotes")
        }
        let start = position()
        index += 1
        var value: [UInt8] = []
        while let byte, byte != quote {
            guard byte != UInt8(ascii: "<") else {
                throw problem("\"<\" isn't allowed in a value: write it as \"&lt;\"")
            }
            guard value.count <= Self.maximumTokenSize else {
                throw problem("a value has more than \(Self.maximumTokenSize) bytes: shorten it", at: start)
            }
            let isReference = byte == UInt8(ascii: "&")
            try character(into: &value)
            // White space that isn't a reference becomes a space (section 3.3.3).
            if !isReference, let last = value.last, isXMLSpace(last) { value[value.count - 1] = UInt8(ascii: " ") }
        }
        guard byte == quote else { throw problem("unterminated value: close the quotes", at: start) }
        index += 1
        return String(decoding: value, as: UTF8.self)
    }
}

// MARK: - Characters

extension XMLReader {
    /// Reads a byte or a reference.
    private mutating func character(into text: inout [UInt8]) throws(MarkupProblem) {
        if byte == UInt8(ascii: "&") { try reference(into: &text) } else { literal(into: &text) }
    }

    /// Reads a byte. Every line end becomes a line feed (section 2.11).
    private mutating func literal(into text: inout [UInt8]) {
        let byte = bytes[index]
        index += 1
        guard byte == UInt8(ascii: "\r") else {
            text.append(byte)
            return
        }
        text.append(UInt8(ascii: "\n"))
        if self.byte == UInt8(ascii: "\n") { index += 1 }
    }

    private mutating func reference(into text: inout [UInt8]) throws(MarkupProblem) {
        let head = bytes[(index + 1)...].prefix(12)
        guard let end = head.firstIndex(of: UInt8(ascii: ";")) else {
            throw problem("\"&\" doesn't start a reference: write it as \"&amp;\"")
        }
        let name = String(decoding: bytes[(index + 1)..<end], as: UTF8.self)
        let scalar: Unicode.Scalar? =
            switch name {
            case "lt": "<"
            case "gt": ">"
            case "amp": "&"
            case "quot": "\""
            case "apos": "'"
            default: Self.numbered(name)
            }
        // mutant xml-entity: { index = end + 1; return } for `throw problem…")` by XMLReaderTests
        guard let scalar else { throw problem("&\(quotedName(name)); is undefined: write the character itself") }
        text += String(scalar).utf8
        index = end + 1
    }

    /// Returns the character of `#10` or `#xA`, or `nil` if XML doesn't allow it.
    private static func numbered(_ name: String) -> Unicode.Scalar? {
        guard name.hasPrefix("#") else { return nil }
        let isHexadecimal = name.hasPrefix("#x")
        let digits = name.dropFirst(isHexadecimal ? 2 : 1)
        guard digits.utf8.allSatisfy({ Unicode.Scalar($0).properties.isASCIIHexDigit }),
            let code = UInt32(digits, radix: isHexadecimal ? 16 : 10), let scalar = Unicode.Scalar(code),
            isXMLCharacter(scalar)
        else { return nil }
        return scalar
    }
}
