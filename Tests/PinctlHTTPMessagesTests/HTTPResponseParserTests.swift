import PinctlHTTPMessages
import Testing

/// A server's byte stream, and the status and body or the error that it must lead to.
private struct ResponseRow: CustomTestStringConvertible, Sendable {
    let name: String
    var method = "GET"
    let stream: [UInt8]
    var closes = false
    let expected: Result<Outcome, HTTPResponseError>

    struct Outcome: Equatable {
        var status: Int
        var body: String
        var complete = true
        /// All fields, if they are compared.
        var fields: [HTTPField] = []
    }

    var testDescription: String { name }

    init(
        _ name: String, method: String = "GET", _ stream: String, closes: Bool = false, is status: Int,
        _ body: String, complete: Bool = true
    ) {
        self.init(
            name, method, Array(stream.utf8), closes, .success(Outcome(status: status, body: body, complete: complete)))
    }

    init(
        _ name: String, method: String = "GET", _ stream: String, closes: Bool = false, _ error: HTTPResponseError
    ) {
        self.init(name, method, Array(stream.utf8), closes, .failure(error))
    }

    private init(
        _ name: String, _ method: String, _ stream: [UInt8], _ closes: Bool,
        _ expected: Result<Outcome, HTTPResponseError>
    ) {
        self.name = name
        self.method = method
        self.stream = stream
        self.closes = closes
        self.expected = expected
    }

    /// Returns the outcome when the stream arrives in these portions.
    func outcome(of portions: [[UInt8]], withFields: Bool = false) -> Result<Outcome, HTTPResponseError> {
        var parser = HTTPResponseParser(requestMethod: method)
        var outcome = Outcome(status: 0, body: "", complete: false)
        do throws(HTTPResponseError) {
            for portion in portions.map(Optional.some) + (closes ? [nil] : []) {
                parser.receive(portion)
                while let event = try parser.next() {
                    switch event {
                    case .interim: break
                    case .head(let head):
                        outcome.status = head.statusCode
                        if withFields { outcome.fields = head.fields }
                    case .body(let bytes): outcome.body += String(decoding: bytes, as: UTF8.self)
                    case .end: outcome.complete = true
                    }
                }
            }
            return .success(outcome)
        } catch {
            return .failure(error)
        }
    }
}

private let ok = "HTTP/1.1 200 OK\r\n"
private let chunks = "Transfer-Encoding: chunked"
private let chunked = ok + chunks + "\r\n\r\n"

/// Returns the header of a 206 response with this Content-Range.
private func part(_ range: String, _ field: String = "X: a") -> String {
    "HTTP/1.1 206 Part\r\nContent-Range: \(range)\r\n\(field)\r\n\r\n"
}

