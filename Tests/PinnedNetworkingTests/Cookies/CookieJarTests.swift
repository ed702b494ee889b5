import CertificateTrust
import PinctlBasics
import Testing

@testable import PinnedNetworking

@Suite struct CookieJarTests {
    @Test("Longer paths come first, then older cookies; a new value keeps its cookie's place")
    func order() throws {
        var scene = CookieScene()
        try scene.receive("a=1; path=/", "b=1; path=/x", "c=1; path=/x/y", "d=1; path=/", from: "https://a.test/")
        #expect(try scene.sent(to: "https://a.test/x/y") == "c=1; b=1; a=1; d=1")
        try scene.receive("a=2; path=/", from: "https://a.test/")
        #expect(try scene.sent(to: "https://a.test/x/y") == "c=1; b=1; a=2; d=1")
        try scene.receive("a=; path=/; max-age=0", "a=3; path=/", from: "https://a.test/")
        #expect(try scene.sent(to: "https://a.test/x/y") == "c=1; b=1; d=1; a=3")
    }

    @Test("Cookies with the same name are different cookies if the domain or the path differs")
    func identity() throws {
        var scene = CookieScene()
        try scene.receive("a=1", "a=2; domain=a.test", "a=3; path=/x", "A=4", from: "https://a.test/")
        #expect(try scene.sent(to: "https://a.test/x") == "a=3; a=1; a=2; A=4")
        #expect(try scene.sent(to: "https://b.a.test/x") == "a=2")
    }

    @Test("A cookie is sent until the second in which it expires")
    func expiry() throws {
        var scene = CookieScene()
        try scene.receive("a=1; max-age=10", "b=2", from: "https://a.test/")
        scene.now += 9
        #expect(try scene.sent(to: "https://a.test/") == "a=1; b=2")
        scene.now += 1
        #expect(try scene.sent(to: "https://a.test/") == "b=2")
        scene.jar.removeExpired(at: scene.now)
        #expect(scene.jar.count == 1)
    }

    @Test("Of 51 cookies of a domain, the one that was used least recently goes, and those without Secure first")
    func domainLimit() throws {
        var scene = CookieScene()
        for number in 0..<50 { try scene.receive("c\(number)=1; path=/p\(number); secure", from: "https://a.test/") }
        // The first one is used, so the second one is the oldest.
        #expect(try scene.sent(to: "https://a.test/p0") == "c0=1")
        try scene.receive("new=1; secure", from: "https://a.test/")
        #expect(scene.jar.count == 50)
        #expect(try scene.sent(to: "https://a.test/p0") == "c0=1; new=1")
        #expect(try scene.sent(to: "https://a.test/p1") == "new=1")
        // A cookie without Secure doesn't push out others, and is the first to go.
        try scene.receive("plain=1; path=/plain", from: "https://a.test/")
        #expect(try scene.sent(to: "https://a.test/plain") == "new=1")
        try scene.receive("c0=; path=/p0; secure; max-age=0", "plain=1; path=/plain", from: "https://a.test/")
        #expect(try scene.sent(to: "https://a.test/plain") == "plain=1; new=1")
        try scene.receive("last=1; secure", from: "https://a.test/")
        #expect(try scene.sent(to: "https://a.test/plain") == "new=1; last=1")
        #expect(scene.jar.count == 50)
    }

    @Test("Of 3001 cookies, the one that was used least recently goes")
    func limit() throws {
        var scene = CookieScene()
        for number in 0..<3000 { try scene.receive("a=1", from: "https://h\(number / 50).test/p\(number)/") }
        #expect(scene.jar.count == 3000)
        #expect(try scene.sent(to: "https://h0.test/p0/") == "a=1")
        try scene.receive("a=1", from: "https://other.test/")
        #expect(scene.jar.count == 3000)
        #expect(try scene.sent(to: "https://h0.test/p0/") == "a=1")
        #expect(try scene.sent(to: "https://h0.test/p1/") == "")
        #expect(try scene.sent(to: "https://other.test/") == "a=1")
        #expect(scene.jar.entries.count == 3000)
    }

    @Test("A request carries at most 150 cookies and 8190 bytes of them")
    func requestLimits() throws {
        var scene = CookieScene()
        for (level, host) in ["a.test", "b.a.test", "c.b.a.test", "d.c.b.a.test"].enumerated() {
            for number in 0..<50 {
                try scene.receive("c\(level)-\(number)=1; domain=\(host)", from: "https://d.c.b.a.test/")
            }
        }
        #expect(try scene.sent(to: "https://d.c.b.a.test/").split(separator: "; ").count == 150)
        let long = String(repeating: "x", count: 4000)
        try scene.receive("a=\(long)", "b=\(long)", "c=\(long)", from: "https://e.test/")
        #expect(try scene.sent(to: "https://e.test/") == "a=\(long); b=\(long)")
    }

    @Test(
        "Paths match whole components",
        arguments: [
            ("/", "/", true), ("/a", "/", true), ("/a", "/a", true), ("/a/", "/a", true), ("/a/b", "/a", true),
            ("/ab", "/a", false), ("/", "/a", false), ("/a", "/a/", false), ("/a/b", "/a/", true), ("/A", "/a", false),
            ("/%61", "/a", false), ("/a//b", "/a/", true),
        ])
    func paths(path: String, cookiePath: String, matches: Bool) {
        #expect(CookiePath.matches(path, cookiePath) == matches)
    }

    @Test(
        "The default path is everything before the last slash",
        arguments: [
            ("", "/"), ("/", "/"), ("/a", "/"), ("/a/", "/a"), ("/a/b", "/a"), ("/a/b?c/d", "/a"), ("/a//b", "/a/"),
            ("?a/b", "/"), ("/a/b#c/d", "/a"), ("/a%2Fb", "/"),
        ])
    func defaultPaths(path: String, expected: String) throws {
        let url = try #require(URL(string: "https://a.test\(path)"))
        #expect(CookieRequest(url)?.defaultPath == expected)
    }

    @Test(
        "The site of a name is its public suffix with one more label",
        arguments: [
            ("a.test", "a.test"), ("b.a.test", "a.test"), ("c.b.a.test", "a.test"), ("x.co.uk", "x.co.uk"),
            ("y.x.co.uk", "x.co.uk"), ("co.uk", "co.uk"), ("test", "test"), ("a.hosted.test", "a.hosted.test"),
            ("b.a.hosted.test", "a.hosted.test"), ("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("b.a.x.ck", "a.x.ck"),
            ("deep.sub.test", "deep.sub.test"), ("a.deep.sub.test", "a.deep.sub.test"),
            ("a.sub.test", "sub.test"),
        ])
    func sites(name: String, site: String) throws {
        let suffixes = CookieScene().suffixes
        #expect(suffixes.site(of: try ServerName(name)) == (try ServerName(site)))
    }
}
