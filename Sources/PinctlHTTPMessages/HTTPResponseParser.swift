/// A parser for one HTTP/1.1 response that takes bytes in portions of any size (RFC 9112). It is a pure state machine,
/// and strict wherever leniency would let two parsers disagree.
///
/// Pass bytes to ``receive(_:)``, then call ``next()`` until it returns nil. Trailers are checked and dropped. After an
/// error nothing more is read.
package struct HTTPResponseParser: Sendable {
    /// The events of a response, in order: any number of interim responses, one head, any number of body parts, one
    /// end.
    package enum Event: Sendable, Hashable {
        /// The status code of a 1xx response.
        case interim(Int)
        case head(HTTPResponseHead)
        /// A part of the body, at least one byte.
        case body(ArraySlice<UInt8>)
        case end
    }

    /// The limit for the header, interim responses and trailers together, in bytes. curl allows 300 KiB, Chromium 256
    /// KiB.
    static let headLimit = 256 * 1024
    /// The limit for header and trailer fields together.
    static let fieldLimit = 1_000
    static let interimLimit = 16
    /// The limit for the extensions of all chunks together, in bytes. They aren't used in practice and multiply the
    /// cost of a body.
    static let chunkExtensionLimit = 16 * 1024

    private enum State: Sendable {
        case statusLine
        case fields(minorVersion: Int, statusCode: Int)
        case body(remaining: Int)
        case bodyUntilClose
        case chunkSize
        case chunkData(remaining: Int)
        case chunkDataEnd
        case trailers
        case ending
        case complete
        /// The server has switched to another protocol, which the rest of the input belongs to.
        case switched
        case failed(HTTPResponseError)
    }

    private let requestMethod: String
    private let allowsUpgrade: Bool
    private var state = State.statusLine
    /// The received bytes that weren't parsed yet.
    private var input: ArraySlice<UInt8> = []
    private var inputHasEnded = false
    /// The beginning of a line whose end hasn't arrived yet.
    private var partialLine: [UInt8] = []
    private var fields: [HTTPField] = []
    /// The value of the last field so far, if it has continuation lines.
    private var foldedValue: [UInt8]?
    private var headCount = 0
    private var fieldCount = 0
    private var interimCount = 0
    private var chunkExtensionCount = 0
    /// The number of bytes that the Content-Range of a 206 response states, and the number that is still to come.
    private var part: (stated: Int, remaining: Int)?

    /// Creates a parser for the response to a request with this method. The response to HEAD has no body, and neither
    /// has a successful response to CONNECT. If the request allows an upgrade, 101 is a final response.
    package init(requestMethod: String, allowsUpgrade: Bool = false) {
        self.requestMethod = requestMethod
        self.allowsUpgrade = allowsUpgrade
    }

    /// Takes the bytes after a 101 response, which belong to the other protocol.
    package mutating func takeRest() -> [UInt8] {
        guard case .switched = state else { return [] }
        defer { input = [] }
        return Array(input)
    }

    /// Adds the next bytes of the stream. Nil means a clean end, such as a TLS close_notify. A connection that just
    /// ended isn't a clean end.
    package mutating func receive(_ bytes: [UInt8]?) {
        guard let bytes else {
            inputHasEnded = true
            return
        }
        if input.isEmpty { input = bytes[...] } else { input += bytes }
    }

    /// Returns the next event, or nil if more bytes are needed.
    package mutating func next() throws(HTTPResponseError) -> Event? {
        do throws(HTTPResponseError) {
            while true {
                if case .switched = state { return nil }
                if case .ending = state {
                    // mutant surplus-bytes: true by HTTPResponseParserTests HTTPExchangeTests
                    guard input.isEmpty else { throw .bytesAfterResponse }
                    try endPart()
                    state = .complete
                    return .end
                }
                guard !input.isEmpty else { return try nextAtEnd() }
                if let event = try step() {
                    if part != nil, case .body(let bytes) = event { try count(bytes) }
                    return event
                }
            }
        } catch {
            state = .failed(error)
            throw error
        }
    }

    /// Handles the end of the stream, if it has been reached.
    private mutating func nextAtEnd() throws(HTTPResponseError) -> Event? {
        if case .failed(let error) = state { throw error }
        guard inputHasEnded else { return nil }
        switch state {
        case .complete: return nil
        case .bodyUntilClose:
            try endPart()
            state = .complete
            return .end
        // mutant truncated: { state = .complete; return .end } by HTTPResponseParserTests
        default: throw .truncated
        }
    }

    /// Parses the next piece of the input and consumes at least one byte.
    private mutating func step() throws(HTTPResponseError) -> Event? {
        switch state {
        case .statusLine:
            if let (minorVersion, statusCode) = takeWholeHead() {
                return try endOfHead(minorVersion: minorVersion, statusCode: statusCode)
            }
            guard let line = try takeHeadLine() else { return nil }
            guard let (minorVersion, statusCode) = Self.statusLine(line.span) else { throw Self.malformed(line) }
            state = .fields(minorVersion: minorVersion, statusCode: statusCode)
            fields.reserveCapacity(16)
        case .fields(let minorVersion, let statusCode):
            guard let line = try takeHeadLine() else { return nil }
            try takeFieldLine(line)
            guard line.isEmpty else { return nil }
            return try endOfHead(minorVersion: minorVersion, statusCode: statusCode)
        case .body(let remaining):
            let part = take(remaining)
            state = part.count == remaining ? .ending : .body(remaining: remaining - part.count)
            return .body(part)
        case .bodyUntilClose:
            return .body(take(input.count))
        case .chunkSize:
            guard let line = try takeChunkLine() else { return nil }
            let size = try chunkSize(line)
            state = size == 0 ? .trailers : .chunkData(remaining: size)
        case .chunkData(let remaining):
            let part = take(remaining)
            state = part.count == remaining ? .chunkDataEnd : .chunkData(remaining: remaining - part.count)
            return .body(part)
        case .chunkDataEnd:
            guard try takeLine(limit: 2, excess: .chunkOverrun) != nil else { return nil }
            state = .chunkSize
        case .trailers:
            guard let line = try takeHeadLine() else { return nil }
            try takeFieldLine(line)
            if line.isEmpty { state = .ending }
        case .ending, .complete, .switched:
            throw .bytesAfterResponse
        case .failed(let error):
            throw error
        }
        return nil
    }

    private mutating func endOfHead(minorVersion: Int, statusCode: Int) throws(HTTPResponseError) -> Event {
        if statusCode == 101 {
            // mutant switched: true by HTTPResponseParserTests
            guard allowsUpgrade else { throw .switchedProtocols }
            state = .switched
            return .head(
                HTTPResponseHead(
                    minorVersion: minorVersion, statusCode: 101, fields: fields, framing: .none, size: headCount))
        }
        guard statusCode >= 200 else {
            interimCount += 1
            // mutant interim-count: true by HTTPResponseParserTests
            guard interimCount <= Self.interimLimit else { throw .tooManyInterimResponses(limit: Self.interimLimit) }
            fields = []
            state = .statusLine
            return .interim(statusCode)
        }
        let framing = try HTTPBodyFraming(
            fields: fields, statusCode: statusCode, minorVersion: minorVersion, requestMethod: requestMethod)
        state =
            switch framing {
            case .none, .length(0): .ending
            case .length(let count): .body(remaining: count)
            case .chunked: .chunkSize
            case .untilClose: .bodyUntilClose
            }
        if statusCode == 206, framing != .none { try beginPart(framing) }
        defer { fields = [] }
        return .head(
            HTTPResponseHead(
                minorVersion: minorVersion, statusCode: statusCode, fields: fields, framing: framing, size: headCount))
    }

    /// Takes the number of bytes from the Content-Range of a 206 response (RFC 9110, section 14.4). A field that can't
    /// be parsed, or is in another unit, states none.
    private mutating func beginPart(_ framing: HTTPBodyFraming) throws(HTTPResponseError) {
        let ranges = fields.filter { $0.isNamed("Content-Range") }
        guard ranges.count == 1, let stated = Self.rangeLength(ranges[0].bytes) else { return }
        // mutant part-length: false for 2 by HTTPResponseParserTests
        if case .length(let count) = framing, count != stated { throw .otherPart(stated: stated) }
        part = (stated, stated)
    }

    /// Returns the number of bytes in `bytes 0-499/1234`.
    private static func rangeLength(_ value: [UInt8]) -> Int? {
        let words = value.split(whereSeparator: HTTPGrammar.isBlank)
        guard words.count == 2, HTTPGrammar.isEqual(String(decoding: words[0], as: UTF8.self), "bytes") else {
            return nil
        }
        let range = words[1].prefix { $0 != UInt8(ascii: "/") }
        let ends = range.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard ends.count == 2, let first = HTTPGrammar.number(ends[0], radix: 10),
            let last = HTTPGrammar.number(ends[1], radix: 10), first <= last, last - first < HTTPBodyFraming.lengthLimit
        else { return nil }
        return last - first + 1
    }

    private mutating func count(_ bytes: ArraySlice<UInt8>) throws(HTTPResponseError) {
        guard let (stated, remaining) = part else { return }
        // mutant part-overrun: true by HTTPResponseParserTests
        guard bytes.count <= remaining else { throw .otherPart(stated: stated) }
        part = (stated, remaining - bytes.count)
    }

    private func endPart() throws(HTTPResponseError) {
        // mutant part-underrun: false for 2 by HTTPResponseParserTests
        if let part, part.remaining > 0 { throw .otherPart(stated: part.stated) }
    }

    /// Removes up to `wanted` bytes from the input and returns them without copying.
    private mutating func take(_ wanted: Int) -> ArraySlice<UInt8> {
        let part = input.prefix(wanted)
        input = input.dropFirst(part.count)
        return part
    }
}

