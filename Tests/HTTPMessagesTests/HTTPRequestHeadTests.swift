import CertificateTrust
import HTTPMessages
import Testing

private struct RefusedRequest: CustomTestStringConvertible, Sendable {
    let testDescription: String
    var method = "GET"
    var target = "/"
    var fields: [HTTPField] = []
    let error: HTTPRequestError
}

private let refusedRequests = [
    // HA16: header and URL injection.
    RefusedRequest(
        testDescription: "a line break in the method", method: "GET / HTTP/1.1\r\nX: a\r\n\r\nGET",
        error: .malformedMethod(HTTPExcerpt("GET / HTTP/1.1\r\nX: a\r\n\r\nGET"))),
    RefusedRequest(testDescription: "an empty method", method: "", error: .malformedMethod(HTTPExcerpt(""))),
    RefusedRequest(
        testDescription: "a space in the target", target: "/ HTTP/1.1",
        error: .malformedTarget(HTTPExcerpt("/ HTTP/1.1"))),
    RefusedRequest(
        testDescription: "a line break in the target", target: "/\r\n", error: .malformedTarget(HTTPExcerpt("/\r\n"))),
    RefusedRequest(testDescription: "NUL in the target", target: "/\0", error: .malformedTarget(HTTPExcerpt("/\0"))),
    RefusedRequest(
        testDescription: "a target that is not ASCII", target: "/\u{E4}",
        error: .malformedTarget(HTTPExcerpt("/\u{E4}"))),
    RefusedRequest(
        testDescription: "a target without a slash", target: "@evil", error: .malformedTarget(HTTPExcerpt("@evil"))),
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
    // HM16: another host than the verified one.
    RefusedRequest(
        testDescription: "Host", fields: [HTTPField(name: "hOST", value: "evil.test")],
        error: .reservedField(name: "hOST")),
    RefusedRequest(
        testDescription: "Transfer-Encoding", fields: [HTTPField(name: "Transfer-Encoding", value: "chunked")],
        error: .reservedField(name: "Transfer-Encoding")),
]

@Suite struct HTTPRequestHeadTests {
    @Test("A request that would come out as another message is refused", arguments: refusedRequests)
    private func refused(request: RefusedRequest) throws {
        let host = try ServerName("good.test")
        #expect(throws: request.error) {
            try HTTPRequestHead(
                method: request.method, target: request.target, host: host, port: 443, fields: request.fields)
        }
    }

    @Test(
        "Host is the verified name, with a port that is not the scheme's own, and addresses in brackets",
        arguments: [
            ("Good.Test.", 443, "good.test"), ("good.test", 8443, "good.test:8443"), ("127.0.0.1", 443, "127.0.0.1"),
            ("::1", 443, "[::1]"), ("[0:0::1]", 8443, "[::1]:8443"),
        ] as [(String, UInt16, String)])
    func host(name: String, port: UInt16, expected: String) throws {
        let head = try HTTPRequestHead(method: "GET", target: "/a?b=c", host: ServerName(name), port: port, fields: [])
        #expect(
            String(decoding: head.bytes, as: UTF8.self)
                == "GET /a?b=c HTTP/1.1\r\nHost: \(expected)\r\nConnection: close\r\nAccept: */*\r\n"
                + "Accept-Encoding: identity\r\nUser-Agent: PinnedNetworking\r\n\r\n")
    }

    @Test("The caller's fields follow, in place of the presets of the same name")
    func fields() throws {
        let head = try HTTPRequestHead(
            method: "HEAD", target: "/", host: ServerName("good.test"), port: 443,
            fields: [HTTPField(name: "user-agent", value: "mine"), HTTPField(name: "X", value: "\u{FC}\t1")])
        #expect(
            String(decoding: head.bytes, as: UTF8.self)
                == "HEAD / HTTP/1.1\r\nHost: good.test\r\nConnection: close\r\nAccept: */*\r\n"
                + "Accept-Encoding: identity\r\nuser-agent: mine\r\nX: \u{FC}\t1\r\n\r\n")
    }

    @Test("A refused field's value is not in the message (CS2)")
    func noSecret() throws {
        let host = try ServerName("good.test")
        do {
            _ = try HTTPRequestHead(
                method: "GET", target: "/", host: host, port: 443,
                fields: [HTTPField(name: "Authorization", value: "secret\n")])
            Issue.record("sent")
        } catch {
            #expect(!error.description.contains("secret"))
        }
    }
}
