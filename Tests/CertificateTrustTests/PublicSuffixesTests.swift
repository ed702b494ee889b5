import CertificateTrust
import Testing

@Suite("Public suffixes")
struct PublicSuffixesTests {
    private static let list = """
        // ===BEGIN ICANN DOMAINS===
        com
        jp
        kobe.jp trailing words are no part of the rule
        *.kawasaki.jp
        !city.kawasaki.jp
        *.ck
        !www.ck

        公司.cn
        भारत
        个人.hk\r
        xn--p1ai
        // github.io is commented out
        """

    @Test(
        "Rules, wildcards and exceptions of a list",
        arguments: [
            ("com", true), ("example.com", false), ("kobe.jp", true), ("a.kobe.jp", false), ("kawasaki.jp", false),
            ("x.kawasaki.jp", true), ("city.kawasaki.jp", false), ("a.x.kawasaki.jp", false), ("ck", true),
            ("any.ck", true), ("www.ck", false), ("xn--55qx5d.cn", true), ("xn--h2brj9c", true),
            ("xn--ciqpn.hk", true), ("xn--p1ai", true), ("github.io", false), ("unknown", true),
            ("example.unknown", false), ("COM.", true), ("192.0.2.1", false), ("::1", false),
        ])
    func rules(name: String, expected: Bool) throws {
        #expect(PublicSuffixes(list: Array(Self.list.utf8)).contains(try ServerName(name)) == expected)
    }

    @Test("Without a list, single labels are what is known", arguments: [("com", true), ("co.uk", false)])
    func noList(name: String, expected: Bool) throws {
        #expect(PublicSuffixes(list: []).contains(try ServerName(name)) == expected)
    }

    @Test(
        "This machine's list is read where it is installed",
        .enabled(if: (try? InputFile(path: "/usr/share/publicsuffix/public_suffix_list.dat")) != nil),
        arguments: [("co.uk", true), ("example.co.uk", false), ("xn--55qx5d.cn", true), ("xn--mgba3a4f16a", true)])
    func system(name: String, expected: Bool) throws {
        #expect(PublicSuffixes.system.contains(try ServerName(name)) == expected)
    }
}
