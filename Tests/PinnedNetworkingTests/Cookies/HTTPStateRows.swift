// The rows of the IETF's http-state suite (github.com/abarth/http-state, tests/data/parser.json): what a server sends
// to a client at http://home.example.org/cookie-parser, and what the client sends back to /cookie-parser-result or to
// another place. Its two rows of 4 KiB are in CookieParsingTests. Rows whose name begins with DISABLED or OPTIONAL are
// only proposed there; `httpStateDifferences` lists those that differ here.

extension CookieRow {
    /// Creates a row of http-state. `target` is a place other than the usual one.
    fileprivate init(_ name: String, _ values: [String], at target: String? = nil, _ expected: String) {
        let place = target ?? "home.example.org/cookie-parser-result"
        self.init(
            name, values, from: "http://home.example.org/cookie-parser",
            at: "http://" + (place.hasPrefix("/") ? "home.example.org" : "") + place, expected)
    }

    /// The rows that differ, with what is sent here.
    static let httpStateDifferences = [
        // A value with a control character is ignored as a whole (RFC 6265bis, section 5.6, step 1).
        "DISABLED_CHROMIUM0022": "", "DISABLED_CHROMIUM0023": "",
        // Paths are compared as they are (section 5.1.4).
        "DISABLED_PATH0029": "",
        // An empty Domain that comes last makes a cookie for the host (section 5.7, step 10).
        "OPTIONAL_DOMAIN0042": "foo=bar",
    ]

