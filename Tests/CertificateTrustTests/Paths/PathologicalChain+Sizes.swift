import CertificateTrust
import PinctlTestPKI

// MARK: - Certificates as large as the reader accepts

extension PathologicalChain {
    static let sizes: [PathologicalChain] =
        [100, 1_000, 10_000].flatMap { count in
            [
                PathologicalChain("\(count) names of one letter", "accepted") {
                    try path { $0.alternativeNames += Array(repeating: .dns("a"), count: count) }
                },
                PathologicalChain("\(count) constraints of one letter", "accepted") {
                    try path(authority: { $0.excludedSubtrees = Array(repeating: .dns("a"), count: count) })
                },
            ]
        }
        + [100, 1_000, 5_000].flatMap { count in
            [
                PathologicalChain("a subject of \(count) attributes, none of them text", "accepted") {
                    try path { $0.subject = shortName(count) }
                },
                PathologicalChain("a subject of \(count) attributes in one set", "accepted") {
                    try path {
                        let set = TestDER.element(0x31, (0..<count).flatMap { _ in attribute.derBytes })
                        $0.subject = TestName(derBytes: TestDER.sequence(set))
                    }
                },
            ]
        }
        + [50, 1_000, 10_000].map { count in
            PathologicalChain("\(count) policies, required", count > 50 ? "budget" : "accepted") {
                let policies = (1...count).map { "1.2.\($0)" }
                return try path(
                    leaf: { $0.extensions = [.certificatePolicies(policies)] },
                    authority: {
                        $0.extensions = [.certificatePolicies(policies), .policyConstraints(requireExplicit: 0)]
                    })
            }
        }
        + [10, 100, 1_000].map { count in
            PathologicalChain(
                "\(count) distribution points relative to an issuer of as many attributes",
                count > 10 ? "budget" : "accepted"
            ) {
                try path(
                    leaf: {
                        $0.extensions = [.distributionPoints(relativeNames: Array(repeating: attribute, count: count))]
                    }, authority: { $0.subject = shortName(count) })
            }
        }
        + [(10, 10), (100, 1_000), (200, 2_000)].map { (texts, names) in
            PathologicalChain("\(texts) common names beside \(names) names, strict", "accepted") {
                var claim = try path {
                    $0.subject = TestName(attributes: (0..<texts).map { .commonName("Server \($0)") })
                    $0.alternativeNames += (0..<names).map { .dns("host\($0).example.test") }
                }
                claim.policy = .strict
                return claim
            }
        }
        + [
            // Each element is as small as possible, and takes much more space in memory.
            minute(
                "empty directory names", 10_000, "2.5.29.17", before: [0x82, 0x10] + "api.example.test".utf8,
                of: [0xA4, 0x02, 0x30, 0x00]),
            minute("empty distribution points", 10_000, "2.5.29.31", of: [0x30, 0x00]).expecting("malformed"),
            minute(
                "distribution points with an empty name", 10_000, "2.5.29.31",
                of: [0x30, 0x08, 0xA0, 0x06, 0xA0, 0x04, 0xA4, 0x02, 0x30, 0x00]),
            minute(
                "purposes", 10_000, "2.5.29.37", before: TestDER.objectIdentifier("1.3.6.1.5.5.7.3.1"),
                of: [0x06, 0x01, 0x2A]),
            PathologicalChain("a subject of 10,000 attributes of nothing", "accepted") {
                try path {
                    let attribute: [UInt8] = [0x31, 0x07, 0x30, 0x05, 0x06, 0x01, 0x2A, 0x0C, 0x00]
                    $0.subject = TestName(derBytes: TestDER.element(0x30, repeated(attribute, 10_000)))
                }
            },
        ]
        + [
            PathologicalChain("a critical extension whose identifier has 10,000 arcs", "critical-extension") {
                try path {
                    let identifier = "1.2" + String(repeating: ".1", count: 10_000)
                    $0.extensions = [.init(identifier, critical: true, [])]
                }
            },
            PathologicalChain("curve parameters without a square root (CVE-2022-0778)", "weak-cryptography") {
                try path { $0.subjectPublicKeyInfo = endlessCurve }
            },
        ]

    /// Returns a root, an intermediate and a leaf, with adjustments to the latter two.
    static func path(
        leaf adjust: (inout TestCertificate.Settings) -> Void = { _ in },
        authority adjustAuthority: (inout TestCertificate.Settings) -> Void = { _ in }
    ) throws -> Claim {
        let root = try TestCertificate.root("Root", key: key)
        let intermediate = try root.intermediate("Authority", key: key, adjusting: adjustAuthority)
        let leaf = try intermediate.leaf("api.example.test", key: key, adjusting: adjust)
        return Claim(leaf: leaf, presented: [intermediate], anchors: [root])
    }

    /// Returns a chain whose leaf has an extension that is a list of one repeated element.
    static func minute(
        _ name: String, _ count: Int, _ identifier: String, before: [UInt8] = [],
        of element: [UInt8]
    ) -> PathologicalChain {
        PathologicalChain("\(count) \(name)", "accepted") {
            try path {
                if identifier == "2.5.29.17" { $0.alternativeNames = [] }
                if identifier == "2.5.29.37" { $0.extendedKeyUsages = [] }
                $0.extensions = [.init(identifier, TestDER.element(0x30, before + repeated(element, count)))]
            }
        }
    }

    static func repeated(_ bytes: [UInt8], _ count: Int) -> [UInt8] {
        Array(Array(repeating: bytes, count: count).joined())
    }

    static let attribute = TestName.Attribute("2.5.4.11", "a", tag: 0x13)

    static func shortName(_ count: Int) -> TestName {
        TestName(attributes: Array(repeating: attribute, count: count))
    }

    /// A compressed point on y² = x³ - x + 23 modulo 697 = 17 · 41. Decompression looks for a square root, and there is
    /// none.
    private static let endlessCurve = TestDER.sequence(
        TestDER.sequence(
            TestDER.objectIdentifier("1.2.840.10045.2.1"),
            TestDER.sequence(
                TestDER.integer(1),
                TestDER.sequence(TestDER.objectIdentifier("1.2.840.10045.1.1"), TestDER.integer(697)),
                TestDER.sequence(TestDER.octetString([0x02, 0xB8]), TestDER.octetString([0x00, 0x17])),
                TestDER.octetString([0x02, 0x00, 0x08]), TestDER.integer(691), TestDER.integer(1))),
        TestDER.bitString([0x02, 0x00, 0x08]))
}
