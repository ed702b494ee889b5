import CertificateTrust
import PinctlBasics
import PinctlHTTPMessages
import Testing

@testable import PinnedNetworking

// The rows of other suites, as facts: a response at a URL, and what a request for another URL then carries.
private let otherRows: [CookieRow] = [
    // curl, tests/data. Its own reading of a quoted Path, of tabs and of the end of a host differs: test8 and test1105
    // have no slash at the start of "/silly/", which is then the default path here.
    CookieRow(
        "curl 8",
        [
            "foobar=name; domain=127.0.0.1; path=/;", "mismatch=this; domain=127.0.0.1; path=/silly/;",
            "partmatch=present; domain=.0.0.1; path=/w;",
            "duplicate=test; domain=.0.0.1; domain=.0.0.1; path=/donkey;", "cookie=yes; path=/we;",
            "cookie=perhaps; path=/we/want;", "name with space=is weird but; path=/we/want;",
            "trailingspace    = removed; path=/we/want;", "nocookie=yes; path=/WE;",
            "blexp=yesyes; domain=127.0.0.1; domain=127.0.0.1; expiry=totally bad;", "partialip=nono; domain=.0.0.1;",
            "cookie1=\u{1}-junk", "cookie14=\u{E}-junk", "cookie31=\u{7F}-junk", "cookie9=junk--\t",
        ],
        from: "http://127.0.0.1/we/want/8", at: "http://127.0.0.1/we/want/8",
        "cookie=perhaps; name with space=is weird but; trailingspace=removed; blexp=yesyes; cookie9=junk--; "
            + "cookie=yes; foobar=name"),
    CookieRow(
        "curl 31",
        [
            "", ";", "blankdomain=sure; domain=; path=/", "foobar=name; domain=anything.com; path=/ ; secure",
            "ismatch=this  ; domain=test31.test; path=/silly/",
            "overwrite=this  ; domain=test31.test; path=/overwrite/",
            "sec1value=secure1  ; domain=test31.test; path=/secure1/ ; secure",
            "secure=very1  ; secure; domain=test31.test; path=/secure9/;",
            "httpo1=value1  ; domain=test31.test; path=/p1/; httponly",
            "httponly=myvalue1  ; domain=test31.test; path=/p4/; httponly", "eat=this; domain=moo.foo.moo;",
            "eat=this-too; domain=.foo.moo;", "nodomainnovalue", "novalue; domain=reallysilly",
            "test2=yes; domain=se; expires=Sat Feb 2 11:56:27 GMT 2030",
            "magic=yessir; path=/silly/; HttpOnly", "partialip=nono; domain=.0.0.1;",
            "withspaces=  yes  within and around    ;", "withspaces2 =before equals;", "prespace=  yes before;",
            "securewithspace=after    ; secure ",
        ],
        from: "http://test31.test/we/want/31", at: "http://test31.test/we/want/31",
        "withspaces=yes  within and around; withspaces2=before equals; prespace=yes before; blankdomain=sure"),
    CookieRow(
        "curl 61",
        [
            "test=yes; httponly; domain=foo.com; expires=Fri Feb 13 11:56:27 GMT 2037",
            "test2=yes; domain=host.foo.com; expires=Fri Feb 13 11:56:27 GMT 2037",
            "test3=maybe; domain=foo.com; path=/moo; secure", "test4=no; domain=nope.foo.com; path=/moo; secure",
            "test5=name; domain=anything.com; path=/ ; secure", "fake=fooledyou; domain=..com; path=/;",
            "supercookie=fooledyou; domain=.com; path=/;",
        ],
        from: "http://www.host.foo.com/we/want/61", at: "http://www.host.foo.com/we/want/61", "test=yes; test2=yes"),
    CookieRow(
        "curl 73", ["id=1; path=/; domain=.NOT_DISCLOSED.com"], from: "http://host.NOT_DISCLOSED.com/",
        at: "http://host.not_disclosed.com/", "id=1"),
    CookieRow(
        "curl 329",
        [
            "test=no; path=/we/want/; domain=.host.foo.com", "testn1=yes; path=/we/want/; Max-Age=-1;",
            "test=yes; path=/we/want/; domain=.host.foo.com; Max-Age=0;",
        ],
        from: "http://host.foo.com/we/want/329", at: "http://host.foo.com/we/want/329", ""),
    CookieRow(
        "curl 420",
        [
            "mycookie6=991; path=/func_test", "mycookie1=4900; path=/", "mycookie2=5900; path=/func_test",
            "mycookie6=; Path=/func_test; Max-Age=-1; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
            "mycookie1=; Path=/; Max-Age=-1; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
        ],
        from: "http://127.0.0.1/func_test/del_cookie", at: "http://127.0.0.1/func_test/del_cookie", "mycookie2=5900"),
    CookieRow(
        "curl 1160", [String(repeating: "n", count: 4000) + "=" + String(repeating: "v", count: 4096)],
        from: "http://a.test/", at: "http://a.test/", ""),
    CookieRow(
        "curl 1161", ["ckyPersistent=permanent;path=;path=/"], from: "http://a.test/b/c", at: "http://a.test/",
        "ckyPersistent=permanent"),
    CookieRow(
        "curl 1218, same site", ["bug=fixed; domain=.example.test;"], from: "http://example.test/c/1",
        at: "http://example.test/c/1", "bug=fixed"),
    CookieRow(
        "curl 1218, same end", ["bug=fixed; domain=.example.test;"], from: "http://example.test/c/1",
        at: "http://bexample.test/c/1", ""),
    CookieRow(
        "curl 1228", ["path1=root; domain=.example.test; path=/;", "path2=depth1; domain=.example.test; path=/hoge;"],
        from: "http://example.test/hoge/1", at: "http://example.test/hogege/", "path1=root"),
    CookieRow(
        "curl 1258", ["I-am=here; domain=localhost;"], from: "http://localhost/we/want/1",
        at: "http://localhost/we/want?hoge=fuga", "I-am=here"),
    CookieRow(
        "curl 1415",
        [
            "test1value=test1; domain=example.com; path=/;",
            "test2value=test2; expires=Thursday, 31-Dec-2037 00:00:00 GMT; domain=example.com; path=/;",
            "test3value=test3; expires=Monday, 13-Jun-1988 03:04:55 GMT; domain=example.com; path=/;",
        ],
        from: "http://example.com/we/want/1", at: "http://example.com/", "test1value=test1; test2value=test2"),
    // Python, Lib/test/test_http_cookiejar.py.
    CookieRow(
        "Python test_ns_parser",
        [
            "spam=eggs; DoMain=.acme.com; port; blArgh=\"feep\"", "ni=ni; port=80,8080", "foo=bar; expires=",
            "fortytwo=", "=unladenswallow", "holyhandgrenade",
        ],
        from: "http://www.acme.com/", at: "http://www.acme.com/", "spam=eggs; ni=ni; foo=bar; fortytwo="),
    CookieRow(
        "Python test_ns_parser_special_names", ["expires=eggs", "version=eggs; spam=eggs"],
        from: "http://www.acme.com/", at: "http://www.acme.com/", "expires=eggs; version=eggs"),
    CookieRow(
        "Python test_default_path_with_query", ["eggs=\"bar\""], from: "http://example.com/?spam/eggs",
        at: "http://example.com/?spam/eggs", "eggs=\"bar\""),
    CookieRow(
        "Python test_default_path", ["eggs=1"], from: "http://www.acme.com/blah/rhubarb/",
        at: "http://www.acme.com/blah/rhubarb", "eggs=1"),
    CookieRow(
        "Python test_path_prefix_match", ["spam=eggs; Path=/foo"], from: "http://bar.com/",
        at: "http://bar.com/foobad/foo", ""),
    CookieRow(
        "Python test_two_component_domain_ns",
        ["spam1=eggs; domain=foo.com", "spam2=eggs; domain=.foo.com; path=/foo/bar"],
        from: "http://foo.com/foo/", at: "http://www.foo.com/foo/bar/", "spam2=eggs; spam1=eggs"),
    CookieRow(
        "Python test_strict_domain", ["okey=dokey; Domain=.example.co.uk", "spam=eggs; Domain=.co.uk"],
        from: "http://example.co.uk/", at: "http://example.co.uk/", "okey=dokey"),
    CookieRow(
        "Python test_evil_nonlocal_domain", ["foo=bar; domain=.localhost"], from: "http://evil.com/",
        at: "http://evil.com/", ""),
    // Chromium, net/cookies/parsed_cookie_unittest.cc.
    CookieRow(
        "Chromium Whitespace", ["  A  = BC  ;secure;;;   samesite = lax     "], from: "https://a.test/",
        at: "https://a.test/", "A=BC"),
    CookieRow(
        "Chromium MultipleEquals", ["  A=== BC  ;secure;;;   httponly"], from: "https://a.test/", at: "https://a.test/",
        "A=== BC"),
    CookieRow(
        "Chromium LotsOfPairs", ["a=b;" + String(repeating: ";", count: 100) + "secure"], from: "https://a.test/",
        at: "http://a.test/", ""),
    CookieRow(
        "Chromium SpecialTokens", ["secure=foo", "httponly=foo", "foo=secure", "domain=c.test; path=/"],
        from: "http://a.test/", at: "http://a.test/", "secure=foo; httponly=foo; foo=secure; domain=c.test"),
    CookieRow(
        "Chromium MultipleDomainAttributes", ["a=b; domain=foo.com; domain=bar.com"], from: "https://foo.com/",
        at: "https://foo.com/", ""),
    CookieRow(
        "Chromium ValidNonAlphanumericChars", ["name=\u{666E}\u{901A}\u{8A71}", "\u{666E}=value", "@foo=bar"],
        from: "https://a.test/", at: "https://a.test/", "name=\u{666E}\u{901A}\u{8A71}; \u{666E}=value; @foo=bar"),
]

