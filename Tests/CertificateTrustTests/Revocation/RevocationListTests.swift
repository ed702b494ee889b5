import PinctlTestPKI
import Testing

@testable import CertificateTrust

@Suite("Certificate revocation lists")
struct RevocationListTests {
    static let unknown = TestCertificate.Extension("1.3.6.1.4.1.55555.1", critical: true, [0x05, 0x00])
    static let harmless = TestCertificate.Extension("1.3.6.1.4.1.55555.1", [0x05, 0x00])

    static let rows: [RevocationRow] = [
        .init("no list", require: "revocation-unknown") { _ in [] },
        .init("a list without the leaf") { [try $0.intermediate.revocationList(.init([0x41]))] },
        .init("a list with the leaf", use: "revoked") {
            [try $0.intermediate.revocationList(.init([0x41]), .init($0.leaf))]
        },
        .init("a leaf on hold", use: "revoked") { [try $0.intermediate.revocationList(.init($0.leaf, reason: 6))] },
        .init("a removal in a complete list", use: "revoked") {
            [try $0.intermediate.revocationList(.init($0.leaf, reason: 8))]
        },
        .init("its serial number on the list of another issuer", require: "revocation-unknown") {
            [try $0.other.revocationList(.init($0.leaf))]
        },
        .init("a list of the issuer beside one of another with its serial number") {
            [try $0.other.revocationList(.init($0.leaf)), try $0.intermediate.revocationList()]
        },
        .init("a list that ended", use: "revocation-stale") {
            [try $0.intermediate.revocationList { $0.nextUpdate = 1_799_999_999 }]
        },
        .init("a list of the future", use: "revocation-stale") {
            [try $0.intermediate.revocationList { $0.thisUpdate = 1_800_000_001 }]
        },
        .init("a list without an end", use: "revocation-stale") {
            [try $0.intermediate.revocationList { $0.nextUpdate = nil }]
        },
        .init("a list in the issuer's name by another key", use: "revocation-signer") {
            [try TestRevocationList(issuer: $0.intermediate.subject).signed(by: $0.other.key)]
        },
        .init("a list signed with SHA-1", use: "revocation-signer") {
            [try $0.intermediate.revocationList { $0.digest = .sha1 }]
        },
        .init("a broken signature", use: "revocation-signer") {
            var list = try $0.intermediate.revocationList()
            list[list.count - 1] ^= 1
            return [list]
        },
        .init("an unknown critical extension", use: "revocation-unusable") {
            [try $0.intermediate.revocationList { $0.extensions = [unknown] }]
        },
        .init("an unknown critical extension in an entry for another", use: "revocation-unusable") {
            [try $0.intermediate.revocationList(.init([0x41], extensions: [unknown]))]
        },
        .init("unknown extensions that are not critical") {
            [try $0.intermediate.revocationList(.init([0x41], extensions: [harmless])) { $0.extensions = [harmless] }]
        },
        .init("a critical number", use: "revocation-unusable") {
            [
                try $0.intermediate.revocationList {
                    $0.number = nil
                    $0.extensions = [.init("2.5.29.20", critical: true, TestDER.integer(1))]
                }
            ]
        },
        .init("no number", use: "revocation-unusable") { [try $0.intermediate.revocationList { $0.number = nil }] },
        .init("a bad list beside a good one") {
            [
                try TestRevocationList(issuer: $0.intermediate.subject).signed(by: $0.other.key),
                try $0.intermediate.revocationList { $0.nextUpdate = 1_799_999_999 },
                try $0.intermediate.revocationList(),
            ]
        },
        .init("a bad list beside one that revokes", use: "revoked") {
            [
                try TestRevocationList(issuer: $0.intermediate.subject).signed(by: $0.other.key),
                try $0.intermediate.revocationList(.init($0.leaf)),
            ]
        },
        .init("a hold that a newer list lifts") {
            [
                try $0.intermediate.revocationList(.init($0.leaf, reason: 6)),
                try $0.intermediate.revocationList { $0.thisUpdate += 1 },
            ]
        },
    ]

