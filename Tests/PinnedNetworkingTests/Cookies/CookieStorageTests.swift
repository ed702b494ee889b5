import CertificateTrust
import PinctlBasics
import PinctlTestPKI
import Testing

@testable import PinnedNetworking

@Suite(.timeLimit(.minutes(10)))
struct CookieStorageTests {
    private let parent: TestDirectory
    private let directory: URL
    private let url: URL

    init() throws {
        parent = try TestDirectory()
        directory = URL(filePath: parent.path + "/a/b")
        url = try #require(URL(string: "https://www.a.test/x/y"))
    }

    private var file: String { directory.path + "/cookies" }

    private func open() throws -> HTTPCookieStorage { try HTTPCookieStorage(directory: directory) }

    private func cookie(
        _ name: String = "n", _ value: String = "v", domain: String = "www.a.test", lasts: TimeInterval? = 3600
    ) throws -> HTTPCookie {
        var properties: [HTTPCookiePropertyKey: Any] = [.name: name, .value: value, .path: "/", .domain: domain]
        properties[.expires] = lasts.map { Date(timeIntervalSinceNow: $0) }
        return try #require(HTTPCookie(properties: properties))
    }

    private func names(_ cookies: [HTTPCookie]?) -> [String]? { cookies?.map(\.name) }

    @Test("The storage returns, replaces and removes cookies, and posts a notification for each change")
    func changes() throws {
        let storage = HTTPCookieStorage()
        let posts = Collected<Notification.Name>()
        let observers = [
            NSNotification.Name.NSHTTPCookieManagerCookiesChanged, .NSHTTPCookieManagerAcceptPolicyChanged,
        ]
        .map { name in
            NotificationCenter.default.addObserver(forName: name, object: storage, queue: nil) { _ in
                posts.append(name)
            }
        }
        defer { observers.forEach(NotificationCenter.default.removeObserver) }
        #expect(storage.cookies == [])
        storage.setCookie(try cookie("a"))
        storage.setCookie(try cookie("b", lasts: nil))
        storage.setCookie(try cookie("a", "new"))
        #expect(storage.cookies?.map(\.value) == ["new", "v"])
        #expect(names(storage.cookies(for: url)) == ["a", "b"])
        #expect(storage.cookies(for: URL(filePath: "/")) == nil)
        #expect(posts.values.count == 3)
        storage.deleteCookie(try cookie("a", "whatever its value"))
        #expect(names(storage.cookies) == ["b"])
        storage.deleteCookie(try cookie("c"))
        #expect(posts.values.count == 4)
        storage.setCookie(try cookie("b", lasts: -1))
        #expect(storage.cookies == [])
        storage.cookieAcceptPolicy = .never
        storage.cookieAcceptPolicy = .never
        storage.setCookie(try cookie("d"))
        #expect(storage.cookies == [])
        #expect(posts.values.last == .NSHTTPCookieManagerAcceptPolicyChanged)
        #expect(posts.values.count == 6)
    }