@Suite struct CookieParsingTests {
    @Test("What servers send, and what they get back (IETF http-state)", arguments: CookieRow.httpState)
    func httpState(row: CookieRow) throws {
        guard let expected = CookieRow.httpStateDifferences[row.name] else { return try row.check() }
        #expect(expected != row.expected)
        try CookieRow(row.name, row.values, from: row.source, at: row.target, expected).check()
    }

    @Test("What servers send, and what they get back (curl, Python, Chromium)", arguments: otherRows)
    func others(row: CookieRow) throws { try row.check() }

    @Test("Names and values with a control character, without a name or beyond 4096 bytes are ignored")
    func ignored() {
        let long = String(repeating: "a", count: 4094)
        for (value, isCookie) in [
            ("a=b", true), ("a=", true), ("\(long)=x", true), ("x=\(long)", true), ("\(long)=xy", true),
            ("\(long)=xyz", false), ("a=b; \(String(repeating: "x", count: 100_000))", true),
            ("", false), ("=", false), ("=b", false), ("b", false), (" \t= b", false), (";a=b", false),
            ("a=\0", false), ("a=\r\nb", false), ("a=\n", false), ("a\u{1F}=b", false), ("a=b\u{7F}", false),
            ("a=b; path=/\u{5}", false), ("a=\tb\t", true), ("a=b\tc", true),
        ] {
            #expect((SetCookie(Array(value.utf8)) != nil) == isCookie, "\(value.prefix(20))")
        }
    }

