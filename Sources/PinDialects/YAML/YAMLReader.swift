package import CertificatePinning
import PinctlBasics

/// A reader of the part of YAML 1.2 that configuration files use, with JSON as a part of it: block and flow
/// collections, texts on one line with or without quotes, block scalars, and comments.
///
/// Tags, directives, complex keys and texts that continue on another line are refused with their position, and so are
/// several documents where one is expected, so a text has one meaning. Aliases stand for the value of their anchor, and
/// all values together are bounded. The time is linear in the length of the text and the number of values. No input
/// traps.
package struct YAMLReader {
    /// The references to values above that a text may have.
    enum References: Comparable {
        /// None: every value is written where it is used.
        case none
        /// Anchors and aliases.
        case aliases
        /// Also merge keys (`<<`), which the readers of Go have, and others don't.
        case merges
    }

    /// The maximum nesting depth of collections.
    static let maximumDepth = 64
    /// The maximum number of values in a text. It bounds memory, and is far above what a proxy's configuration has.
    static let maximumNodes = 1 << 18

    let path: String
    var cursor: TextCursor
    /// The number of collections around the cursor.
    private var depth = 0
    private var nodeCount = 0
    /// The end of the last value, without blanks and comments after it.
    private var lastEnd = 0
    let references: References
    /// The values with an anchor.
    private var anchors: [String: YAMLNode] = [:]

    /// The start of the document in the whole text.
    private let offset: Int

    private init(
        _ bytes: [UInt8], path: String, line: Int32 = 1, offset: Int = 0, _ references: References
    ) throws(PolicyFileError) {
        self.path = path
        self.offset = offset
        self.references = references
        cursor = try TextCursor(checking: bytes, path: path, line: line)
        try checkCharacters()
    }

    /// Refuses control characters, and the line ends that only some readers of YAML know.
    private func checkCharacters() throws(PolicyFileError) {
        var cursor = cursor
        while let byte = cursor.byte {
            let isControl =
                byte < 0x20 && byte != 0x09 && !byte.isLineEnd || byte == 0x7F
                // U+0080 to U+009F, U+2028, U+2029 and U+FEFF in UTF-8.
                || byte == 0xC2 && (0x80...0x9F).contains(cursor.peek() ?? 0)
                || byte == 0xE2 && cursor.peek() == 0x80 && [0xA8, 0xA9].contains(cursor.peek(2))
                || byte == 0xEF && cursor.peek() == 0xBB && cursor.peek(2) == 0xBF
            guard !isControl else {
                throw problem("control characters aren't supported: remove it", at: cursor.position)
            }
            cursor.step()
        }
    }

    /// Reads a whole text.
    static func read(
        _ bytes: [UInt8], path: String, _ references: References = .aliases
    ) throws(PolicyFileError) -> YAMLNode {
        var reader = try YAMLReader(bytes, path: path, references)
        guard let root = try reader.document() else { throw reader.problem("the file is empty: write a mapping") }
        return root
    }

    /// The maximum number of documents in a text.
    static let maximumDocuments = 1000

    /// Reads the documents of a text that are separated by `---`, as Kubernetes does. Empty ones are left out.
    package static func readAll(_ bytes: [UInt8], path: String) throws(PolicyFileError) -> [YAMLNode] {
        var documents: [YAMLNode] = []
        // No value may contain such a line, not even a text over several lines (YAML 1.2, section 9.1.2).
        for part in bytes.parts(startedBy: "---", limit: maximumDocuments) {
            var reader = try YAMLReader(
                Array(part.bytes), path: path, line: part.line, offset: part.bytes.startIndex, .merges)
            guard documents.count < maximumDocuments else {
                throw reader.problem(
                    "the file has more than \(maximumDocuments) documents: give those with pins or keys in a file of "
                        + "their own"
                )
            }
            if let root = try reader.document() { documents.append(root) }
        }
        return documents
    }
}

// MARK: - Lines