    static let scopeRows: [RevocationRow] = [
        .init("a list of servers' certificates") {
            [try $0.intermediate.revocationList { $0.scope = TestRevocationList.scope(flags: [1]) }]
        },
        .init("a list of authorities, with its serial number", require: "revocation-unknown") {
            [try $0.intermediate.revocationList(.init($0.leaf)) { $0.scope = TestRevocationList.scope(flags: [2]) }]
        },
        .init("a list of attribute certificates", require: "revocation-unknown") {
            [try $0.intermediate.revocationList(.init($0.leaf)) { $0.scope = TestRevocationList.scope(flags: [5]) }]
        },
        .init("a list for another distribution point", require: "revocation-unknown") {
            [
                try $0.intermediate.revocationList(.init($0.leaf)) {
                    $0.scope = TestRevocationList.scope(name: "http://other.test/")
                }
            ]
        },
        .init("a list for its distribution point") {
            [try $0.intermediate.revocationList { $0.scope = TestRevocationList.scope(name: "http://lists.test/") }]
        },
        .init("a list for its distribution point with the leaf", use: "revoked") {
            [
                try $0.intermediate.revocationList(.init($0.leaf)) {
                    $0.scope = TestRevocationList.scope(name: "http://lists.test/")
                }
            ]
        },
        .init("a list for some reasons", require: "revocation-unknown") {
            [try $0.intermediate.revocationList { $0.scope = TestRevocationList.scope(reasons: [1, 2]) }]
        },
        .init("lists for some reasons and for all others") {
            [
                try $0.intermediate.revocationList { $0.scope = TestRevocationList.scope(reasons: [1, 2]) },
                try $0.intermediate.revocationList {
                    $0.scope = TestRevocationList.scope(reasons: [3, 4, 5, 6, 7, 8])
                },
            ]
        },
        .init("two lists for the same reasons, one with the leaf", use: "accepted", require: "revocation-unknown") {
            [
                try $0.intermediate.revocationList { $0.scope = TestRevocationList.scope(reasons: [1]) },
                try $0.intermediate.revocationList(.init($0.leaf)) {
                    $0.scope = TestRevocationList.scope(reasons: [1])
                    $0.thisUpdate -= 1
                },
            ]
        },
    ]

    static let deltaRows: [RevocationRow] = [
        .init("a delta without a base", require: "revocation-unknown") { [try delta($0, .init($0.leaf))] },
        .init("a delta that revokes", use: "revoked") {
            [try $0.intermediate.revocationList(), try delta($0, .init($0.leaf))]
        },
        .init("a delta that lifts a hold") {
            [try $0.intermediate.revocationList(.init($0.leaf, reason: 6)), try delta($0, .init($0.leaf, reason: 8))]
        },
        .init("a delta that revokes, and lifts what it revokes", use: "revoked") {
            [
                try $0.intermediate.revocationList(),
                try delta($0, .init($0.leaf, reason: 1), .init([0x41]), .init($0.leaf, reason: 8)),
            ]
        },
        .init("a delta that lifts what it then revokes", use: "revoked") {
            [try $0.intermediate.revocationList(), try delta($0, .init($0.leaf, reason: 8), .init($0.leaf, reason: 1))]
        },
        .init("a hold that a delta lifts and turns into a revocation", use: "revoked") {
            [
                try $0.intermediate.revocationList(.init($0.leaf, reason: 6)),
                try delta($0, .init($0.leaf, reason: 8), .init($0.leaf, reason: 1)),
            ]
        },
        .init("a delta that says nothing of what the base revokes", use: "revoked") {
            [try $0.intermediate.revocationList(.init($0.leaf)), try delta($0)]
        },
        .init("a delta that brings an old base up to date") {
            [try $0.intermediate.revocationList { $0.nextUpdate = 1_799_500_000 }, try delta($0)]
        },
        .init("a delta for a later base than the old one at hand", use: "revocation-stale") {
            [try $0.intermediate.revocationList { $0.nextUpdate = 1_799_500_000 }, try delta($0) { $0.baseNumber = 2 }]
        },
        .init("a delta that is stale, beside a base that is not") {
            [try $0.intermediate.revocationList(), try delta($0, .init($0.leaf)) { $0.nextUpdate = 1_799_999_999 }]
        },
        .init("a removal by another key", use: "revoked") {
            var list = TestRevocationList(issuer: $0.intermediate.subject)
            list.entries = [.init($0.leaf, reason: 8)]
            list.baseNumber = 1
            list.number = 2
            return [try $0.intermediate.revocationList(.init($0.leaf, reason: 6)), try list.signed(by: $0.other.key)]
        },
        .init("an old base, and a delta by another key", use: "revocation-stale") {
            var list = TestRevocationList(issuer: $0.intermediate.subject)
            list.baseNumber = 1
            list.number = 2
            return [
                try $0.intermediate.revocationList { $0.nextUpdate = 1_799_500_000 }, try list.signed(by: $0.other.key),
            ]
        },
        .init("a removal with an unknown critical extension", use: "revoked") {
            [
                try $0.intermediate.revocationList(.init($0.leaf, reason: 6)),
                try delta($0, .init($0.leaf, reason: 8)) { $0.extensions = [unknown] },
            ]
        },
        .init("a stale removal", use: "revoked") {
            [
                try $0.intermediate.revocationList(.init($0.leaf, reason: 6)),
                try delta($0, .init($0.leaf, reason: 8)) { $0.nextUpdate = 1_799_999_999 },
            ]
        },
        .init("a removal for a later base", use: "revoked") {
            [
                try $0.intermediate.revocationList(.init($0.leaf, reason: 6)),
                try delta($0, .init($0.leaf, reason: 8)) { $0.baseNumber = 2 },
            ]
        },
        .init("a removal for another scope", use: "revoked") {
            [
                try $0.intermediate.revocationList(.init($0.leaf, reason: 6)),
                try delta($0, .init($0.leaf, reason: 8)) { $0.scope = TestRevocationList.scope(flags: [1]) },
            ]
        },
        .init("a removal under another key identifier", use: "revoked") {
            [
                try $0.intermediate.revocationList(.init($0.leaf, reason: 6)),
                try delta($0, .init($0.leaf, reason: 8)) { $0.authorityKeyIdentifier = [1] },
            ]
        },
        .init("a removal that is older than the base", use: "revoked") {
            [
                try $0.intermediate.revocationList(.init($0.leaf, reason: 6)) { $0.number = 300 },
                try delta($0, .init($0.leaf, reason: 8)) { $0.number = 255 },
            ]
        },
    ]

