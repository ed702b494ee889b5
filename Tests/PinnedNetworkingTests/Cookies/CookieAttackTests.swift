import CertificateTrust
import PinctlBasics
import PinctlTestPKI
import Testing

@testable import PinnedNetworking

/// The attacks on a jar: CK1 to CK4, CK8 and CK10.
@Suite struct CookieAttackTests {
    @Test(
        "CK1: A cookie can be set only for the host and the domains above it, up to a public suffix",
        arguments: [
            ("https://www.a.test/", "", "www.a.test"), ("https://www.a.test/", "a.test", ".a.test"),
            ("https://www.a.test/", ".a.test", ".a.test"), ("https://www.a.test/", "WWW.A.TEST", ".www.a.test"),
            ("https://www.a.test/", "b.test", nil), ("https://www.a.test/", "x.www.a.test", nil),
            ("https://www.a.test/", "ww.a.test", nil), ("https://www.a.test/", "w.a.test", nil),
            ("https://www.a.test/", ".test", nil), ("https://www.a.test/", "test", nil),
            ("https://www.a.test/", "a.test.", nil), ("https://www.a.test/", "..a.test", nil),
            ("https://www.a.test/", "a..test", nil), ("https://www.a.test/", "\"a.test\"", nil),
            ("https://www.a.test/", "a.test:443", nil), ("https://www.a.test/", "a.test/", nil),
            ("https://www.a.test/", "%61.test", nil), ("https://www.a.test/", "\u{430}.test", nil),
            ("https://www.a.test/", ".", "www.a.test"),
            // The host itself may be a public suffix: the cookie is for the host alone.
            ("https://hosted.test/", "hosted.test", "hosted.test"), ("https://a.hosted.test/", "hosted.test", nil),
            ("https://a.hosted.test/", "a.hosted.test", ".a.hosted.test"),
            ("https://a.co.uk/", "co.uk", nil), ("https://a.x.ck/", "x.ck", nil),
            ("https://a.www.ck/", "www.ck", ".www.ck"),
            ("https://localhost/", "localhost", "localhost"), ("https://a.localhost/", "localhost", nil),
            ("https://www.a.test./", "a.test", ".a.test"),
            // A trailing dot makes no public suffix another one (CVE-2022-27779, CVE-2026-8924).
            ("https://www.a.test./", "test", nil), ("https://www.a.test./", "test.", nil),
            ("https://a.co.uk./", "co.uk", nil), ("https://a.co.uk./", "co.uk.", nil),
            // Addresses have no domains above them.
            ("https://127.0.0.1/", "127.0.0.1", "127.0.0.1"), ("https://127.0.0.1/", "0.0.1", nil),
            ("https://127.0.0.1/", ".0.1", nil), ("https://127.0.0.1/", "1", nil), ("https://[::1]/", "::1", "::1"),
            ("https://[::1]/", "[::1]", "::1"),
            ("https://b\u{FC}cher.test/", "xn--bcher-kva.test", ".xn--bcher-kva.test"),
            ("https://b\u{FC}cher.test/", "b\u{FC}cher.test", nil),
        ])
    func domains(url: String, domain: String, expected: String?) throws {
        var scene = CookieScene()
        try scene.receive("n=v; Domain=\(domain)", from: url)
        #expect(scene.jar.entries.first?.cookie.domain == expected)
    }

    @Test("CK1: Without a list of public suffixes, every cookie is for its host alone")
    func noList() throws {
        var scene = CookieScene()
        scene.suffixes = PublicSuffixes { SystemSuffixList(contentsOfFile: "/nonexistent") }
        for (number, domain) in ["a.test", "www.a.test", "co.test", "b.test", "test"].enumerated() {
            try scene.receive("n\(number)=v; Domain=\(domain)", from: "https://www.a.test/")
        }
        #expect(try scene.sent(to: "https://www.a.test/") == "n0=v; n1=v; n4=v")
        for host in ["a.test", "x.www.a.test", "b.test", "x.a.test"] {
            #expect(try scene.sent(to: "https://\(host)/") == "")
        }
        #expect(try scene.sent(to: "https://www.a.test/", for: "https://b.a.test/") == "")
    }

    @Test(
        "CK1: A cookie for one host is sent to no other, and one for a domain only to its subdomains",
        arguments: [
            ("www.a.test", "d=1; h=1"), ("a.test", "d=1"), ("x.a.test", "d=1"), ("x.www.a.test", "d=1"),
            ("b.test", ""), ("ba.test", ""), ("wwwa.test", ""), ("a.test.b.test", ""), ("test", ""),
            ("www.a.test.", "d=1; h=1"),
            ("WWW.A.Test", "d=1; h=1"), ("127.0.0.1", ""),
        ])
    func hosts(host: String, expected: String) throws {
        var scene = CookieScene()
        try scene.receive("d=1; domain=a.test", "h=1", from: "https://www.a.test/")
        #expect(try scene.sent(to: "https://\(host)/") == expected)
    }