private let soundRows = [
    ResponseRow("a length", ok + "Content-Length: 5\r\n\r\nhello", is: 200, "hello"),
    ResponseRow("an empty body", ok + "Content-Length: 0\r\n\r\n", is: 200, ""),
    ResponseRow("a length not reached yet", ok + "Content-Length: 5\r\n\r\nhel", is: 200, "hel", complete: false),
    ResponseRow("no reason phrase", "HTTP/1.1 204\r\n\r\n", is: 204, ""),
    ResponseRow("an empty reason phrase", "HTTP/1.1 204 \r\n\r\n", is: 204, ""),
    ResponseRow("HTTP/1.0 up to the close", "HTTP/1.0 404 No\r\n\r\ngone", closes: true, is: 404, "gone"),
    ResponseRow("up to the close, still open", ok + "\r\nabc", is: 200, "abc", complete: false),
    ResponseRow("chunks", chunked + "5\r\nhello\r\nB\r\n, you there\r\n0\r\n\r\n", is: 200, "hello, you there"),
    ResponseRow(
        "chunks in either case, with zeros", chunked + "0a\r\n0123456789\r\n000\r\n\r\n", is: 200, "0123456789"),
    ResponseRow("chunk extensions", chunked + "2 ;a=b;c=\"d\"\r\nhi\r\n0;x\r\n\r\n", is: 200, "hi"),
    ResponseRow("trailers", chunked + "2\r\nhi\r\n0\r\nX-Sum: 1\r\nContent-Length: 9\r\n\r\n", is: 200, "hi"),
    ResponseRow("a coding in capitals", ok + "transfer-encoding: CHUNKED\r\n\r\n0\r\n\r\n", is: 200, ""),
    ResponseRow("HEAD with a length", method: "HEAD", ok + "Content-Length: 5\r\n\r\n", is: 200, ""),
    ResponseRow("HEAD with chunks", method: "HEAD", chunked, is: 200, ""),
    ResponseRow(
        "CONNECT, whose length means nothing", method: "CONNECT",
        ok + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", is: 200, ""),
    ResponseRow(
        "CONNECT refused", method: "CONNECT", "HTTP/1.1 407 No\r\nContent-Length: 2\r\n\r\nhi", is: 407, "hi"),
    ResponseRow("304 with a length", "HTTP/1.1 304 Same\r\nContent-Length: 5\r\n\r\n", is: 304, ""),
    ResponseRow(
        "interim responses",
        "HTTP/1.1 100 Go on\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\n" + ok
            + "Content-Length: 2\r\n\r\nhi", is: 200, "hi"),
    ResponseRow("blanks around a value", ok + "Content-Length:\t 2 \t\r\n\r\nhi", is: 200, "hi"),
    ResponseRow(
        "two equal lengths", ok + "Content-Length: 5\r\ncontent-length: 5\r\n\r\nhello", is: 200, "hello"),
    ResponseRow("a list of equal lengths", ok + "Content-Length: 5 ,5\r\n\r\nhello", is: 200, "hello"),
    ResponseRow("a folded length", ok + "Content-Length:\r\n\t2\r\n\r\nhi", is: 200, "hi"),
    ResponseRow("a folded coding", ok + "Transfer-Encoding: \r\n chunked\r\n\r\n0\r\n\r\n", is: 200, ""),
    ResponseRow("a folded trailer", chunked + "2\r\nhi\r\n0\r\nX: a\r\n b\r\n\r\n", is: 200, "hi"),
    ResponseRow("a part", part("bytes 5-6/9", "Content-Length: 2") + "hi", is: 206, "hi"),
    ResponseRow("a part in chunks", part("BYTES 5-6/*", chunks) + "1\r\nh\r\n1\r\ni\r\n0\r\n\r\n", is: 206, "hi"),
    ResponseRow("a part up to the close", part("bytes 0-1/2") + "hi", closes: true, is: 206, "hi"),
    ResponseRow("a part, still open", part("bytes 0-4/5") + "hi", is: 206, "hi", complete: false),
    ResponseRow("a part of another unit", part("items 0-0/9", "Content-Length: 2") + "hi", is: 206, "hi"),
    ResponseRow("a part without a range", part("bytes */9", "Content-Length: 2") + "hi", is: 206, "hi"),
    ResponseRow(
        "a range of two to the power of 63", part("bytes 0-9223372036854775807/*", "Content-Length: 2") + "hi",
        is: 206, "hi"),
    ResponseRow("a range on HEAD", method: "HEAD", part("bytes 0-4/5", "Content-Length: 2"), is: 206, ""),
    ResponseRow("a range without 206", ok + "Content-Range: bytes 0-4/5\r\nContent-Length: 2\r\n\r\nhi", is: 200, "hi"),
    ResponseRow("a field without a value", ok + "X:\r\nContent-Length: 2\r\n\r\nhi", is: 200, "hi"),
]

private let unsoundRows = [
    // HA12: response smuggling.
    ResponseRow(
        "length and chunks", ok + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        .lengthAndTransferEncoding),
    ResponseRow(
        "length and chunks on HEAD", method: "HEAD", ok + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
        .lengthAndTransferEncoding),
    ResponseRow("two lengths", ok + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", .repeatedContentLength(2)),
    ResponseRow("a list of two lengths", ok + "Content-Length: 5, 6\r\n\r\nhello", .repeatedContentLength(2)),
    ResponseRow(
        "two lengths of one value and another spelling", ok + "Content-Length: 5\r\nContent-Length: 05\r\n\r\nhello",
        .repeatedContentLength(2)),
    ResponseRow(
        "a list with an empty length", ok + "Content-Length: 5,\r\n\r\nhello", .repeatedContentLength(2)),
    ResponseRow(
        "two equal malformed lengths", ok + "Content-Length: x, x\r\n\r\n", .malformedContentLength(HTTPExcerpt("x"))),
    ResponseRow(
        "a length that is folded in two", ok + "Content-Length: 1\r\n 2\r\n\r\n",
        .malformedContentLength(HTTPExcerpt("1 2"))),
    ResponseRow(
        "a length with a plus", ok + "Content-Length: +5\r\n\r\nhello", .malformedContentLength(HTTPExcerpt("+5"))),
    ResponseRow("a length below zero", ok + "Content-Length: -5\r\n\r\n", .malformedContentLength(HTTPExcerpt("-5"))),
    ResponseRow(
        "a hexadecimal length", ok + "Content-Length: 0x5\r\n\r\n", .malformedContentLength(HTTPExcerpt("0x5"))),
    ResponseRow("an empty length", ok + "Content-Length: \r\n\r\n", .malformedContentLength(HTTPExcerpt(""))),
    ResponseRow(
        "a length beyond 62 bits", ok + "Content-Length: 4611686018427387905\r\n\r\n",
        .malformedContentLength(HTTPExcerpt("4611686018427387905"))),
    ResponseRow(
        "a length beyond 63 bits", ok + "Content-Length: 9223372036854775808\r\n\r\n",
        .malformedContentLength(HTTPExcerpt("9223372036854775808"))),
    ResponseRow(
        "a length of 2^64 + 5", ok + "Content-Length: 18446744073709551621\r\n\r\nhello",
        .malformedContentLength(HTTPExcerpt("18446744073709551621"))),
    ResponseRow(
        "a bad length on 304", "HTTP/1.1 304 Same\r\nContent-Length: x\r\n\r\n",
        .malformedContentLength(HTTPExcerpt("x"))),
    ResponseRow(
        "another coding", ok + "Transfer-Encoding: gzip, chunked\r\n\r\n",
        .unsupportedTransferEncoding(HTTPExcerpt("gzip, chunked"))),
    ResponseRow(
        "identity as a coding", ok + "Transfer-Encoding: identity\r\n\r\n",
        .unsupportedTransferEncoding(HTTPExcerpt("identity"))),
    ResponseRow(
        "a coding that hides", ok + "Transfer-Encoding: xchunked\r\n\r\n",
        .unsupportedTransferEncoding(HTTPExcerpt("xchunked"))),
    ResponseRow(
        "chunked twice", ok + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
        .unsupportedTransferEncoding(HTTPExcerpt("chunked, chunked"))),
    ResponseRow(
        "chunks from HTTP/1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        .unsupportedTransferEncoding(HTTPExcerpt("chunked"))),
    ResponseRow("NUL in a folded line", ok + "X: a\r\n b\0\r\n\r\n", .malformedField(HTTPExcerpt(" b\0"))),
    ResponseRow("a folded line before the first trailer", chunked + "0\r\n X: a\r\n\r\n", .foldedField),
    ResponseRow("a blank before the first field", ok + " X: a\r\n\r\n", .foldedField),
    ResponseRow("bare line feeds", "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", .bareLineEnd),
    ResponseRow("one bare line feed", ok + "X: a\nContent-Length: 5\r\n\r\n", .bareLineEnd),
    ResponseRow("a bare carriage return", ok + "X: a\rContent-Length: 5\r\n\r\n", .bareLineEnd),
    ResponseRow("a bare carriage return in a line without end", ok + "X: a\rb", .bareLineEnd),
    ResponseRow("two carriage returns", ok + "X: a\r\r\n\r\n", .bareLineEnd),
    ResponseRow("NUL in a value", ok + "X: a\0b\r\n\r\n", .malformedField(HTTPExcerpt("X: a\0b"))),
    ResponseRow("DEL in a value", ok + "X: a\u{7F}\r\n\r\n", .malformedField(HTTPExcerpt("X: a\u{7F}"))),
    ResponseRow(
        "a blank before the colon", ok + "Content-Length : 5\r\n\r\n",
        .malformedField(HTTPExcerpt("Content-Length : 5"))),
    ResponseRow("a name with a blank", ok + "X Y: a\r\n\r\n", .malformedField(HTTPExcerpt("X Y: a"))),
    ResponseRow("no name", ok + ": a\r\n\r\n", .malformedField(HTTPExcerpt(": a"))),
    ResponseRow("no colon", ok + "X\r\n\r\n", .malformedField(HTTPExcerpt("X"))),
    ResponseRow("a chunk without a size", chunked + "\r\n", .malformedChunk(HTTPExcerpt(""))),
    ResponseRow("a chunk size with a sign", chunked + "+5\r\nhello", .malformedChunk(HTTPExcerpt("+5"))),
    ResponseRow("a chunk size of 0x5", chunked + "0x5\r\nhello", .malformedChunk(HTTPExcerpt("0x5"))),
    ResponseRow("a chunk size with a blank behind", chunked + "5 \r\nhello", .malformedChunk(HTTPExcerpt("5 "))),
    ResponseRow("a chunk size with a blank before", chunked + " 5\r\nhello", .malformedChunk(HTTPExcerpt(" 5"))),
    ResponseRow("a chunk size of two numbers", chunked + "5 5\r\nhello", .malformedChunk(HTTPExcerpt("5 5"))),
    ResponseRow(
        "a chunk size beyond 63 bits", chunked + "8000000000000000\r\n",
        .malformedChunk(HTTPExcerpt("8000000000000000"))),
    ResponseRow(
        "a chunk size of 2^64 + 5", chunked + "10000000000000005\r\n", .malformedChunk(HTTPExcerpt("10000000000000005"))
    ),
    ResponseRow("NUL in a chunk extension", chunked + "5;\0\r\n", .malformedChunk(HTTPExcerpt("5;\0"))),
    ResponseRow("a chunk size that ends in a line feed", chunked + "5\nhello", .bareLineEnd),
    ResponseRow("a chunk longer than its size", chunked + "2\r\nhello\r\n", .chunkOverrun),
    ResponseRow("a chunk that ends in a line feed", chunked + "2\r\nhi\n0\r\n\r\n", .bareLineEnd),
    ResponseRow("bytes behind a length", ok + "Content-Length: 2\r\n\r\nhi!", .bytesAfterResponse),
    ResponseRow("bytes behind the last chunk", chunked + "0\r\n\r\n\r\n", .bytesAfterResponse),
    ResponseRow("a body on 204", "HTTP/1.1 204 No\r\nContent-Length: 2\r\n\r\nhi", .bytesAfterResponse),
    ResponseRow("a body on 304", "HTTP/1.1 304 Same\r\n\r\nhi", .bytesAfterResponse),
    ResponseRow("a body on HEAD", method: "HEAD", ok + "Content-Length: 2\r\n\r\nhi", .bytesAfterResponse),
    ResponseRow("a tunnel that speaks first", method: "CONNECT", ok + "\r\nhi", .bytesAfterResponse),
    ResponseRow("a second response", ok + "Content-Length: 0\r\n\r\n" + ok, .bytesAfterResponse),
    // Parts that aren't as long as their range.
    ResponseRow("a length above the range", part("bytes 5-6/9", "Content-Length: 3") + "hi!", .otherPart(stated: 2)),
    ResponseRow("a length below the range", part("bytes 5-7/9", "Content-Length: 2") + "hi", .otherPart(stated: 3)),
    ResponseRow("chunks above the range", part("bytes 0-1/*", chunks) + "2\r\nhi\r\n1\r\n!", .otherPart(stated: 2)),
    ResponseRow(
        "chunks below the range", part("bytes 0-2/*", chunks) + "2\r\nhi\r\n0\r\n\r\n", .otherPart(stated: 3)),
    ResponseRow("a part beyond its range", part("bytes 0-0/1") + "hi", .otherPart(stated: 1)),
    ResponseRow("a close before the range's end", part("bytes 0-2/3") + "hi", closes: true, .otherPart(stated: 3)),
    ResponseRow("no bytes of a range", part("bytes 0-2/3", "Content-Length: 0"), .otherPart(stated: 3)),
    // Status lines.
    ResponseRow("another protocol", "SSH-2.0-OpenSSH\r\n", .malformedStatusLine(HTTPExcerpt("SSH-2.0-OpenSSH"))),
    ResponseRow("an empty line first", "\r\n" + ok, .malformedStatusLine(HTTPExcerpt(""))),
    ResponseRow("HTTP/2", "HTTP/2 200\r\n\r\n", .unsupportedVersion(HTTPExcerpt("HTTP/2"))),
    ResponseRow("HTTP/1.2", "HTTP/1.2 200 OK\r\n\r\n", .unsupportedVersion(HTTPExcerpt("HTTP/1.2"))),
    ResponseRow(
        "a version in small letters", "http/1.1 200 OK\r\n\r\n", .malformedStatusLine(HTTPExcerpt("http/1.1 200 OK"))),
    ResponseRow("two digits", "HTTP/1.1 20 OK\r\n\r\n", .malformedStatusLine(HTTPExcerpt("HTTP/1.1 20 OK"))),
    ResponseRow("four digits", "HTTP/1.1 2000 OK\r\n\r\n", .malformedStatusLine(HTTPExcerpt("HTTP/1.1 2000 OK"))),
    ResponseRow("a signed status", "HTTP/1.1 +20 OK\r\n\r\n", .malformedStatusLine(HTTPExcerpt("HTTP/1.1 +20 OK"))),
    ResponseRow("a status below 100", "HTTP/1.1 099 No\r\n\r\n", .malformedStatusLine(HTTPExcerpt("HTTP/1.1 099 No"))),
    ResponseRow("two spaces", "HTTP/1.1  200 OK\r\n\r\n", .malformedStatusLine(HTTPExcerpt("HTTP/1.1  200 OK"))),
    ResponseRow(
        "a control character in the reason", "HTTP/1.1 200 O\u{1B}[2J\r\n\r\n",
        .malformedStatusLine(HTTPExcerpt("HTTP/1.1 200 O\u{1B}[2J"))),
    ResponseRow("101, unasked", "HTTP/1.1 101 Switch\r\nUpgrade: h2c\r\n\r\n", .switchedProtocols),
    // Truncation: TC16 and similar cases.
    ResponseRow("a close before the status line", "", closes: true, .truncated),
    ResponseRow("a close in the header", ok + "X: a\r\n", closes: true, .truncated),
    ResponseRow("a close after an interim response", "HTTP/1.1 100 Go on\r\n\r\n", closes: true, .truncated),
    ResponseRow("a close in the body", ok + "Content-Length: 5\r\n\r\nhel", closes: true, .truncated),
    ResponseRow("a close in a chunk", chunked + "5\r\nhel", closes: true, .truncated),
    ResponseRow("a close between chunks", chunked + "5\r\nhello\r\n", closes: true, .truncated),
    ResponseRow("a close in the trailers", chunked + "0\r\n", closes: true, .truncated),
]

private let limitRows = [
    ResponseRow("1,000 fields", ok + fields(1_000) + "\r\n", closes: true, is: 200, ""),
    ResponseRow("1,001 fields", ok + fields(1_001) + "\r\n", .tooManyFields(limit: 1_000)),
    ResponseRow("1,001 fields with trailers", chunked + "0\r\n" + fields(1_000), .tooManyFields(limit: 1_000)),
    ResponseRow(
        "a header of 256 KiB in folded lines", folded(256 * 1024), closes: true, is: 200, ""),
    ResponseRow("a folded header of 256 KiB and a byte", folded(256 * 1024 + 1), .headTooLarge(limit: 256 * 1024)),
    ResponseRow("a header of 256 KiB", head(256 * 1024), closes: true, is: 200, ""),
    ResponseRow("a header of 256 KiB and a byte", head(256 * 1024 + 1), .headTooLarge(limit: 256 * 1024)),
    ResponseRow(
        "a status line without end", "HTTP/1.1 200 " + String(repeating: "a", count: 256 * 1024),
        .headTooLarge(limit: 256 * 1024)),
    ResponseRow(
        "16 interim responses", String(repeating: "HTTP/1.1 102 Wait\r\n\r\n", count: 16) + ok + "\r\n",
        closes: true, is: 200, ""),
    ResponseRow(
        "17 interim responses", String(repeating: "HTTP/1.1 102 Wait\r\n\r\n", count: 17),
        .tooManyInterimResponses(limit: 16)),
    ResponseRow(
        "a chunk extension of 1 MB", chunked + "5;" + String(repeating: "a", count: 1_000_000),
        .chunkExtensionsTooLarge(limit: 16 * 1024)),
    ResponseRow(
        "many chunk extensions", chunked + String(repeating: "1;aaaaaaa\r\nx\r\n", count: 2_049),
        .chunkExtensionsTooLarge(limit: 16 * 1024)),
    ResponseRow(
        "many chunks", chunked + String(repeating: "1\r\nx\r\n", count: 10_000) + "0\r\n\r\n", is: 200,
        String(repeating: "x", count: 10_000)),
]

private func fields(_ count: Int) -> String { String(repeating: "X: a\r\n", count: count) }

/// Returns a response without a body whose header has `count` bytes in lines that continue one field.
private func folded(_ count: Int) -> String {
    let start = ok + "X:" + String(repeating: "\r\n a", count: 60_000)
    return start + String(repeating: "a", count: count - start.utf8.count - 4) + "\r\n\r\n"
}

/// Returns a response without a body whose header has `count` bytes.
private func head(_ count: Int) -> String {
    let around = ok + "X: " + "\r\n\r\n"
    return ok + "X: " + String(repeating: "a", count: count - around.utf8.count) + "\r\n\r\n"
}

@Suite struct HTTPResponseParserTests {
    @Test(
        "A response is read the same in one piece, byte by byte, and split in two at any byte",
        arguments: soundRows + unsoundRows)
    private func anyCut(row: ResponseRow) {
        #expect(row.outcome(of: [row.stream]) == row.expected)
        #expect(row.outcome(of: row.stream.map { [$0] }) == row.expected)
        for cut in row.stream.indices {
            #expect(row.outcome(of: [Array(row.stream[..<cut]), [], Array(row.stream[cut...])]) == row.expected)
        }
        let whole = row.outcome(of: [row.stream], withFields: true)
        #expect(whole == row.outcome(of: row.stream.map { [$0] }, withFields: true))
    }

    @Test("Limits apply to the exact byte (HA12, HA13)", arguments: limitRows)
    private func limits(row: ResponseRow) {
        #expect(row.outcome(of: [row.stream]) == row.expected)
        #expect(row.outcome(of: row.stream.map { [$0] }) == row.expected)
    }

    @Test("After an error, nothing more is read")
    func failed() {
        var parser = HTTPResponseParser(requestMethod: "GET")
        parser.receive(Array("HTTP/1.1 200 OK\n".utf8))
        #expect(throws: HTTPResponseError.bareLineEnd) { try parser.next() }
        parser.receive(Array((ok + "Content-Length: 0\r\n\r\n").utf8))
        #expect(throws: HTTPResponseError.bareLineEnd) { try parser.next() }
        parser.receive(nil)
        #expect(throws: HTTPResponseError.bareLineEnd) { try parser.next() }
    }

    @Test(
        "A part that can't have the length of its range is rejected before its header is returned",
        arguments: [
            part("bytes 5-6/9", "Content-Length: 3"), part("bytes 5-7/9", "Content-Length: 2"),
            part("bytes 0-2/3", "Content-Length: 0"),
        ])
    func otherLength(head: String) {
        var parser = HTTPResponseParser(requestMethod: "GET")
        parser.receive(Array(head.utf8))
        #expect(throws: HTTPResponseError.self) { try parser.next() }
    }

    @Test("Body bytes are returned as received, and portions that arrive before they are read are kept")
    func portions() throws {
        var parser = HTTPResponseParser(requestMethod: "GET")
        for portion in [ok, "Content-Length: 6\r\n\r\nab", "cd"] { parser.receive(Array(portion.utf8)) }
        guard case .head = try parser.next() else {
            Issue.record("no head")
            return
        }
        #expect(try parser.next() == .body(Array("abcd".utf8)[...]))
        #expect(try parser.next() == nil)
        let last = Array("ef".utf8)
        parser.receive(last)
        #expect(try parser.next() == .body(last[...]))
        #expect(try parser.next() == .end)
        #expect(try parser.next() == nil)
    }

    @Test("Interim responses are reported by their status, before the head")
    func interim() throws {
        var parser = HTTPResponseParser(requestMethod: "GET")
        parser.receive(Array("HTTP/1.1 103 Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 Go on\r\n\r\n".utf8))
        #expect(try parser.next() == .interim(103))
        #expect(try parser.next() == .interim(100))
        #expect(try parser.next() == nil)
    }

    static let persistenceRows: [(String, Bool)] = [
        ("HTTP/1.1 200 OK\r\nContent-Length: 0", true),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked", true),
        ("HTTP/1.1 200 OK", false),
        ("HTTP/1.1 200 OK\r\nConnection: keep-alive", false),
        ("HTTP/1.1 204 No", true),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close", false),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nconnection: Upgrade,\tClose ", false),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\nConnection: close", false),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: closed", true),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nProxy-Connection: close", true),
        ("HTTP/1.0 200 OK\r\nContent-Length: 0", false),
        ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: Keep-Alive", true),
        ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive, close", false),
    ]

    @Test(
        "Version, framing and Connection determine whether the server keeps the connection", arguments: persistenceRows)
    func persistence(header: String, isPersistent: Bool) throws {
        var parser = HTTPResponseParser(requestMethod: "GET")
        parser.receive(Array((header + "\r\n\r\n").utf8))
        guard case .head(let head) = try parser.next() else {
            Issue.record("no head")
            return
        }
        #expect(head.isPersistent == isPersistent)
    }

    @Test(
        "Lines that continue a field are joined with a space (RFC 9112, section 5.2)",
        arguments: [
            ("X: a\r\n b", "a b"), ("X: a \t\r\n \t b \t", "a b"), ("X:\r\n a\r\n\tb\r\n c", "a b c"),
            ("X: a\r\n \r\n b", "a  b"), ("X: a\r\n  ", "a"), ("X: \u{FC}\r\n \u{FC}", "\u{FC} \u{FC}"),
        ])
    func folding(lines: String, value: String) throws {
        var parser = HTTPResponseParser(requestMethod: "GET")
        parser.receive(Array("HTTP/1.1 200 OK\r\nA: 1\r\n\(lines)\r\nB: 2\r\n\r\n".utf8))
        guard case .head(let head) = try parser.next() else {
            Issue.record("no head")
            return
        }
        #expect(head.fields.map(\.name) == ["A", "X", "B"])
        #expect(head.fields.map(\.value) == ["1", value, "2"])
    }

    @Test("A head keeps its fields in order, and reads them as UTF-8 or else as ISO 8859-1")
    func head() throws {
        var parser = HTTPResponseParser(requestMethod: "GET")
        let utf8 = Array((ok + "Set-Cookie: a=1\r\nX: \u{FC}\r\nset-cookie: b=2\r\nY: ").utf8)
        parser.receive(utf8 + [0xFC] + Array("\r\nContent-Length: 0\r\n\r\n".utf8))
        guard case .head(let head) = try parser.next() else {
            Issue.record("no head")
            return
        }
        #expect(head.fields.map(\.name) == ["Set-Cookie", "X", "set-cookie", "Y", "Content-Length"])
        #expect(head.fields.value(named: "SET-COOKIE") == "a=1, b=2")
        #expect(head.fields.value(named: "x") == "\u{FC}")
        #expect(head.fields.value(named: "y") == "\u{FC}")
        #expect(head.fields.value(named: "\u{212A}") == nil)
        #expect(head.framing == .length(0))
    }

    @Test("An error message never contains a server's control characters (CL1)")
    func excerpts() {
        let hostile = "a\u{1B}[2J\"\\\r\n" + String(repeating: "b", count: 100)
        let text = HTTPResponseError.malformedField(HTTPExcerpt(hostile)).description
        #expect(text.utf8.allSatisfy { 0x20...0x7E ~= $0 || $0 > 0x7F })
        #expect(text.contains(#""a\u{1B}[2J"\\u{D}\u{A}bbb"#))
        #expect(text.count < 200)
    }
}