    static let httpState: [CookieRow] = [
        CookieRow("0001", ["foo=bar"], "foo=bar"),
        CookieRow("0002", ["foo=bar; Expires=Fri, 07 Aug 2019 08:04:19 GMT"], "foo=bar"),
        CookieRow(
            "0003",
            [
                "foo=bar; Expires=Fri, 07 Aug 2007 08:04:19 GMT",
                "foo2=bar2; Expires=Fri, 07 Aug 2027 08:04:19 GMT",
            ],
            "foo2=bar2"),
        CookieRow("0004", ["foo"], ""),
        CookieRow("0005", ["foo=bar; max-age=10000;"], "foo=bar"),
        CookieRow("0006", ["foo=bar; max-age=0;"], ""),
        CookieRow("0007", ["foo=bar; version=1;"], "foo=bar"),
        CookieRow("0008", ["foo=bar; version=1000;"], "foo=bar"),
        CookieRow("0009", ["foo=bar; customvalue=1000;"], "foo=bar"),
        CookieRow("0010", ["foo=bar; secure;"], ""),
        CookieRow("0011", ["foo=bar; customvalue=\"1000 or more\";"], "foo=bar"),
        CookieRow("0012", ["foo=bar; customvalue=\"no trailing semicolon\""], "foo=bar"),
        CookieRow("0013", ["foo=bar", "foo=qux"], "foo=qux"),
        CookieRow("0014", ["foo1=bar", "foo2=qux"], "foo1=bar; foo2=qux"),
        CookieRow("0015", ["a=b", "z=y"], "a=b; z=y"),
        CookieRow("0016", ["z=y", "a=b"], "z=y; a=b"),
        CookieRow("0017", ["z=y, a=b"], "z=y, a=b"),
        CookieRow("0018", ["z=y; foo=bar, a=b"], "z=y"),
        CookieRow("0019", ["foo=b;max-age=3600, c=d;path=/"], "foo=b"),
        CookieRow("0020", ["a=b", "=", "c=d"], "a=b; c=d"),
        CookieRow("0021", ["a=b", "=x", "c=d"], "a=b; c=d"),
        CookieRow("0022", ["a=b", "x=", "c=d"], "a=b; x=; c=d"),
        CookieRow("0023", ["foo", ""], ""),
        CookieRow("0024", ["foo", "="], ""),
        CookieRow("0025", ["foo", "; bar"], ""),
        CookieRow("0026", ["foo", "   "], ""),
        CookieRow("0027", ["foo", "bar"], ""),
        CookieRow("0028", ["foo", "\t"], ""),
        CookieRow("ATTRIBUTE0001", ["foo=bar; Secure"], ""),
        CookieRow("ATTRIBUTE0002", ["foo=bar; seCURe"], ""),
        CookieRow("ATTRIBUTE0003", ["foo=bar; \"Secure\""], "foo=bar"),
        CookieRow("ATTRIBUTE0004", ["foo=bar; Secure="], ""),
        CookieRow("ATTRIBUTE0005", ["foo=bar; Secure=aaaa"], ""),
        CookieRow("ATTRIBUTE0006", ["foo=bar; Secure qux"], "foo=bar"),
        CookieRow("ATTRIBUTE0007", ["foo=bar; Secure =aaaaa"], ""),
        CookieRow("ATTRIBUTE0008", ["foo=bar; Secure= aaaaa"], ""),
        CookieRow("ATTRIBUTE0009", ["foo=bar; Secure; qux"], ""),
        CookieRow("ATTRIBUTE0010", ["foo=bar; Secure;qux"], ""),
        CookieRow("ATTRIBUTE0011", ["foo=bar; Secure    ; qux"], ""),
        CookieRow("ATTRIBUTE0012", ["foo=bar;                Secure"], ""),
        CookieRow("ATTRIBUTE0013", ["foo=bar;       Secure     ;"], ""),
        CookieRow("ATTRIBUTE0014", ["foo=bar; Path"], "foo=bar"),
        CookieRow("ATTRIBUTE0015", ["foo=bar; Path="], "foo=bar"),
        CookieRow("ATTRIBUTE0016", ["foo=bar; Path=/"], "foo=bar"),
        CookieRow("ATTRIBUTE0017", ["foo=bar; Path=/qux"], ""),
        CookieRow("ATTRIBUTE0018", ["foo=bar; Path    =/qux"], ""),
        CookieRow("ATTRIBUTE0019", ["foo=bar; Path=    /qux"], ""),
        CookieRow("ATTRIBUTE0020", ["foo=bar; Path=/qux      ; taz"], ""),
        CookieRow("ATTRIBUTE0021", ["foo=bar; Path=/qux; Path=/"], "foo=bar"),
        CookieRow("ATTRIBUTE0022", ["foo=bar; Path=/; Path=/qux"], ""),
        CookieRow("ATTRIBUTE0023", ["foo=bar; Path=/qux; Path=/cookie-parser-result"], "foo=bar"),
        CookieRow("ATTRIBUTE0024", ["foo=bar; Path=/cookie-parser-result; Path=/qux"], ""),
        CookieRow("ATTRIBUTE0025", ["foo=bar; qux; Secure"], ""),
        CookieRow("ATTRIBUTE0026", ["foo=bar; qux=\"aaa;bbb\"; Secure"], ""),
        CookieRow("CHARSET0001", ["foo=春节回家路·春运完全手册"], "foo=春节回家路·春运完全手册"),
        CookieRow("CHARSET0002", ["春节回=家路·春运完全手册"], "春节回=家路·春运完全手册"),
        CookieRow("CHARSET0003", ["春节回=家路·春运; 完全手册"], "春节回=家路·春运"),
        CookieRow("CHARSET0004", ["foo=\"春节回家路·春运完全手册\""], "foo=\"春节回家路·春运完全手册\""),
        CookieRow("CHROMIUM0001", ["a=b"], "a=b"),
        CookieRow("CHROMIUM0002", ["aBc=\"zzz \"   ;"], "aBc=\"zzz \""),
        CookieRow("CHROMIUM0003", ["aBc=\"zzz \" ;"], "aBc=\"zzz \""),
        CookieRow("CHROMIUM0004", ["aBc=\"zz;pp\" ; ;"], "aBc=\"zz"),
        CookieRow("CHROMIUM0005", ["aBc=\"zz ;"], "aBc=\"zz"),
        CookieRow("CHROMIUM0006", ["aBc=\"zzz \"   \"ppp\"  ;"], "aBc=\"zzz \"   \"ppp\""),
        CookieRow("CHROMIUM0007", ["aBc=\"zzz \"   \"ppp\" ;"], "aBc=\"zzz \"   \"ppp\""),
        CookieRow("CHROMIUM0008", ["aBc=A\"B ;"], "aBc=A\"B"),
        CookieRow("CHROMIUM0009", ["BLAHHH; path=/;"], ""),
        CookieRow("CHROMIUM0010", ["\"BLA\\\"HHH\"; path=/;"], ""),
        CookieRow("CHROMIUM0011", ["a=\"B"], "a=\"B"),
        CookieRow("CHROMIUM0012", ["=ABC"], ""),
        CookieRow("CHROMIUM0013", ["ABC=;  path = /"], "ABC="),
        CookieRow("CHROMIUM0014", ["  A  = BC  ;foo;;;   bar"], "A=BC"),
        CookieRow("CHROMIUM0015", ["  A=== BC  ;foo;;;   bar"], "A=== BC"),
        CookieRow(
            "CHROMIUM0016",
            ["foo=\"zohNumRKgI0oxyhSsV3Z7D\"  ; expires=Sun, 18-Apr-2027 21:06:29 GMT ; path=/  ;  "],
            "foo=\"zohNumRKgI0oxyhSsV3Z7D\""),
        CookieRow(
            "CHROMIUM0017",
            ["foo=zohNumRKgI0oxyhSsV3Z7D  ; expires=Sun, 18-Apr-2027 21:06:29 GMT ; path=/  ;  "],
            "foo=zohNumRKgI0oxyhSsV3Z7D"),
        CookieRow("CHROMIUM0018", ["    "], ""),
        CookieRow("CHROMIUM0021", [""], ""),
        CookieRow("COMMA0001", ["foo=bar, baz=qux"], "foo=bar, baz=qux"),
        CookieRow("COMMA0002", ["foo=\"bar, baz=qux\""], "foo=\"bar, baz=qux\""),
        CookieRow("COMMA0003", ["foo=bar; b,az=qux"], "foo=bar"),
        CookieRow("COMMA0004", ["foo=bar; baz=q,ux"], "foo=bar"),
        CookieRow("COMMA0005", ["foo=bar; Max-Age=50,399"], "foo=bar"),
        CookieRow("COMMA0006", ["foo=bar; Expires=Fri, 07 Aug 2019 08:04:19 GMT"], "foo=bar"),
        CookieRow("COMMA0007", ["foo=bar; Expires=Fri 07 Aug 2019 08:04:19 GMT, baz=qux"], "foo=bar"),
        CookieRow("DISABLED_CHROMIUM0022", ["AAA=BB\0ZYX"], "AAA=BB"),
        CookieRow("DISABLED_CHROMIUM0023", ["AAA=BB\rZYX"], "AAA=BB"),
        CookieRow(
            "DISABLED_PATH0029",
            ["foo=bar; path=/cookie-parser-result/foo/bar"],
            at: "/cookie-parser-result/f%6Fo/bar", "foo=bar"),
        CookieRow("DOMAIN0001", ["foo=bar; domain=home.example.org"], "foo=bar"),
        CookieRow(
            "DOMAIN0002", ["foo=bar; domain=home.example.org"], at: "sibling.example.org/cookie-parser-result", ""),
        CookieRow("DOMAIN0003", ["foo=bar; domain=.home.example.org"], "foo=bar"),
        CookieRow(
            "DOMAIN0004",
            ["foo=bar; domain=home.example.org"],
            at: "subdomain.home.example.org/cookie-parser-result", "foo=bar"),
        CookieRow(
            "DOMAIN0005",
            ["foo=bar; domain=.home.example.org"],
            at: "subdomain.home.example.org/cookie-parser-result", "foo=bar"),
        CookieRow(
            "DOMAIN0006", ["foo=bar; domain=.home.example.org"], at: "sibling.example.org/cookie-parser-result", ""),
        CookieRow(
            "DOMAIN0007", ["foo=bar; domain=sibling.example.org"], at: "sibling.example.org/cookie-parser-result", ""),
        CookieRow("DOMAIN0008", ["foo=bar; domain=.example.org"], "foo=bar"),
        CookieRow("DOMAIN0009", ["foo=bar; domain=example.org"], "foo=bar"),
        CookieRow("DOMAIN0010", ["foo=bar; domain=..home.example.org"], ""),
        CookieRow("DOMAIN0011", ["foo=bar; domain=home..example.org"], ""),
        CookieRow("DOMAIN0012", ["foo=bar; domain=  .home.example.org"], "foo=bar"),
        CookieRow("DOMAIN0013", ["foo=bar; domain=  .  home.example.org"], ""),
        CookieRow("DOMAIN0014", ["foo=bar; domain=home.example.org."], ""),
        CookieRow("DOMAIN0015", ["foo=bar; domain=home.example.org.."], ""),
        CookieRow("DOMAIN0016", ["foo=bar; domain=home.example.org ."], ""),
        CookieRow("DOMAIN0017", ["foo=bar; domain=.org"], ""),
        CookieRow("DOMAIN0018", ["foo=bar; domain=.org."], ""),
        CookieRow(
            "DOMAIN0019",
            [
                "foo=bar; domain=home.example.org",
                "foo2=bar2; domain=.home.example.org",
            ],
            "foo=bar; foo2=bar2"),
        CookieRow(
            "DOMAIN0020",
            [
                "foo2=bar2; domain=.home.example.org",
                "foo=bar; domain=home.example.org",
            ],
            "foo2=bar2; foo=bar"),
        CookieRow("DOMAIN0021", ["foo=bar; domain=\"home.example.org\""], ""),
        CookieRow(
            "DOMAIN0022", ["foo=bar; domain=home.example.org", "foo2=bar2; domain=.example.org"], "foo=bar; foo2=bar2"),
        CookieRow(
            "DOMAIN0023", ["foo2=bar2; domain=.example.org", "foo=bar; domain=home.example.org"], "foo2=bar2; foo=bar"),
        CookieRow(
            "DOMAIN0024",
            ["foo=bar; domain=.example.org; domain=home.example.org"],
            at: "sibling.example.org/cookie-parser-result", ""),
        CookieRow(
            "DOMAIN0025",
            ["foo=bar; domain=home.example.org; domain=.example.org"],
            at: "sibling.example.org/cookie-parser-result", "foo=bar"),
        CookieRow("DOMAIN0026", ["foo=bar; domain=home.eXaMpLe.org"], "foo=bar"),
        CookieRow("DOMAIN0027", ["foo=bar; domain=home.example.org:8888"], ""),
        CookieRow(
            "DOMAIN0028",
            ["foo=bar; domain=subdomain.home.example.org"],
            at: "subdomain.home.example.org/cookie-parser-result", ""),
        CookieRow("DOMAIN0029", ["foo=bar"], at: "subdomain.home.example.org/cookie-parser-result", ""),
        CookieRow(
            "DOMAIN0031",
            ["foo=bar; domain=home.example.org; domain=.example.org"],
            at: "sibling.example.org/cookie-parser-result", "foo=bar"),
        CookieRow(
            "DOMAIN0033", ["foo=bar; domain=home.example.org"], at: "hoMe.eXaMplE.org/cookie-parser-result", "foo=bar"),
        CookieRow("DOMAIN0034", ["foo=bar; domain=home.example.org; domain=home.example.com"], ""),
        CookieRow("DOMAIN0035", ["foo=bar; domain=home.example.com; domain=home.example.org"], "foo=bar"),
        CookieRow(
            "DOMAIN0036",
            ["foo=bar; domain=home.example.org; domain=home.example.com; domain=home.example.org"],
            "foo=bar"),
        CookieRow(
            "DOMAIN0037", ["foo=bar; domain=home.example.com; domain=home.example.org; domain=home.example.com"], ""),
        CookieRow("DOMAIN0038", ["foo=bar; domain=home.example.org; domain=home.example.org"], "foo=bar"),
        CookieRow("DOMAIN0039", ["foo=bar; domain=home.example.org; domain=example.org"], "foo=bar"),
        CookieRow("DOMAIN0040", ["foo=bar; domain=example.org; domain=home.example.org"], "foo=bar"),
        CookieRow(
            "DOMAIN0041", ["foo=bar; domain=.sibling.example.org"], at: "sibling.example.org/cookie-parser-result", ""),
        CookieRow(
            "DOMAIN0042",
            ["foo=bar; domain=.sibling.home.example.org"],
            at: "sibling.home.example.org/cookie-parser-result", ""),
        CookieRow("MOZILLA0001", ["foo=bar; max-age=-1"], ""),
        CookieRow("MOZILLA0002", ["foo=bar; max-age=0"], ""),
        CookieRow("MOZILLA0003", ["foo=bar; expires=Thu, 10 Apr 1980 16:33:12 GMT"], ""),
        CookieRow("MOZILLA0004", ["foo=bar; max-age=60"], "foo=bar"),
        CookieRow("MOZILLA0005", ["foo=bar; max-age=-20"], ""),
        CookieRow("MOZILLA0006", ["foo=bar; max-age=60"], "foo=bar"),
        CookieRow("MOZILLA0007", ["foo=bar; expires=Thu, 10 Apr 1980 16:33:12 GMT"], ""),
        CookieRow("MOZILLA0008", ["foo=bar; max-age=60", "foo1=bar; max-age=60"], "foo=bar; foo1=bar"),
        CookieRow(
            "MOZILLA0009", ["foo=bar; max-age=60", "foo1=bar; max-age=60", "foo=differentvalue; max-age=0"],
            "foo1=bar"),
        CookieRow(
            "MOZILLA0010",
            [
                "foo=bar; max-age=60",
                "foo1=bar; max-age=60",
                "foo=differentvalue; max-age=0",
                "foo2=evendifferentvalue; max-age=0",
            ],
            "foo1=bar"),
        CookieRow(
            "MOZILLA0011", ["test=parser; domain=.parser.test; ;; ;=; ,,, ===,abc,=; abracadabra! max-age=20;=;;"], ""),
        CookieRow(
            "MOZILLA0012",
            [
                "test=\"fubar! = foo;bar\\\";\" parser; max-age=6",
                "five; max-age=2.63,",
            ],
            "test=\"fubar! = foo"),
        CookieRow("MOZILLA0013", ["test=kill; max-age=0", "five; max-age=0"], ""),
        CookieRow("MOZILLA0014", ["six"], ""),
        CookieRow("MOZILLA0015", ["six", "seven"], ""),
        CookieRow("MOZILLA0016", ["six", "seven", " =eight"], ""),
        CookieRow("MOZILLA0017", ["six", "seven", " =eight", "test=six"], "test=six"),
        CookieRow("NAME0001", ["a=bar"], "a=bar"),
        CookieRow("NAME0002", ["1=bar"], "1=bar"),
        CookieRow("NAME0003", ["$=bar"], "$=bar"),
        CookieRow("NAME0004", ["!a=bar"], "!a=bar"),
        CookieRow("NAME0005", ["@a=bar"], "@a=bar"),
        CookieRow("NAME0006", ["#a=bar"], "#a=bar"),
        CookieRow("NAME0007", ["$a=bar"], "$a=bar"),
        CookieRow("NAME0008", ["%a=bar"], "%a=bar"),
        CookieRow("NAME0009", ["^a=bar"], "^a=bar"),
        CookieRow("NAME0010", ["&a=bar"], "&a=bar"),
        CookieRow("NAME0011", ["*a=bar"], "*a=bar"),
        CookieRow("NAME0012", ["(a=bar"], "(a=bar"),
        CookieRow("NAME0013", [")a=bar"], ")a=bar"),
        CookieRow("NAME0014", ["-a=bar"], "-a=bar"),
        CookieRow("NAME0015", ["_a=bar"], "_a=bar"),
        CookieRow("NAME0016", ["+=bar"], "+=bar"),
        CookieRow("NAME0017", ["=a=bar"], ""),
        CookieRow("NAME0018", ["a =bar"], "a=bar"),
        CookieRow("NAME0019", ["\"a=bar"], "\"a=bar"),
        CookieRow("NAME0020", ["\"a=b\"=bar"], "\"a=b\"=bar"),
        CookieRow("NAME0021", ["\"a=b\"=bar", "\"a=qux"], "\"a=qux"),
        CookieRow("NAME0022", ["   foo=bar"], "foo=bar"),
        CookieRow("NAME0023", ["foo;bar=baz"], ""),
        CookieRow("NAME0024", ["$Version=1; foo=bar"], "$Version=1"),
        CookieRow("NAME0025", ["===a=bar"], ""),
        CookieRow("NAME0026", ["foo=bar    "], "foo=bar"),
        CookieRow("NAME0027", ["foo=bar    ;"], "foo=bar"),
        CookieRow("NAME0028", ["=a"], ""),
        CookieRow("NAME0029", ["="], ""),
        CookieRow("NAME0030", ["foo bar=baz"], "foo bar=baz"),
        CookieRow("NAME0031", ["\"foo;bar\"=baz"], ""),
        CookieRow("NAME0032", ["\"foo\\\"bar;baz\"=qux"], ""),
        CookieRow("NAME0033", ["=foo=bar", "aaa"], ""),
        CookieRow("OPTIONAL_DOMAIN0030", ["foo=bar; domain="], "foo=bar"),
        CookieRow("OPTIONAL_DOMAIN0041", ["foo=bar; domain=example.org; domain="], "foo=bar"),
        CookieRow("OPTIONAL_DOMAIN0042", ["foo=bar; domain=foo.example.org; domain="], ""),
        CookieRow(
            "OPTIONAL_DOMAIN0043",
            ["foo=bar; domain=foo.example.org; domain="],
            at: "subdomain.home.example.org/cookie-parser-result", ""),
        CookieRow(
            "ORDERING0001",
            [
                "key=val0;",
                "key=val1; path=/cookie-parser-result",
                "key=val2; path=/",
                "key=val3; path=/bar",
                "key=val4; domain=.example.org",
                "key=val5; domain=.example.org; path=/cookie-parser-result/foo",
            ],
            at: "/cookie-parser-result/foo/baz", "key=val5; key=val1; key=val2; key=val4"),
        CookieRow("PATH0001", ["a=b; path=/", "x=y; path=/cookie-parser-result"], "x=y; a=b"),
        CookieRow("PATH0002", ["a=b; path=/cookie-parser-result", "x=y; path=/"], "a=b; x=y"),
        CookieRow("PATH0003", ["x=y; path=/", "a=b; path=/cookie-parser-result"], "a=b; x=y"),
        CookieRow("PATH0004", ["x=y; path=/cookie-parser-result", "a=b; path=/"], "x=y; a=b"),
        CookieRow("PATH0005", ["foo=bar; path=/cookie-parser-result/foo"], ""),
        CookieRow("PATH0006", ["foo=bar", "foo=qux; path=/cookie-parser-result/foo"], "foo=bar"),
        CookieRow("PATH0007", ["foo=bar; path=/cookie-parser-result/foo"], at: "/cookie-parser-result/foo", "foo=bar"),
        CookieRow("PATH0008", ["foo=bar; path=/cookie-parser-result/foo"], at: "/cookie-parser-result/bar", ""),
        CookieRow("PATH0009", ["foo=bar; path=/cookie-parser-result/foo/qux"], at: "/cookie-parser-result/foo", ""),
        CookieRow(
            "PATH0010", ["foo=bar; path=/cookie-parser-result/foo/qux"],
            at: "/cookie-parser-result/foo/qux", "foo=bar"),
        CookieRow("PATH0011", ["foo=bar; path=/cookie-parser-result/foo/qux"], at: "/cookie-parser-result/bar/qux", ""),
        CookieRow("PATH0012", ["foo=bar; path=/cookie-parser-result/foo/qux"], at: "/cookie-parser-result/foo/baz", ""),
        CookieRow(
            "PATH0013", ["foo=bar; path=/cookie-parser-result/foo/qux/"], at: "/cookie-parser-result/foo/baz", ""),
        CookieRow(
            "PATH0014", ["foo=bar; path=/cookie-parser-result/foo/qux/"], at: "/cookie-parser-result/foo/qux", ""),
        CookieRow(
            "PATH0015",
            ["foo=bar; path=/cookie-parser-result/foo/qux/"],
            at: "/cookie-parser-result/foo/qux/", "foo=bar"),
        CookieRow(
            "PATH0016", ["foo=bar; path=/cookie-parser-result/foo/"], at: "/cookie-parser-result/foo/qux", "foo=bar"),
        CookieRow(
            "PATH0017", ["foo=bar; path=/cookie-parser-result/foo/"], at: "/cookie-parser-result/foo//qux", "foo=bar"),
        CookieRow("PATH0018", ["foo=bar; path=/cookie-parser-result/foo/"], at: "/cookie-parser-result/fooqux", ""),
        CookieRow("PATH0019", ["foo=bar; path"], "foo=bar"),
        CookieRow("PATH0020", ["foo=bar; path="], "foo=bar"),
        CookieRow("PATH0021", ["foo=bar; path=/"], "foo=bar"),
        CookieRow("PATH0022", ["foo=bar; path= /"], "foo=bar"),
        CookieRow("PATH0023", ["foo=bar; Path=/cookie-PARSER-result"], ""),
        CookieRow(
            "PATH0024", ["foo=bar; path=/cookie-parser-result/foo/qux?"], at: "/cookie-parser-result/foo/qux", ""),
        CookieRow(
            "PATH0025", ["foo=bar; path=/cookie-parser-result/foo/qux#"], at: "/cookie-parser-result/foo/qux", ""),
        CookieRow(
            "PATH0026", ["foo=bar; path=/cookie-parser-result/foo/qux;"], at: "/cookie-parser-result/foo/qux", "foo=bar"
        ),
        CookieRow(
            "PATH0027",
            ["foo=bar; path=\"/cookie-parser-result/foo/qux;\""],
            at: "/cookie-parser-result/foo/qux", "foo=bar"),
        CookieRow(
            "PATH0028", ["foo=bar; path=/cookie-parser-result/f%6Fo/bar"], at: "/cookie-parser-result/foo/bar", ""),
        CookieRow("PATH0029", ["a=b; \tpath\t=\t/cookie-parser-result\t", "x=y; \tpath\t=\t/book\t"], "a=b"),
        CookieRow("PATH0030", ["foo=bar; path=/dog; path="], "foo=bar"),
        CookieRow("PATH0031", ["foo=bar; path=; path=/dog"], ""),
        CookieRow(
            "PATH0032",
            [
                "foo=bar; path=/cookie-parser-result",
                "foo=qux; path=/cookie-parser-result/",
            ],
            at: "/cookie-parser-result/dog", "foo=qux; foo=bar"),
        CookieRow("VALUE0001", ["foo=  bar"], "foo=bar"),
        CookieRow("VALUE0002", ["foo=\"bar\""], "foo=\"bar\""),
        CookieRow("VALUE0003", ["foo=\"  bar \""], "foo=\"  bar \""),
        CookieRow("VALUE0004", ["foo=\"bar;baz\""], "foo=\"bar"),
        CookieRow("VALUE0005", ["foo=\"bar=baz\""], "foo=\"bar=baz\""),
        CookieRow("VALUE0006", ["\tfoo\t=\tbar\t \t;\tttt"], "foo=bar"),
    ]
}
