import PinctlHTTPMessages
import Testing

@testable import PinnedNetworking

/// The form of a transfer's request, without a connection.
@Suite struct TransferRequestTests {
    private static func request() throws -> TransferRequest {
        var request = URLRequest(url: try #require(URL(string: "https://a.test/x?y")))
        request.httpMethod = "PUT"
        return TransferRequest(request, to: try RequestTarget(request), decodesBodies: false, isUpload: false)
    }

    private static let stream = RequestBodyReader(BodyStream(InputStream(data: Data())))

    private static func reader(_ count: Int) -> RequestBodyReader { RequestBodyReader(Data(count: count)) }

    @Test(
        "Only long bodies wait for the server or are deferred",
        arguments: [
            (0, false, false), (64 * 1024, false, false), (64 * 1024 + 1, false, true),
            (1024 * 1024 - 1, false, true), (1024 * 1024, true, true), (nil, true, true),
        ])
    func forms(row: (count: Int?, expects: Bool, isDeferrable: Bool)) throws {
        let request = try Self.request()
        let body = row.count.map(Self.reader) ?? Self.stream
        let sent = TransferRequest.Body.sent(length: row.count, expectsContinue: row.expects)
        #expect(request.form(of: body, canDefer: false) == sent)
        #expect(request.form(of: body, canDefer: true) == (row.isDeferrable ? .deferred : sent))
    }

    @Test("A request without a body has nothing to defer")
    func none() throws {
        #expect(try Self.request().form(of: nil, canDefer: true) == .none)
    }

    @Test("The head announces the form of the body")
    func heads() throws {
        let request = try Self.request()
        for unsent in [TransferRequest.Body.none, .deferred] {
            let head = try request.head(unsent, isForwarded: false)
            #expect(head.body == HTTPRequestHead.Body.none)
            #expect(String(decoding: head.bytes, as: UTF8.self).contains("Content-Length: 0\r\n"))
        }
        let sized = try request.head(.sent(length: 9, expectsContinue: true), isForwarded: false)
        #expect((sized.body, sized.expectsContinue) == (.length(9), true))
        let chunked = try request.head(.sent(length: nil, expectsContinue: false), isForwarded: true)
        #expect((chunked.body, chunked.expectsContinue) == (.chunked, false))
        #expect(String(decoding: chunked.bytes, as: UTF8.self).hasPrefix("PUT https://a.test/x?y HTTP/1.1\r\n"))
    }

    @Test("A server that refuses Expect gets the request once more, without it")
    func expectation() throws {
        var request = try Self.request()
        let form = request.form(of: Self.stream, canDefer: false)
        let others = [100, 200, 401, 413, 500].map { request.withdrawsExpectation(after: $0, to: form) }
        #expect(!others.contains(true))
        let isWithdrawn = request.withdrawsExpectation(after: 417, to: form)
        #expect(isWithdrawn)
        let second = request.form(of: Self.stream, canDefer: false)
        #expect(second == .sent(length: nil, expectsContinue: false))
        // A 417 to a request without Expect is the response.
        let again = [second, .none, .deferred].map { request.withdrawsExpectation(after: 417, to: $0) }
        #expect(again == [false, false, false])
    }

    @Test(
        "A deferred body is sent if the server required no login, and isn't deferred again", arguments: [200, 302, 403])
    func deferral(code: Int) throws {
        var request = try Self.request()
        let form = request.form(of: Self.stream, canDefer: true)
        let answers = [401, 407, code].map { request.requiresDeferredBody(after: $0, to: form) }
        #expect(answers == [false, false, true])
        let second = request.form(of: Self.stream, canDefer: true)
        #expect(second == .sent(length: nil, expectsContinue: true))
        let isRequiredAgain = request.requiresDeferredBody(after: code, to: second)
        #expect(!isRequiredAgain)
    }

    @Test("A redirect changes the target and counts, and a malformed one changes nothing")
    func redirects() throws {
        var request = try Self.request()
        for url in ["https://a.test/z", "https://a.test:444/z"] {
            try request.follow(URLRequest(url: try #require(URL(string: url))))
        }
        #expect((request.redirectCount, request.target.path, request.target.port) == (2, "/z", 444))
        let unsupported = URLRequest(url: try #require(URL(string: "gopher://a.test/")))
        #expect(throws: RequestTargetError.unsupportedScheme("gopher")) { try request.follow(unsupported) }
        #expect((request.redirectCount, request.target.port) == (2, 444))
    }
}
