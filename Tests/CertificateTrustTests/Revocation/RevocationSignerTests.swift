import PinctlTestPKI
import Testing

@testable import CertificateTrust

/// Tests of lists that weren't signed by the certificate's issuer on the path.
@Suite("Signers of revocation lists")
struct RevocationSignerTests {
    let root: TestCertificate
    let issuer: TestCertificate
    let signer: TestCertificate
    let leaf: TestCertificate

    init() throws {
        root = try TestCertificate.root("Root")
        issuer = try root.intermediate("Issuer")
        signer = try root.issue(Self.signerSettings("Signer"))
        leaf = try issuer.leaf("api.example.test") {
            $0.extensions = [.distributionPoint(listIssuer: "Signer")]
        }
    }

    private static func signerSettings(_ name: String) -> TestCertificate.Settings {
        var settings = TestCertificate.Settings(subject: TestName(.commonName(name)))
        settings.keyUsage = .cRLSign
        return settings
    }

    private func claim(_ lists: [[UInt8]], signers: [TestCertificate]? = nil) throws -> RevocationClaim {
        RevocationClaim(
            path: [leaf, issuer, root], lists: lists + [try root.revocationList()], certificates: signers ?? [signer])
    }

    private func indirect(_ entries: TestRevocationList.Entry...) throws -> [UInt8] {
        try signer.revocationList {
            $0.entries = entries
            $0.scope = TestRevocationList.scope(flags: [4])
        }
    }

    @Test("CB24: a newer list of a CA with the same name doesn't override a revocation")
    func namesakeAuthority() throws {
        let leaf = try issuer.leaf("api.example.test")
        let namesake = try root.intermediate("Issuer")
        let revoking = try issuer.revocationList(.init(leaf))
        let older = try issuer.revocationList { $0.thisUpdate = 1_798_500_000 }
        let newer = try namesake.revocationList { $0.thisUpdate = 1_799_500_000 }
        let lifting = try issuer.revocationList { ($0.thisUpdate, $0.number) = (1_799_500_000, 2) }
        let rest = [try root.revocationList()]
        for mode in [RevocationMode.use, .require] {
            func verdict(_ lists: [[UInt8]]) throws -> String {
                var claim = RevocationClaim(path: [leaf, issuer, root], lists: lists + rest, mode: mode)
                claim.certificates = [namesake]
                return try claim.verdict()
            }
            #expect(try verdict([revoking, newer]) == "revoked")
            #expect(try verdict([revoking, newer, older]) == "revoked")
            #expect(try verdict([older, newer]) == "accepted")
            // Among the lists of one key, the newest counts.
            #expect(try verdict([revoking, lifting]) == "accepted")
        }
        // A newer list of the same key that covers only some reasons doesn't affect the other reasons.
        let some = try issuer.revocationList {
            $0.thisUpdate = 1_799_500_000
            $0.scope = TestRevocationList.scope(reasons: [1])
        }
        let others = try issuer.revocationList {
            $0.entries = [.init(leaf)]
            $0.scope = TestRevocationList.scope(reasons: [2, 3, 4, 5, 6, 7, 8])
        }
        #expect(try RevocationClaim(path: [leaf, issuer, root], lists: [some, others] + rest).verdict() == "revoked")
    }

    @Test("CB24: a newer list by another key doesn't hide a revocation in a delta")
    func namesakeBesideDelta() throws {
        let leaf = try issuer.leaf("api.example.test")
        let namesake = try root.intermediate("Issuer")
        let newer = try namesake.revocationList { $0.thisUpdate = 1_799_500_000 }
        let base = try issuer.revocationList()
        let delta = try issuer.revocationList(.init(leaf)) { ($0.baseNumber, $0.number) = (1, 2) }
        var claim = RevocationClaim(path: [leaf, issuer, root], lists: [newer, base, try root.revocationList()])
        claim.certificates = [namesake]
        #expect(try claim.verdict() == "accepted")
        claim.lists.append(delta)
        #expect(try claim.verdict() == "revoked")
    }