// MARK: A head at once

extension HTTPResponseParser {
    /// Takes a head from the status line to the empty line, if the input has all of it and nothing about it is rare.
    /// Returns its minor version and status code. Any other head is read line by line, with the same result or an
    /// error.
    private mutating func takeWholeHead() -> (minorVersion: Int, statusCode: Int)? {
        guard partialLine.isEmpty else { return nil }
        let head = Self.wholeHead(
            input.span.extracting(first: Self.headLimit - headCount), fieldLimit: Self.fieldLimit - fieldCount)
        guard let head else { return nil }
        // A copy, so that the fields don't keep the body that was received with them.
        let text = Array(input.prefix(head.count))
        fields = head.fields.map { HTTPField(in: text, name: $0.name, value: $0.value) }
        fieldCount += fields.count
        headCount += head.count
        input = input.dropFirst(head.count)
        return (head.minorVersion, head.statusCode)
    }

    private static func wholeHead(
        _ bytes: Span<UInt8>, fieldLimit: Int
    ) -> (minorVersion: Int, statusCode: Int, fields: [(name: Range<Int>, value: Range<Int>)], count: Int)? {
        guard let (start, end) = contentLine(bytes, from: 0),
            let (minorVersion, statusCode) = statusLine(bytes.extracting(start..<end))
        else { return nil }
        var fields: [(name: Range<Int>, value: Range<Int>)] = []
        fields.reserveCapacity(16)
        var next = end + 2
        while next + 1 < bytes.count {
            if bytes[next] == HTTPGrammar.carriageReturn {
                return bytes[next + 1] == HTTPGrammar.lineFeed ? (minorVersion, statusCode, fields, next + 2) : nil
            }
            var colon = next
            while colon < bytes.count, HTTPGrammar.isTokenCharacter(bytes[colon]) { colon += 1 }
            guard colon > next, colon < bytes.count, bytes[colon] == UInt8(ascii: ":"),
                var (start, end) = contentLine(bytes, from: colon + 1), end + 2 < bytes.count,
                // A blank would continue this line.
                !HTTPGrammar.isBlank(bytes[end + 2]), fields.count < fieldLimit
            else { return nil }
            let name = next..<colon
            next = end + 2
            while start < end, HTTPGrammar.isBlank(bytes[start]) { start += 1 }
            while start < end, HTTPGrammar.isBlank(bytes[end - 1]) { end -= 1 }
            fields.append((name, start..<end))
        }
        return nil
    }

