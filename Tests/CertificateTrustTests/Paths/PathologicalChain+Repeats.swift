import CertificateTrust
import PinctlTestPKI

// MARK: - Large certificates that the search meets again and again

extension PathologicalChain {
    static let repeats: [PathologicalChain] =
        [100, 1_000].flatMap { count in
            [
                PathologicalChain(
                    "fifty paths over an authority of \(count) attributes, which excludes the leaf", "name-constraints"
                ) {
                    try fiftyPaths(lower: {
                        $0.subject = shortName(count)
                        $0.excludedSubtrees = [.dns("example.test")]
                    })
                },
                PathologicalChain(
                    "fifty paths over an authority of \(count) names, below one that excludes another", "accepted"
                ) {
                    try fiftyPaths(
                        lower: { $0.excludedSubtrees = [.dns("example.org")] },
                        middle: { $0.alternativeNames = Array(repeating: .dns("a"), count: 10 * count) })
                },
                PathologicalChain(
                    "fifty paths to a leaf of \(count) names, below one that excludes another", "accepted"
                ) {
                    try fiftyPaths(
                        leaf: { $0.alternativeNames += Array(repeating: .dns("a"), count: count) },
                        lower: { $0.excludedSubtrees = [.email("example.org")] })
                },
                PathologicalChain("fifty paths to a leaf whose revocation list has \(count) names", "revocation-stale")
                {
                    try stale {
                        let names = Array(repeating: TestCertificate.GeneralName.directory(TestName()), count: count)
                        return TestDER.constructed(0, TestDER.constructed(0, names.flatMap(\.derBytes)))
                    }
                },
                PathologicalChain(
                    "fifty paths to a leaf whose revocation list has \(count) signers", "revocation-stale"
                ) {
                    try stale {
                        let names = Array(repeating: TestCertificate.GeneralName.directory("Lower"), count: count)
                        return TestDER.constructed(2, names.flatMap(\.derBytes))
                    }
                },
            ]
        }
        + [
            namesakes("keys of 20 KB", 15) { settings, number in
                let plain = TestDER.objectIdentifier("1.2.840.113549.1.1.1")
                let parameters = TestDER.octetString([UInt8](repeating: 0, count: 20_000) + [number])
                // The BIT STRING with a 2048-bit key.
                let bits = Array(TestKey.rsaPublicKeyDER(bits: 2_048).suffix(275))
                settings.subjectPublicKeyInfo = TestDER.sequence(TestDER.sequence(plain, parameters), bits)
            }.expecting("weak-cryptography"),
            namesakes("names of 5 KB", 9) { settings, number in
                settings.subject = TestName(.commonName(String(repeating: "a", count: 5_000)))
                settings.subjectPublicKeyInfo = TestKey.rsaPublicKeyDER(bits: 2_048, last: 2 * number + 1)
            },
            namesakes("names of 100 attributes", 9) { settings, number in
                settings.subject = shortName(100)
                settings.subjectPublicKeyInfo = TestKey.rsaPublicKeyDER(bits: 2_048, last: 2 * number + 1)
            },
            namesakes("key identifiers of 2 KB", 90) { settings, number in
                let identifier = [UInt8](repeating: 0, count: 2_000)
                settings.subjectPublicKeyInfo = TestKey.rsaPublicKeyDER(bits: 2_048, last: 2 * number + 1)
                settings.extensions = [
                    .subjectKeyIdentifier(identifier + [number]), .authorityKeyIdentifier(identifier + [0xFF]),
                ]
            },
        ]

    /// Returns fifty paths to a leaf with one distribution point, for which there is an expired list.
    private static func stale(point: () -> [UInt8]) throws -> Claim {
        let points = TestDER.sequence(TestDER.sequence(point()))
        var claim = try fiftyPaths(leaf: { $0.extensions = [.init("2.5.29.31", points)] }, lower: { _ in })
        let list = try claim.presented[claim.presented.count - 1].revocationList { $0.nextUpdate = 1_799_999_999 }
        claim.policy.revocation = .use
        claim.revocation = RevocationEvidence(lists: [try CertificateRevocationList(derBytes: list)])
        return claim
    }

    /// Returns a chain with a root, fifty CA certificates of one name, another below the first of them, one more below
    /// that, and the leaf. The search tries all fifty when a path is rejected.
    static func fiftyPaths(
        leaf adjustLeaf: (inout TestCertificate.Settings) -> Void = { _ in },
        lower adjustLower: (inout TestCertificate.Settings) -> Void,
        middle adjustMiddle: (inout TestCertificate.Settings) -> Void = { _ in }
    ) throws -> Claim {
        let root = try TestCertificate.root("Root", key: key)
        let uppers = try (0..<50).map { number in
            try root.intermediate("Upper", key: key) {
                anonymous(&$0)
                $0.serial = [UInt8(number + 1)]
            }
        }
        let middle = try uppers[0].intermediate("Middle", key: key) {
            anonymous(&$0)
            adjustMiddle(&$0)
        }
        let lower = try middle.intermediate("Lower", key: key) {
            anonymous(&$0)
            adjustLower(&$0)
        }
        let leaf = try lower.leaf("api.example.test", key: key) {
            anonymous(&$0)
            adjustLeaf(&$0)
        }
        return Claim(leaf: leaf, presented: uppers + [middle, lower], anchors: [root])
    }

    /// Returns self-signed certificates with one name and distinct keys, so that each may have issued each.
    private static func namesakes(
        _ name: String, _ count: Int,
        adjusting adjust: @escaping @Sendable (inout TestCertificate.Settings, UInt8) -> Void
    ) -> PathologicalChain {
        PathologicalChain("\(count) self-signed namesakes with \(name)", count > 50 ? "budget" : "unknown-issuer") {
            let namesakes = try (0..<count).map { number in
                try TestCertificate.root("Authority", key: key) {
                    anonymous(&$0)
                    adjust(&$0, UInt8(number))
                }
            }
            let leaf = try namesakes[0].leaf("api.example.test", key: key, adjusting: anonymous)
            return Claim(leaf: leaf, presented: namesakes, anchors: [try .root("Root")])
        }
    }
}