    @Test("CB24: the list of a stolen key doesn't hide the revocation of its certificate")
    func stolenKey() throws {
        var settings = Self.signerSettings("Signer")
        settings.extensions = [.distributionPoint(listIssuer: "Signer")]
        let other = try root.intermediate("Other")
        let signer = try other.issue(settings, key: signer.key)
        var claim = try claim([], signers: [signer, other])
        let base = try other.revocationList()
        let delta = try other.revocationList(.init(signer)) { ($0.baseNumber, $0.number) = (1, 2) }
        for (lists, expected) in [
            ([base], "accepted"), ([base, delta], "revocation-signer"),
            ([try other.revocationList(.init(signer))], "revocation-signer"),
        ] {
            claim.lists = [try indirect(), try root.revocationList()] + lists
            #expect(try claim.verdict() == expected)
        }
    }

    @Test("CB24: an indirect list covers the certificates of the issuers that its entries name")
    func indirectLists() throws {
        let other = TestName(.commonName("Other"))
        let rows: [(entries: [TestRevocationList.Entry], expected: String)] = [
            ([], "accepted"),
            ([.init(leaf).issued(by: issuer.subject)], "revoked"),
            // An entry without a name belongs to the issuer that the entry before it named, or else to the list's
            // signer.
            ([.init(leaf)], "accepted"),
            ([.init([0x41]).issued(by: issuer.subject), .init(leaf)], "revoked"),
            ([.init([0x41]).issued(by: issuer.subject), .init(leaf).issued(by: other)], "accepted"),
            ([.init([0x41]).issued(by: other), .init(leaf)], "accepted"),
        ]
        for row in rows {
            let list = try signer.revocationList {
                $0.entries = row.entries
                $0.scope = TestRevocationList.scope(flags: [4])
            }
            var claim = try claim([list])
            #expect(try claim.verdict() == row.expected)
            claim.mode = .require
            #expect(try claim.verdict() == row.expected)
        }
    }

    @Test("CB24: a list that isn't indirect doesn't cover another issuer's certificates")
    func directList() throws {
        var claim = try claim([try signer.revocationList(.init(leaf))])
        #expect(try claim.verdict() == "accepted")
        claim.mode = .require
        #expect(try claim.verdict() == "revocation-unknown")
        let named = try signer.revocationList(.init(leaf).issued(by: issuer.subject)) {
            $0.issuer = self.issuer.subject
        }
        #expect(try self.claim([named]).verdict() == "revocation-unusable")
    }

    @Test("CB24: a list signer needs the right to sign lists, a path to the same anchor, and no revocation")
    func signers() throws {
        let list = try indirect()
        let unrelated = try TestCertificate.root("Unrelated").issue(Self.signerSettings("Signer"), key: signer.key)
        var settings = Self.signerSettings("Signer")
        settings.keyUsage = .digitalSignature
        let useless = try root.issue(settings, key: signer.key)
        settings = Self.signerSettings("Signer")
        settings.notAfter = 1_799_999_999
        let expired = try root.issue(settings, key: signer.key)
        #expect(try claim([list], signers: []).verdict() == "revocation-signer")
        for signer in [unrelated, useless, expired] {
            #expect(try claim([list], signers: [signer]).verdict() == "revocation-signer")
        }
        #expect(try claim([list], signers: [unrelated, useless, expired, signer]).verdict() == "accepted")
        var claim = try claim([list])
        claim.lists = [list, try root.revocationList(.init(signer))]
        #expect(try claim.verdict() == "revocation-signer")
        claim.mode = .require
        claim.lists = [list, try root.revocationList()]
        #expect(try claim.verdict() == "accepted")
        // The root's list that covers the signer, and thus the intermediate too, is missing.
        claim.lists = [list]
        #expect(try claim.verdict() == "revocation-signer")
    }

