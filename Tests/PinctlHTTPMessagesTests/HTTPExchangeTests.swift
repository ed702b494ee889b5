import CertificateTrust
import PinctlHTTPMessages
import Testing

private let go = "HTTP/1.1 100 Continue\r\n\r\n"
private let hints = "HTTP/1.1 103 Early Hints\r\n\r\n"
private let done = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
private let refused = "HTTP/1.1 401 No\r\nContent-Length: 2\r\n\r\nno"

/// The steps of a driver, the events that follow, and whether the connection can be reused in the end.
private struct ExchangeRow: CustomTestStringConvertible, Sendable {
    enum Step: Sendable {
        case receive(String)
        case close
        case sent
        case stopWaiting
    }

    let testDescription: String
    var body = HTTPRequestHead.Body.length(5)
    var expectsContinue = false
    let steps: [Step]
    /// The go-ahead, status, body and end, in order.
    let events: [String]
    /// Whether the request body is wanted, at first and after each step.
    let wanted: [Bool]

    init(
        _ name: String, body: HTTPRequestHead.Body = .length(5), expectsContinue: Bool = false, _ steps: [Step],
        _ events: [String], wanted: [Bool]
    ) {
        testDescription = name
        self.body = body
        self.expectsContinue = expectsContinue
        self.steps = steps
        self.events = events
        self.wanted = wanted
    }
}

private let exchangeRows = [
    ExchangeRow("no body", body: .none, [.receive(done)], ["200", "hi", "reusable"], wanted: [false, false]),
    ExchangeRow(
        "no body, to be closed", body: .none, [.receive("HTTP/1.1 200 OK\r\n\r\nhi"), .close],
        ["200", "hi", "used up"],
        wanted: [false, false, false]),
    ExchangeRow(
        "a 100 that nobody waits for", body: .none, [.receive(go + hints + done)], ["200", "hi", "reusable"],
        wanted: [false, false]),
    ExchangeRow(
        "a body, then the answer", [.sent, .receive(done)], ["200", "hi", "reusable"],
        wanted: [true, false, false]),
    ExchangeRow(
        "a 100 in the middle of a body", [.receive(go), .sent, .receive(done)], ["200", "hi", "reusable"],
        wanted: [true, true, false, false]),
    ExchangeRow(
        "a success before the whole body was sent", [.receive(done)], ["200", "hi", "used up"],
        wanted: [true, true]),
    ExchangeRow(
        "a success that begins before the whole body was sent",
        [.receive("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nh"), .sent, .receive("i")],
        ["200", "h", "i", "reusable"], wanted: [true, true, false, false]),
    ExchangeRow(
        "a refusal before the whole body was sent", [.receive(refused)], ["401", "no", "used up"],
        wanted: [true, false]),
    ExchangeRow(
        "a refusal, and a driver that says sent later", [.receive(refused), .sent], ["401", "no", "used up"],
        wanted: [true, false, false]),
    ExchangeRow(
        "a redirect that begins before the whole body was sent",
        [.receive("HTTP/1.1 307 There\r\nContent-Length: 2\r\n\r\n"), .sent, .receive("no")], ["307", "no", "used up"],
        wanted: [true, false, false, false]),
    ExchangeRow(
        "a wait for 100", expectsContinue: true, [.receive(hints), .receive(go), .sent, .receive(done)],
        ["go", "200", "hi", "reusable"], wanted: [false, false, true, false, false]),
    ExchangeRow(
        "a wait for 100, said twice", expectsContinue: true, [.receive(go + go), .sent, .receive(done)],
        ["go", "200", "hi", "reusable"], wanted: [false, true, false, false]),
    ExchangeRow(
        "a wait that a success ends", expectsContinue: true, [.receive(done)], ["200", "hi", "used up"],
        wanted: [false, false]),
    ExchangeRow(
        "a wait that 417 ends", expectsContinue: true,
        [.receive("HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n"), .stopWaiting], ["417", "used up"],
        wanted: [false, false, false]),
    ExchangeRow(
        "a wait that the driver ends", expectsContinue: true, [.stopWaiting, .sent, .receive(go + done)],
        ["200", "hi", "reusable"], wanted: [false, true, false, false]),
    ExchangeRow(
        "a body said to be sent while it waits", expectsContinue: true, [.sent, .receive(done)],
        ["200", "hi", "used up"], wanted: [false, false, false]),
    ExchangeRow(
        "Connection: close", [.sent, .receive("HTTP/1.1 204 No\r\nConnection: close\r\n\r\n")], ["204", "used up"],
        wanted: [true, false, false]),
]

@Suite struct HTTPExchangeTests {
    private func head(
        method: String = "POST", body: HTTPRequestHead.Body = .none, expectsContinue: Bool = false
    ) throws -> HTTPRequestHead {
        try HTTPRequestHead(
            method: method, target: .origin("/"),
            origin: HTTPOrigin(scheme: .https, name: ServerName("good.test"), port: 443), body: body,
            expectsContinue: expectsContinue)
    }

