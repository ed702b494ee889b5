import PinctlTestPKI
import Testing

@testable import CertificateTrust

@Suite("Names written by an attacker")
struct HostileNameTests {
    @Test("CB18: descriptions of names and extensions are bounded, however much a peer writes into them")
    func boundedTexts() throws {
        let long = String(repeating: "\u{1}", count: 90_000)
        let names: [SubjectAlternativeName] = [
            .dns(Array(long.utf8)), .ipAddress([UInt8](repeating: 7, count: 90_000)),
        ]
        for name in names { #expect(name.description.utf8.count < 2_000) }
        let identifier = "1." + (1..<40_000).map { _ in "1" }.joined(separator: ".")
        let oddity = TestCertificate.Extension(identifier, critical: true, [0x05, 0x00])
        let leaf = try TestCertificate.root("Root").leaf("api.example.test") {
            $0.subject = TestName(.commonName(long), .organization("whole"))
            $0.extensions = [oddity]
        }
        let parsed = try X509Certificate(derBytes: leaf.derBytes)
        #expect(parsed.subject.description.utf8.count < 2_000)
        #expect(parsed.subject.description.hasPrefix("O=whole,CN=\\u{1}"))
        #expect(parsed.subject.description.hasSuffix("\\u{1}…"))
        #expect(parsed.subject.commonName?.utf8.count == 256)
        #expect(parsed.subject.commonNames == [long])
        #expect(try #require(parsed.extensions.unprocessedCritical).utf8.count < 2_000)
    }

    @Test("CB11: an IPv4-mapped IPv6 address doesn't evade address constraints", arguments: [true, false])
    func mappedAddress(isExcluded: Bool) throws {
        let address: [UInt8] = [10, 0, 0, 1]
        let mapped = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF] + address
        let subtree = TestCertificate.GeneralName.ip([10, 0, 0, 0, 0xFF, 0, 0, 0])
        let everyIPv6 = TestCertificate.GeneralName.ip([UInt8](repeating: 0, count: 32))
        let root = try TestCertificate.root("Root")
        let authority = try root.intermediate("Authority") {
            if isExcluded { $0.excludedSubtrees = [subtree] } else { $0.permittedSubtrees = [everyIPv6] }
        }
        let leaf = try authority.leaf("api.example.test") { $0.alternativeNames = [.ip(mapped)] }
        var claim = Claim(leaf: leaf, presented: [authority], anchors: [root], name: "::ffff:10.0.0.1")
        #expect(try claim.verdict() == "name-constraints")
        claim.presented = [try root.crossSign(authority) { ($0.excludedSubtrees, $0.permittedSubtrees) = ([], []) }]
        #expect(try claim.verdict() == "accepted")
    }

    @Test("HM5, HM9: KELVIN SIGN in a certificate doesn't match the letter k")
    func kelvinSign() throws {
        let root = try TestCertificate.root("Root")
        for (name, expected) in [("\u{212A}.test", "name-mismatch"), ("K.test", "accepted")] {
            let leaf = try root.leaf("server") {
                $0.subject = TestName(.organization("Example"))
                $0.alternativeNames = [.dns(name)]
            }
            for policy in [TrustPolicy.default, .strict] {
                let claim = Claim(leaf: leaf, anchors: [root], name: "k.test", policy: policy)
                #expect(try claim.verdict() == expected)
            }
        }
        // Under name constraints, the name is malformed. It counts neither as permitted nor as a name of an unknown
        // kind.
        let issuer = try root.intermediate("Intermediate") { $0.permittedSubtrees = [.dns("k.test")] }
        let leaf = try issuer.leaf("k.test") { $0.alternativeNames.append(.dns("\u{212A}.test")) }
        let claim = Claim(leaf: leaf, presented: [issuer], anchors: [root], name: "k.test")
        #expect(try claim.finding()?.detail.contains("is malformed, and names of its type are constrained") == true)
    }

    @Test("CB19: a malformed inhibitAnyPolicy is rejected even if no other extension requires policies")
    func malformedInhibitAnyPolicy() throws {
        let root = try TestCertificate.root("Root")
        for (skip, expected) in [([0xFF], "certificate-policies"), ([0x00], "accepted")] as [([UInt8], String)] {
            let authority = try root.intermediate("Authority") {
                $0.extensions = [
                    .certificatePolicies(["1.2.3"]),
                    .init("2.5.29.54", critical: true, TestDER.integer(octets: skip)),
                ]
            }
            let leaf = try authority.leaf("api.example.test")
            #expect(try Claim(leaf: leaf, presented: [authority], anchors: [root]).verdict() == expected)
        }
    }

    @Test("CB21: the strict profile rejects a name with unsorted or empty sets")
    func setsOfNames() throws {
        let root = try TestCertificate.root("Root")
        let first = TestName.Attribute("2.5.4.3", "a").derBytes
        let second = TestName.Attribute("2.5.4.10", "bb").derBytes
        for (members, expected) in [(first + second, "accepted"), (second + first, "encoding"), ([], "encoding")] {
            let name = TestName(derBytes: TestDER.sequence(TestDER.set(members)))
            let leaf = try root.leaf("api.example.test") { $0.subject = name }
            #expect(try Claim(leaf: leaf, anchors: [root], policy: .strict).verdict() == expected)
            #expect(try Claim(leaf: leaf, anchors: [root]).verdict() == "accepted")
        }
    }

    @Test(
        "HM6: the strict profile rejects a common name with a NUL or with one of IDNA's other dots",
        arguments: ["api.example.test\0.evil.test", "api\u{3002}example\u{FF0E}test", "api\u{FF61}example\u{FF61}test"])
    func misleadingCommonName(commonName: String) throws {
        let root = try TestCertificate.root("Root")
        let leaf = try root.leaf("api.example.test") { $0.subject = TestName(.commonName(commonName)) }
        var claim = Claim(leaf: leaf, anchors: [root], policy: .strict)
        #expect(try claim.verdict() == "common-name")
        claim.policy = .default
        #expect(try claim.verdict() == "accepted")
    }
}