    @Test("Cookies that were set after a time can be removed, and all can be sorted")
    func removal() throws {
        let time = Locked(CookieScene.start)
        let storage = HTTPCookieStorage(file: nil, clock: { time.withLock { $0 } })
        for name in ["b", "c", "a"] {
            storage.setCookie(try cookie(name, lasts: nil))
            time.withLock { $0 += 10 }
        }
        #expect(
            names(storage.sortedCookies(using: [NSSortDescriptor(keyPath: \HTTPCookie.name, ascending: true)])) == [
                "a", "b", "c",
            ])
        #expect(
            names(storage.sortedCookies(using: [NSSortDescriptor(keyPath: \HTTPCookie.name, ascending: false)]))
                == ["c", "b", "a"])
        storage.removeCookies(since: CookieScene.start + 10)
        #expect(names(storage.cookies) == ["b", "c"])
        storage.removeCookies(since: .distantPast)
        #expect(storage.cookies == [])
    }

    @Test("The cookies of a response are stored only if the URL and the accept policy allow it (CK1, CK10)")
    func responses() throws {
        func stored(
            _ cookies: [HTTPCookie], from url: String, for document: String? = nil,
            _ policy: HTTPCookie.AcceptPolicy = .always
        ) throws -> [String]? {
            let storage = HTTPCookieStorage(file: nil, suffixes: CookieScene().suffixes)
            storage.cookieAcceptPolicy = policy
            storage.setCookies(cookies, for: URL(string: url), mainDocumentURL: document.flatMap { URL(string: $0) })
            return names(storage.cookies)
        }
        let cookies = try [
            cookie("host"), cookie("parent", domain: ".a.test"), cookie("own", domain: ".www.a.test"),
            cookie("suffix", domain: ".test"), cookie("other", domain: "b.test"),
            cookie("below", domain: ".x.www.a.test"),
            cookie("parentHost", domain: "a.test"),
        ]
        #expect(try stored(cookies, from: "https://www.a.test/") == ["host", "parent", "own"])
        #expect(try stored(cookies, from: "https://other.test/") == [])
        #expect(try stored(cookies, from: "file:///x") == [])
        #expect(try stored(cookies, from: "https://www.a.test/", .never) == [])
        for (document, count) in [
            (nil, 3), ("https://b.a.test/", 3), ("http://a.test/", 0), ("https://b.test/", 0), ("file:///x", 0),
        ] as [(String?, Int)] {
            // Without SameSite=None, a request of another site sets no cookies, whatever the policy.
            for policy in [HTTPCookie.AcceptPolicy.always, .onlyFromMainDocumentDomain] {
                #expect(try stored(cookies, from: "https://www.a.test/", for: document, policy)?.count == count)
            }
        }
        let free = try #require(
            HTTPCookie(properties: [
                .name: "free", .value: "v", .path: "/", .domain: "www.a.test", .secure: "TRUE", .sameSitePolicy: "none",
            ]))
        #expect(try stored([free], from: "https://www.a.test/", for: "https://b.test/") == ["free"])
        #expect(try stored([free], from: "http://www.a.test/") == [])
        #expect(
            try stored([free], from: "https://www.a.test/", for: "https://b.test/", .onlyFromMainDocumentDomain) == [])
        let storage = HTTPCookieStorage(file: nil, suffixes: CookieScene().suffixes)
        storage.setCookie(try cookie(domain: ".co.uk"))
        #expect(storage.cookies == [])
    }

    // MARK: The file

    @Test("Cookies with an expiry time exist in the next run, as they were, and others don't")
    func persistence() throws {
        let storage = try open()
        #expect(!FileManager.default.fileExists(atPath: file))
        let request = try #require(CookieRequest(url))
        let bytes: [UInt8] = Array("k=".utf8) + [0xE9]
        let received = [
            Array("r=1; domain=a.test; path=/x; secure; httponly; samesite=lax; max-age=100".utf8), Array("s=1".utf8),
            bytes + Array("; max-age=100".utf8),
        ]
        .compactMap(SetCookie.init).compactMap { HTTPCookie($0, from: request, CookieScene().suffixes, at: Date()) }
        for cookie in received { storage.setCookie(cookie) }
        storage.setCookie(
            try #require(
                HTTPCookie(properties: [
                    .name: "p", .value: "1", .path: "/", .domain: "::1", .port: "80,443", .version: "1",
                    .maximumAge: "50",
                    .comment: "c",
                ])))
        storage.setCookie(try cookie("later", lasts: nil))
        #expect(names(storage.cookies) == ["r", "s", "k", "p", "later"])
        let later = try open()
        #expect(names(later.cookies) == ["r", "k", "p"])
        let contents = later.cookies?.map(\.content)
        var expected = [0, 2].map { received[$0].content }
        for index in expected.indices {
            let time = try #require(expected[index].expires).timeIntervalSince1970.rounded(.down)
            expected[index].expires = Date(timeIntervalSince1970: time)
        }
        #expect(contents?.prefix(2).elementsEqual(expected) == true)
        #expect(contents?.last?.ports == [80, 443])
        later.deleteCookie(received[0])
        #expect(Set(names(storage.cookies) ?? []) == ["s", "k", "p", "later"])
        #expect(Set(names(try open().cookies) ?? []) == ["k", "p"])
    }

    @Test("Two storages of one file see each other's cookies, and keep them")
    func shared() throws {
        let (one, two) = (try open(), try open())
        one.setCookie(try cookie("one"))
        one.setCookie(try cookie("session", lasts: nil))
        #expect(names(two.cookies) == ["one"])
        two.setCookie(try cookie("two"))
        #expect(Set(names(one.cookies) ?? []) == ["session", "one", "two"])
        one.deleteCookie(try cookie("one"))
        #expect(names(two.cookies(for: url)) == ["two"])
        #expect(Set(names(one.cookies) ?? []) == ["session", "two"])
    }

    @Test("CK9: The cookie file has mode 0600, and one that others could change is neither read nor replaced")
    func modes() throws {
        let storage = try open()
        storage.setCookie(try cookie())
        func mode(_ path: String) throws -> Int {
            try #require(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
        }
        #expect(try mode(file) == 0o600)
        #expect(try mode(directory.path) == 0o700)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)
        #expect(throws: CredentialStorageError.self) { try open() }
        #expect(storage.cookies == [])
        let error = try #require(storage.storageError)
        #expect("\(error)".contains(file))
        storage.setCookie(try cookie("other", "canary"))
        // It is kept in memory.
        #expect(names(storage.cookies) == ["other"])
        #expect(try String(contentsOfFile: file, encoding: .utf8).contains("canary") == false)
        #expect(try mode(file) == 0o644)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        #expect(Set(names(storage.cookies) ?? []) == ["n", "other"])
        #expect(storage.storageError == nil)
        #expect(throws: CredentialStorageError.self) { try HTTPCookieStorage(directory: url) }
    }

    @Test("A cookie that can't be written is reported until one is written")
    func unwritten() throws {
        let storage = try open()
        let obstacle = directory.path + "/.new"
        try FileManager.default.createDirectory(atPath: obstacle + "/in", withIntermediateDirectories: true)
        storage.setCookie(try cookie())
        #expect(names(storage.cookies) == ["n"])
        #expect(storage.storageError != nil)
        try FileManager.default.removeItem(atPath: obstacle)
        storage.setCookie(try cookie("other"))
        #expect(storage.storageError == nil)
        #expect(Set(names(try open().cookies) ?? []) == ["n", "other"])
    }

    @Test("Every prefix of a cookie file, and every file with one changed byte, is rejected or parses as valid")
    func mutations() throws {
        let storage = try open()
        storage.setCookie(try cookie("n", "v", domain: ".a.test"))
        storage.setCookie(
            try #require(
                HTTPCookie(properties: [
                    .name: "p", .value: "", .path: "/", .domain: "::1", .port: "80", .sameSitePolicy: "lax",
                    .expires: Date(timeIntervalSinceNow: 1000), .secure: "TRUE",
                ])))
        let whole = [UInt8](try Data(contentsOf: URL(filePath: file)))
        let saved = try SavedCookies(SecretBytes(whole))
        #expect(saved.cookies.count == 2)
        #expect(try saved.file() == SecretBytes(whole))
        var complete = 0
        for count in 0..<whole.count {
            guard let read = try? SavedCookies(SecretBytes(Array(whole[..<count]))) else { continue }
            complete += 1
            #expect(read.cookies == Array(saved.cookies.prefix(read.cookies.count)))
        }
        // The title alone, and the title with one cookie.
        #expect(complete == 2)
        for index in whole.indices {
            for byte in [0, 0x0A, 0x2C, 0x30, 0x31, 0x39, 0x3A, 0x3B, 0x3D, 0x2D, 0xFF] as [UInt8] {
                var changed = whole
                changed[index] = byte
                guard let read = try? SavedCookies(SecretBytes(changed)) else { continue }
                #expect(try read.file() == SecretBytes(changed))
            }
        }
    }

    @Test("A full storage fits into its file")
    func full() throws {
        var saved = SavedCookies()
        let value = String(repeating: "v", count: SetCookie.pairLimit - 4)
        let path = "/" + String(repeating: "p", count: SetCookie.attributeLimit - 1)
        let cookie = try #require(
            HTTPCookie(properties: [
                .name: "1000", .value: value, .path: path, .domain: "." + String(repeating: "a.", count: 125) + "b",
                .expires: Date(timeIntervalSince1970: 1e10),
            ]))
        saved.cookies = Array(repeating: .init(cookie: cookie, stored: CookieScene.start), count: CookieJar.limit)
        let file = try saved.file()
        #expect(try SavedCookies(file).cookies.count == CookieJar.limit)
        saved.cookies.append(saved.cookies[0])
        let long = try saved.file()
        #expect(throws: CredentialStorageError.Reason.self) { try SavedCookies(long) }
    }
}
