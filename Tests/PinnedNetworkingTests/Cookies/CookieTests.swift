import CertificateTrust
import PinctlBasics
import Testing

@testable import PinnedNetworking

@Suite struct CookieTests {
    private let required: [HTTPCookiePropertyKey: Any] = [
        .name: "TestCookie", .value: "Test value @#$%^$&*", .path: "/", .domain: "apple.com",
    ]

    private func made(_ properties: [HTTPCookiePropertyKey: Any?] = [:]) -> HTTPCookie? {
        HTTPCookie(properties: required.merging(properties.compactMapValues(\.self)) { $1 })
    }

    // The rows of TestHTTPCookie in swift-corelibs-foundation, as facts.
    @Test("A cookie is created from the properties that FoundationNetworking takes")
    func properties() throws {
        let plain = try #require(made())
        #expect(plain.name == "TestCookie")
        #expect(plain.value == "Test value @#$%^$&*")
        #expect(plain.path == "/")
        #expect(plain.domain == "apple.com")
        #expect(plain.version == 0)
        #expect(plain.isSessionOnly && !plain.isSecure && !plain.isHTTPOnly && plain.expiresDate == nil)
        var origin = required
        origin[.domain] = nil
        #expect(HTTPCookie(properties: origin) == nil)
        origin[.originURL] = URL(string: "https://Apple.com/x")
        #expect(HTTPCookie(properties: origin)?.domain == "apple.com")
        for key in [HTTPCookiePropertyKey.name, .value, .path] {
            var incomplete = required
            incomplete[key] = nil
            #expect(HTTPCookie(properties: incomplete) == nil, "\(key)")
        }
        let mixed = try #require(
            made([
                .comment: "c", .commentURL: "https://apple.com", .discard: "TRUE",
                .expires: Date(timeIntervalSince1970: 1000), .maximumAge: "2000", .port: "443,8443", .secure: "YES",
                .domain: ".Apple.COM",
            ]))
        #expect(mixed.comment == "c")
        #expect(mixed.commentURL == URL(string: "https://apple.com"))
        #expect(mixed.isSessionOnly && mixed.isSecure)
        // Version 0 has no Max-Age, and one port.
        #expect(mixed.expiresDate == nil)
        #expect(mixed.portList == [443])
        #expect(mixed.domain == ".apple.com")
        let later = try #require(made([.version: "1", .maximumAge: "2000", .port: "443,8443"]))
        #expect(later.portList == [443, 8443])
        let end = try #require(later.expiresDate)
        #expect(end > Date(timeIntervalSinceNow: 1000))
        #expect(!later.isSessionOnly)
        #expect(made([.secure: "FALSE"])?.isSecure == false)
        #expect(made([.secure: true])?.isSecure == true)
        #expect(made([.sameSitePolicy: HTTPCookieStringPolicy.sameSiteLax])?.sameSitePolicy == .sameSiteLax)
        #expect(made([.sameSitePolicy: "Strict"])?.sameSitePolicy == .sameSiteStrict)
        #expect(made([.expires: "Thu, 01 Jan 2026 00:00:00 GMT"])?.expiresDate?.rfc3339 == "2026-01-01T00:00:00Z")
    }

    @Test("The properties of a cookie create an equal one")
    func roundTrip() throws {
        for properties: [HTTPCookiePropertyKey: Any?] in [
            [:], [.domain: ".apple.com", .secure: "TRUE", HTTPCookiePropertyKey("HttpOnly"): "TRUE"],
            [.expires: Date(timeIntervalSince1970: 5e9)],
            [
                .version: "1", .maximumAge: "10", .port: "80,443", .comment: "c",
                .commentURL: URL(string: "https://b.test"),
            ],
            [.version: "1", .expires: Date(timeIntervalSince1970: 5e9)], [.sameSitePolicy: "none"],
            [.domain: "::1", .sameSitePolicy: "lax"], [.discard: "TRUE", .expires: Date(timeIntervalSince1970: 5e9)],
        ] {
            let cookie = try #require(made(properties), "\(properties)")
            let again = try #require(cookie.properties.flatMap { HTTPCookie(properties: $0) })
            #expect(again == cookie)
            #expect(again.hashValue == cookie.hashValue)
        }
        #expect(made() != made([.value: "other"]))
        #expect(made() != made([.domain: ".apple.com"]))
    }

    @Test("CK7: A cookie whose text would end the field or begin another cookie can't be created")
    func injection() {
        for text in ["a\r\nX: y", "a\nb", "a\0", "a\u{7F}", "a;b=c", "a\u{1B}"] {
            #expect(made([.value: text]) == nil)
            #expect(made([.name: text]) == nil)
            #expect(made([.path: "/" + text]) == nil)
        }
        #expect(made([.name: "a=b"]) == nil)
        #expect(made([.name: ""]) == nil)
        for domain in ["", ".", "a..b", "a b", "a.test\r\n", "https://a.test", "b\u{FC}cher.test"] {
            #expect(made([.domain: domain]) == nil, "\(domain)")
        }
        #expect(made([.value: "a=b, c\td"])?.value == "a=b, c\td")
    }

    // The rows of TestHTTPCookie in swift-corelibs-foundation. Where its client takes a cookie that the server can't
    // set, or its path isn't the default path, this one follows RFC 6265bis.
    @Test(
        "Cookies of a joined field are separated by a comma before a name and =",
        arguments: [
            ("fr=anjd&232; Max-Age=7776000; path=/; domain=.example.com; secure; httponly", ["fr=anjd&232"]),
            ("fr=a&2@#; path=/; domain=.example.com; secure, xd=plm!@#;path=/;domain=.example2.com", ["fr=a&2@#"]),
            ("fr=a&2@#; path=/; domain=.example.com; secure, xd=plm!@#;path=/", ["fr=a&2@#", "xd=plm!@#"]),
            (";attr1=value1", []), ("=value1;attr2=value2", []), ("   =value1;attr2=value2", []), ("name;attr2=v", []),
            ("name=v=a=l=u=e;attr1=value1", ["name=v=a=l=u=e"]),
            ("n=v; Comment=real value, tok@en=second; X=y", ["n=v"]),
            (
                "AAA=111; expires=Sun, 16-Aug-2099 22:39:54 GMT, BBB=222; expires=Sat, 15-Feb-2014 22:39:54 GMT",
                ["AAA=111", "BBB=222"]
            ),
            ("AAA =1; path=/, BBB= 2 ", ["AAA=1", "BBB=2"]), ("a=1,b=2,c,d=3", ["a=1", "b=2,c", "d=3"]),
            ("a=1,,b=2", ["a=1,", "b=2"]), ("a=1, =2", ["a=1, =2"]), (",", []), ("", []),
        ])
    func joined(field: String, expected: [String]) throws {
        let url = try #require(URL(string: "https://example.com/a/b"))
        for name in ["Set-Cookie", "set-cookie"] {
            let cookies = HTTPCookie.cookies(withResponseHeaderFields: [name: field, "X": "y=1"], for: url)
            #expect(cookies.map { "\($0.name)=\($0.value)" } == expected)
        }
        #expect(HTTPCookie.cookies(withResponseHeaderFields: ["X": field], for: url).isEmpty)
        let file = URL(filePath: "/etc/passwd")
        #expect(HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": field], for: file).isEmpty)
    }

    @Test("A cookie of a response has the request's host and directory unless it says otherwise")
    func received() throws {
        func cookie(_ field: String) throws -> HTTPCookie {
            let url = try #require(URL(string: "https://www.Example.com:8443/a/b?c/d"))
            let cookies = HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": field], for: url)
            return try #require(cookies.first)
        }
        let plain = try cookie("n=v")
        #expect(plain.domain == "www.example.com")
        #expect(plain.path == "/a")
        #expect(plain.isSessionOnly)
        #expect(plain.portList == nil && plain.comment == nil && plain.version == 0)
        let whole = try cookie(
            "n=v; Domain=EXAMPLE.com; Path=/x; Secure; HttpOnly; SameSite=Strict; Max-Age=60; Port=80")
        #expect(whole.path == "/x")
        #expect(whole.isSecure && whole.isHTTPOnly && !whole.isSessionOnly && whole.portList == nil)
        #expect(whole.sameSitePolicy == .sameSiteStrict)
        #expect(try cookie("n=v; path=x/y").path == "/a")
        let long = try #require(try cookie("n=v; Max-Age=99999999999").expiresDate)
        #expect(long < Date(timeIntervalSinceNow: 401 * 86_400))
    }

    @Test("CK9: A cookie's value isn't part of any text that describes it")
    func texts() throws {
        let cookie = try #require(made([.value: "canary"]))
        var dumped = ""
        dump(cookie, to: &dumped)
        let storage = HTTPCookieStorage()
        storage.setCookie(cookie)
        dump(storage, to: &dumped)
        #expect(cookie.description == "TestCookie for apple.com/")
        for text in [
            dumped, "\(cookie)", String(reflecting: cookie), "\(storage)", String(reflecting: storage), "\([cookie])",
        ] {
            #expect(!text.contains("canary"))
        }
        #expect(!Mirror(reflecting: storage).children.contains { "\($0.value)".contains("canary") })
    }
}