extension YAMLReader {
    func problem(_ message: String, at position: SourcePosition? = nil, rule: LintRule? = nil) -> PolicyFileError {
        PolicyFileError(problems: [
            PolicyProblem(
                location: PolicyLocation(path: path, position ?? cursor.position), message: message, rule: rule)
        ])
    }

    /// The indentation of the cursor, if only blanks, dashes and keys of the same line are before it.
    private var column: Int { Int(cursor.position.column) - 1 }

    private var isAtLineEnd: Bool { cursor.byte.map(\.isLineEnd) ?? true }

    /// Whether the cursor is at an indicator, such as the dash of a list, that is followed by a blank or the line's
    /// end.
    func isAtIndicator(_ byte: Character) -> Bool {
        cursor.byte == byte.asciiValue && (cursor.peek().map { $0.isBlank || $0.isLineEnd } ?? true)
    }

    mutating func skipBlanks() { _ = cursor.take(while: \.isBlank) }

    private mutating func skipComment() { _ = cursor.take { !$0.isLineEnd } }

    /// Ends a line after a value: only blanks and a comment may follow.
    private mutating func finishLine() throws(PolicyFileError) {
        skipBlanks()
        // A comment follows after a blank.
        if cursor.byte == UInt8(ascii: "#"), cursor.index > lastEnd { skipComment() }
        guard isAtLineEnd else { throw problem("unexpected \(found()) after a value: put it on a line of its own") }
    }

    /// Moves to the next value, over blank lines and comments. The cursor is at the end of a line, or at its start.
    private mutating func skipToContent() throws(PolicyFileError) {
        while let byte = cursor.byte {
            if byte.isLineEnd {
                cursor.step()
            } else if byte == UInt8(ascii: " ") {
                cursor.step()
            } else if byte == UInt8(ascii: "#") {
                skipComment()
            } else if byte == UInt8(ascii: "\t") {
                let position = cursor.position
                skipBlanks()
                guard isAtLineEnd || cursor.byte == UInt8(ascii: "#") else {
                    throw problem("YAML is indented with spaces only: replace the tab", at: position)
                }
            } else {
                try checkLineStart()
                return
            }
        }
    }

    private mutating func checkLineStart() throws(PolicyFileError) {
        guard column == 0 else { return }
        if cursor.byte == UInt8(ascii: "%") { throw problem("directives (%) aren't supported: remove it") }
        for marker in ["---", "..."] as [StaticString] where cursor.stands(marker) {
            guard cursor.peek(3).map({ $0.isBlank || $0.isLineEnd }) ?? true else { continue }
            throw problem("several documents in a file aren't supported: give each a file of its own")
        }
    }

    /// Returns the name of the next character in messages.
    func found() -> String {
        guard let byte = cursor.byte else { return "end of the text" }
        guard byte < 0x80 else { return "non-ASCII character" }
        return byte.isLineEnd ? "end of the line" : quoted(String(UnicodeScalar(byte)))
    }
}

// MARK: - Blocks

extension YAMLReader {
    /// Reads a document, or returns `nil` if it is empty.
    private mutating func document() throws(PolicyFileError) -> YAMLNode? {
        try skipStart()
        guard cursor.byte != nil else { return nil }
        let root = try node()
        guard cursor.byte == nil else {
            throw problem("this line isn't indented like the lines before it: align it with them")
        }
        return root
    }

    /// Moves to the first value, over `---`.
    private mutating func skipStart() throws(PolicyFileError) {
        while let byte = cursor.byte {
            if byte == UInt8(ascii: "#") {
                skipComment()
            } else if byte.isLineEnd {
                cursor.step()
            } else {
                break
            }
        }
        if cursor.stands("---"), cursor.peek(3).map({ $0.isBlank || $0.isLineEnd }) ?? true {
            _ = cursor.take("---")
            end()
            try finishLine()
        }
        try skipToContent()
    }

