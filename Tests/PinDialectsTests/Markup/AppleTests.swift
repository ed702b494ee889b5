import CertificatePinning
import FoundationEssentials
import Testing

@testable import PinDialects

@Suite("Apple's NSPinnedDomains")
struct AppleTests {
    static let pin = "i9HalScvf6T/skE3/A7QOq5n5cTYs8UHNOEFCnkguSI="
    static let other = "5kJvNEMw0KjrCAu7eXY5HZdvyCS13BbA0VJG1RSP91w="

    static func identity(_ pin: String) -> String {
        "<dict><key>SPKI-SHA256-BASE64</key><string>\(pin)</string></dict>"
    }
    static let leaf = "<key>NSPinnedLeafIdentities</key><array>\(identity(pin))</array>"
    static let authority = "<key>NSPinnedCAIdentities</key><array>\(identity(other))</array>"

    static func info(_ hosts: String, security: String = "", top: String = "") -> [UInt8] {
        Array(
            """
            <plist version="1.0"><dict>\(top)<key>NSAppTransportSecurity</key>\
            <dict>\(security)<key>NSPinnedDomains</key>
            <dict>\(hosts)</dict></dict></dict></plist>
            """.utf8)
    }

    private func read(_ hosts: String) throws -> DialectReading {
        try ApplePinnedDomains.read(Self.info(hosts), path: "f")
    }

