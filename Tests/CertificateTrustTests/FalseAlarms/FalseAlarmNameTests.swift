import PinctlTestPKI
import Testing

@Suite("No false alarms: names")
struct FalseAlarmNameTests {
    @Test("Every valid spelling of a server's name is accepted", arguments: serverNames)
    func serverName(_ row: ChainVariant) throws { #expect(try row.claim().verdict() == "accepted") }

    static let serverNames: [ChainVariant] = [
        .leaf("asked for with a trailing dot", name: "api.example.test."),
        .leaf("asked for in capitals", name: "API.Example.TEST"),
        .leaf("certified in capitals") { $0.alternativeNames = [.dns("API.EXAMPLE.TEST")] },
        .leaf("a wildcard") { $0.alternativeNames = [.dns("*.example.test")] },
        .leaf("a wildcard over an A-label", name: "xn--bcher-kva.example.test") {
            $0.alternativeNames = [.dns("*.example.test")]
        },
        .leaf("an underscore", name: "my_host.example.test") { $0.alternativeNames = [.dns("my_host.example.test")] },
        .leaf("IPv4", name: "192.0.2.1") { $0.alternativeNames = [.ip([192, 0, 2, 1])] },
        .leaf("IPv6 in brackets", name: "[2001:db8::1]") { $0.alternativeNames = [.ip(ipv6)] },
        .leaf("IPv6 in full", name: "2001:0DB8:0:0:0:0:0:1") { $0.alternativeNames = [.ip(ipv6)] },
        .leaf("names of every other kind beside it") {
            $0.alternativeNames = [
                .email("a@example.test"), .uri("https://api.example.test/"), .directory("api"), .registeredID("1.2.3"),
                .dns("*"), .dns(""), .dns("a b"), .ip([1]), .dns("api.example.test"),
            ]
        },
        .leaf("a common name that is none") { $0.subject = "Server 5 of Example, Inc." },
        .leaf("a common name with an asterisk in a PrintableString") {
            $0.subject = TestName(.init("2.5.4.3", "*.example.test", tag: 0x13))
        },
        .leaf("an email address in the subject") {
            $0.subject = TestName(.init("1.2.840.113549.1.9.1", "admin@example.test", tag: 0x16))
        },
    ]

    private static let ipv6: [UInt8] = [0x20, 0x01, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [1]

    @Test("An issuer's name in another spelling is accepted", arguments: issuerNames)
    func issuerName(_ row: ChainVariant) throws { #expect(try row.claim().verdict() == "accepted") }

    static let issuerNames: [ChainVariant] = [
        respelled("text that is not ASCII", hungarian, hungarian),
        respelled("a PrintableString for a UTF8String", name("Example CA"), name("Example CA", tag: 0x13)),
        respelled("a UTF8String for a PrintableString", name("Example CA", tag: 0x13), name("Example CA")),
        respelled("other capitals", name("Example CA"), name("EXAMPLE ca")),
        respelled(
            "other capitals and spaces, printable", name("Example CA", tag: 0x13), name(" example  CA ", tag: 0x13)),
        respelled("a TeletexString", teletex, teletex),
        respelled("other spaces", name("Example CA"), name("  Example   CA ")),
    ]

    /// Latin-1, the encoding that such names used in practice.
    private static let teletex = TestName(
        derBytes: TestDER.sequence(
            TestDER.set(
                TestDER.sequence(
                    TestDER.objectIdentifier("2.5.4.3"), TestDER.element(0x14, [0x54, 0xDC, 0x56, 0x20, 0x43, 0x41])))))

    private static let hungarian = TestName(
        .country("HU"), .organization("NetLock Kft."),
        .organizationalUnit("Tan\u{FA}s\u{ED}tv\u{E1}nykiad\u{F3}k"), .commonName("F\u{151}tan\u{FA}s\u{ED}tv\u{E1}ny"))

    private static func name(_ text: String, tag: UInt8 = 0x0C) -> TestName {
        TestName(.country("DE"), .init("2.5.4.3", text, tag: tag))
    }

    /// Returns a chain whose leaf spells its issuer's name differently from the issuer itself.
    private static func respelled(_ description: String, _ subject: TestName, _ spelling: TestName) -> ChainVariant {
        ChainVariant(description) {
            let (root, key) = (try TestCertificate.root("Root"), try TestKey())
            let intermediate = try root.intermediate("", key: key) { $0.subject = subject }
            let existing = try root.intermediate("", key: key) { $0.subject = spelling }
            let leaf = try existing.leaf("api.example.test")
            return Claim(leaf: leaf, presented: [intermediate], anchors: [root])
        }
    }

    @Test("Chains that satisfy their name constraints are accepted", arguments: constraints)
    func constraint(_ row: ChainVariant) throws { #expect(try row.claim().verdict() == "accepted") }

    static let constraints: [ChainVariant] = [
        .intermediate("a permitted parent in capitals") { $0.permittedSubtrees = [.dns("EXAMPLE.test")] },
        .intermediate("the permitted name itself") { $0.permittedSubtrees = [.dns("api.example.test")] },
        .intermediate("one of several permitted") {
            $0.permittedSubtrees = [.dns("example.org"), .dns("example.test")]
        },
        .intermediate("permitted names of another kind") { $0.permittedSubtrees = [.email("example.org")] },
        .intermediate("every address excluded, as in authorities of one organization") {
            $0.permittedSubtrees = [.dns("example.test")]
            $0.excludedSubtrees = [
                .ip([UInt8](repeating: 0, count: 8)), .ip([UInt8](repeating: 0, count: 32)),
            ]
        },
        .intermediate("a neighbour excluded") { $0.excludedSubtrees = [.dns("www.example.test")] },
        .intermediate("the end of a label excluded") { $0.excludedSubtrees = [.dns("i.example.test")] },
        .intermediate(
            "a common name outside", adjusting: { $0.permittedSubtrees = [.dns("example.test")] },
            leaf: { $0.subject = "api.example.org" }),
        .intermediate(
            "a wildcard inside", adjusting: { $0.permittedSubtrees = [.dns("example.test")] },
            leaf: { $0.alternativeNames = [.dns("*.example.test")] }),
        .intermediate("not critical") {
            $0.extensions = [.nameConstraints(permitted: [.dns("example.test")], critical: false)]
        },
        .intermediate(
            "an address inside", name: "192.0.2.1",
            adjusting: { $0.permittedSubtrees = [.ip([192, 0, 2, 0, 255, 255, 255, 0])] },
            leaf: { $0.alternativeNames = [.ip([192, 0, 2, 1])] }),
        .intermediate(
            "an organization inside",
            adjusting: {
                $0.permittedSubtrees = [.directory(TestName(.country("DE"), .organization("Example")))]
            },
            leaf: { $0.subject = TestName(.country("DE"), .organization("EXAMPLE"), .commonName("x")) }),
        .intermediate(
            "an organization, and a leaf without a subject",
            adjusting: { $0.permittedSubtrees = [.directory(TestName(.country("DE")))] },
            leaf: { $0.subject = TestName() }),
        ChainVariant("constraints of the anchor and of an authority, both kept") {
            let root = try TestCertificate.root("Root") { $0.permittedSubtrees = [.dns("test")] }
            let intermediate = try root.intermediate("Intermediate") {
                $0.permittedSubtrees = [.dns("example.test")]
                $0.excludedSubtrees = [.dns("example.org")]
            }
            return Claim(
                leaf: try intermediate.leaf("api.example.test"), presented: [intermediate], anchors: [root])
        },
    ]
}
