import CertificateTrust
import PinctlTestPKI

/// As large as what is presented may be. Debug builds take too long over them, so that the tests have smaller ones.
extension PathologicalChain {
    static let largest: [PathologicalChain] =
        [
            minute(
                "empty directory names", 100_000, "2.5.29.17", before: [0x82, 0x10] + "api.example.test".utf8,
                of: [0xA4, 0x02, 0x30, 0x00]),
            minute(
                "URIs of nothing", 200_000, "2.5.29.17", before: [0x82, 0x10] + "api.example.test".utf8,
                of: [0x86, 0x00]),
            minute("empty distribution points", 200_000, "2.5.29.31", of: [0x30, 0x00]),
            minute(
                "distribution points with an empty name", 40_000, "2.5.29.31",
                of: [0x30, 0x08, 0xA0, 0x06, 0xA0, 0x04, 0xA4, 0x02, 0x30, 0x00]),
            minute(
                "purposes", 130_000, "2.5.29.37", before: TestDER.objectIdentifier("1.3.6.1.5.5.7.3.1"),
                of: [0x06, 0x01, 0x2A]),
            PathologicalChain("a subject of 44,000 attributes of nothing", "accepted") {
                try path { $0.subject = name(44_000) }
            },
            PathologicalChain("fifty paths over an authority of 20,000 attributes, which excludes the leaf", "") {
                try fiftyPaths(lower: {
                    $0.subject = name(20_000)
                    $0.excludedSubtrees = [.dns("example.test")]
                })
            },
            PathologicalChain("fifty paths over an authority of 100,000 names, below one that excludes another", "") {
                try fiftyPaths(
                    lower: { $0.excludedSubtrees = [.dns("example.org")] },
                    middle: { $0.alternativeNames = Array(repeating: .dns("a"), count: 100_000) })
            },
            PathologicalChain("490 constraints on 300 names, all of 450 letters", "") {
                try path(
                    leaf: { $0.alternativeNames += (0..<300).map { long("y\($0)") } },
                    authority: { $0.excludedSubtrees = (0..<490).map { long("x\($0)") } })
            },
            PathologicalChain("fifty paths to a leaf with a response of 30 KB that its responder did not sign", "") {
                var claim = try fiftyPaths(lower: { _ in })
                let issuer = claim.presented[claim.presented.count - 1]
                let responder = try issuer.leaf("Responder", key: key) {
                    $0.extendedKeyUsages = ["1.3.6.1.5.5.7.3.9"]
                    $0.alternativeNames = Array(repeating: .raw([0xA4, 0x02, 0x30, 0x00]), count: 7_500)
                }
                let response = TestOCSPResponse(claim.leaf, issuedBy: issuer)
                claim.revocation = RevocationEvidence(
                    stapledOCSP: try response.signed(by: .selfSigned(responder.settings), including: [responder]))
                return claim
            },
        ]

    private static func name(_ count: Int) -> TestName {
        TestName(
            derBytes: TestDER.element(0x30, repeated([0x31, 0x07, 0x30, 0x05, 0x06, 0x01, 0x2A, 0x0C, 0x00], count)))
    }

    private static func long(_ end: String) -> TestCertificate.GeneralName {
        .directory(TestName(.commonName(String(repeating: "a", count: 450) + end)))
    }
}