    private func text(_ event: HTTPExchange.Event) -> String {
        switch event {
        case .goAhead: "go"
        case .head(let head): "\(head.statusCode)"
        case .body(let bytes): String(decoding: bytes, as: UTF8.self)
        case .end(isReusable: true): "reusable"
        case .end(isReusable: false): "used up"
        }
    }

    @Test(
        "A body is sent only when it is wanted, and a connection is reused only after everything was sent and read",
        arguments: exchangeRows)
    private func exchange(row: ExchangeRow) throws {
        var exchange = HTTPExchange(try head(body: row.body, expectsContinue: row.expectsContinue))
        var events: [String] = []
        var wanted = [exchange.wantsRequestBody]
        #expect(exchange.awaitsGoAhead == row.expectsContinue)
        for step in row.steps {
            switch step {
            case .receive(let text): exchange.receive(Array(text.utf8))
            case .close: exchange.receive(nil)
            case .sent: exchange.requestBodyWasSent()
            case .stopWaiting: exchange.stopWaiting()
            }
            while let event = try exchange.next() { events.append(text(event)) }
            wanted.append(exchange.wantsRequestBody)
        }
        #expect(events == row.events)
        #expect(wanted == row.wanted)
    }

    @Test("HA12: bytes after a response end the exchange with an error, at once or later")
    func bytesBehind() throws {
        var exchange = HTTPExchange(try head(method: "GET"))
        exchange.receive(Array((done + "HTTP/1.1 200 OK\r\n").utf8))
        var events: [String] = []
        #expect(throws: HTTPResponseError.bytesAfterResponse) {
            while let event = try exchange.next() { events.append(text(event)) }
        }
        #expect(events == ["200", "hi"])

        exchange = HTTPExchange(try head(method: "GET"))
        exchange.receive(Array(done.utf8))
        while let event = try exchange.next() { events.append(text(event)) }
        #expect(events.last == "reusable")
        exchange.receive([0x20])
        #expect(throws: HTTPResponseError.bytesAfterResponse) { try exchange.next() }
    }

    @Test("HA5: a successful CONNECT has no body, and bytes after it are an error")
    func connect() throws {
        let origin = HTTPOrigin(scheme: .https, name: try ServerName("good.test"), port: 443)
        let head = try HTTPRequestHead(method: "CONNECT", target: .authority, origin: origin)
        var exchange = HTTPExchange(head)
        exchange.receive(Array("HTTP/1.1 200 Established\r\nContent-Length: 5\r\n\r\n".utf8))
        #expect(try exchange.next().map(text) == "200")
        #expect(try exchange.next() == .end(isReusable: true))

        exchange = HTTPExchange(head)
        exchange.receive(Array("HTTP/1.1 200 Established\r\nContent-Length: 5\r\n\r\nhello".utf8))
        #expect(try exchange.next().map(text) == "200")
        #expect(throws: HTTPResponseError.bytesAfterResponse) { try exchange.next() }
    }

    @Test("A body over the limit is rejected, with or without an announced length")
    func bodyLimit() throws {
        func head(_ framing: HTTPBodyFraming) -> HTTPResponseHead {
            HTTPResponseHead(minorVersion: 1, statusCode: 200, fields: [], framing: framing)
        }
        var limit = HTTPBodyLimit(10)
        try limit.check(head(.length(10)))
        try limit.check(head(.untilClose))
        #expect(throws: HTTPResponseError.bodyTooLarge(limit: 10)) { try limit.check(head(.length(11))) }
        try limit.add([UInt8](repeating: 0, count: 6)[...])
        try limit.add([UInt8](repeating: 0, count: 4)[...])
        #expect(limit.count == 10)
        #expect(throws: HTTPResponseError.bodyTooLarge(limit: 10)) { try limit.add([0]) }
    }

    @Test(
        "Parameters are found after a value, in quotes or not",
        arguments: [
            ("text/html; charset=utf-8", "text/html", "utf-8"),
            ("text/html ;CHARSET = \"a;b\\\"c\"", "text/html", "a;b\"c"),
            ("text/html", "text/html", nil), ("", "", nil), (";charset=x", "", "x"), ("a;charset;charset=x", "a", "x"),
            ("a;charset=x;charset=y", "a", "x"), ("a; charset=\"x", "a", "\"x"), ("a;charset=\"", "a", "\""),
            ("a;x=\"; charset=y\"", "a", nil),
        ] as [(String, String, String?)])
    func parameters(text: String, value: String, charset: String?) {
        let parameters = HTTPParameters(text)
        #expect(parameters.value == value)
        #expect(parameters["charset"] == charset)
    }
}
