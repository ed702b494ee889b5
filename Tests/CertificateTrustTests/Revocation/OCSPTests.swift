import PinctlTestPKI
import Testing

@testable import CertificateTrust

@Suite("Stapled OCSP responses")
struct OCSPTests {
    struct Row: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let expected: String
        let staple: @Sendable (TestSite) throws -> [UInt8]

        init(_ sentence: String, _ expected: String, _ staple: @escaping @Sendable (TestSite) throws -> [UInt8]) {
            testDescription = sentence
            self.expected = expected
            self.staple = staple
        }
    }

    private static func response(
        _ site: TestSite, adjusting adjust: (inout TestOCSPResponse) -> Void = { _ in }
    ) -> TestOCSPResponse {
        var response = TestOCSPResponse(site.leaf, issuedBy: site.intermediate)
        adjust(&response)
        return response
    }

    /// Returns a good response that carries a certificate with an extension of `bytes` bytes.
    private static func response(_ site: TestSite, beside bytes: Int) throws -> [UInt8] {
        let large = try responder(of: site.intermediate) {
            $0.extensions = [.init("1.2.3.4", [UInt8](repeating: 0, count: bytes))]
        }
        return try response(site).signed(by: site.intermediate, including: [large])
    }

    /// Returns a responder's certificate issued by a CA. It has OCSPSigning unless `adjust` changes that.
    private static func responder(
        of authority: TestCertificate, key: TestKey? = nil,
        adjusting adjust: (inout TestCertificate.Settings) -> Void = { _ in }
    ) throws -> TestCertificate {
        var settings = TestCertificate.Settings(subject: TestName(.commonName("Responder")))
        settings.keyUsage = .digitalSignature
        settings.extendedKeyUsages = [TestCertificate.ExtendedKeyUsage.ocspSigning]
        adjust(&settings)
        return try authority.issue(settings, key: key)
    }

    private static func delegated(
        _ site: TestSite, key: TestKey? = nil,
        adjusting adjust: (inout TestCertificate.Settings) -> Void = { _ in }
    ) throws -> [UInt8] {
        let responder = try responder(of: site.intermediate, key: key, adjusting: adjust)
        return try response(site).signed(by: responder, including: [responder])
    }

    static let rows: [Row] = [
        .init("good, by the issuer", "accepted") { try response($0).signed(by: $0.intermediate) },
        .init("good, by SHA-256 identifiers", "accepted") {
            try response($0) { $0.usesSHA256 = true }.signed(by: $0.intermediate)
        },
        .init("good, by an issuer named by its key", "accepted") {
            try response($0) { $0.namesKey = true }.signed(by: $0.intermediate)
        },
        .init("good, by a responder of the issuer", "accepted") { try delegated($0) },
        .init("good, by a responder among unrelated", "accepted") {
            let responder = try responder(of: $0.intermediate)
            return try response($0).signed(by: responder, including: [$0.other, try .root("Responder"), responder])
        },
        .init("CB24: revoked", "revoked") {
            try response($0) { $0.status = .revoked(reason: 1) }.signed(by: $0.intermediate)
        },
        .init("CB24: on hold, no reason told", "revoked") {
            try response($0) { $0.status = .revoked(reason: nil) }.signed(by: $0.intermediate)
        },
        .init("CB24: revoked, by a responder of the issuer", "revoked") {
            let responder = try responder(of: $0.intermediate)
            return try response($0) { $0.status = .revoked(reason: 1) }.signed(by: responder, including: [responder])
        },
        .init("unknown to the responder", "revocation-unknown") {
            try response($0) { $0.status = .unknown }.signed(by: $0.intermediate)
        },
        .init("CB24: expired", "revocation-stale") {
            try response($0) { $0.nextUpdate = 1_799_999_999 }.signed(by: $0.intermediate)
        },
        .init("CB24: of the future", "revocation-stale") {
            try response($0) { $0.thisUpdate = 1_800_000_001 }.signed(by: $0.intermediate)
        },
        .init("CB24: without an end, to be replayed forever", "revocation-stale") {
            try response($0) { $0.nextUpdate = nil }.signed(by: $0.intermediate)
        },
        .init("CB24: for another certificate", "revocation-unusable") { site in
            try TestOCSPResponse(try site.intermediate.leaf("api.example.test"), issuedBy: site.intermediate).signed(
                by: site.intermediate)
        },
        .init("CB24: for the serial number of another issuer", "revocation-unusable") {
            try TestOCSPResponse($0.leaf, issuedBy: $0.other).signed(by: $0.intermediate)
        },
        .init("CB24: for an issuer of another name", "revocation-unusable") {
            let namesake = try $0.root.intermediate("Other", key: $0.intermediate.key)
            return try TestOCSPResponse($0.leaf, issuedBy: namesake).signed(by: $0.intermediate)
        },
        .init("CB24: for an issuer of another key", "revocation-unusable") { site in
            let namesake = try site.root.intermediate("") { $0.subject = site.intermediate.subject }
            return try TestOCSPResponse(site.leaf, issuedBy: namesake).signed(by: site.intermediate)
        },
        .init("CB24: by another authority", "revocation-signer") {
            try response($0).signed(by: $0.other, including: [$0.other])
        },
        .init("CB24: by a responder of another authority", "revocation-signer") {
            let responder = try responder(of: $0.other)
            return try response($0).signed(by: responder, including: [responder])
        },
        .init("CB24: by the leaf itself", "revocation-signer") {
            try response($0).signed(by: $0.leaf, including: [$0.leaf])
        },
        .init("CB24: by the leaf itself, which the issuer made a responder", "revocation-signer") {
            try delegated($0, key: $0.leaf.key)
        },
        .init("CB24: by a responder that the issuer only seems to have made", "revocation-signer") { site in
            let impostor = try TestCertificate.root("") { $0.subject = site.intermediate.subject }
            let responder = try responder(of: impostor)
            return try response(site).signed(by: responder, including: [responder])
        },
        .init("CB24: by a responder of another authority with the issuer's key", "revocation-signer") {
            let namesake = try $0.root.intermediate("Other", key: $0.intermediate.key)
            let responder = try responder(of: namesake)
            return try response($0).signed(by: responder, including: [responder])
        },
        .init("by a responder whose certificate did not come", "revocation-signer") {
            try response($0).signed(by: try responder(of: $0.intermediate))
        },
        .init("by a certificate for servers", "revocation-signer") {
            try delegated($0) { $0.extendedKeyUsages = [TestCertificate.ExtendedKeyUsage.serverAuth] }
        },
        .init("by a certificate without extendedKeyUsage", "revocation-signer") {
            try delegated($0) { $0.extendedKeyUsages = [] }
        },
        .init("by a certificate for any purpose", "revocation-signer") {
            try delegated($0) { $0.extendedKeyUsages = [TestCertificate.ExtendedKeyUsage.any] }
        },
        .init("by a responder that may not sign", "revocation-signer") {
            try delegated($0) { $0.keyUsage = .keyEncipherment }
        },
        .init("by an expired responder", "revocation-signer") { try delegated($0) { $0.notAfter = 1_799_999_999 } },
        .init("by a responder of the future", "revocation-signer") {
            try delegated($0) { $0.notBefore = 1_800_000_001 }
        },
        .init("by a responder with an unknown critical extension", "revocation-signer") {
            try delegated($0) { $0.extensions = [RevocationListTests.unknown] }
        },
        .init("by a responder with a weak key", "revocation-signer") {
            try delegated($0, key: .shared(.rsa(bits: 1024)))
        },
        .init("by a responder certified with SHA-1", "revocation-signer") { try delegated($0) { $0.digest = .sha1 } },
        .init("signed with SHA-1", "revocation-signer") {
            try response($0) { $0.digest = .sha1 }.signed(by: $0.intermediate)
        },
        .init("with a broken signature", "revocation-signer") {
            var staple = try response($0).signed(by: $0.intermediate)
            staple[staple.count - 1] ^= 1
            return staple
        },
        .init("with a critical extension", "revocation-unusable") {
            try response($0) { $0.extensions = [RevocationListTests.unknown] }.signed(by: $0.intermediate)
        },
        .init("with an extension", "accepted") {
            try response($0) { $0.extensions = [RevocationListTests.harmless] }.signed(by: $0.intermediate)
        },
        .init("an error of the responder", "revocation-unusable") {
            try response($0) { $0.responseStatus = 3 }.signed(by: $0.intermediate)
        },
        .init("nothing", "revocation-unusable") { _ in [] },
        .init("CB18: with a certificate of 30 KB in it", "accepted") { try response($0, beside: 30_000) },
        .init("CB18: of over 32 KiB", "revocation-unusable") { try response($0, beside: 33_000) },
        .init("with bytes behind it", "revocation-unusable") { try response($0).signed(by: $0.intermediate) + [0] },
        .init("cut off", "revocation-unusable") { try response($0).signed(by: $0.intermediate).dropLast() },
    ]

    @Test("A stapled response decides the verdict on the leaf, unless revocation is ignored", arguments: rows)
    func staples(_ row: Row) throws {
        let site = try TestSite()
        var claim = try site.claim([])
        claim.staple = try row.staple(site)
        for (mode, expected) in [(RevocationMode.use, row.expected), (.require, row.expected), (.ignore, "accepted")] {
            claim.mode = mode
            #expect(try claim.verdict() == expected)
        }
    }

    /// Two single responses in one response, and the verdict, which is the same in either order.
    struct PairRow: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let expected: String
        let first: @Sendable (inout TestOCSPResponse, TestSite) throws -> Void
        let second: @Sendable (inout TestOCSPResponse, TestSite) throws -> Void

        init(
            _ sentence: String, _ expected: String,
            _ first: @escaping @Sendable (inout TestOCSPResponse, TestSite) throws -> Void = { _, _ in },
            _ second: @escaping @Sendable (inout TestOCSPResponse, TestSite) throws -> Void
        ) {
            testDescription = sentence
            self.expected = expected
            self.first = first
            self.second = second
        }
    }

    static let pairs: [PairRow] = [
        .init("good twice", "accepted") { _, _ in },
        .init("good and revoked", "revoked") { response, _ in response.status = .revoked(reason: 1) },
        .init("good by SHA-1 and revoked by SHA-256", "revoked") { response, _ in
            response.status = .revoked(reason: 1)
            response.usesSHA256 = true
        },
        .init("good and unknown", "revocation-unknown") { response, _ in response.status = .unknown },
        .init("good twice, one stale", "revocation-stale") { response, _ in response.nextUpdate = 1_799_999_999 },
        .init("good twice, one of the future", "revocation-stale") { response, _ in
            response.thisUpdate = 1_800_000_001
        },
        .init("good twice, one without an end", "revocation-stale") { response, _ in response.nextUpdate = nil },
        .init("good, and another certificate revoked", "accepted") { response, site in
            response.certificate = try site.intermediate.leaf("api.example.test")
            response.status = .revoked(reason: 1)
        },
        .init("good, and another certificate stale", "accepted") { response, site in
            response.certificate = try site.intermediate.leaf("api.example.test")
            response.nextUpdate = 1_799_999_999
        },
        .init(
            "revoked, and another certificate good", "revoked",
            { response, _ in
                response.status = .revoked(reason: nil)
            },
            { response, site in
                response.certificate = try site.intermediate.leaf("api.example.test")
            }),
    ]

    @Test("CB24: every single response about the leaf counts, in any order", arguments: pairs)
    func singleResponses(_ row: PairRow) throws {
        let site = try TestSite()
        var (first, second) = (Self.response(site), Self.response(site))
        try row.first(&first, site)
        try row.second(&second, site)
        for (leading, following) in [(first, second), (second, first)] {
            var response = leading
            response.others = [following]
            var claim = try site.claim([])
            claim.staple = try response.signed(by: site.intermediate)
            #expect(try claim.verdict() == row.expected)
        }
    }

    @Test("CB24: a response is valid from its first second to its last")
    func freshness() throws {
        let site = try TestSite()
        var claim = RevocationClaim(path: site.path, staple: try Self.response(site).signed(by: site.intermediate))
        for (time, expected) in TestSite.boundaries {
            claim.time = time
            #expect(try claim.verdict() == expected)
        }
    }

    @Test("CB24: a certificate that requires a staple is rejected without one, unless revocation is ignored")
    func mustStaple() throws {
        let site = try TestSite { $0.extensions = [.mustStaple] }
        var claim = try site.claim([try site.intermediate.revocationList()])
        #expect(try claim.verdict() == "missing-staple")
        claim.mode = .require
        #expect(try claim.verdict() == "missing-staple")
        claim.staple = try Self.response(site).signed(by: site.intermediate)
        #expect(try claim.verdict() == "accepted")
        claim.mode = .ignore
        claim.staple = nil
        #expect(try claim.verdict() == "accepted")
    }

    @Test("A revocation in a list overrides a good response, and a good response overrides a stale list")
    func listsBeside() throws {
        let site = try TestSite()
        var claim = try site.claim([try site.intermediate.revocationList(.init(site.leaf))])
        claim.staple = try Self.response(site).signed(by: site.intermediate)
        #expect(try claim.verdict() == "revoked")
        claim = try site.claim([try site.intermediate.revocationList { $0.nextUpdate = 1_799_999_999 }], .require)
        claim.staple = try Self.response(site).signed(by: site.intermediate)
        #expect(try claim.verdict() == "accepted")
    }

    @Test("CB24: a revoked responder doesn't count, unless its issuer marked it with ocsp-nocheck")
    func revokedResponder() throws {
        let site = try TestSite()
        for (extensions, expected) in [([], "revocation-signer"), ([.ocspNoCheck], "accepted")]
            as [([TestCertificate.Extension], String)]
        {
            let responder = try Self.responder(of: site.intermediate) { $0.extensions = extensions }
            var claim = try site.claim([try site.intermediate.revocationList(.init(responder))])
            claim.staple = try Self.response(site).signed(by: responder, including: [responder])
            #expect(try claim.verdict() == expected)
        }
    }

    @Test("CB24: a staple covers only the leaf, and an intermediate still needs its own status")
    func intermediate() throws {
        let site = try TestSite()
        let claim = RevocationClaim(
            path: site.path, staple: try Self.response(site).signed(by: site.intermediate), mode: .require)
        #expect(try claim.verdict() == "revocation-unknown at 1")
    }

    @Test("An unreadable TLS feature extension requires a staple, and one for another TLS feature doesn't")
    func otherFeatures() throws {
        for (value, expected) in [
            (TestDER.sequence(TestDER.integer(17)), "accepted"), (TestDER.sequence(), "accepted"),
            ([0x05, 0x00], "missing-staple"), (TestDER.sequence(TestDER.utf8String("5")), "missing-staple"),
        ] {
            let site = try TestSite { $0.extensions = [.init("1.3.6.1.5.5.7.1.24", value)] }
            #expect(try site.claim([]).verdict() == expected)
        }
    }
}