    private static func delta(
        _ site: TestSite, _ entries: TestRevocationList.Entry...,
        adjusting adjust: (inout TestRevocationList) -> Void = { _ in }
    ) throws -> [UInt8] {
        try site.intermediate.revocationList {
            $0.entries = entries
            $0.baseNumber = 1
            $0.number = 256
            $0.thisUpdate += 500_000
            adjust(&$0)
        }
    }

    @Test(
        "CB24: the provided lists decide the verdict, unless revocation is ignored",
        arguments: rows + scopeRows + deltaRows)
    func lists(_ row: RevocationRow) throws {
        let site = try TestSite { $0.extensions = [.distributionPoint("http://lists.test/")] }
        let lists = try row.lists(site)
        #expect(try site.claim(lists, .use).verdict() == row.use)
        #expect(try site.claim(lists, .require).verdict() == row.require)
        #expect(try site.claim(lists, .ignore).verdict() == "accepted")
    }

    @Test(
        "CB25: a signature that OpenSSL can't check counts as a bad signature",
        arguments: [(.p256, "ecdsa"), (.rsa2048, "rsa"), (.ed25519, "ed25519")] as [(TestKey.Kind, String)])
    func unjudgedSignatures(kind: TestKey.Kind, own: String) throws {
        let algorithms = [
            "ecdsa": TestDER.sequence(TestDER.objectIdentifier("1.2.840.10045.4.3.2")),
            "rsa": TestDER.sequence(TestDER.objectIdentifier("1.2.840.113549.1.1.11"), [0x05, 0x00]),
            "ed25519": TestDER.sequence(TestDER.objectIdentifier("1.3.101.112")),
        ]
        let garbage = [[], [0], [0x30, 0x00], [UInt8](repeating: 0x5A, count: 71), TestDER.sequence([1, 2, 3])]
        let root = try TestCertificate.root("Root", key: .shared(kind))
        let leaf = try root.leaf("api.example.test")
        func verdict(_ algorithm: String, _ signature: [UInt8]?) throws -> String {
            let list = try root.revocationList {
                $0.signatureAlgorithm = algorithms[algorithm]
                $0.signature = signature
            }
            return try RevocationClaim(path: [leaf, root], lists: [list]).verdict()
        }
        #expect(try verdict(own, nil) == "accepted")
        for signature in garbage { #expect(try verdict(own, signature) == "revocation-signer") }
        for other in algorithms.keys where other != own { #expect(try verdict(other, nil) == "revocation-signer") }
    }

    @Test("CB24: a list is valid from its first second to its last")
    func freshness() throws {
        let site = try TestSite()
        var claim = try site.claim([try site.intermediate.revocationList()])
        for (time, expected) in TestSite.boundaries {
            claim.time = time
            #expect(try claim.verdict() == expected)
        }
    }

    @Test("CB24: a revoked intermediate is reported at its position, unless it is the anchor")
    func intermediate() throws {
        let site = try TestSite()
        let list = try site.root.revocationList(.init(site.intermediate))
        #expect(try RevocationClaim(path: site.path, lists: [list]).verdict() == "revoked at 1")
        let anchored = RevocationClaim(path: [site.leaf, site.intermediate], lists: [list])
        #expect(try anchored.verdict() == "accepted")
    }

    @Test("CB24: a list for servers' certificates alone doesn't cover an intermediate")
    func scopeOfIntermediate() throws {
        let site = try TestSite()
        for (flag, expected) in [(1, "accepted"), (2, "revoked at 1")] as [(UInt8, String)] {
            let list = try site.root.revocationList(.init(site.intermediate)) {
                $0.scope = TestRevocationList.scope(flags: [flag])
            }
            #expect(try RevocationClaim(path: site.path, lists: [list]).verdict() == expected)
        }
    }

    @Test("An issuer can sign lists with cRLSign, or without any keyUsage")
    func keyUsage() throws {
        let root = try TestCertificate.root("Root")
        for (usage, expected) in [
            ([], "accepted"), ([.keyCertSign, .cRLSign], "accepted"), ([.keyCertSign], "revocation-signer"),
        ] as [(TestCertificate.KeyUsage, String)] {
            let issuer = try root.intermediate("Issuer") { $0.keyUsage = usage }
            let leaf = try issuer.leaf("api.example.test")
            let claim = RevocationClaim(path: [leaf, issuer, root], lists: [try issuer.revocationList()])
            #expect(try claim.verdict() == expected)
        }
    }

    @Test(
        "Lists signed by every kind of key are verified",
        arguments: [.rsa2048, .rsaPSS(bits: 2048), .p384, .ed25519] as [TestKey.Kind])
    func keys(_ kind: TestKey.Kind) throws {
        let root = try TestCertificate.root("Root", key: .shared(kind))
        let leaf = try root.leaf("api.example.test")
        let list = try root.revocationList(.init(leaf))
        #expect(try RevocationClaim(path: [leaf, root], lists: [list]).verdict() == "revoked")
        #expect(try RevocationClaim(path: [leaf, root], lists: [try root.revocationList()]).verdict() == "accepted")
    }

    @Test("A list is verified once for each key, however many certificates it covers")
    func signatures() throws {
        let site = try TestSite()
        // The root signed the list, the intermediate and its cross-signed existing. One path is rejected, and the other
        // one isn't.
        let existing = try site.root.crossSign(site.intermediate) { $0.serial = [0x42] }
        let list = try site.root.revocationList(.init(site.intermediate))
        var claim = RevocationClaim(path: [site.leaf, site.intermediate, existing, site.root], lists: [list])
        #expect(try claim.verdict() == "accepted")
        #expect(try claim.evaluation().budget.signatures == 2 + 2 + 1)
        claim.lists = []
        #expect(try claim.evaluation().budget.signatures == 2)
    }

    @Test("CB18: any number of lists in one issuer's name stay within the limit of a hundred signatures")
    func budget() throws {
        let site = try TestSite()
        let lists = try (1...120).map { number in
            try TestRevocationList(issuer: site.intermediate.subject).signed(by: site.other.key)
        }
        let result = try site.claim(lists).evaluation()
        #expect(result.accepted == nil)
        #expect(result.finding.rule == .budget)
        #expect(result.budget.signatures == TrustBudget.maximumSignatures)
    }

    @Test("The last of 100,000 entries counts")
    func large() throws {
        let site = try TestSite()
        let entries = (0..<100_000).map { number in
            TestRevocationList.Entry([0x40] + [16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) })
        }
        let list = try site.intermediate.revocationList { $0.entries = entries + [.init(site.leaf)] }
        #expect(try site.claim([list]).verdict() == "revoked")
        let others = try site.intermediate.revocationList { $0.entries = entries }
        #expect(try site.claim([others], .require).verdict() == "accepted")
    }
}