    @Test("An issuer can sign its lists with another key, in a certificate with the issuer's name")
    func separateKeys() throws {
        let leaf = try issuer.leaf("api.example.test")
        let listKey = try root.issue(Self.signerSettings("Issuer"))
        for (entries, expected) in [([], "accepted"), ([.init(leaf)], "revoked")]
            as [([TestRevocationList.Entry], String)]
        {
            var claim = RevocationClaim(
                path: [leaf, issuer, root],
                lists: [try listKey.revocationList { $0.entries = entries }, try root.revocationList()],
                certificates: [listKey], mode: .require)
            #expect(try claim.verdict() == expected)
            claim.certificates = []
            #expect(try claim.verdict() == "revocation-signer")
        }
    }

    @Test("CB24: a certificate with the issuer's name that isn't marked for signing lists can't sign them")
    func silentNamesake() throws {
        let leaf = try issuer.leaf("api.example.test")
        var settings = TestCertificate.Settings(subject: issuer.subject)
        settings.extendedKeyUsages = [TestCertificate.ExtendedKeyUsage.serverAuth]
        let namesake = try root.issue(settings)
        let newer = try namesake.revocationList { $0.thisUpdate = 1_799_500_000 }
        var claim = RevocationClaim(path: [leaf, issuer, root], lists: [newer, try root.revocationList()])
        claim.certificates = [namesake]
        for mode in [RevocationMode.use, .require] {
            claim.mode = mode
            #expect(try claim.verdict() == "revocation-signer")
        }
        claim.lists.append(try issuer.revocationList(.init(leaf)))
        #expect(try claim.verdict() == "revoked")
        // An issuer without keyUsage can still sign its lists.
        let silent = try root.intermediate("Silent") { $0.keyUsage = [] }
        let other = try silent.leaf("api.example.test")
        let lists = [try silent.revocationList(), try root.revocationList()]
        #expect(try RevocationClaim(path: [other, silent, root], lists: lists, mode: .require).verdict() == "accepted")
    }

    @Test("CB24: a newer list from a revoked list signer doesn't override the issuer's list")
    func revokedSignersWord() throws {
        let leaf = try issuer.leaf("api.example.test")
        let thief = try issuer.issue(Self.signerSettings("Issuer"))
        let forged = try thief.revocationList { $0.thisUpdate = 1_799_500_000 }
        for (entries, expected) in [
            ([.init(thief), .init(leaf)], "revoked"), ([.init(thief)], "accepted"), ([], "accepted"),
        ] as [([TestRevocationList.Entry], String)] {
            let list = try issuer.revocationList { $0.entries = entries }
            var claim = RevocationClaim(
                path: [leaf, issuer, root], lists: [forged, list, try root.revocationList()], certificates: [thief])
            for mode in [RevocationMode.use, .require] {
                claim.mode = mode
                #expect(try claim.verdict() == expected)
            }
        }
    }

    @Test("A CA can let its list signer cover the signer's own certificate")
    func ownStatus() throws {
        var settings = Self.signerSettings("Signer")
        settings.extensions = [.distributionPoint(listIssuer: "Signer")]
        let signer = try issuer.issue(settings, key: signer.key)
        for (entries, expected) in [
            ([], "accepted"), ([.init(signer).issued(by: issuer.subject)], "revocation-signer"),
        ] as [([TestRevocationList.Entry], String)] {
            let list = try signer.revocationList {
                $0.entries = entries
                $0.scope = TestRevocationList.scope(flags: [4])
            }
            var claim = try claim([list], signers: [signer])
            claim.mode = .require
            #expect(try claim.verdict() == expected)
        }
    }

