import CertificateTrust
import PinctlHTTPMessages
import Testing

private struct RefusedRequest: CustomTestStringConvertible, Sendable {
    let testDescription: String
    var method = "GET"
    var target = HTTPRequestHead.Target.origin("/")
    var fields: [HTTPField] = []
    var credentials: [HTTPField] = []
    let error: HTTPRequestError
}

private let refusedRequests = [
    // HA16: header and URL injection.
    RefusedRequest(
        testDescription: "a line break in the method", method: "GET / HTTP/1.1\r\nX: a\r\n\r\nGET",
        error: .malformedMethod(HTTPExcerpt("GET / HTTP/1.1\r\nX: a\r\n\r\nGET"))),
    RefusedRequest(testDescription: "an empty method", method: "", error: .malformedMethod(HTTPExcerpt(""))),
    RefusedRequest(
        testDescription: "a space in the target", target: .origin("/ HTTP/1.1"),
        error: .malformedTarget(HTTPExcerpt("/ HTTP/1.1"))),
    RefusedRequest(
        testDescription: "a line break in the target", target: .origin("/\r\n"),
        error: .malformedTarget(HTTPExcerpt("/\r\n"))),
    RefusedRequest(
        testDescription: "NUL in the target", target: .origin("/\0"), error: .malformedTarget(HTTPExcerpt("/\0"))),
    RefusedRequest(
        testDescription: "a target that is not ASCII", target: .origin("/\u{E4}"),
        error: .malformedTarget(HTTPExcerpt("/\u{E4}"))),
    RefusedRequest(
        testDescription: "a target without a slash", target: .origin("@evil"),
        error: .malformedTarget(HTTPExcerpt("@evil"))),
    RefusedRequest(
        testDescription: "CR LF in a value", fields: [HTTPField(name: "X", value: "a\r\nY: b")],
        error: .malformedField(name: HTTPExcerpt("X"))),
    RefusedRequest(
        testDescription: "LF in a value", fields: [HTTPField(name: "X", value: "a\nb")],
        error: .malformedField(name: HTTPExcerpt("X"))),
    RefusedRequest(
        testDescription: "NUL in a value", fields: [HTTPField(name: "X", value: "a\0b")],
        error: .malformedField(name: HTTPExcerpt("X"))),
    RefusedRequest(
        testDescription: "CR LF in a name", fields: [HTTPField(name: "X: a\r\nY", value: "b")],
        error: .malformedField(name: HTTPExcerpt("X: a\r\nY"))),
    RefusedRequest(
        testDescription: "a colon in a name", fields: [HTTPField(name: "X:", value: "b")],
        error: .malformedField(name: HTTPExcerpt("X:"))),
    RefusedRequest(
        testDescription: "an empty name", fields: [HTTPField(name: "", value: "b")],
        error: .malformedField(name: HTTPExcerpt(""))),
    RefusedRequest(
        testDescription: "a fragment in the target", target: .origin("/a#b"),
        error: .malformedTarget(HTTPExcerpt("/a#b"))),
    RefusedRequest(
        testDescription: "a line break in a target for a proxy", target: .absolute("/\r\nX: a"),
        error: .malformedTarget(HTTPExcerpt("/\r\nX: a"))),
    RefusedRequest(
        testDescription: "a URL where a path belongs", target: .absolute("http://evil.test/"),
        error: .malformedTarget(HTTPExcerpt("http://evil.test/"))),
    RefusedRequest(
        testDescription: "a blank in the method", method: "GE T", error: .malformedMethod(HTTPExcerpt("GE T"))),
    RefusedRequest(
        testDescription: "NUL in the method", method: "GET\0", error: .malformedMethod(HTTPExcerpt("GET\0"))),
    RefusedRequest(
        testDescription: "CONNECT with a path", method: "CONNECT", error: .malformedMethod(HTTPExcerpt("CONNECT"))),
    RefusedRequest(
        testDescription: "a tunnel by GET", target: .authority, error: .malformedMethod(HTTPExcerpt("GET"))),
    RefusedRequest(
        testDescription: "CR LF in a credential", credentials: [HTTPField(name: "Authorization", value: "a\r\nb")],
        error: .malformedField(name: HTTPExcerpt("Authorization"))),
    RefusedRequest(
        testDescription: "a lone CR in a value", fields: [HTTPField(name: "X", value: "a\rb")],
        error: .malformedField(name: HTTPExcerpt("X"))),
    RefusedRequest(
        testDescription: "CR LF in a field that is left out", fields: [HTTPField(name: "TE", value: "a\r\nb")],
        error: .malformedField(name: HTTPExcerpt("TE"))),
]