    @Test("CK1: The ports of a host share its cookies, unless the program gave a cookie ports")
    func ports() throws {
        var scene = CookieScene()
        try scene.receive("a=1; Port=443", from: "https://a.test/")
        let own = try #require(
            HTTPCookie(properties: [.name: "p", .value: "1", .path: "/", .domain: "a.test", .port: "444"]))
        scene.jar.store(own, at: scene.now)
        #expect(try scene.sent(to: "https://a.test:444/") == "a=1; p=1")
        #expect(try scene.sent(to: "https://a.test:445/") == "a=1")
    }

    @Test("CK3: A Secure cookie is sent over TLS only, and cleartext can't set one, replace one or hide one")
    func secure() throws {
        var scene = CookieScene()
        try scene.receive("s=1; secure; domain=a.test; path=/login", "p=1", from: "https://www.a.test/")
        #expect(try scene.sent(to: "http://www.a.test/login") == "p=1")
        #expect(try scene.sent(to: "https://www.a.test/login") == "s=1; p=1")
        let rows: [(String, String, Bool)] = [
            // Cleartext sets nothing Secure.
            ("n=1; secure", "http://www.a.test/", false), ("n=1; samesite=none; secure", "http://www.a.test/", false),
            // Nor a cookie that would be sent with, or instead of, the Secure one.
            ("s=2; domain=a.test; path=/login", "http://www.a.test/", false),
            ("s=2; path=/login", "http://www.a.test/", false), ("s=2; path=/login/x", "http://www.a.test/", false),
            ("s=2; path=/login", "http://a.test/", false), ("s=2; path=/login", "http://x.www.a.test/", false),
            ("s=2; path=/login; max-age=0; domain=a.test", "http://www.a.test/", false),
            // One for another place doesn't hide it.
            ("s=2; path=/", "http://www.a.test/", true), ("s=2; path=/loginx", "http://www.a.test/", true),
            ("s=2; path=/login", "http://b.test/", true), ("S=2; path=/login", "http://www.a.test/", true),
            // TLS can.
            ("s=2; path=/login", "https://www.a.test/", true),
        ]
        for (value, url, isStored) in rows {
            var copy = scene
            #expect(try copy.receive(value, from: url) == isStored, "\(value) \(url)")
            guard !isStored else { continue }
            #expect(try copy.sent(to: "https://www.a.test/login/x") == "s=1; p=1")
        }
    }

    @Test("CK3: A cookie of https that an attacker redirects through http isn't replaced (curl 414)")
    func replacement() throws {
        var scene = CookieScene()
        let url = "://attack.test/a/b/1"
        try scene.receive(
            "SESSIONID=originaltoken; secure", "second=originaltoken; secure; path=/a", from: "https" + url)
        try scene.receive("SESSIONID=hacker; domain=attack.test;", "second=replacement; path=/a/b", from: "http" + url)
        #expect(try scene.sent(to: "https" + url) == "SESSIONID=originaltoken; second=originaltoken")
    }

    @Test(
        "CK4: A name with a prefix is taken only with what the prefix promises, in any case",
        arguments: [
            ("__Secure-n=1", "https", false), ("__Secure-n=1; secure", "https", true),
            ("__Secure-n=1; secure", "http", false),
            ("__secure-n=1", "https", false), ("__SECURE-n=1; secure; domain=a.test", "https", true),
            ("__Host-n=1", "https", false), ("__Host-n=1; secure", "https", false),
            ("__Host-n=1; path=/", "https", false),
            ("__Host-n=1; secure; path=/", "https", true), ("__Host-n=1; secure; path=/", "http", false),
            ("__host-n=1; secure; path=/; domain=a.test", "https", false),
            ("__HOST-n=1; secure; path=/; domain=www.a.test", "https", false),
            ("__HoSt-n=1; secure; path=/; domain=", "https", true), ("__Host-n=1; secure; path=/x", "https", false),
            ("__Host-n=1; secure; path=", "https", true), ("  __Host-n=1; secure", "https", false),
            ("__Http-n=1; secure", "https", false), ("__Http-n=1; secure; httponly", "https", true),
            ("__http-n=1; httponly", "https", false), ("__Host-Http-n=1; secure; path=/", "https", false),
            ("__Host-Http-n=1; secure; path=/; httponly", "https", true),
            ("__host-http-n=1; secure; httponly", "https", false), ("_Host-n=1", "https", true),
            ("__Hostn=1", "https", true),
            // Without a name, the value could be read as one.
            ("=__Host-n=1", "https", false), ("__Host-n", "https", false), ("=__secure-n=1; secure", "https", false),
        ])
    func prefixes(value: String, scheme: String, isStored: Bool) throws {
        var scene = CookieScene()
        #expect(try scene.receive(value, from: "\(scheme)://www.a.test/") == isStored)
        #expect(scene.jar.count == (isStored ? 1 : 0))
    }

    @Test("CK4: A program's own cookies keep their promises if they are stored for a URL")
    func ownPrefixes() throws {
        let url = try #require(URL(string: "https://www.a.test/"))
        let storage = HTTPCookieStorage(file: nil, suffixes: CookieScene().suffixes)
        for (name, domain, path, isSecure) in [
            ("__Host-a", "www.a.test", "/", true), ("__host-b", "www.a.test", "/", false),
            ("__Host-c", ".www.a.test", "/", true), ("__Host-d", "www.a.test", "/x", true),
            ("__Secure-e", "www.a.test", "/", false),
        ] {
            var properties: [HTTPCookiePropertyKey: Any] = [.name: name, .value: "v", .path: path, .domain: domain]
            properties[.secure] = isSecure ? "TRUE" : nil
            storage.setCookies([try #require(HTTPCookie(properties: properties))], for: url, mainDocumentURL: nil)
        }
        #expect(storage.cookies?.map(\.name) == ["__Host-a"])
    }

    @Test("CK8: Floods of cookies and attributes cost no more than their limits")
    func floods() throws {
        var scene = CookieScene()
        for number in 0..<500 {
            try scene.receive("c\(number)=1; domain=a.test", from: "https://www.a.test/")
            try scene.receive("c\(number)=1", from: "https://h\(number).b.test/")
        }
        // 50 of the domain, and 180 of the site with many hosts.
        #expect(scene.jar.count == 230)
        #expect(try scene.sent(to: "https://www.a.test/").split(separator: "; ").count == 50)
        try scene.receive(
            "a=1" + String(repeating: "; x=y", count: 50_000) + "; domain=c.test", from: "https://c.test/")
        #expect(try scene.sent(to: "https://x.c.test/") == "a=1")
        let labels = String(repeating: "d.", count: 120) + "test"
        try scene.receive("deep=1; domain=d.d.test", from: "https://\(labels)/")
        #expect(try scene.sent(to: "https://\(labels)/") == "deep=1")
    }

    @Test("CK8: One site can't displace the cookies of others, with or without a list of public suffixes")
    func displacement() throws {
        for hasList in [true, false] {
            var scene = CookieScene()
            if !hasList {
                scene.suffixes = PublicSuffixes { SystemSuffixList(contentsOfFile: "/nonexistent") }
            }
            try scene.receive("kept=1", from: "https://good.test/")
            for number in 0..<100 {
                for cookie in 0..<40 {
                    try scene.receive("c\(cookie)=1", from: "https://h\(number).evil.test/")
                }
            }
            #expect(try scene.sent(to: "https://good.test/") == "kept=1", "\(hasList)")
            #expect(scene.jar.count == 181)
            #expect(try scene.sent(to: "https://h99.evil.test/").split(separator: "; ").count == 40)
        }
    }

    @Test("CK10: A request for a document of another site carries and sets only cookies with SameSite=None")
    func sites() throws {
        var scene = CookieScene()
        let url = "https://www.a.test/"
        let values = ["n=1; samesite=none; secure", "l=1; samesite=lax", "s=1; samesite=strict", "d=1"]
        for value in values { try scene.receive(value, from: url) }
        let all = "n=1; l=1; s=1; d=1"
        for (document, expected) in [
            (nil, all), (url, all), ("https://a.test/", all), ("https://x.a.test:8443/y", all),
            ("http://www.a.test/", "n=1"), ("https://b.test/", "n=1"), ("https://a.b.test/", "n=1"),
            ("about:blank", "n=1"), ("file:///x", "n=1"), ("https://127.0.0.1/", "n=1"),
        ] as [(String?, String)] {
            #expect(try scene.sent(to: url, for: document) == expected, "\(document ?? "")")
            var empty = CookieScene()
            for value in values { try empty.receive(value, from: url, for: document) }
            #expect(try empty.sent(to: url) == expected, "\(document ?? "")")
        }
        // Without TLS, nothing may be for all sites.
        #expect(try !scene.receive("x=1; samesite=none", from: url))
    }
}
