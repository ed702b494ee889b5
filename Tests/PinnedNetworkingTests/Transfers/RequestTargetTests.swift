import CertificateTrust
import PinctlHTTPMessages
import Testing

@testable import PinnedNetworking

private func target(_ text: String) throws -> RequestTarget {
    try RequestTarget(URLRequest(url: try #require(URL(string: text))))
}

@Suite struct RequestTargetTests {
    static let rows: [(url: String, origin: String, path: String)] = [
        ("https://a.test", "https://a.test", "/"),
        ("https://a.test?x", "https://a.test", "/?x"),
        ("https://a.test/b/c?d=e&f?g#h", "https://a.test", "/b/c?d=e&f?g"),
        ("https://a.test/?", "https://a.test", "/?"),
        ("https://a.test/%20%2F;x=%e4?%0d%0a", "https://a.test", "/%20%2F;x=%e4?%0d%0a"),
        ("https://a.test/\u{FC} [x]?\u{FC}", "https://a.test", "/%C3%BC%20%5Bx%5D?%C3%BC"),
        ("https://a.test/../b", "https://a.test", "/../b"),
        ("HTTPS://A.Test.:443/", "https://a.test", "/"),
        ("https://a.test:8443/", "https://a.test:8443", "/"),
        ("https://a.test:80/", "https://a.test:80", "/"),
        ("https://a.test:/", "https://a.test", "/"),
        ("http://a.test/", "http://a.test", "/"),
        ("http://a.test:80/", "http://a.test", "/"),
        ("http://a.test:443/", "http://a.test:443", "/"),
        ("https://[0:0::1]:8443/", "https://[::1]:8443", "/"),
        ("https://b\u{FC}cher.test/", "https://xn--bcher-kva.test", "/"),
        ("https://u:p@a.test//b.test/", "https://a.test", "//b.test/"),
    ]

    @Test("A URL has one origin, and a path without fragment and login", arguments: rows)
    func parts(row: (url: String, origin: String, path: String)) throws {
        let target = try target(row.url)
        #expect(target.origin.description == row.origin)
        #expect(target.path == row.path)
        // Every URL that Foundation accepts can be sent.
        let head = try HTTPRequestHead(method: target.method, target: .origin(target.path), origin: target.origin)
        #expect(String(decoding: head.bytes, as: UTF8.self).hasPrefix("GET \(row.path) HTTP/1.1\r\nHost: "))
    }

    @Test("A relative URL is resolved against its base")
    func relative() throws {
        let base = try #require(URL(string: "https://a.test/b/c"))
        let url = try #require(URL(string: "../d?e", relativeTo: base))
        let target = try RequestTarget(URLRequest(url: url))
        #expect(target.url.absoluteString == "https://a.test/d?e")
        #expect(target.path == "/d?e")
    }

    @Test(
        "A login is percent-decoded, and absent if it is empty",
        arguments: [
            ("https://a.test/", nil, nil), ("https://@a.test/", nil, nil), ("https://:@a.test/", nil, nil),
            ("https://:p@a.test/", nil, nil), ("https://u@a.test/", "u", nil), ("https://u:@a.test/", "u", nil),
            ("https://u:p%40%3a@a.test/", "u", "p@:"), ("https://%C3%BC:%20@a.test/", "\u{FC}", " "),
            ("https://a%2Fb:c:d@a.test/", "a/b", "c:d"),
        ] as [(String, String?, String?)])
    func login(url: String, user: String?, password: String?) throws {
        let target = try target(url)
        #expect(target.user == user)
        #expect(target.password == password)
        #expect(target.path == "/")
    }

    @Test(
        "HA16: A login with a line break, NUL or invalid UTF-8 is rejected and not printed",
        arguments: ["secret%0d%0a", "secret%00", "secret%ff", "secret%7f", "secret%C2%85"])
    func malformedLogin(login: String) {
        for url in ["https://\(login)@a.test/", "https://u:\(login)@a.test/"] {
            let error = #expect(throws: RequestTargetError.malformedLogin) { try target(url) }
            #expect(error?.description.contains("secret") == false)
        }
    }

    @Test(
        "HA2: A URL with a backslash in its authority is rejected, because it has two possible hosts",
        arguments: [
            #"https://good.test\@evil.test/"#, #"https://good.test\.evil.test@evil.test/"#,
            #"http://good.test:80\@evil.test"#, #"https://[::1]\@evil.test/?#"#, #"HTTPS://u:p\@evil.test/a"#,
            #"ftp://good.test\@evil.test/a"#, #"ftpes://good.test\@evil.test/a"#,
        ])
    func backslash(text: String) throws {
        let url = try #require(URL(string: text))
        let below = try #require(URL(string: "b", relativeTo: url))
        let beside = try #require(URL(string: "//" + text.split(separator: "//")[1], relativeTo: url))
        for url in [url, below, beside] {
            let error = #expect(throws: RequestTargetError.backslashInAuthority) {
                let request = URLRequest(url: url)
                guard try FTPTarget(request) == nil else { return }
                _ = try RequestTarget(request, isProxied: true)
            }
            #expect(error?.description.contains("%5C") == true)
        }
    }

    @Test(
        "A backslash that is percent-encoded, or outside the authority, is unambiguous and accepted",
        arguments: [
            (#"https://DOMAIN%5Cuser:p@a.test/"#, #"DOMAIN\user"#, "/"), (#"https://a.test/b\c"#, nil, "/b%5Cc"),
            (#"https://a.test?\@b.test"#, nil, "/?%5C@b.test"), (#"https://a.test/#//\@b"#, nil, "/"),
            (#"https://a.test//\@b.test/"#, nil, "//%5C@b.test/"),
        ] as [(String, String?, String)])
    func harmlessBackslash(url: String, user: String?, path: String) throws {
        let target = try target(url)
        #expect(target.origin.description == "https://a.test")
        #expect(target.user == user)
        #expect(target.path == path)
    }
}
