import FoundationEssentials
import PinctlBasics
import PinctlTestPKI
import Testing

@testable import CertificateTrust

@Suite("Lifetimes of certificates from public CAs")
struct LifetimeTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let start: String
        /// The longest lifetime in days, or `nil` without a limit.
        let days: Int64?

        var testDescription: String { "issued \(start)" }

        init(_ start: String, _ days: Int64?) {
            self.start = start
            self.days = days
        }
    }

    @Test(
        "Strict accepts a lifetime of exactly the limit for its day of issue, and refuses one more second",
        arguments: [
            Row("2018-02-28T23:59:59Z", nil), Row("2018-03-01T00:00:00Z", 825), Row("2020-08-31T23:59:59Z", 825),
            Row("2020-09-01T00:00:00Z", 398), Row("2026-03-14T23:59:59Z", 398), Row("2026-03-15T00:00:00Z", 200),
            Row("2027-03-14T23:59:59Z", 200), Row("2027-03-15T00:00:00Z", 100), Row("2029-03-14T23:59:59Z", 100),
            Row("2029-03-15T00:00:00Z", 47), Row("2040-01-01T00:00:00Z", 47),
        ])
    func boundaries(_ row: Row) throws {
        let start = Int64(try #require(Date(rfc3339: row.start)).timeIntervalSince1970)
        // Both ends count, so the last second of a day's lifetime is 86,399 seconds after the first.
        let longest = (row.days ?? 3_000) * 86_400 - 1
        #expect(try Self.claim(from: start, lasting: longest).verdict() == "accepted")
        let finding = try Self.claim(from: start, lasting: longest + 1).finding()
        guard let days = row.days else {
            #expect(finding == nil)
            return
        }
        #expect(finding?.rule == .lifetime)
        #expect(finding?.depth == 0)
        #expect(
            finding?.detail.hasPrefix(
                "is valid for \(days + 1) days, but public CAs may issue for at most \(days) days")
                == true, "\(finding?.detail ?? "")")
    }

    @Test("Only the profile strict, the keys of public roots and the certificates of servers are bound")
    func bound() throws {
        let start = Int64(try #require(Date(rfc3339: "2026-03-15T00:00:00Z")).timeIntervalSince1970)
        var claim = try Self.claim(from: start, lasting: 400 * 86_400)
        #expect(try claim.verdict() == "lifetime")
        let strict = claim.policy

        claim.policy.publicRoots = []
        #expect(try claim.verdict() == "accepted")
        // The library's own list doesn't have the keys of these tests.
        claim.policy.publicRoots = nil
        #expect(try claim.verdict() == "accepted")

        claim.policy = strict.without(.lifetime)
        #expect(try claim.verdict() == "accepted")
        claim.policy = .default
        claim.policy.publicRoots = strict.publicRoots
        #expect(try claim.verdict() == "accepted")

        claim.policy = strict
        claim.policy.purpose = .client
        claim.leaf = try Self.leaf(of: claim.anchors[0], from: start, lasting: 400 * 86_400) {
            $0.extendedKeyUsages = [TestCertificate.ExtendedKeyUsage.clientAuth]
        }
        #expect(try claim.verdict() == "accepted")
    }

    @Test("A public root in the middle of a path binds the leaf too, and the leaf's own key doesn't")
    func crossSigned() throws {
        let start = Int64(try #require(Date(rfc3339: "2026-03-15T00:00:00Z")).timeIntervalSince1970)
        let root = try TestCertificate.root("Public")
        let other = try TestCertificate.root("Private")
        let leaf = try Self.leaf(of: root, from: start, lasting: 400 * 86_400)
        var claim = Claim(leaf: leaf, presented: [try other.crossSign(root)], anchors: [other], time: start)
        claim.policy = .strict
        claim.policy.publicRoots = [try X509Certificate(derBytes: root.derBytes).spkiFingerprint]
        #expect(try claim.verdict() == "lifetime")
        claim.policy.publicRoots = [try X509Certificate(derBytes: leaf.derBytes).spkiFingerprint]
        #expect(try claim.verdict() == "accepted")
    }

    @Test("The list of public roots is that of pins/public-roots.jsonc, and has roots of this machine")
    func list() throws {
        let bytes = Array(try Data(contentsOf: URL(filePath: "pins/public-roots.jsonc")))
        let pins = try #require(JSONCReader.read(bytes, dialect: .jsonc).root?["pins"]?.members)
        #expect(pins.count > 100)
        #expect(Set(pins.compactMap { $0.value["pin"]?.string }) == Set(PublicRoots.known.map(\.description)))
        let root = try #require(try CertificateFile.read("/etc/ssl/certs/ISRG_Root_X1.pem").first)
        #expect(PublicRoots.known.contains(root.spkiFingerprint))
    }

    /// Returns a claim for a leaf of a public CA, evaluated in its first second.
    private static func claim(from start: Int64, lasting seconds: Int64) throws -> Claim {
        let root = try TestCertificate.root("Public") {
            $0.notBefore = start - 86_400
            $0.notAfter = start + 20_000 * 86_400
        }
        var claim = Claim(leaf: try leaf(of: root, from: start, lasting: seconds), anchors: [root], time: start)
        claim.policy = .strict
        claim.policy.publicRoots = [try X509Certificate(derBytes: root.derBytes).spkiFingerprint]
        return claim
    }

    private static func leaf(
        of issuer: TestCertificate, from start: Int64, lasting seconds: Int64,
        adjusting adjust: (inout TestCertificate.Settings) -> Void = { _ in }
    ) throws -> TestCertificate {
        try issuer.leaf("api.example.test") {
            $0.notBefore = start
            $0.notAfter = start + seconds
            adjust(&$0)
        }
    }
}