// HM16: hosts other than the verified one.
private let otherHosts = ["evil.test", "good.test:80", "good.test.evil.test", "good.test,evil.test", "", "good.test."]

// Fields that only the client itself writes, in any case.
private let reservedNames = [
    "Connection", "content-length", "EXPECT", "keep-alive", "Proxy-Authorization", "Proxy-Connection", "te", "Trailer",
    "Transfer-Encoding", "upgrade",
]

@Suite struct HTTPRequestHeadTests {
    let origin: HTTPOrigin

    init() throws {
        origin = HTTPOrigin(scheme: .https, name: try ServerName("good.test"), port: 443)
    }

    /// Returns the lines of a head, without the empty line at its end.
    private func lines(_ head: HTTPRequestHead) -> [String] {
        let text = String(decoding: head.bytes, as: UTF8.self)
        #expect(text.hasSuffix("\r\n\r\n"))
        return text.split(separator: "\r\n").map(String.init)
    }

    @Test("A request that would be read as a different message is rejected", arguments: refusedRequests)
    private func refused(request: RefusedRequest) {
        #expect(throws: request.error) {
            try HTTPRequestHead(
                method: request.method, target: request.target, origin: origin, fields: request.fields,
                credentials: request.credentials)
        }
    }

    @Test("A caller's fields that follow from the request and the connection are left out", arguments: reservedNames)
    func reserved(name: String) throws {
        let own = HTTPField(name: "X", value: "1")
        for body in [HTTPRequestHead.Body.none, .length(3), .chunked] {
            let head = try HTTPRequestHead(
                method: "PUT", target: .origin("/"), origin: origin, body: body,
                fields: [HTTPField(name: name, value: "a"), own])
            #expect(
                try head
                    == HTTPRequestHead(method: "PUT", target: .origin("/"), origin: origin, body: body, fields: [own]))
        }
    }

    @Test(
        "A caller's Host is left out if it names the URL's host, and otherwise rejected (HM16)", arguments: otherHosts)
    func otherHost(_ value: String) throws {
        func head(_ value: String) throws(HTTPRequestError) -> HTTPRequestHead {
            try HTTPRequestHead(
                method: "GET", target: .origin("/"), origin: origin, fields: [HTTPField(name: "hOST", value: value)])
        }
        #expect(throws: HTTPRequestError.otherHost(HTTPExcerpt(value), origin: "good.test")) { try head(value) }
        for same in ["good.test", "GOOD.test", "good.test:443"] {
            #expect(try lines(head(same)).filter { $0.lowercased().hasPrefix("host:") } == ["Host: good.test"])
        }
    }

    @Test(
        "Host is the verified name, with IPv6 addresses in brackets and any port that isn't the scheme's default",
        arguments: [
            (.https, "Good.Test.", 443, "good.test"), (.https, "good.test", 8443, "good.test:8443"),
            (.https, "good.test", 80, "good.test:80"), (.http, "good.test", 80, "good.test"),
            (.http, "good.test", 443, "good.test:443"), (.https, "127.0.0.1", 443, "127.0.0.1"),
            (.https, "::1", 443, "[::1]"), (.https, "[0:0::1]", 8443, "[::1]:8443"),
        ] as [(HTTPScheme, String, UInt16, String)])
    func host(scheme: HTTPScheme, name: String, port: UInt16, expected: String) throws {
        let origin = HTTPOrigin(scheme: scheme, name: try ServerName(name), port: port)
        let head = try HTTPRequestHead(method: "GET", target: .origin("/a?b=c"), origin: origin)
        #expect(
            String(decoding: head.bytes, as: UTF8.self)
                == "GET /a?b=c HTTP/1.1\r\nHost: \(expected)\r\nAccept: */*\r\nAccept-Encoding: identity\r\n"
                + "User-Agent: PinnedNetworking\r\n\r\n")
    }

    @Test("A proxy receives the whole URL, and a tunnel request the host and port")
    func proxyTargets() throws {
        let origin = HTTPOrigin(scheme: .http, name: try ServerName("::1"), port: 80)
        let fetched = try HTTPRequestHead(method: "GET", target: .absolute("/a?b"), origin: origin)
        #expect(lines(fetched).prefix(2) == ["GET http://[::1]/a?b HTTP/1.1", "Host: [::1]"])
        let tunnel = try HTTPRequestHead(
            method: "CONNECT", target: .authority, origin: self.origin,
            credentials: [HTTPField(name: "Proxy-Authorization", value: "Basic YTpi")])
        #expect(
            lines(tunnel) == [
                "CONNECT good.test:443 HTTP/1.1", "Host: good.test:443", "User-Agent: PinnedNetworking",
                "Proxy-Authorization: Basic YTpi",
            ])
    }

    private static let form = "Content-Type: application/x-www-form-urlencoded"

    static let bodyRows: [(String, HTTPRequestHead.Body, Bool, [String])] = [
        ("GET", .none, false, []),
        ("DELETE", .none, true, []),
        ("GET", .length(0), true, []),
        ("DELETE", .length(0), false, []),
        ("POST", .none, true, ["Content-Length: 0"]),
        ("PUT", .none, false, ["Content-Length: 0"]),
        ("PATCH", .none, false, ["Content-Length: 0"]),
        ("POST", .length(0), true, ["Content-Length: 0"]),
        ("POST", .length(12), false, ["Content-Length: 12", form]),
        ("POST", .chunked, true, ["Transfer-Encoding: chunked", "Expect: 100-continue", form]),
        ("GET", .length(12), false, ["Content-Length: 12"]),
        ("M-SEARCH", .chunked, false, ["Transfer-Encoding: chunked"]),
        ("PUT", .length(12), true, ["Content-Length: 12", "Expect: 100-continue"]),
        ("PUT", .chunked, true, ["Transfer-Encoding: chunked", "Expect: 100-continue"]),
    ]

    @Test("A body has exactly one framing, and only a request with a body expects 100 Continue", arguments: bodyRows)
    func bodies(method: String, body: HTTPRequestHead.Body, expects: Bool, expected: [String]) throws {
        let head = try HTTPRequestHead(
            method: method, target: .origin("/"), origin: origin, body: body, expectsContinue: expects)
        let written = lines(head)
        #expect(written[0] == "\(method) / HTTP/1.1")
        #expect(written[2..<(written.count - 3)] == expected[...])
        #expect(head.expectsContinue == expected.contains("Expect: 100-continue"))
    }

    @Test("A request that ends its connection has Connection: close")
    func closes() throws {
        let head = try HTTPRequestHead(method: "GET", target: .origin("/"), origin: origin, closes: true)
        #expect(lines(head)[2] == "Connection: close")
    }

    @Test("The caller's fields replace presets of the same name, and credentials replace the caller's fields")
    func fields() throws {
        let fields = [
            HTTPField(name: "user-agent", value: "mine"), HTTPField(name: "authorization", value: "Bearer mine"),
            HTTPField(name: "X", value: "\u{FC}\t1"),
        ]
        let plain = try HTTPRequestHead(method: "HEAD", target: .origin("/"), origin: origin, fields: fields)
        let presets = ["HEAD / HTTP/1.1", "Host: good.test", "Accept: */*", "Accept-Encoding: identity"]
        #expect(
            lines(plain) == presets + ["user-agent: mine", "authorization: Bearer mine", "X: \u{FC}\t1"])
        let answered = try HTTPRequestHead(
            method: "HEAD", target: .origin("/"), origin: origin, fields: fields,
            credentials: [HTTPField(name: "Authorization", value: "Basic YTpi")])
        #expect(
            lines(answered) == presets + ["user-agent: mine", "X: \u{FC}\t1", "Authorization: Basic YTpi"])
    }

    @Test("A POST body has the caller's type, or that of a form")
    func bodyType() throws {
        let head = try HTTPRequestHead(
            method: "POST", target: .origin("/"), origin: origin, body: .length(1),
            fields: [HTTPField(name: "content-type", value: "text/plain")])
        #expect(lines(head).filter { $0.lowercased().hasPrefix("content-type") } == ["content-type: text/plain"])
        let upload = try HTTPRequestHead(
            method: "POST", target: .origin("/"), origin: origin, body: .length(1), isUpload: true)
        #expect(!lines(upload).contains { $0.hasPrefix("Content-Type") })
    }

    @Test("The value of a rejected field isn't in the error message (CS2)")
    func noSecret() {
        do {
            _ = try HTTPRequestHead(
                method: "GET", target: .origin("/"), origin: origin,
                fields: [HTTPField(name: "Authorization", value: "secret\n")])
            Issue.record("sent")
        } catch {
            #expect(!error.description.contains("secret"))
        }
    }

    @Test(
        "A chunk has its size, its bytes and two line ends, and empty input isn't encoded because it would end the body"
    )
    func chunks() {
        func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
        #expect(text(HTTPChunk.encoded("hello".utf8)) == "5\r\nhello\r\n")
        #expect(text(HTTPChunk.encoded([UInt8](repeating: 0x61, count: 300))).hasPrefix("12c\r\naaa"))
        #expect(HTTPChunk.encoded([]).isEmpty)
        #expect(text(HTTPChunk.last) == "0\r\n\r\n")
    }
}