    /// Returns the field content from `start` up to CR LF, or nil if there is none or other bytes come first.
    private static func contentLine(_ bytes: Span<UInt8>, from start: Int) -> (start: Int, end: Int)? {
        var end = start
        while end < bytes.count, HTTPGrammar.isFieldContent(bytes[end]) { end += 1 }
        guard end + 1 < bytes.count, bytes[end] == HTTPGrammar.carriageReturn, bytes[end + 1] == HTTPGrammar.lineFeed
        else { return nil }
        return (start, end)
    }
}

// MARK: Lines

extension HTTPResponseParser {
    /// Returns the next line without its CR LF, or nil if more bytes are needed. Throws `excess` if it is longer than
    /// `limit` bytes.
    private mutating func takeLine(limit: Int, excess: HTTPResponseError) throws(HTTPResponseError) -> ArraySlice<
        UInt8
    >? {
        // Nearly every line is in the input as a whole. The others are read byte by byte, which also finds malformed
        // line ends.
        if partialLine.isEmpty, let count = Self.lineLength(input.span), count <= limit {
            defer { input = input.dropFirst(count) }
            return input.prefix(count - 2)
        }
        while let byte = input.popFirst() {
            // mutant head-size: true by HTTPResponseParserTests
            guard partialLine.count < limit else { throw excess }
            // mutant bare-line-end: true by HTTPResponseParserTests
            guard (byte == HTTPGrammar.lineFeed) == (partialLine.last == HTTPGrammar.carriageReturn) else {
                throw .bareLineEnd
            }
            partialLine.append(byte)
            guard byte == HTTPGrammar.lineFeed else { continue }
            defer { partialLine = [] }
            return partialLine.dropLast(2)
        }
        return nil
    }

