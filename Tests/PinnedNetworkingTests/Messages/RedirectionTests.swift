import PinctlHTTPMessages
import Testing

@testable import PinnedNetworking

private func response(_ status: Int, _ locations: [String]) -> HTTPResponseHead {
    HTTPResponseHead(
        minorVersion: 1, statusCode: status, fields: locations.map { HTTPField(name: "location", value: $0) },
        framing: .length(0))
}

private func next(
    after request: URLRequest, _ status: Int, _ locations: String..., count: Int = 0
) throws -> URLRequest? {
    try Redirection.request(
        after: request, to: RequestTarget(request), answer: response(status, locations), count: count)
}

private func request(
    _ url: String, method: String = "GET", body: String? = nil, fields: [String: String] = [:]
) throws -> URLRequest {
    var request = URLRequest(url: try #require(URL(string: url)))
    request.httpMethod = method
    request.httpBody = body.map { Data($0.utf8) }
    request.allHTTPHeaderFields = fields
    return request
}

/// A URL that is answered with a Location, and the result: a URL, a rejection, or no redirect.
private struct LocationRow: CustomTestStringConvertible, Sendable {
    enum Outcome: Equatable, Sendable {
        case to(String)
        case refused(URLError.Code)
        case isAnswer
    }

    let base: String
    let locations: [String]
    let expected: Outcome

    var testDescription: String { "\(base) \(locations.map { $0.prefix(80) })" }

    init(from base: String = "https://a.test/b/c/d;p?q", _ locations: String..., is expected: Outcome) {
        self.base = base
        self.locations = locations
        self.expected = expected
    }
}

// RFC 3986, section 5.4, with another base.
private let referenceRows: [LocationRow] = [
    ("g", "/b/c/g"), ("./g", "/b/c/g"), ("g/", "/b/c/g/"), ("/g", "/g"), ("?y", "/b/c/d;p?y"), ("g?y", "/b/c/g?y"),
    ("#s", "/b/c/d;p?q#s"), ("g#s", "/b/c/g#s"), ("g?y#s", "/b/c/g?y#s"), (";x", "/b/c/;x"),
    ("g;x?y#s", "/b/c/g;x?y#s"),
    (".", "/b/c/"), ("./", "/b/c/"), ("..", "/b/"), ("../", "/b/"), ("../g", "/b/g"), ("../..", "/"), ("../../g", "/g"),
    ("../../../g", "/g"), ("/./g", "/g"), ("/../g", "/g"), ("g.", "/b/c/g."), ("..g", "/b/c/..g"), ("./../g", "/b/g"),
    ("./g/.", "/b/c/g/"), ("g/./h", "/b/c/g/h"), ("g/../h", "/b/c/h"), ("g?y/../x", "/b/c/g?y/../x"),
    ("g#s/../x", "/b/c/g#s/../x"),
].map { LocationRow($0, is: .to("https://a.test" + $1)) }

private let locationRows: [LocationRow] = [
    LocationRow("https://b.test/x", is: .to("https://b.test/x")),
    LocationRow("HTTPS://B.test/x", is: .to("HTTPS://B.test/x")),
    LocationRow("https://b.test", is: .to("https://b.test")),
    LocationRow("//evil.test", is: .to("https://evil.test")),
    LocationRow("//evil.test/x", is: .to("https://evil.test/x")),
    LocationRow("https://b\u{FC}cher.test/", is: .to("https://xn--bcher-kva.test/")),
    LocationRow("/\u{FC} b", is: .to("https://a.test/%C3%BC%20b")),
    LocationRow("?a[]=1", is: .to("https://a.test/b/c/d;p?a%5B%5D=1")),
    LocationRow("https://b.test/x", "https://b.test/x", is: .to("https://b.test/x")),
    LocationRow(from: "http://a.test/", "https://a.test/x", is: .to("https://a.test/x")),
    LocationRow(from: "http://a.test/", "/x", is: .to("http://a.test/x")),
    LocationRow(from: "https://a.test", "x", is: .to("https://a.test/x")),
    // The fragment is kept unless there is a new one (RFC 9110, section 10.2.2).
    LocationRow(from: "https://a.test/b#c", "/x", is: .to("https://a.test/x#c")),
    LocationRow(from: "https://a.test/b#c", "https://b.test/x", is: .to("https://b.test/x#c")),
    LocationRow(from: "https://a.test/b#c", "/x#d", is: .to("https://a.test/x#d")),
    LocationRow(from: "https://a.test/b#c", "/x#", is: .to("https://a.test/x#")),
    // A login in Location is ignored, and the request's own stays with its origin (HA2, CVE-2022-27774).
    LocationRow("https://u:p@a.test/x", is: .to("https://a.test/x")),
    LocationRow("https://u:p@b.test/x", is: .to("https://b.test/x")),
    LocationRow("//u@b.test/x", is: .to("https://b.test/x")),
    LocationRow(from: "https://me:pw%40@a.test/b", "/x", is: .to("https://me:pw%40@a.test/x")),
    LocationRow(from: "https://me:pw@a.test/b", "https://a.test/x", is: .to("https://me:pw@a.test/x")),
    LocationRow(from: "https://me:pw@a.test/b", "https://A.test.:443/x", is: .to("https://me:pw@A.test.:443/x")),
    LocationRow(from: "https://me:pw@a.test/b", "https://u:p@a.test/x", is: .to("https://me:pw@a.test/x")),
    LocationRow(from: "https://me:pw@a.test/b", "//b.test/x", is: .to("https://b.test/x")),
    LocationRow(from: "https://me:pw@a.test/b", "//a.test:444/x", is: .to("https://a.test:444/x")),
    // No redirect.
    LocationRow(is: .isAnswer),
    LocationRow("", is: .isAnswer),
    // HA1, HA3: downgrades and other schemes.
    LocationRow("http://a.test/x", is: .refused(.appTransportSecurityRequiresSecureConnection)),
    LocationRow("HTTP://b.test/", is: .refused(.appTransportSecurityRequiresSecureConnection)),
    LocationRow("http://a.test:443/", is: .refused(.appTransportSecurityRequiresSecureConnection)),
    LocationRow("file:///etc/passwd", is: .refused(.unsupportedURL)),
    LocationRow("ftp://a.test/", is: .refused(.unsupportedURL)),
    LocationRow("gopher://a.test/", is: .refused(.unsupportedURL)),
    LocationRow("unix:/run/x.sock", is: .refused(.unsupportedURL)),
    LocationRow("javascript:alert(1)", is: .refused(.unsupportedURL)),
    LocationRow("data:,x", is: .refused(.unsupportedURL)),
    // HA2: URLs that two parsers read differently, or that can't be parsed.
    LocationRow("\\\\evil.test/", is: .refused(.badServerResponse)),
    LocationRow("/\\evil.test/", is: .refused(.badServerResponse)),
    LocationRow("https://a.test\\@evil.test/", is: .refused(.badServerResponse)),
    LocationRow("/\t/evil.test/", is: .refused(.badServerResponse)),
    LocationRow("ht\ttps://evil.test/", is: .refused(.badServerResponse)),
    LocationRow("/x\r\nX: y", is: .refused(.badServerResponse)),
    LocationRow("/x\0", is: .refused(.badServerResponse)),
    LocationRow("https:///x", is: .refused(.badServerResponse)),
    LocationRow("https:b.test", is: .refused(.badServerResponse)),
    LocationRow("///evil.test", is: .refused(.badServerResponse)),
    LocationRow("https://b.test:0/", is: .refused(.badServerResponse)),
    LocationRow("https://b.test:65536/", is: .refused(.badServerResponse)),
    LocationRow("https://b.test:x/", is: .refused(.badServerResponse)),
    LocationRow("https://127.1/", is: .refused(.badServerResponse)),
    LocationRow("https://a.test%00.evil.test/", is: .refused(.badServerResponse)),
    LocationRow("https://a.test%2f.evil.test/", is: .refused(.badServerResponse)),
    LocationRow("https://b.test/x", "https://b.test/y", is: .refused(.badServerResponse)),
    LocationRow("/x", "https://evil.test/", is: .refused(.badServerResponse)),
    LocationRow("", "https://evil.test/", is: .refused(.badServerResponse)),
    // QL1: the limit is 16 KiB.
    LocationRow("/" + String(repeating: "a", count: 16_383), is: .to(longURL)),
    LocationRow("/" + String(repeating: "a", count: 16_384), is: .refused(.badServerResponse)),
    LocationRow("https://b.test/" + String(repeating: "\u{FC}", count: 100_000), is: .refused(.badServerResponse)),
]
private let longURL = "https://a.test/" + String(repeating: "a", count: 16_383)

private let secrets = [
    "Authorization": "Bearer a", "cookie": "b=c", "PROXY-AUTHORIZATION": "Basic d", "X-Own": "e", "Host": "a.test",
]

@Suite struct RedirectionTests {
    @Test("A Location leads to one URL, or the redirect is rejected", arguments: referenceRows + locationRows)
    private func location(row: LocationRow) throws {
        let request = try request(row.base)
        let target = try RequestTarget(request)
        let outcome: LocationRow.Outcome
        do throws(RedirectionError) {
            let next = try Redirection.request(
                after: request, to: target, answer: response(302, row.locations), count: 0)
            outcome = next.map { .to($0.url?.absoluteString ?? "no URL") } ?? .isAnswer
        } catch {
            outcome = .refused(error.code)
            #expect(error.description.unicodeScalars.allSatisfy { $0.value >= 0x20 })
        }
        #expect(outcome == row.expected)
    }

    /// The cases of swift-corelibs-foundation's redirect tests, except that 305 and 306 aren't redirects here, and that
    /// HEAD stays HEAD.
    static let methodRows: [(status: Int, given: String, next: String?, keepsBody: Bool)] = [
        (301, "GET", "GET", true), (301, "HEAD", "HEAD", true), (301, "POST", "GET", false), (301, "PUT", "PUT", true),
        (301, "DELETE", "DELETE", true), (302, "GET", "GET", true), (302, "HEAD", "HEAD", true),
        (302, "POST", "GET", false), (302, "PUT", "PUT", true), (303, "GET", "GET", false), (303, "HEAD", "HEAD", true),
        (303, "POST", "GET", false), (303, "PUT", "GET", false), (303, "DELETE", "GET", false),
        (307, "GET", "GET", true),
        (307, "HEAD", "HEAD", true), (307, "POST", "POST", true), (307, "PUT", "PUT", true),
        (308, "POST", "POST", true),
        (308, "PATCH", "PATCH", true), (200, "GET", nil, false), (201, "POST", nil, false), (300, "GET", nil, false),
        (304, "GET", nil, false), (305, "GET", nil, false), (306, "GET", nil, false), (399, "GET", nil, false),
        (401, "GET", nil, false),
    ]

    @Test(
        "Status and method decide the next request, and a GET without a body has no fields that describe one",
        arguments: methodRows)
    func method(row: (status: Int, given: String, next: String?, keepsBody: Bool)) throws {
        let describing = ["Content-Type": "text/plain", "content-language": "en", "Digest": "x", "Last-Modified": "y"]
        let given = try request(
            "https://a.test/", method: row.given, body: "hello", fields: describing.merging(["Accept": "*/*"]) { $1 })
        let next = try next(after: given, row.status, "/next")
        #expect(next?.httpMethod == row.next)
        guard let next else { return }
        #expect(next.httpBody == (row.keepsBody ? given.httpBody : nil))
        #expect(next.allHTTPHeaderFields == (row.keepsBody ? given.allHTTPHeaderFields : ["Accept": "*/*"]))
    }

    @Test(
        "HA2: The caller's credentials stay with their origin (CVE-2018-1000007, CVE-2022-27776)",
        arguments: [
            ("/x", true), ("https://A.TEST:443/x", true), ("https://a.test./x", true), ("https://a.test:444/", false),
            ("https://b.test/", false), ("https://x.a.test/", false), ("https://test/", false),
            ("//a.test.b.test/", false),
            ("https://a.test@b.test/", false),
        ])
    func credentials(location: String, staysWithin: Bool) throws {
        let next = try #require(try next(after: request("https://a.test/", fields: secrets), 302, location))
        #expect(next.allHTTPHeaderFields == (staysWithin ? secrets : ["X-Own": "e"]))
    }

    @Test("A change from http to https is a change of origin")
    func upgrade() throws {
        let next = try #require(try next(after: request("http://a.test/", fields: secrets), 302, "https://a.test/"))
        #expect(next.allHTTPHeaderFields == ["X-Own": "e"])
    }

    @Test("Dropped fields don't return when a redirect returns to the first origin (CVE-2025-4673)")
    func roundTrip() throws {
        let first = try request("https://me:pw@a.test/", fields: secrets)
        let away = try #require(try next(after: first, 302, "https://b.test/"))
        let back = try #require(try next(after: away, 302, "https://a.test/", count: 1))
        #expect(back.url?.absoluteString == "https://a.test/")
        #expect(back.allHTTPHeaderFields == ["X-Own": "e"])
    }

    @Test("HA3: A body is sent only to its own origin", arguments: [301, 302, 307, 308])
    func bodyToOtherOrigin(status: Int) throws {
        let put = try request("https://a.test/", method: "PUT", body: "hello")
        #expect(throws: RedirectionError.bodyToOtherOrigin(HTTPExcerpt("https://b.test"))) {
            try next(after: put, status, "https://b.test/")
        }
        #expect(try next(after: put, 303, "https://b.test/")?.httpBody == nil)
        #expect(try next(after: put, status, "/x")?.httpBody == put.httpBody)
        let bare = try request("https://a.test/", method: "PUT")
        #expect(try next(after: bare, status, "https://b.test/")?.httpMethod == "PUT")
    }

    @Test("HA3: At most 20 consecutive redirects are followed")
    func limit() throws {
        let loop = try request("https://a.test/")
        #expect(try next(after: loop, 302, "/", count: 19) == loop)
        #expect(throws: RedirectionError.tooMany(limit: 20)) { try next(after: loop, 302, "/", count: 20) }
        #expect(RedirectionError.tooMany(limit: 20).code == .httpTooManyRedirects)
        // The end of the sequence is an ordinary response.
        #expect(try next(after: loop, 200, "/", count: 20) == nil)
    }

    @Test("HA4: No Referer is added (CVE-2021-22876)")
    func referer() throws {
        let next = try #require(try next(after: request("https://me:pw@a.test/#x"), 302, "https://b.test/"))
        #expect(next.value(forHTTPHeaderField: "Referer") == nil)
        #expect((next.allHTTPHeaderFields ?? [:]).isEmpty)
    }

    @Test("A redirect keeps the request's other properties")
    func rest() throws {
        var given = try request("https://a.test/")
        given.timeoutInterval = 7
        #expect(try next(after: given, 302, "https://b.test/")?.timeoutInterval == 7)
    }
}