    /// Runs `body` one level deeper.
    mutating func nested<Value>(
        _ body: (inout YAMLReader) throws(PolicyFileError) -> Value
    ) throws(PolicyFileError) -> Value {
        guard depth < Self.maximumDepth else {
            throw problem("the text is nested more than \(Self.maximumDepth) levels deep: simplify it")
        }
        depth += 1
        defer { depth -= 1 }
        return try body(&self)
    }

    /// Returns a node that begins at a position and ends at the last value that was read.
    mutating func made(
        _ kind: YAMLNode.Kind, _ position: SourcePosition, from start: Int, isFlow: Bool = false
    ) throws(PolicyFileError) -> YAMLNode {
        try countOne(at: position)
        let range = offset + start..<offset + max(start, lastEnd)
        return YAMLNode(kind: kind, position: position, range: range, isFlow: isFlow)
    }

    private mutating func countOne(at position: SourcePosition) throws(PolicyFileError) {
        nodeCount += 1
        guard nodeCount <= Self.maximumNodes else {
            throw problem(
                "the text has more than \(Self.maximumNodes) values: give the part with pins or keys in a file of its "
                    + "own",
                at: position)
        }
    }

    /// Marks the cursor as the end of a value.
    mutating func end() { lastEnd = cursor.index }

    /// Reads a value that begins at the cursor, and moves to the next one after it.
    private mutating func node() throws(PolicyFileError) -> YAMLNode {
        let column = column
        if isAtIndicator("-") {
            return try nested { (reader) throws(PolicyFileError) in try reader.sequence(column) }
        }
        let first = try scalarOrFlow()
        if isAtKeyEnd(first) {
            return try nested { (reader) throws(PolicyFileError) in try reader.mapping(column, from: first) }
        }
        try finishLine()
        try skipToContent()
        return first
    }

    /// Reads the name of an anchor, if there is one at the cursor, and the blanks behind it.
    mutating func anchor() throws(PolicyFileError) -> String? {
        guard references > .none, cursor.byte == UInt8(ascii: "&") else { return nil }
        let position = cursor.position
        cursor.step()
        let name = referenceName()
        // mutant yaml-anchor-twice: false for `anchors[name] != nil` by YAMLReaderTests
        if name.isEmpty || anchors[name] != nil {
            throw problem(
                name.isEmpty ? "an anchor needs a name" : "the anchor \(quoted(name)) appears twice: rename one",
                at: position)
        }
        end()
        try checkReferenceEnd()
        skipBlanks()
        guard cursor.byte != UInt8(ascii: "*"), cursor.byte != UInt8(ascii: "&") else {
            throw problem("an anchor of an alias isn't a value: write the value")
        }
        return name
    }

    private mutating func referenceName() -> String {
        // Other characters are for some readers only.
        String(decoding: cursor.take { $0.isWordByte || $0 == UInt8(ascii: "-") }, as: UTF8.self)
    }

    /// Throws if something belongs to a name that only some readers take for a part of it.
    private func checkReferenceEnd() throws(PolicyFileError) {
        guard let byte = cursor.byte, !byte.isBlank, !byte.isLineEnd, !",]}".utf8.contains(byte) else { return }
        throw problem("unexpected \(found()) in the name of an anchor: use letters, numbers, _ and -")
    }

    /// Keeps a value for the aliases of its anchor, if it has one.
    mutating func keep(_ node: YAMLNode, for anchor: String?) -> YAMLNode {
        if let anchor { anchors[anchor] = node }
        return node
    }

    /// Reads an alias, and returns the value of its anchor.
    mutating func alias() throws(PolicyFileError) -> YAMLNode {
        let position = cursor.position
        cursor.step()
        let name = referenceName()
        end()
        try checkReferenceEnd()
        guard let node = anchors[name] else {
            throw problem("the alias \(quoted(name)) has no anchor above it: write the value out", at: position)
        }
        // mutant yaml-alias-count: () by YAMLReaderTests
        try count(node, at: position)
        return node
    }