    @Test(
        "List signers can cover each other's certificates up to three levels deep",
        arguments: [(3, "accepted"), (4, "revocation-signer")])
    func nesting(_ count: Int, _ expected: String) throws {
        var signers: [TestCertificate] = []
        var lists: [[UInt8]] = []
        for number in 1...count {
            var settings = Self.signerSettings(number == 1 ? "Signer" : "Signer \(number)")
            if number < count {
                settings.extensions = [.distributionPoint(listIssuer: TestName(.commonName("Signer \(number + 1)")))]
            }
            let signer = try issuer.issue(settings)
            signers.append(signer)
            lists.append(try signer.revocationList { $0.scope = TestRevocationList.scope(flags: [4]) })
        }
        #expect(try claim(lists, signers: signers).verdict() == expected)
    }

    @Test("CB18: many certificates in a list signer's name don't each cost a signature")
    func impostors() throws {
        let unrelated = try TestCertificate.root("Unrelated")
        let impostors = try (0..<60).map { _ in try unrelated.issue(Self.signerSettings("Signer")) }
        let result = try claim([try indirect()], signers: impostors).evaluation()
        #expect(result.finding.rule == .revocationSigner)
        #expect(result.budget.signatures == 2 + 8)
    }

    @Test("CB18: the search for a list signer's path counts against the evaluation's budget")
    func nestedSearch() throws {
        let authority = try root.intermediate("List Authority")
        let signer = try authority.issue(Self.signerSettings("Signer"), key: signer.key)
        let result = try claim([try indirect()], signers: [authority, signer]).evaluation()
        #expect(result.accepted != nil)
        // The path, the signer's list, the signer's path, and the root's list.
        #expect(result.budget.signatures == 2 + 1 + 2 + 1)
        #expect(result.budget.candidates == 1 + 1)
        #expect(result.budget.steps == 2 + 2)
    }

    @Test("CB18: the searches for list signers' paths share a limit of fifty candidates")
    func nestedCandidates() throws {
        // Each signer's certificates name the root as issuer, but the root didn't sign them, so each costs a candidate.
        let impostor = try TestCertificate.root("Root")
        var points: [UInt8] = []
        var lists = [try root.revocationList()]
        var certificates: [TestCertificate] = []
        for number in 0..<7 {
            let name = "Signer \(number)"
            let key = try TestKey()
            certificates += try (0..<8).map { _ in try impostor.issue(Self.signerSettings(name), key: key) }
            var list = TestRevocationList(issuer: TestName(.commonName(name)))
            list.scope = TestRevocationList.scope(flags: [4])
            lists.append(try list.signed(by: key))
            let directory = TestCertificate.GeneralName.directory(TestName(.commonName(name)))
            points += TestDER.sequence(TestDER.constructed(2, directory.derBytes))
        }
        let leaf = try issuer.leaf("api.example.test") {
            $0.extensions = [.init("2.5.29.31", TestDER.element(0x30, points))]
        }
        let result = try RevocationClaim(path: [leaf, issuer, root], lists: lists, certificates: certificates)
            .evaluation()
        #expect(result.accepted == nil)
        #expect(result.budget.candidates == TrustBudget.maximumCandidates)
    }

    @Test("A list signer is found among many certificates, and through an intermediate of its own")
    func manyCertificates() throws {
        let authority = try root.intermediate("List Authority")
        let signer = try authority.issue(Self.signerSettings("Signer"), key: signer.key)
        let unrelated = try (0..<120).map { number in try root.issue(Self.signerSettings("Unrelated \(number)")) }
        let list = try indirect()
        #expect(try claim([list], signers: unrelated + [authority, signer]).verdict() == "accepted")
        #expect(try claim([list], signers: unrelated + [signer]).verdict() == "revocation-signer")
    }

    @Test("A list signer with a weak key doesn't count")
    func weakKey() throws {
        let weak = try root.issue(Self.signerSettings("Signer"), key: .shared(.rsa(bits: 1024)))
        let list = try weak.revocationList { $0.scope = TestRevocationList.scope(flags: [4]) }
        #expect(try claim([list], signers: [weak]).verdict() == "revocation-signer")
    }
}