    @Test(
        "Apple's own cases have the expected number of pins", .enabled(if: PeerCases.all != nil, "\(PeerCases.absence)")
    )
    func peerCases() throws {
        let cases = try #require(PeerCases.all).configs.apple_plist.cases.elements
        #expect(cases.count == 3)
        for row in cases {
            let id = try #require(row.id.string)
            let text = PropertyList(json: try #require(row.plist.json)).xmlDocument
            let rule = try #require(try ApplePinnedDomains.read(Array(text.utf8), path: "f").policy.rules.first)
            guard case .eachOf(let roles) = rule.requirement else {
                Issue.record("\(id): any")
                continue
            }
            func count(_ role: PinRole) -> Int? {
                roles.contains(role) ? rule.pins.filter { $0.role == role }.count : nil
            }
            #expect(count(.leaf) == row.leaf.integer, "\(id)")
            #expect(count(.ca) == row.ca.integer, "\(id)")
            #expect((rule.patterns[0].scope != .exact) == row.subdomain_ca.bool, "\(id)")
        }
    }

    @Test("XI3: Leaf and CA keys are kept apart, and both are required if both are listed")
    func roles() throws {
        let reading = try read(
            "<key>a.test</key><dict>\(Self.leaf)\(Self.authority)</dict>"
                + "<key>b.test</key><dict>\(Self.authority)<key>NSIncludesSubdomains</key><true/></dict>")
        let rules = reading.policy.rules
        #expect(rules[0].requirement == .eachOf([.leaf, .ca]))
        #expect(rules[0].pins.map(\.role) == [.leaf, .ca])
        #expect(rules[0].pins.map(\.description) == ["sha256/\(Self.pin)", "sha256/\(Self.other)"])
        #expect(rules[1].requirement == .eachOf([.ca]))
        #expect(rules.map { $0.patterns[0].scope } == [.exact, .exactAndOneLabelBelow])
        #expect(reading.policy.combination == .union && reading.policy.unlisted == .trust)
        #expect(reading.notes.isEmpty)
        #expect(rules[1].location?.line == 2)
    }

    @Test("XI3: Invalid identities are noted, and the host stays pinned", arguments: quirkRows)
    func quirks(host: String, direction: SecurityDirection, notes: [String]) throws {
        let reading = try read("<key>a.test</key><dict>\(host)</dict>")
        #expect(reading.notes.map(\.message) == notes)
        #expect(reading.notes.allSatisfy { $0.direction == direction && $0.change == .quirk })
        let rule = try #require(reading.policy.rules.first)
        #expect(rule.mode == .enforce)
    }

    private static let refusesAll =
        "\"a.test\" has an identity list without valid identities, so every server is rejected: add valid "
        + "identities, or remove the key"
    static let quirkRows: [(String, SecurityDirection, [String])] = [
        ("<key>NSPinnedLeafIdentities</key><array/>", .stricter, [refusesAll]),
        (
            "<key>NSPinnedLeafIdentities</key><true/>", .stricter,
            [refusesAll, "NSPinnedLeafIdentities is a Boolean and is read as empty: make it an array"]
        ),
        (
            "<key>NSPinnedLeafIdentities</key><array><string>\(pin)</string></array>", .stricter,
            [refusesAll, "an identity without a SPKI-SHA256-BASE64 is ignored: add it"]
        ),
        (
            "<key>NSPinnedLeafIdentities</key><array>\(identity("pin?"))\(identity(pin))</array>", .stricter,
            ["\"pin?\" isn't base64 and is ignored: hash the key again"]
        ),
        (
            "<key>NSPinnedLeafIdentities</key><array>\(identity("AAAA"))\(identity(pin))</array>", .stricter,
            ["\"AAAA\" has 3 bytes, but SHA-256 has 32, so it matches no key: hash the key again"]
        ),
        ("<key>NSPinnedCAIdentities</key><array/>\(leaf)", .stricter, [refusesAll]),
        (
            "\(leaf)<key>NSIncludesSubdomains</key><integer>1</integer>", .weaker,
            ["NSIncludesSubdomains is a number and is read as false: make it a Boolean"]
        ),
        (
            "\(leaf)<key>NSIncludesSubdomains</key><string>true</string>", .weaker,
            ["NSIncludesSubdomains is a string and is read as false: make it a Boolean"]
        ),
        (
            "\(leaf)<key>NSPinnedCAIdentites</key><array>\(identity(other))</array>", .weaker,
            ["\"NSPinnedCAIdentites\" is ignored: did you mean NSPinnedCAIdentities?"]
        ),
        (
            "\(leaf)<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.2</string>", .unchanged,
            ["\"NSExceptionMinimumTLSVersion\" is ignored"]
        ),
    ]

    @Test("Hosts that never match, or that have no identities, are noted")
    func lostHosts() throws {
        let reading = try read(
            "<key>a.test.</key><dict>\(Self.leaf)</dict><key>B.test</key><dict>\(Self.leaf)</dict>"
                + "<key>c.test</key><dict/><key>d.test</key><string/>")
        #expect(
            reading.notes.map(\.message) == [
                "\"a.test.\" ends in a dot and matches no host: remove the dot",
                "host \"B.test\" has capitals, which some systems don't match: write it in lower case",
                "\"c.test\" has no identities, so it isn't pinned: add NSPinnedLeafIdentities",
                "\"d.test\" is a string and pins nothing: make it a dictionary",
            ])
        #expect(reading.notes.map(\.direction) == [.weaker, .unchanged, .weaker, .weaker])
        #expect(reading.policy.rules.count == 2)
    }

    @Test("Hostnames are compared without case, and lint warns about capitals")
    func capitals() throws {
        let bytes = Self.info(
            "<key>B.Test</key><dict><key>NSPinnedLeafIdentities</key><array>\(Self.identity(Self.pin))"
                + "\(Self.identity(Self.other))</array></dict>")
        let reading = try ApplePinnedDomains.read(bytes, path: "f")
        for host in ["b.test", "B.TEST"] {
            #expect(PinDialect.apple.rules(for: host, in: reading.policy).count == 1)
        }
        #expect(PinDialect.apple.rules(for: "c.test", in: reading.policy).isEmpty)
        let findings = reading.lint(bytes, path: "f", at: Date(timeIntervalSince1970: 0))
        #expect(findings.map(\.rule) == [.malformedHost] && findings.map(\.severity) == [.warning])
    }

