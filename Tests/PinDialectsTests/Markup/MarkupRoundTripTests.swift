import CertificatePinning
import CertificateTrust
import PinctlBasics
import PinctlTestPKI
import Testing

@testable import PinDialects

@Suite("Round trips of markup dialects")
struct MarkupRoundTripTests {
    private static let dialects: [PinDialect] = [.android, .apple, .trustkit]

    @Test("A policy that a markup dialect can express is read as it was written", arguments: dialects)
    func roundTrip(dialect: PinDialect) throws {
        var generator = SeededGenerator(seed: 5)
        for round in 0..<300 {
            let policy = CanonicalPolicy.random(for: dialect, &generator)
            let bytes = try dialect.write(policy)
            let reading = try dialect.read(bytes, path: "f")
            #expect(reading.policy.placeless == policy, "round \(round): \(String(decoding: bytes, as: UTF8.self))")
            guard reading.policy.placeless == policy else { return }
        }
    }

    @Test("A policy written into an existing file is read back unchanged", arguments: dialects)
    func roundTripInFile(dialect: PinDialect) throws {
        var generator = SeededGenerator(seed: 7)
        var file = Array((dialect == .android ? "<network-security-config/>" : "<plist><dict/></plist>").utf8)
        for _ in 0..<60 {
            var policy = CanonicalPolicy.random(for: dialect, &generator)
            // Trust anchors and certificateTransparency stay with the hosts of the file, which other tests cover.
            for index in policy.rules.indices {
                (policy.rules[index].anchors, policy.rules[index].certificateTransparency) = (nil, nil)
            }
            file = try dialect.replacing(file, path: "f", with: policy)
            #expect(policy.differences(in: try dialect.read(file, path: "f").policy) == [])
        }
    }

    @Test("A control character, which XML can't contain, is not written", arguments: dialects)
    func controlCharacters(dialect: PinDialect) throws {
        var generator = SeededGenerator(seed: 3)
        var policy = CanonicalPolicy.random(for: dialect, &generator)
        _ = try dialect.write(policy)
        policy.rules[0].patterns[0].host += "\u{1}"
        #expect(throws: DialectWriteError.self) { try dialect.write(policy) }
    }

    @Test(
        "Python's own readers find the written policy in the files",
        .enabled(if: PropertyListTests.hasPython, "python3 is not there"), arguments: dialects)
    func independentReaders(dialect: PinDialect) throws {
        var generator = SeededGenerator(seed: 11)
        for _ in 0..<5 {
            let policy = CanonicalPolicy.random(for: dialect, &generator)
            let directory = try TestDirectory()
            let file = try directory.add(try dialect.write(policy))
            let result = try TestCommand.run(["python3", "-c", Self.programs[dialect] ?? "", file])
            try #require(result.status == 0, "\(result.text)")
            let lines = String(decoding: result.output, as: UTF8.self).split(separator: "\n").map(String.init)
            #expect(lines.sorted() == policy.rules.map { Self.line($0, dialect) }.sorted())
        }
    }

    /// Host, scope, mode, expiry, pins, report addresses.
    private static func line(_ rule: CanonicalRule, _ dialect: PinDialect) -> String {
        func pins(_ role: PinRole) -> String {
            rule.pins.filter { $0.role == role }.map { Base64.encode($0.value.span) }.joined(separator: ",")
        }
        let end: String
        switch rule.expiry?.moment {
        case .localDay(let day)?: end = day
        case .instant(let seconds)?: end = CivilTime(secondsSince1970: seconds)?.dayText ?? ""
        default: end = ""
        }
        let all = dialect == .apple ? "\(pins(.leaf))/\(pins(.ca))" : pins(.any)
        return [
            rule.patterns[0].host, "\(rule.patterns[0].scope != .exact)", rule.mode.rawValue, end, all,
            rule.reports.joined(separator: ","),
        ].joined(separator: " ")
    }