    /// Counts the values of an alias, which could multiply.
    private mutating func count(_ node: YAMLNode, at position: SourcePosition) throws(PolicyFileError) {
        try countOne(at: position)
        for element in node.elements ?? [] { try count(element, at: position) }
        for member in node.members ?? [] { try count(member.value, at: position) }
    }

    /// Adds the members of the mappings after a merge key. Those that the mapping has itself count, and then those of
    /// the first mapping.
    func merged(_ members: [YAMLNode.Member], _ merges: [YAMLNode]) throws(PolicyFileError) -> [YAMLNode.Member] {
        var members = members
        var keys = Set(members.map(\.key))
        for merge in merges {
            for mapping in merge.elements ?? [merge] {
                guard let others = mapping.members else {
                    throw problem("a merge key (<<) takes mappings: write the members out", at: merge.position)
                }
                // mutant yaml-merge-order: true for `keys.insert($0.key).inserted` by YAMLReaderTests
                members += others.filter { keys.insert($0.key).inserted }
            }
        }
        return members
    }

    /// Skips blanks, and returns whether a value that was read is a key.
    private mutating func isAtKeyEnd(_ value: YAMLNode) -> Bool {
        guard case .scalar = value.kind else { return false }
        skipBlanks()
        return isAtIndicator(":")
    }

    private mutating func mapping(_ column: Int, from first: YAMLNode) throws(PolicyFileError) -> YAMLNode {
        var members: [YAMLNode.Member] = []
        var merges: [YAMLNode] = []
        var keys: Set<String> = []
        var key = first
        while true {
            let name = key.text ?? ""
            try checkMerge(key)
            guard keys.insert(name).inserted else {
                throw problem("the key \(quoted(name)) appears twice: remove one", at: key.position, rule: .duplicate)
            }
            cursor.step()
            let value = try value(ofKeyAt: column)
            if key.isMergeKey {
                merges.append(value)
            } else {
                members.append(YAMLNode.Member(key: name, keyRange: key.range, position: key.position, value: value))
            }
            guard cursor.byte != nil, self.column >= column else { break }
            guard self.column == column else {
                throw problem(
                    "unexpected indentation: align the line, or put a text that continues here on one line")
            }
            guard !isAtIndicator("-") else { throw problem("unexpected list item: indent it below its key") }
            key = try scalarOrFlow()
            guard isAtKeyEnd(key) else {
                throw problem("expected a key and a colon: write key: value", at: key.position)
            }
        }
        return try made(
            .mapping(try merged(members, merges)), first.position, from: first.range.lowerBound - offset)
    }

    /// Throws for a merge key if the text's reader doesn't know it.
    func checkMerge(_ key: YAMLNode) throws(PolicyFileError) {
        // mutant yaml-merge: true by YAMLReaderTests
        guard !key.isMergeKey || references == .merges else {
            throw problem("merge keys (<<) aren't supported: write the members out", at: key.position)
        }
    }

    /// Reads the value after a key's colon, and moves to the next value after it.
    private mutating func value(ofKeyAt column: Int) throws(PolicyFileError) -> YAMLNode {
        end()
        let place = cursor.position
        let hasBlank = cursor.byte?.isBlank == true
        skipBlanks()
        let anchor = try anchor()
        return keep(try value(ofKeyAt: column, behind: place, hasBlank: hasBlank || anchor != nil), for: anchor)
    }

    private mutating func value(
        ofKeyAt column: Int, behind place: SourcePosition, hasBlank: Bool
    ) throws(PolicyFileError) -> YAMLNode {
        let start = lastEnd
        if isAtLineEnd || cursor.byte == UInt8(ascii: "#") && hasBlank {
            skipComment()
            try skipToContent()
            guard cursor.byte != nil, self.column >= column else { return try made(.null, place, from: start) }
            if self.column > column { return try node() }
            // A list may be indented like its key.
            guard isAtIndicator("-") else { return try made(.null, place, from: start) }
            return try nested { (reader) throws(PolicyFileError) in try reader.sequence(column) }
        }
        if let block = try blockScalar(below: column) { return block }
        guard !isAtIndicator("-") else { throw problem("a list can't begin on the line of its key: begin a new line") }
        let value = try scalarOrFlow()
        guard !isAtKeyEnd(value) else {
            throw problem("a second key on one line: begin a new line, or put the value in quotes", at: value.position)
        }
        try finishLine()
        try skipToContent()
        return value
    }

