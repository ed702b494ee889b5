import OpenSSLBridge
import PinctlTestPKI
import Testing

@testable import CertificateTrust

/// Tests that each rule of the table rejects the chain that breaks it, and that no other rule does.
@Suite("Rules")
struct RuleTests {
    @Test(
        "The strict profile reports the broken rule, and no longer does so when the rule is disabled",
        arguments: RuleBreach.all)
    func breach(_ breach: RuleBreach) throws {
        var claim = try breach.chain.claim()
        let strict = breach.strict(claim.policy)
        claim.policy = strict
        let finding = try claim.finding()
        #expect(finding?.rule == breach.rule)
        #expect(finding?.depth == breach.depth)
        #expect(finding?.detail.hasSuffix(" (\(breach.source))") == true, "\(finding?.detail ?? "accepted")")

        claim.policy = strict.disabling(try #require(breach.entry))
        let other = try claim.finding()
        #expect((other?.rule.rawValue ?? "accepted") == breach.otherwise, "\(other?.detail ?? "")")
        #expect(other?.detail.hasSuffix(" (\(breach.source))") != true)
    }

    @Test(
        "The default profile applies only base rules, and strict without a rule still applies its base part",
        arguments: RuleBreach.all
    )
    func profile(_ breach: RuleBreach) throws {
        var claim = try breach.chain.claim()
        let expected = breach.isBase ? breach.rule.rawValue : "accepted"
        #expect(try claim.verdict() == expected)
        claim.policy = breach.strict(claim.policy).without(breach.rule)
        #expect(try claim.verdict() == expected)
    }

    @Test("Every rule of the table is broken by one of these chains")
    func completeness() {
        let broken = RuleBreach.all.compactMap(\.entry).reduce(into: CertificateRule.Selection()) { $0.formUnion($1) }
        #expect(broken == CertificateRule.all)
    }

    @Test("CB10: a version 1 certificate may be an issuer as an anchor, and nowhere else")
    func version1() throws {
        let der = try TestCertificate.root("Version 1") { $0.version = 1 }.derBytes
        let certificate = try X509Certificate(derBytes: der)
        let rows: [(CertificateRule.Place, TrustRule?)] = [(.anchor, nil), (.intermediate, .notAnAuthority)]
        for (place, expected) in rows {
            let context = CertificateRule.Context(policy: .default, time: 1_800_000_000, name: nil, place: place)
            #expect(CertificateRule.finding(certificate, depth: 1, context)?.rule == expected)
        }
    }

    @Test("CB12: a certificate is accepted only for the purpose that is asked, which the finding names")
    func purpose() throws {
        typealias Usage = TestCertificate.ExtendedKeyUsage
        let rows: [(usages: [String], purpose: TrustPolicy.Purpose, finding: String?)] = [
            ([Usage.serverAuth], .server, nil), ([Usage.clientAuth], .client, nil),
            ([Usage.serverAuth, Usage.clientAuth], .client, nil), ([Usage.serverAuth], .any, nil),
            ([Usage.serverAuth], .client, "(serverAuth, not clientAuth): reissue it with clientAuth"),
            ([Usage.clientAuth], .server, "(clientAuth, not serverAuth): reissue it with serverAuth"),
        ]
        for row in rows {
            var claim = try ChainVariant.leaf("purpose", name: nil) { $0.extendedKeyUsages = row.usages }.claim()
            claim.policy.purpose = row.purpose
            let finding = try claim.finding()
            #expect(finding?.rule == row.finding.map { _ in .purpose })
            #expect(finding?.detail.contains(row.finding ?? "") != false, "\(finding?.detail ?? "accepted")")
        }
    }

    @Test("A code of OpenSSL has one rule, and one that this library doesn't know is a refusal of its own")
    func codes() {
        let families = [
            VerifyCode.unknownIssuers, VerifyCode.badSignatures, VerifyCode.notAuthorities, VerifyCode.pathLengths,
            VerifyCode.purposes, VerifyCode.nameConstraints, VerifyCode.weakCryptography, VerifyCode.criticalExtensions,
            VerifyCode.certificatePolicies, VerifyCode.exhaustions,
        ]
        let rules = families.map { family in Set(family.map { TrustRule($0) }) }
        #expect(rules.allSatisfy { $0.count == 1 } && Set(rules.joined()).count == families.count)
        #expect(!rules.joined().contains(.other))
        #expect(TrustRule(VerifyCode(rawValue: 9_999)) == .other)
    }

    @Test("Of two findings, the one that says more about the chain is reported")
    func usefulness() {
        let order: [TrustRule] = [
            .outOfMemory, .nameMismatch, .expired, .weakCryptography, .budget, .notAnAuthority, .other, .malformed,
            .badSignature, .unknownIssuer,
        ]
        #expect(zip(order, order.dropFirst()).allSatisfy { $0.usefulness > $1.usefulness })
        #expect(order.allSatisfy { $0.usefulness > 0 })
    }

    @Test("The strict profile accepts an ordinary chain")
    func ordinary() throws {
        var claim = try ChainVariant.leaf("ordinary").claim()
        claim.policy = .strict
        #expect(try claim.finding() == nil)
    }
}

/// A chain that breaks one rule.
struct RuleBreach: Sendable, CustomTestStringConvertible {
    let rule: TrustRule
    /// The document that distinguishes this entry of the table from others of the same rule.
    let source: String
    /// The depth of the finding.
    let depth: Int
    /// The verdict when the rule is disabled.
    let otherwise: String
    /// Whether the default profile also has the rule.
    var isBase = false
    /// Other rules that the chain breaks. They are disabled.
    let beside: [TrustRule]
    let chain: ChainVariant

    init(
        _ rule: TrustRule, _ source: String, _ depth: Int, otherwise: String = "accepted", beside: [TrustRule] = [],
        _ chain: ChainVariant
    ) {
        self.rule = rule
        self.source = source
        self.depth = depth
        self.otherwise = otherwise
        self.beside = beside
        self.chain = chain
    }

    static let all = baseRules.map(\.inBothProfiles) + authorityRules + leafRules + encodingRules

    var testDescription: String { "\(rule.rawValue): \(chain.testDescription)" }

    private var inBothProfiles: RuleBreach {
        var breach = self
        breach.isBase = true
        return breach
    }

    /// The single entry of the table for this rule, source and profile.
    var entry: CertificateRule.Selection? {
        CertificateRule.table.firstIndex { $0.rule == rule && $0.source == source && $0.isBase == isBase }
            .map { CertificateRule.Selection(rawValue: 1 << UInt64($0)) }
    }

    /// Returns the strict profile with the policy's public suffixes and roots and without the rules in `beside`.
    func strict(_ policy: TrustPolicy) -> TrustPolicy {
        var strict = beside.reduce(TrustPolicy.strict) { $0.without($1) }
        strict.publicSuffixes = policy.publicSuffixes
        strict.publicRoots = policy.publicRoots
        return strict
    }
}