    /// Returns the number of bytes up to and including the first CR LF. Returns nil if a lone CR or LF precedes it, or
    /// if there is none.
    private static func lineLength(_ bytes: Span<UInt8>) -> Int? {
        for index in bytes.indices where bytes[index] <= HTTPGrammar.carriageReturn {
            switch bytes[index] {
            case HTTPGrammar.lineFeed: return nil
            case HTTPGrammar.carriageReturn:
                let end = index + 1
                return end < bytes.count && bytes[end] == HTTPGrammar.lineFeed ? end + 1 : nil
            default: continue
            }
        }
        return nil
    }

    private mutating func takeHeadLine() throws(HTTPResponseError) -> ArraySlice<UInt8>? {
        let line = try takeLine(limit: Self.headLimit - headCount, excess: .headTooLarge(limit: Self.headLimit))
        if let line { headCount += line.count + 2 }
        return line
    }

    private mutating func takeChunkLine() throws(HTTPResponseError) -> ArraySlice<UInt8>? {
        // 16 digits, the remaining room for extensions, and CR LF.
        let limit = 16 + Self.chunkExtensionLimit - chunkExtensionCount + 2
        return try takeLine(limit: limit, excess: .chunkExtensionsTooLarge(limit: Self.chunkExtensionLimit))
    }

    /// Adds a line to the fields. A line that begins with a blank continues the field before it, and a space takes the
    /// place of the line end (`obs-fold`, RFC 9112, section 5.2). The empty line ends the last field.
    private mutating func takeFieldLine(_ line: ArraySlice<UInt8>) throws(HTTPResponseError) {
        if let first = line.first, HTTPGrammar.isBlank(first) {
            guard let last = fields.last else { throw .foldedField }
            guard HTTPGrammar.isFieldContent(line) else { throw .malformedField(HTTPExcerpt(line)) }
            // One buffer for all lines of a field: a long value is copied once.
            var value = exchange(&foldedValue, with: nil) ?? last.bytes
            value.append(HTTPGrammar.space)
            value += HTTPGrammar.trimmed(line)
            foldedValue = value
            return
        }
        if let value = exchange(&foldedValue, with: nil), let last = fields.popLast() {
            fields.append(HTTPField(name: last.name, bytes: HTTPGrammar.trimmed(value[...])))
        }
        if !line.isEmpty { fields.append(try takeField(line)) }
    }

