import CertificateTrust
import PinctlTestPKI
import Testing

@Suite("No false alarms: paths")
struct FalseAlarmPathTests {
    @Test("A valid path is found among shuffled, repeated and unrelated certificates", arguments: disorder)
    func presented(_ row: ChainVariant) throws { #expect(try row.claim().verdict() == "accepted") }

    static let disorder: [ChainVariant] = [
        ChainVariant("reversed") {
            let ladder = try Ladder(5)
            return Claim(leaf: ladder.leaf, presented: ladder.authorities, anchors: [ladder.root])
        },
        ChainVariant("shuffled") {
            let ladder = try Ladder(5)
            return Claim(
                leaf: ladder.leaf, presented: [2, 0, 4, 1, 3].map { ladder.authorities[$0] }, anchors: [ladder.root])
        },
        ChainVariant("each twenty times, the last first, the leaf among them") {
            let ladder = try Ladder(3)
            let presented = Array(repeating: ladder.authorities + [ladder.leaf], count: 20).flatMap(\.self)
            return Claim(leaf: ladder.leaf, presented: presented, anchors: [ladder.root])
        },
        ChainVariant("a trusted root and a unrelated with RSA-16384 sent along") {
            let ladder = try Ladder(1)
            let unrelated = try TestCertificate.root("Unrelated") {
                $0.subjectPublicKeyInfo = TestKey.rsaPublicKeyDER(bits: 16_384)
            }
            return Claim(
                leaf: ladder.leaf, presented: [unrelated, ladder.root] + ladder.authorities, anchors: [ladder.root])
        },
        ChainVariant("an authority with RSA-16384 that bears the right name") {
            let ladder = try Ladder(1)
            let namesake = try ladder.root.intermediate("Authority 0") {
                $0.subjectPublicKeyInfo = TestKey.rsaPublicKeyDER(bits: 16_384)
                $0.hasSubjectKeyIdentifier = false
            }
            return Claim(leaf: ladder.leaf, presented: [namesake] + ladder.authorities, anchors: [ladder.root])
        },
        ChainVariant("an expired certificate of each authority beside the valid one") {
            let ladder = try Ladder(2)
            let expired = try ladder.reissued { $0.notAfter = 1_790_000_000 }
            return Claim(leaf: ladder.leaf, presented: expired + ladder.authorities, anchors: [ladder.root])
        },
        ChainVariant("a certificate of each authority with a broken signature, and one without cA") {
            let ladder = try Ladder(2)
            let impostor = try TestCertificate.root("Root")
            let broken = try ladder.authorities.map { try impostor.crossSign($0) }
            let plain = try ladder.reissued { $0.isAuthority = false }
            return Claim(leaf: ladder.leaf, presented: broken + plain + ladder.authorities, anchors: [ladder.root])
        },
    ]

    @Test("A valid path is found among cross-signed CA certificates", arguments: crossSigned)
    func crossSignature(_ row: ChainVariant) throws { #expect(try row.claim().verdict() == "accepted") }

    static let crossSigned: [ChainVariant] = [
        ChainVariant("five generations of roots, the oldest trusted, each signed by the one before") {
            let roots = try generations(6)
            let crosses = try zip(roots, roots.dropFirst()).map { try $0.crossSign($1) }
            let intermediate = try roots[5].intermediate("Intermediate")
            let leaf = try intermediate.leaf("api.example.test")
            return Claim(leaf: leaf, presented: [intermediate] + crosses, anchors: [roots[0]])
        },
        ChainVariant("a root signed by five others, of which one is trusted and one expired") {
            let roots = try generations(6) { $0.notAfter = $0.subject == "Root 1" ? 1_790_000_000 : $0.notAfter }
            let crosses = try roots.dropLast().map { try $0.crossSign(roots[5]) }
            let intermediate = try roots[5].intermediate("Intermediate")
            let leaf = try intermediate.leaf("api.example.test")
            return Claim(leaf: leaf, presented: [intermediate] + crosses, anchors: [roots[1], roots[4]])
        },
        ChainVariant("an expired root trusted beside the one that replaced it with the same key") {
            let expired = try TestCertificate.root("Root") { $0.notAfter = 1_790_000_000 }
            let renewed = try TestCertificate.root("Root", key: expired.key)
            let leaf = try expired.leaf("api.example.test")
            return Claim(leaf: leaf, presented: [expired], anchors: [expired, renewed])
        },
        ChainVariant("a trusted root that is also presented as cross-signed by one that expired") {
            let expired = try TestCertificate.root("Expired") { $0.notAfter = 1_790_000_000 }
            let root = try TestCertificate.root("Root")
            let intermediate = try root.intermediate("Intermediate")
            let leaf = try intermediate.leaf("api.example.test")
            return Claim(
                leaf: leaf, presented: [intermediate, try expired.crossSign(root), expired], anchors: [expired, root])
        },
        ChainVariant("two authorities that sign each other, one of which a root signed") {
            let root = try TestCertificate.root("Root")
            let (first, second) = (try root.intermediate("First"), try root.intermediate("Second"))
            let leaf = try second.leaf("api.example.test")
            let presented = [try first.crossSign(second), try second.crossSign(first), first]
            return Claim(leaf: leaf, presented: presented, anchors: [root])
        },
    ]

    @Test(
        "Self-issued certificates don't count toward the path length, and the longest allowed path is accepted",
        arguments: selfIssued)
    func rollover(_ row: ChainVariant) throws { #expect(try row.claim().verdict() == "accepted") }

    static let selfIssued: [ChainVariant] = [
        ChainVariant("the rollover of a key under a path length of 0") {
            let root = try TestCertificate.root("Root")
            let old = try root.intermediate("Authority") { $0.pathLength = 0 }
            let new = try old.intermediate("Authority")
            let leaf = try new.leaf("api.example.test")
            return Claim(leaf: leaf, presented: [new, old], anchors: [root])
        },
        ChainVariant("the rollover of a root's key under a path length of 1") {
            let old = try TestCertificate.root("Root") { $0.pathLength = 1 }
            let new = try old.intermediate("Root")
            let intermediate = try new.intermediate("Intermediate")
            let leaf = try intermediate.leaf("api.example.test")
            return Claim(leaf: leaf, presented: [intermediate, new], anchors: [old])
        },
        ChainVariant("ten authorities, the longest path there is") {
            let ladder = try Ladder(10)
            return Claim(leaf: ladder.leaf, presented: ladder.authorities, anchors: [ladder.root])
        },
        ChainVariant("nine authorities, as many as are allowed, and the rollover of a key") {
            let ladder = try Ladder(9)
            let rolled = try ladder.authorities[8].intermediate("Authority 8")
            let leaf = try rolled.leaf("api.example.test")
            var claim = Claim(leaf: leaf, presented: [rolled] + ladder.authorities, anchors: [ladder.root])
            claim.policy.maximumIntermediates = 9
            return claim
        },
    ]

    @Test("Anchors that aren't self-signed roots are accepted", arguments: anchors)
    func anchor(_ row: ChainVariant) throws { #expect(try row.claim().verdict() == "accepted") }

    static let anchors: [ChainVariant] = [
        ChainVariant("an intermediate, while its root is presented and unknown") {
            let ladder = try Ladder(3)
            return Claim(
                leaf: ladder.leaf, presented: ladder.authorities + [ladder.root], anchors: [ladder.authorities[1]])
        },
        ChainVariant("the leaf itself, alone") {
            let ladder = try Ladder(1)
            return Claim(leaf: ladder.leaf, anchors: [ladder.leaf])
        },
        ChainVariant("the leaf itself, with its chain") {
            let ladder = try Ladder(1)
            return Claim(leaf: ladder.leaf, presented: ladder.authorities, anchors: [ladder.leaf])
        },
        ChainVariant("a self-signed server") {
            let server = try TestCertificate.selfSigned(.server(["api.example.test"]))
            return Claim(leaf: server, anchors: [server])
        },
        ChainVariant("an authority that is itself the server") {
            var settings = TestCertificate.Settings.server(["api.example.test"])
            settings.isAuthority = true
            settings.keyUsage = [.digitalSignature, .keyCertSign]
            let root = try TestCertificate.root("Root")
            return Claim(leaf: try root.issue(settings), anchors: [root])
        },
    ]

    private static func generations(
        _ count: Int, adjusting adjust: (inout TestCertificate.Settings) -> Void = { _ in }
    ) throws -> [TestCertificate] {
        try (0..<count).map { try TestCertificate.root("Root \($0)", adjusting: adjust) }
    }
}

/// A root, a series of CA certificates each issued by the one before, and a leaf issued by the last.
private struct Ladder {
    let root: TestCertificate
    let authorities: [TestCertificate]
    let leaf: TestCertificate

    init(_ count: Int) throws {
        root = try TestCertificate.root("Root")
        var authorities: [TestCertificate] = []
        for index in 0..<count {
            authorities.append(try (authorities.last ?? root).intermediate("Authority \(index)"))
        }
        self.authorities = authorities
        leaf = try (authorities.last ?? root).leaf("api.example.test")
    }

    /// Returns another certificate for each CA.
    func reissued(_ adjust: (inout TestCertificate.Settings) -> Void) throws -> [TestCertificate] {
        try zip([root] + authorities, authorities).map { try $0.crossSign($1, adjusting: adjust) }
    }
}
