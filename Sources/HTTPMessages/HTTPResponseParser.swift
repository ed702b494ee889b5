/// Reads one HTTP/1.1 response from bytes that come in any portions: a pure state machine, strict where leniency would
/// let two readers disagree (RFC 9112).
///
/// Interim responses are skipped and trailers checked and dropped. After an error nothing more is read.
package struct HTTPResponseParser: Sendable {
    /// What the bytes so far amount to, in order: one head, any number of body parts, one end.
    package enum Event: Sendable, Hashable {
        case head(HTTPResponseHead)
        /// At least one byte.
        case body([UInt8])
        case end
    }

    /// Header, interim responses and trailers together, in bytes; curl and Chromium allow 300 KiB and 256 KiB.
    package static let headLimit = 256 * 1024
    /// Header and trailer fields together.
    package static let fieldLimit = 1_000
    package static let interimLimit = 16
    /// Extensions of all chunks together, in bytes: nobody uses them, and they multiply the cost of a body.
    package static let chunkExtensionLimit = 16 * 1024

    private enum State: Sendable {
        case statusLine
        case fields(minorVersion: Int, statusCode: Int)
        case body(remaining: Int)
        case bodyUntilClose
        case chunkSize
        case chunkData(remaining: Int)
        case chunkDataEnd
        case trailers
        case complete
        case failed(HTTPResponseError)
    }

    private let requestMethod: String
    private var state = State.statusLine
    private var line: [UInt8] = []
    private var fields: [HTTPField] = []
    private var headCount = 0
    private var fieldCount = 0
    private var interimCount = 0
    private var chunkExtensionCount = 0

    /// A parser for the response to a request with this method; HEAD has no body.
    package init(requestMethod: String) {
        self.requestMethod = requestMethod
    }

    /// Takes the next bytes of the stream.
    package mutating func receive(_ bytes: [UInt8]) throws(HTTPResponseError) -> [Event] {
        var events: [Event] = []
        var rest = bytes[...]
        do throws(HTTPResponseError) {
            while !rest.isEmpty { try step(&rest, &events) }
        } catch {
            state = .failed(error)
            throw error
        }
        return events
    }

    /// Takes the clean end of the stream (a TLS close_notify; a connection that merely ended is no clean end).
    package mutating func receiveEnd() throws(HTTPResponseError) -> [Event] {
        switch state {
        case .complete:
            return []
        case .bodyUntilClose:
            state = .complete
            return [.end]
        case .failed(let error):
            throw error
        default:
            state = .failed(.truncated)
            throw .truncated
        }
    }

    /// Consumes at least one byte of `rest`.
    private mutating func step(
        _ rest: inout ArraySlice<UInt8>, _ events: inout [Event]
    ) throws(HTTPResponseError) {
        switch state {
        case .statusLine:
            guard let line = try takeHeadLine(&rest) else { return }
            let (minorVersion, statusCode) = try Self.statusLine(line)
            state = .fields(minorVersion: minorVersion, statusCode: statusCode)
        case .fields(let minorVersion, let statusCode):
            guard let line = try takeHeadLine(&rest) else { return }
            if line.isEmpty {
                try endOfHead(minorVersion: minorVersion, statusCode: statusCode, &events)
            } else {
                fields.append(try takeField(line))
            }
        case .body(let remaining):
            let left = take(remaining, from: &rest, &events)
            state = .body(remaining: left)
            if left == 0 { end(&events) }
        case .bodyUntilClose:
            _ = take(rest.count, from: &rest, &events)
        case .chunkSize:
            guard let line = try takeChunkLine(&rest) else { return }
            let size = try chunkSize(line)
            state = size == 0 ? .trailers : .chunkData(remaining: size)
        case .chunkData(let remaining):
            let left = take(remaining, from: &rest, &events)
            state = left == 0 ? .chunkDataEnd : .chunkData(remaining: left)
        case .chunkDataEnd:
            guard try takeLine(&rest, limit: 2, excess: .chunkOverrun) != nil else { return }
            state = .chunkSize
        case .trailers:
            guard let line = try takeHeadLine(&rest) else { return }
            if line.isEmpty { end(&events) } else { _ = try takeField(line) }
        case .complete:
            throw .bytesAfterResponse
        case .failed(let error):
            throw error
        }
    }

    private mutating func endOfHead(
        minorVersion: Int, statusCode: Int, _ events: inout [Event]
    ) throws(HTTPResponseError) {
        guard statusCode != 101 else { throw .switchedProtocols }
        guard statusCode >= 200 else {
            interimCount += 1
            guard interimCount <= Self.interimLimit else { throw .tooManyInterimResponses(limit: Self.interimLimit) }
            fields = []
            state = .statusLine
            return
        }
        let framing = try HTTPBodyFraming(
            fields: fields, statusCode: statusCode, minorVersion: minorVersion, requestMethod: requestMethod)
        events.append(
            .head(
                HTTPResponseHead(
                    minorVersion: minorVersion, statusCode: statusCode, fields: fields, framing: framing)))
        switch framing {
        case .none, .length(0): end(&events)
        case .length(let count): state = .body(remaining: count)
        case .chunked: state = .chunkSize
        case .untilClose: state = .bodyUntilClose
        }
    }

    private mutating func end(_ events: inout [Event]) {
        state = .complete
        events.append(.end)
    }

    /// Moves up to `wanted` bytes into a body event; returns how many are still wanted.
    private func take(_ wanted: Int, from rest: inout ArraySlice<UInt8>, _ events: inout [Event]) -> Int {
        let part = rest.prefix(wanted)
        rest = rest.dropFirst(part.count)
        events.append(.body(Array(part)))
        return wanted - part.count
    }
}