    @Test("Bytes that aren't UTF-8 are sent back as they came")
    func latin1() throws {
        var scene = CookieScene()
        let value: [UInt8] = Array("n".utf8) + [0xFC, 0x3D, 0xE9, 0xFF]
        #expect(try scene.receive([value], from: "https://a.test/"))
        let cookie = try #require(scene.jar.entries.first?.cookie)
        #expect(cookie.name == "n\u{FC}")
        #expect(cookie.value == "\u{E9}\u{FF}")
        #expect(HTTPCookie.field(with: [cookie]).bytes == value)
    }

    @Test("An attribute beyond 1024 bytes is ignored, and the one before it counts")
    func longAttributes() throws {
        let path = "/" + String(repeating: "p", count: 1023)
        let set = try #require(SetCookie(Array("a=b; Path=/x; Path=\(path)p; Domain=a.test; SameSite=Lax".utf8)))
        #expect(set.path.map { Array($0) } == Array("/x".utf8))
        #expect(SetCookie(Array("a=b; Path=/x; Path=\(path)".utf8))?.path?.count == 1024)
        #expect(set.sameSite == .lax)
    }

    @Test("Max-Age takes precedence over Expires, and neither goes beyond 400 days")
    func lifetimes() throws {
        let now = CookieScene.start
        let days = 86_400.0
        let rows: [(String, Date?)] = [
            ("", nil), ("Expires=Sat, 24 Jul 2010 19:34:20 GMT", now.addingTimeInterval(60)),
            ("Max-Age=60", now.addingTimeInterval(60)), ("max-age=0", .distantPast), ("Max-Age=-0", .distantPast),
            ("Max-Age=-1", .distantPast), ("Max-Age=060", now.addingTimeInterval(60)),
            ("Max-Age=34560000", now.addingTimeInterval(400 * days)),
            ("Max-Age=34560001", now.addingTimeInterval(400 * days)),
            ("Max-Age=" + String(repeating: "9", count: 1000), now.addingTimeInterval(400 * days)),
            ("Max-Age=-" + String(repeating: "9", count: 1000), .distantPast),
            ("Max-Age=60; Expires=Fri, 01 Jan 2038 00:00:00 GMT", now.addingTimeInterval(60)),
            ("Expires=Fri, 01 Jan 2038 00:00:00 GMT", now.addingTimeInterval(400 * days)),
            ("Expires=Thu, 01 Jan 1970 00:00:00 GMT", Date(timeIntervalSince1970: 0)),
            ("Max-Age=60; Max-Age=61", now.addingTimeInterval(61)),
            ("Max-Age=60; Max-Age=x", now.addingTimeInterval(60)),
            ("Max-Age=", nil), ("Max-Age=1.5", nil), ("Max-Age=+1", nil), ("Max-Age=1e9", nil), ("Max-Age=--1", nil),
            ("Max-Age=-", nil), ("Expires=tomorrow", nil),
        ]
        for (attributes, expected) in rows {
            let set = try #require(SetCookie(Array("a=b; \(attributes)".utf8)))
            #expect(set.expiry(at: now) == expected, "\(attributes.prefix(40))")
        }
    }

    @Test(
        "The last SameSite counts, in any case",
        arguments: [
            ("samesite=strict", SetCookie.SameSite.strict), ("SameSite=LAX", .lax), ("sAmEsItE = None ", .unrestricted),
            ("samesite=boo", nil), ("samesite", nil), ("", nil), ("samesite=lax; samesite=boo", nil),
            ("samesite=boo; samesite=strict", .strict),
        ])
    func sameSite(attributes: String, expected: SetCookie.SameSite?) throws {
        let set = try #require(SetCookie(Array("a=b; \(attributes)".utf8)))
        #expect(set.sameSite == expected)
    }
}
