import FoundationEssentials
import PinctlBasics
import PinctlTestPKI
import Testing

@testable import CertificateTrust

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
        "The rules, wildcards and exceptions of a list are applied",
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

    @Test("Without a list, every single label is a public suffix", arguments: [("com", true), ("co.uk", false)])
    func noList(name: String, expected: Bool) throws {
        #expect(PublicSuffixes(list: []).contains(try ServerName(name)) == expected)
    }

    @Test(
        "The system's public suffix list is read where it is installed",
        .enabled(if: (try? InputFile(path: "/usr/share/publicsuffix/public_suffix_list.dat")) != nil),
        arguments: [("co.uk", true), ("example.co.uk", false), ("xn--55qx5d.cn", true), ("xn--mgba3a4f16a", true)])
    func system(name: String, expected: Bool) throws {
        #expect(PublicSuffixes.system.contains(try ServerName(name)) == expected)
    }

    @Test(
        "A list has an ICANN section and a private section",
        arguments: [
            ("co.uk", PublicSuffixes.Section.icann), ("github.io", .private), ("x.cloud.io", .private),
            ("both.uk", .icann), ("behind.uk", .icann), ("io", .icann), ("unlisted", .icann), ("example.co.uk", nil),
            ("192.0.2.1", nil),
        ])
    func sections(name: String, expected: PublicSuffixes.Section?) throws {
        let list = """
            // ===BEGIN ICANN DOMAINS===
            co.uk
            both.uk
            // ===END ICANN DOMAINS===
            // ===BEGIN PRIVATE DOMAINS===
            github.io
            *.cloud.io
            both.uk
            // ===END PRIVATE DOMAINS===
            behind.uk
            """
        #expect(PublicSuffixes(list: Array(list.utf8)).section(of: try ServerName(name)) == expected)
    }
}

@Suite("The age of the public suffix list")
struct SystemSuffixListTests {
    /// 2025-01-31T00:00:00Z.
    private static let published: Double = 1_738_281_600
    private static let twoYears: Double = 731 * 86_400

    private static func warning(_ list: SystemSuffixList, after seconds: Double) -> String? {
        list.warning(at: Date(timeIntervalSince1970: published + seconds))
    }

    private func list(_ text: String, modified: Double) throws -> SystemSuffixList {
        let directory = try TestDirectory()
        let path = try directory.add(text)
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: modified)], ofItemAtPath: path)
        return SystemSuffixList(contentsOfFile: path)
    }

    @Test("The age counts from the version in the list, or else from its file's modification time")
    func age() throws {
        let old = "the public suffix list is from 2025-01-31, so wildcards below newer suffixes are not recognized: "
        let versioned = "// VERSION: 2025-01-31_12-00-00_UTC\n// COMMIT: 0\nco.uk\n"
        for list in [
            try list(versioned, modified: Self.published + 9e8), try list("co.uk\n", modified: Self.published),
            try list("// VERSION: yesterday\nco.uk\n", modified: Self.published),
        ] {
            #expect(list.list.section(of: try ServerName("co.uk")) == .icann)
            #expect(Self.warning(list, after: -86_400) == nil)
            #expect(Self.warning(list, after: Self.twoYears) == nil)
            #expect(
                Self.warning(list, after: Self.twoYears + 1)
                    == old + "name a newer list of publicsuffix.org in PINCTL_PUBLIC_SUFFIXES, or "
                    + "/usr/share/publicsuffix/public_suffix_list.dat to accept its age")
        }
    }

    @Test("A missing list is reported, and single labels still count as public suffixes")
    func missing() throws {
        let list = SystemSuffixList(contentsOfFile: "/no/such/list.dat")
        #expect(
            Self.warning(list, after: 0)
                == "the public suffix list is missing, so wildcards such as *.co.uk are not recognized: "
                + "install the package publicsuffix")
        #expect(list.list.section(of: try ServerName("uk")) == .icann)
        #expect(list.list.section(of: try ServerName("co.uk")) == nil)
    }
}