    private mutating func sequence(_ column: Int) throws(PolicyFileError) -> YAMLNode {
        let (position, start) = (cursor.position, cursor.index)
        var elements: [YAMLNode] = []
        while cursor.byte != nil, self.column == column, isAtIndicator("-") {
            cursor.step()
            end()
            let (place, empty) = (cursor.position, cursor.index)
            skipBlanks()
            let anchor = try anchor()
            let element: YAMLNode
            if isAtLineEnd || cursor.byte == UInt8(ascii: "#") {
                skipComment()
                try skipToContent()
                let isElement = cursor.byte != nil && self.column > column
                element = isElement ? try node() : try made(.null, place, from: empty)
            } else if let block = try blockScalar(below: column) {
                element = block
            } else {
                // An anchor before a key on the same line could be the key's or the mapping's.
                let isScalar = anchor != nil
                element = try node()
                if isScalar, element.members != nil, !element.isFlow {
                    throw problem("an anchor before a key has two meanings: put it on the line above", at: place)
                }
            }
            elements.append(keep(element, for: anchor))
        }
        guard cursor.byte == nil || self.column <= column else {
            throw problem("unexpected indentation: align the line, or put a text that continues here on one line")
        }
        return try made(.sequence(elements), position, from: start)
    }

    /// Reads a block scalar, if there is one at the cursor: all lines that are indented at least like its first one,
    /// which is indented more than `column`.
    private mutating func blockScalar(below column: Int) throws(PolicyFileError) -> YAMLNode? {
        guard cursor.byte == UInt8(ascii: "|") || cursor.byte == UInt8(ascii: ">") else { return nil }
        let (position, start) = (cursor.position, cursor.index)
        cursor.step()
        if cursor.byte == UInt8(ascii: "-") || cursor.byte == UInt8(ascii: "+") { cursor.step() }
        end()
        try finishLine()
        var least = column + 1
        var isFirst = true
        while cursor.byte != nil {
            // The cursor is at the end of a line.
            cursor.step()
            let (line, index) = (cursor, cursor.index)
            _ = cursor.take { $0 == UInt8(ascii: " ") }
            if isAtLineEnd { continue }
            guard cursor.index - index >= least else {
                cursor = line
                break
            }
            if isFirst { (least, isFirst) = (cursor.index - index, false) }
            skipComment()
            end()
        }
        try skipToContent()
        return try made(.block(cursor.text(in: start..<lastEnd)), position, from: start)
    }
}

extension [UInt8] {
    /// Splits a text before each line that begins with a marker and a blank, or is only the marker.
    /// The last part has the rest of the text after `limit` parts.
    fileprivate func parts(
        startedBy marker: StaticString, limit: Int
    ) -> [(line: Int32, bytes: ArraySlice<UInt8>)] {
        var parts: [(line: Int32, bytes: ArraySlice<UInt8>)] = []
        var (start, startLine): (Int, Int32) = (0, 1)
        var cursor = TextCursor(self)
        while cursor.byte != nil, parts.count < limit {
            if cursor.position.column == 1, cursor.index > start, cursor.stands(marker),
                cursor.peek(marker.utf8CodeUnitCount).map({ $0.isBlank || $0.isLineEnd }) ?? true
            {
                parts.append((startLine, self[start..<cursor.index]))
                (start, startLine) = (cursor.index, cursor.position.line)
            }
            cursor.step()
        }
        return parts + [(startLine, self[start...])]
    }
}
