import CertificateTrust
import PinctlTestPKI
import Testing

/// Tests of DNS name constraints such as `.example.test`, which match the subdomains but not the name itself.
@Suite("DNS name constraints with a leading dot")
struct LeadingDotTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// The dNSName entries of the leaf. The first one is the requested host, with `api` in place of `*`.
        let names: [String]
        var permitted: [String] = []
        var excluded: [String] = []
        /// The constraints of the CA at the other end of the path.
        var alsoPermitted: [String] = []
        var alsoExcluded: [String] = []
        /// The verdict of the default profile.
        let expected: String

        init(
            _ description: String, _ names: String..., permitted: [String] = [], excluded: [String] = [],
            alsoPermitted: [String] = [], alsoExcluded: [String] = [], _ expected: String
        ) {
            testDescription = description
            self.names = names
            (self.permitted, self.excluded) = (permitted, excluded)
            (self.alsoPermitted, self.alsoExcluded) = (alsoPermitted, alsoExcluded)
            self.expected = expected
        }

        var host: String { names[0].hasPrefix("*.") ? "api" + names[0].dropFirst() : names[0] }
    }

    private static let refused = "name-constraints"

    static let rows: [Row] = [
        .init("a permitted subdomain", "api.example.test", permitted: [".example.test"], "accepted"),
        .init("a permitted subdomain of a subdomain", "a.b.example.test", permitted: [".example.test"], "accepted"),
        .init("a permitted subdomain in other capitals", "API.example.test", permitted: [".EXAMPLE.test"], "accepted"),
        .init("a permitted top-level domain", "api.example.test", permitted: [".test"], "accepted"),
        .init("the name itself", "example.test", permitted: [".example.test"], refused),
        .init("the parent of a permitted name", "api.test", permitted: [".api.api.test"], refused),
        .init("a sibling", "api.example.org", permitted: [".example.test"], refused),
        .init("a name that only ends in the same letters", "badexample.test", permitted: [".example.test"], refused),
        .init("a permitted wildcard", "*.example.test", permitted: [".example.test"], "accepted"),
        .init("a permitted wildcard further down", "*.a.example.test", permitted: [".example.test"], "accepted"),
        .init("a wildcard above what is permitted", "*.example.test", permitted: [".api.example.test"], refused),
        .init(
            "the name itself beside a subdomain", "api.example.test", "example.test", permitted: [".example.test"],
            refused),
        .init(
            "one of several permitted", "api.example.test", permitted: ["example.org", ".example.test"], "accepted"),
        .init(
            "the name itself, permitted without the dot too", "example.test",
            permitted: ["example.test", ".example.test"], "accepted"),
        .init("an excluded subdomain", "api.example.test", excluded: [".example.test"], refused),
        .init("an excluded subdomain of a subdomain", "a.b.example.test", excluded: [".example.test"], refused),
        .init("an excluded subdomain in other capitals", "api.EXAMPLE.test", excluded: [".example.TEST"], refused),
        .init("the name itself, which is not excluded", "example.test", excluded: [".example.test"], "accepted"),
        .init("a sibling, which is not excluded", "api.example.org", excluded: [".example.test"], "accepted"),
        .init("letters that end alike, not excluded", "badexample.test", excluded: [".example.test"], "accepted"),
        .init("an excluded wildcard", "*.example.test", excluded: [".example.test"], refused),
        .init("a wildcard inside an excluded domain", "*.a.example.test", excluded: [".example.test"], refused),
        .init("a wildcard above an excluded domain", "*.example.test", excluded: [".a.example.test"], "accepted"),
        .init(
            "permitted subdomains but one", "api.example.test", permitted: [".example.test"],
            excluded: ["secret.example.test"], "accepted"),
        .init(
            "the one", "secret.example.test", permitted: [".example.test"], excluded: ["secret.example.test"], refused),
        .init(
            "a wildcard over the one", "*.example.test", permitted: [".example.test"],
            excluded: ["secret.example.test"], refused),
        .init(
            "permitted with a dot by one CA and without by the other", "api.example.test",
            permitted: [".example.test"], alsoPermitted: ["example.test"], "accepted"),
        .init(
            "the name itself, which one of the two CAs permits", "example.test", permitted: [".example.test"],
            alsoPermitted: ["example.test"], refused),
        .init(
            "a narrower domain of the other CA", "a.b.example.test", permitted: [".example.test"],
            alsoPermitted: [".b.example.test"], "accepted"),
        .init(
            "outside the narrower domain", "a.c.example.test", permitted: [".example.test"],
            alsoPermitted: [".b.example.test"], refused),
        .init(
            "domains that do not intersect", "api.example.test", permitted: [".example.test"],
            alsoPermitted: [".example.org"], refused),
        .init(
            "permitted by one CA and excluded by the other", "api.example.test", permitted: [".example.test"],
            alsoExcluded: [".example.test"], refused),
        .init("a dot alone", "api.example.test", permitted: ["."], refused),
        .init("a dot alone, excluded", "api.example.test", excluded: ["."], refused),
        .init("two dots", "api.example.test", permitted: ["..example.test"], refused),
        .init("a dot at both ends", "api.example.test", permitted: [".example.test."], refused),
        .init("a dot and a wildcard", "api.example.test", permitted: [".*.example.test"], refused),
    ]

    @Test(
        "Leading-dot constraints in an anchor match only subdomains by default, and the strict profile rejects them",
        arguments: rows)
    func anchor(_ row: Row) throws {
        try expect(row, anchor: (row.permitted, row.excluded), intermediate: (row.alsoPermitted, row.alsoExcluded))
    }

    @Test(
        "Intermediates' leading-dot constraints match only subdomains by default, and the strict profile rejects them",
        arguments: rows)
    func intermediate(_ row: Row) throws {
        try expect(row, anchor: (row.alsoPermitted, row.alsoExcluded), intermediate: (row.permitted, row.excluded))
    }

    private typealias Subtrees = (permitted: [String], excluded: [String])

    private func expect(_ row: Row, anchor: Subtrees, intermediate: Subtrees) throws {
        func constrain(_ settings: inout TestCertificate.Settings, _ subtrees: Subtrees) {
            settings.permittedSubtrees = subtrees.permitted.map { .dns($0) }
            settings.excludedSubtrees = subtrees.excluded.map { .dns($0) }
        }
        let root = try TestCertificate.root("Root") { constrain(&$0, anchor) }
        let issuer = try root.intermediate("Intermediate") { constrain(&$0, intermediate) }
        let leaf = try issuer.leaf("api.example.test") {
            $0.subject = TestName(.organization("Example"))
            $0.alternativeNames = row.names.map { .dns($0) }
        }
        var claim = Claim(leaf: leaf, presented: [issuer], anchors: [root], name: row.host)
        #expect(try claim.verdict() == row.expected)
        claim.policy = .strict
        #expect(try claim.verdict() == Self.refused)
    }

    @Test("The strict profile names the leading-dot constraint and the remedy")
    func message() throws {
        let root = try TestCertificate.root("Root") { $0.permittedSubtrees = [.dns(".example.test")] }
        let claim = Claim(leaf: try root.leaf("api.example.test"), anchors: [root], policy: .strict)
        #expect(
            try claim.finding()?.detail
                == "its nameConstraints has the DNS name .example.test with a leading dot: reissue it without the dot "
                + "(RFC 5280, sections 4.2.1.6 and 4.2.1.10)")
    }
}