    private mutating func takeField(_ line: ArraySlice<UInt8>) throws(HTTPResponseError) -> HTTPField {
        fieldCount += 1
        // mutant field-count: true by HTTPResponseParserTests
        guard fieldCount <= Self.fieldLimit else { throw .tooManyFields(limit: Self.fieldLimit) }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), HTTPGrammar.isToken(line[..<colon]),
            HTTPGrammar.isFieldContent(line[(colon + 1)...])
        else { throw .malformedField(HTTPExcerpt(line)) }
        return HTTPField(
            name: String(decoding: line[..<colon], as: UTF8.self),
            bytes: HTTPGrammar.trimmed(line[(colon + 1)...]))
    }

    /// Parses the minor version and status code of `HTTP/1.1 200 OK`. Returns nil for a line of another form.
    ///
    /// The reason phrase is dropped. If it is empty, the space before it may be missing: some servers omit it, and no
    /// other reading is possible.
    private static func statusLine(_ line: Span<UInt8>) -> (Int, Int)? {
        guard line.count >= 12, isVersion1(line), line[8] == HTTPGrammar.space else { return nil }
        var statusCode = 0
        for index in 9..<12 {
            guard UInt8(ascii: "0")...UInt8(ascii: "9") ~= line[index] else { return nil }
            statusCode = statusCode * 10 + Int(line[index] - UInt8(ascii: "0"))
        }
        guard statusCode >= 100, line.count == 12 || line[12] == HTTPGrammar.space else { return nil }
        for index in 12..<line.count { guard HTTPGrammar.isFieldContent(line[index]) else { return nil } }
        return (Int(line[7] - UInt8(ascii: "0")), statusCode)
    }

    /// Returns whether the line begins with `HTTP/1.0` or `HTTP/1.1`.
    private static func isVersion1(_ line: Span<UInt8>) -> Bool {
        // Compared as one number: a loop over a text would take as long as the rest of the line.
        var start: UInt64 = 0
        for index in 0..<8 { start = start << 8 | UInt64(line[index]) }
        return start == 0x4854_5450_2F31_2E30 || start == 0x4854_5450_2F31_2E31
    }

    /// Returns the error for a status line that ``statusLine(_:)`` doesn't know.
    private static func malformed(_ line: ArraySlice<UInt8>) -> HTTPResponseError {
        let version = line.prefix { $0 != HTTPGrammar.space }
        guard line.starts(with: Array("HTTP/".utf8)), version.count < line.count,
            version != Array("HTTP/1.0".utf8)[...],
            version != Array("HTTP/1.1".utf8)[...]
        else { return .malformedStatusLine(HTTPExcerpt(line)) }
        return .unsupportedVersion(HTTPExcerpt(version))
    }

    /// Parses the number before a chunk's extensions (RFC 9112, section 7.1).
    private mutating func chunkSize(_ line: ArraySlice<UInt8>) throws(HTTPResponseError) -> Int {
        let digits = line.prefix { $0 != UInt8(ascii: ";") && !HTTPGrammar.isBlank($0) }
        let extensions = line[digits.endIndex...]
        // Blanks may precede a semicolon, but not the end of the line.
        guard let size = HTTPGrammar.number(digits, radix: 16), digits.count <= 16,
            extensions.isEmpty || HTTPGrammar.trimmed(extensions).first == UInt8(ascii: ";"),
            HTTPGrammar.isFieldContent(extensions)
        else { throw .malformedChunk(HTTPExcerpt(line)) }
        chunkExtensionCount += extensions.count
        // mutant chunk-extensions: true by HTTPResponseParserTests
        guard chunkExtensionCount <= Self.chunkExtensionLimit else {
            throw .chunkExtensionsTooLarge(limit: Self.chunkExtensionLimit)
        }
        return size
    }
}