// MARK: Lines

extension HTTPResponseParser {
    /// The next line without its CR LF, or nil when more bytes are needed; `excess` when it takes over `limit` bytes.
    private mutating func takeLine(
        _ rest: inout ArraySlice<UInt8>, limit: Int, excess: HTTPResponseError
    ) throws(HTTPResponseError) -> [UInt8]? {
        while let byte = rest.popFirst() {
            guard line.count < limit else { throw excess }
            guard (byte == HTTPGrammar.lineFeed) == (line.last == HTTPGrammar.carriageReturn) else {
                throw .bareLineEnd
            }
            line.append(byte)
            guard byte == HTTPGrammar.lineFeed else { continue }
            defer { line = [] }
            return line.dropLast(2)
        }
        return nil
    }

    private mutating func takeHeadLine(_ rest: inout ArraySlice<UInt8>) throws(HTTPResponseError) -> [UInt8]? {
        let line = try takeLine(
            &rest, limit: Self.headLimit - headCount, excess: .headTooLarge(limit: Self.headLimit))
        if let line { headCount += line.count + 2 }
        return line
    }

    private mutating func takeChunkLine(_ rest: inout ArraySlice<UInt8>) throws(HTTPResponseError) -> [UInt8]? {
        // 16 digits, what is left for extensions, CR LF.
        let limit = 16 + Self.chunkExtensionLimit - chunkExtensionCount + 2
        return try takeLine(
            &rest, limit: limit, excess: .chunkExtensionsTooLarge(limit: Self.chunkExtensionLimit))
    }

    private mutating func takeField(_ line: [UInt8]) throws(HTTPResponseError) -> HTTPField {
        fieldCount += 1
        guard fieldCount <= Self.fieldLimit else { throw .tooManyFields(limit: Self.fieldLimit) }
        guard let first = line.first, !HTTPGrammar.isBlank(first) else { throw .foldedField }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), HTTPGrammar.isToken(line[..<colon]),
            HTTPGrammar.isFieldContent(line[(colon + 1)...])
        else { throw .malformedField(HTTPExcerpt(line)) }
        return HTTPField(
            name: String(decoding: line[..<colon], as: UTF8.self),
            value: Self.text(HTTPGrammar.trimmed(line[(colon + 1)...])))
    }

    /// UTF-8 where it is that, else ISO 8859-1, which is what the bytes once meant (RFC 9110, section 5.5).
    private static func text(_ bytes: ArraySlice<UInt8>) -> String {
        String(validating: bytes, as: UTF8.self) ?? String(String.UnicodeScalarView(bytes.map { UnicodeScalar($0) }))
    }

    /// Minor version and status code of `HTTP/1.1 200 OK`.
    ///
    /// The reason phrase says nothing and is dropped. Its space may be missing when it is empty: servers do that, and
    /// no other reading is possible.
    private static func statusLine(_ line: [UInt8]) throws(HTTPResponseError) -> (Int, Int) {
        guard line.starts(with: Array("HTTP/".utf8)), let space = line.firstIndex(of: HTTPGrammar.space) else {
            throw .malformedStatusLine(HTTPExcerpt(line))
        }
        let minorVersion: Int
        switch String(decoding: line[..<space], as: UTF8.self) {
        case "HTTP/1.0": minorVersion = 0
        case "HTTP/1.1": minorVersion = 1
        default: throw .unsupportedVersion(HTTPExcerpt(line[..<space]))
        }
        let code = line[(space + 1)...].prefix(3)
        let reason = line[(space + 1)...].dropFirst(3)
        guard code.count == 3, let statusCode = HTTPGrammar.number(code, radix: 10), statusCode >= 100,
            reason.isEmpty || reason.first == HTTPGrammar.space, HTTPGrammar.isFieldContent(reason)
        else { throw .malformedStatusLine(HTTPExcerpt(line)) }
        return (minorVersion, statusCode)
    }

    /// The number before a chunk's extensions (RFC 9112, section 7.1).
    private mutating func chunkSize(_ line: [UInt8]) throws(HTTPResponseError) -> Int {
        let digits = line.prefix { $0 != UInt8(ascii: ";") && !HTTPGrammar.isBlank($0) }
        let extensions = line[digits.endIndex...]
        // Blanks may stand before a semicolon, but not at the end.
        guard let size = HTTPGrammar.number(digits, radix: 16), digits.count <= 16,
            extensions.isEmpty || HTTPGrammar.trimmed(extensions).first == UInt8(ascii: ";"),
            HTTPGrammar.isFieldContent(extensions)
        else { throw .malformedChunk(HTTPExcerpt(line)) }
        chunkExtensionCount += extensions.count
        guard chunkExtensionCount <= Self.chunkExtensionLimit else {
            throw .chunkExtensionsTooLarge(limit: Self.chunkExtensionLimit)
        }
        return size
    }
}