    private static let programs: [PinDialect: String] = [
        .android: """
        import sys, xml.etree.ElementTree as tree
        for config in tree.parse(sys.argv[1]).getroot().findall('domain-config'):
            domain, pins = config.find('domain'), config.find('pin-set')
            texts = [pin.text for pin in pins.findall('pin')]
            assert all(pin.get('digest') == 'SHA-256' for pin in pins)
            print(domain.text, domain.get('includeSubdomains'), 'enforce' if texts else 'off',
                  pins.get('expiration', ''), ','.join(texts), ','.join(u.text for u in config.iter('report-uri')))
        """,
        .apple: """
        import sys, plistlib
        hosts = plistlib.load(open(sys.argv[1], 'rb'))['NSAppTransportSecurity']['NSPinnedDomains']
        for host, rule in hosts.items():
            def pins(key): return ','.join(i['SPKI-SHA256-BASE64'] for i in rule.get(key, []))
            print(host, str(rule.get('NSIncludesSubdomains') is True).lower(), 'enforce', '',
                  pins('NSPinnedLeafIdentities') + '/' + pins('NSPinnedCAIdentities'), '')
        """,
        .trustkit: """
        import sys, plistlib
        for host, rule in plistlib.load(open(sys.argv[1], 'rb'))['TSKConfiguration']['TSKPinnedDomains'].items():
            off = rule.get('kSKExcludeSubdomainFromParentPolicy')
            mode = 'off' if off else 'enforce' if rule['TSKEnforcePinning'] else 'report'
            print(host, str(rule.get('TSKIncludeSubdomains', False)).lower(), mode,
                  rule.get('TSKExpirationDate', ''), ','.join(rule.get('TSKPublicKeyHashes', [])),
                  ','.join(rule.get('TSKReportUris', [])))
        """,
    ]
}

extension CanonicalPolicy {
    /// A random policy that the dialect can express, in the form in which it is read.
    static func random(for dialect: PinDialect, _ generator: inout SeededGenerator) -> CanonicalPolicy {
        // The others are below the first one, so that there are hosts to exclude.
        let hosts = ["a.example.net", "x.a.example.net", "y.a.example.net", "b-1.example.com", "xn--bcher-kva.de"]
        let count = Int.random(in: 1...hosts.count, using: &generator)
        let rules = hosts.prefix(count).enumerated().map { index, host in
            CanonicalRule.random(for: dialect, host, isFirst: index == 0, &generator)
        }
        return CanonicalPolicy(rules: rules, combination: dialect == .apple ? .union : .closest)
    }
}

extension CanonicalRule {
    fileprivate static func random(
        for dialect: PinDialect, _ host: String, isFirst: Bool, _ generator: inout SeededGenerator
    ) -> CanonicalRule {
        func pins(_ counts: ClosedRange<Int>, _ role: PinRole) -> [CanonicalPin] {
            (0..<Int.random(in: counts, using: &generator)).map { _ in
                CanonicalPin(
                    .publicKey, .sha256, (0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) }, role: role)
            }
        }
        func flip() -> Bool { Bool.random(using: &generator) }
        let below: HostPattern.Scope = dialect == .apple ? .exactAndOneLabelBelow : .exactAndBelow
        var rule = CanonicalRule(patterns: [HostPattern(host, isFirst || flip() ? below : .exact)], pins: [])
        if dialect == .apple {
            let roles: Set<PinRole> = [[.leaf], [.ca], [.leaf, .ca]].randomElement(using: &generator) ?? [.leaf]
            rule.requirement = .eachOf(roles)
            if roles.contains(.leaf) { rule.pins += pins(isFirst ? 1...3 : 0...3, .leaf) }
            if roles.contains(.ca) { rule.pins += pins(0...3, .ca) }
            return rule
        }
        if !isFirst, host.hasSuffix(".a.example.net"), flip() {
            rule.mode = .off
            if dialect == .trustkit { rule.patterns[0].scope = .exact }
        }
        if dialect == .android, flip() {
            let sources = [AnchorSet("system"), AnchorSet("user", bypassesPins: true), AnchorSet("@raw/our_roots")]
            rule.anchors = sources.filter { _ in flip() }
        }
        if dialect == .android {
            rule.certificateTransparency = [nil, .require, .ignore].randomElement(using: &generator) ?? nil
        }
        guard rule.mode != .off else { return rule }
        if dialect == .trustkit, flip() { rule.mode = .report }
        rule.pins = pins(dialect == .trustkit ? 2...4 : 1...4, .any)
        if flip() {
            let day = Int64.random(in: 20_000...40_000, using: &generator) * 86_400
            let text = CivilTime(secondsSince1970: day)?.dayText ?? ""
            rule.expiry = RuleExpiry(dialect == .trustkit ? .instant(day) : .localDay(text), .stopPinning)
        }
        if flip() { rule.reports = ["https://r.test/?a=1&b=<2>", "https://s.test/\"'"] }
        rule.usesDefaultReport = flip()
        return rule
    }
}
