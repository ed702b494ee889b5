import CertificateTrust
import PinctlBasics
import PinctlTestPKI
import Testing

/// Tests of HM3: a wildcard directly below a public suffix covers names of many owners.
@Suite("Wildcards below public suffixes")
struct PublicSuffixWildcardTests {
    private static let list = """
        // ===BEGIN ICANN DOMAINS===
        test
        co.test
        公司.cn
        *.ck
        !www.ck
        // ===END ICANN DOMAINS===
        // ===BEGIN PRIVATE DOMAINS===
        hosting.test
        *.cloud.test
        !www.cloud.test
        // ===END PRIVATE DOMAINS===
        """

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let names: [String]
        let host: String
        let byDefault: String
        let strict: String

        init(_ description: String, _ names: String..., host: String, _ byDefault: String, strict: String? = nil) {
            testDescription = description
            self.names = names
            self.host = host
            self.byDefault = byDefault
            self.strict = strict ?? byDefault
        }
    }

    private static let refused = "public-suffix-wildcard"

    static let rows: [Row] = [
        .init("an ICANN suffix", "*.co.test", host: "api.co.test", refused),
        .init("an ICANN suffix in capitals", "*.CO.test", host: "api.co.test", refused),
        .init("an ICANN suffix, asked for with a trailing dot", "*.co.test", host: "API.co.test.", refused),
        .init("an internationalized ICANN suffix", "*.xn--55qx5d.cn", host: "api.xn--55qx5d.cn", refused),
        .init("an ICANN suffix by a rule with a wildcard", "*.any.ck", host: "api.any.ck", refused),
        .init("an exception of an ICANN rule", "*.www.ck", host: "api.www.ck", "accepted"),
        .init("a private suffix", "*.hosting.test", host: "api.hosting.test", "accepted", strict: refused),
        .init(
            "a private suffix by a rule with a wildcard", "*.a.cloud.test", host: "api.a.cloud.test", "accepted",
            strict: refused),
        .init("an exception of a private rule", "*.www.cloud.test", host: "api.www.cloud.test", "accepted"),
        .init("a name below an ICANN suffix", "*.example.co.test", host: "api.example.co.test", "accepted"),
        .init("a name below a private suffix", "*.example.hosting.test", host: "api.example.hosting.test", "accepted"),
        .init("a name that is no suffix", "*.example.test", host: "api.example.test", "accepted"),
        .init("a name that no rule is about", "*.example.other", host: "api.example.other", "accepted"),
        .init("a single label", "*.test", host: "example.test", "name-mismatch"),
        .init("a single label that isn't listed", "*.other", host: "example.other", "name-mismatch"),
        .init(
            "an ICANN suffix, beside the name itself", "*.co.test", "api.co.test", host: "api.co.test", "accepted",
            strict: refused),
        .init(
            "the name itself, beside an ICANN suffix", "api.co.test", "*.co.test", host: "api.co.test", "accepted",
            strict: refused),
        .init("an ICANN suffix, beside another name", "*.co.test", "api.example.test", host: "api.co.test", refused),
        .init(
            "an ICANN suffix, which the name asked for isn't below", "*.co.test", "api.example.test",
            host: "api.example.test", "accepted"),
        .init("no wildcard", "api.co.test", host: "api.co.test", "accepted"),
    ]

    private func claim(_ names: [String], host: String, _ suffixes: PublicSuffixes) throws -> Claim {
        let root = try TestCertificate.root("Root")
        let leaf = try root.leaf(host) {
            $0.subject = TestName(.organization("Example"))
            $0.alternativeNames = names.map { .dns($0) }
        }
        var claim = Claim(leaf: leaf, anchors: [root], name: host)
        claim.policy.publicSuffixes = suffixes
        return claim
    }

    private func verdicts(_ claim: Claim) throws -> [String] {
        var strict = claim
        strict.policy = .strict
        strict.policy.publicSuffixes = claim.policy.publicSuffixes
        return [try claim.verdict(), try strict.verdict()]
    }

    @Test(
        "The default profile rejects wildcards below ICANN suffixes, and the strict profile also below private ones",
        arguments: rows)
    func wildcard(_ row: Row) throws {
        let claim = try claim(row.names, host: row.host, PublicSuffixes(list: Array(Self.list.utf8)))
        #expect(try verdicts(claim) == [row.byDefault, row.strict])
    }

    @Test("Without a list, only wildcards for single labels are rejected")
    func noList() throws {
        let none = PublicSuffixes(list: [])
        #expect(try verdicts(claim(["*.co.test"], host: "api.co.test", none)) == ["accepted", "accepted"])
        #expect(try verdicts(claim(["*.test"], host: "api.test", none)) == ["name-mismatch", "name-mismatch"])
    }

    @Test("Suffixes from a list without sections or from a custom source count in both profiles")
    func otherSources() throws {
        for suffixes in [PublicSuffixes(list: Array("co.test".utf8)), PublicSuffixes { $0.description == "co.test" }] {
            #expect(try verdicts(claim(["*.co.test"], host: "api.co.test", suffixes)) == [Self.refused, Self.refused])
            #expect(try verdicts(claim(["*.a.test"], host: "api.a.test", suffixes)) == ["accepted", "accepted"])
        }
    }

    @Test(
        "The system's public suffix list is used for wildcards where it is installed",
        .enabled(if: (try? InputFile(path: "/usr/share/publicsuffix/public_suffix_list.dat")) != nil))
    func system() throws {
        #expect(try verdicts(claim(["*.co.uk"], host: "api.co.uk", .system)) == [Self.refused, Self.refused])
        #expect(try verdicts(claim(["*.github.io"], host: "api.github.io", .system)) == ["accepted", Self.refused])
        #expect(try verdicts(claim(["*.bbc.co.uk"], host: "api.bbc.co.uk", .system)) == ["accepted", "accepted"])
    }

    @Test("The finding names the wildcard and the public suffix")
    func message() throws {
        let claim = try claim(["*.co.test"], host: "api.co.test", PublicSuffixes(list: Array(Self.list.utf8)))
        #expect(
            try claim.finding()?.detail
                == "its wildcard *.co.test covers every name below a public suffix: reissue it with the servers' "
                + "hostnames (Baseline Requirements, section 3.2.2.6)")
    }
}