    @Test("SecTrustPinningRequired rejects unlisted hosts and drops the pins of listed ones")
    func required() throws {
        let bytes = Self.info(
            "<key>a.test</key><dict>\(Self.leaf)</dict>"
                + "<key>b.test</key><dict><key>NSPinnedLeafIdentities</key><array/>"
                + "<key>NSPinnedCAIdentities</key><array/></dict>",
            security: "<key>NSAllowsArbitraryLoads</key><true/>", top: "<key>SecTrustPinningRequired</key><true/>")
        let reading = try ApplePinnedDomains.read(bytes, path: "f")
        #expect(reading.policy.unlisted == .refuse)
        #expect(reading.policy.rules.map(\.mode) == [.enforce, .off])
        #expect(
            reading.notes.map(\.message) == [
                "NSAllowsArbitraryLoads allows connections without TLS to hosts without pins: remove it",
                "with SecTrustPinningRequired the system ignores the pins of \"a.test\": use only one of the two",
            ])
        #expect(reading.notes.allSatisfy { $0.direction == .weaker })
    }

    @Test(
        "XI5, PE12: A property list that pins no host is noted as having no pins, and lint reports an error",
        arguments: emptyRows)
    func empty(bytes: [UInt8], position: String, message: String) throws {
        let reading = try ApplePinnedDomains.read(bytes, path: "f")
        #expect(reading.policy.rules.isEmpty)
        #expect(reading.notes.map(\.message) == ["no pins: " + message])
        #expect(reading.notes.map { "\($0.location?.line ?? 0):\($0.location?.column ?? 0)" } == [position])
        let findings = reading.lint(bytes, path: "f", at: Date(timeIntervalSince1970: 0))
        #expect(findings.map { "\($0.rule.rawValue) \($0.severity)" } == ["P024 error"])
    }

    private static let noDomains = "the list has no NSAppTransportSecurity/NSPinnedDomains: add it"
    static let emptyRows: [([UInt8], String, String)] = [
        (
            Array("<plist><dict/></plist>".utf8),
            "1:8", noDomains
        ),
        (
            Array("<plist><dict><key>NSAppTransportSecurity</key><dict/></dict></plist>".utf8),
            "1:47", noDomains
        ),
        (info(""), "2:1", "NSPinnedDomains doesn't pin any host: add one with identities"),
        (
            Array(
                """
                <plist><dict><key>NSAppTransportSecurity</key><dict><key>NSPinnedDomains</key>\
                <array/></dict></dict></plist>
                """.utf8), "1:79", "NSPinnedDomains is an array, which the system ignores: make it a dictionary"
        ),
        (
            Array("<plist><true/></plist>".utf8),
            "1:8", noDomains
        ),
        (
            PropertyListTests.binary([[0xD0]]),
            "0:0", noDomains
        ),
    ]

    @Test("A policy that NSPinnedDomains can't express is not written")
    func writeErrors() {
        let pin = CanonicalPin(.publicKey, .sha256, [UInt8](repeating: 1, count: 32), role: .leaf)
        let rule = CanonicalRule(patterns: [HostPattern("a.test", .exact)], pins: [pin])
        let changes: [(inout CanonicalPolicy) -> Void] = [
            { $0.combination = .closest }, { $0.unlisted = .refuse }, { $0.denied = [pin] },
            { $0.rules.append($0.rules[0]) }, { $0.rules[0].ports = [443] }, { $0.rules[0].mode = .report },
            { $0.rules[0].mode = .off }, { $0.rules[0].pins = [] }, { $0.rules[0].pins[0].role = .any },
            { $0.rules[0].pins[0].role = .root }, { $0.rules[0].pins[0].content = .certificate },
            { $0.rules[0].patterns[0].scope = .exactAndBelow }, { $0.rules[0].anchors = [] },
            { $0.rules[0].requirement = .eachOf([.ca]) }, { $0.rules[0].requirement = .eachOf([.leaf, .root]) },
            { $0.rules[0].expiry = RuleExpiry(.instant(0), .stopPinning) },
            { $0.rules[0].reports = ["https://r.test"] },
            { policy in
                policy.rules[0].pins.append(pin)
                policy.rules[0].pins[1].role = .ca
            },
        ]
        for (index, change) in changes.enumerated() {
            var policy = CanonicalPolicy(rules: [rule], combination: .union)
            #expect((try? ApplePinnedDomains.write(policy)) != nil)
            change(&policy)
            #expect(throws: DialectWriteError.self, "\(index)") { try ApplePinnedDomains.write(policy) }
        }
    }
}
