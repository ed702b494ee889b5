import CertificateTrust
import FoundationEssentials
import PinctlCommands
import PinctlTestPKI
import Testing

/// Certificate changes that caused outages of real apps: a plan that could have been run beforehand fails with the
/// reason, and passes after the remedy.
@Suite("pinctl plan on past outages")
struct PlanOutageTests {
    private static let day: Int64 = 86_400
    private let now = Int64(testTime.timeIntervalSince1970)
    private let directory: TestDirectory

    init() throws { directory = try TestDirectory() }

    private func chain(_ certificates: TestCertificate...) throws -> String {
        try directory.add(certificates.map(\.pemText).joined())
    }

    private func pin(_ key: TestKey, _ role: String) throws -> String {
        #"{ "pin": "\#(try key.pin)", "role": "\#(role)" }"#
    }

    private func release(_ pins: String...) throws -> String { try directory.add(policyText([("api.test", pins)])) }

    private func plan(_ new: String, _ anchors: [TestCertificate], _ release: String, _ words: String...) async throws
        -> Run
    {
        let roots = try directory.add(anchors.map(\.pemText).joined())
        return await pinctl(["plan", "--ca-file", roots, "--new", new, "--against", release] + words)
    }

    /// Expects `red` to fail with the reason and `green` to pass.
    private func holds(
        _ new: String, _ anchors: [TestCertificate], red: String, green: String, _ words: [String] = [], reason: String
    ) async throws {
        let roots = try directory.add(anchors.map(\.pemText).joined())
        let base = ["plan", "--ca-file", roots, "--new", new] + words
        let before = await pinctl(base + ["--against", red])
        #expect(before.status == 1)
        #expect(before.output.contains(reason), "\(before.output)")
        let after = await pinctl(base + ["--against", green])
        #expect(after.status == 0, "\(after.output)")
    }

    @Test("A CDN moves from one CA to another: Cloudflare, Let's Encrypt to Google, 2026-07")
    func authorityMoved() async throws {
        let (old, new) = (try TestCertificate.root("E").intermediate("YE1"), try TestCertificate.root("G"))
        let issuer = try new.intermediate("WE1")
        let key = try TestKey()
        let reissued = try issuer.leaf("api.test", key: key)
        try await holds(
            chain(reissued, issuer), [new], red: release(pin(old.key, "intermediate")),
            green: release(pin(old.key, "intermediate"), pin(key, "leaf")), reason: "no pin matches the new chain")
    }

    @Test("An intermediate is replaced under the same root: CloudFront, Amazon M01 to M04, 2026-07")
    func intermediateReplaced() async throws {
        let root = try TestCertificate.root("Amazon Root")
        let (old, new) = (try root.intermediate("M01"), try root.intermediate("M04"))
        try await holds(
            chain(new.leaf("api.test"), new), [root], red: release(pin(old.key, "intermediate")),
            green: release(pin(old.key, "intermediate"), pin(root.key, "root")), reason: "no pin matches the new chain")
    }

    @Test("A CA issues from several intermediates at random: Let's Encrypt, since 2024")
    func randomIntermediate() async throws {
        let root = try TestCertificate.root("ISRG")
        let all = try (10...14).map { try root.intermediate("R\($0)") }
        let key = try TestKey()
        let request = try directory.add(TestSigningRequest(TestName(.commonName("api.test")), key: key).pemText)
        // Before anything is issued, the plan reports what the release depends on.
        let pinned = try release(pin(all[0].key, "intermediate"), pin(all[1].key, "intermediate"))
        let depends = try await plan(request, [root], pinned, "--current", chain(all[0].leaf("api.test"), all[0]))
        #expect(depends.output.contains("survives only if issued under CN=R10 or sha256/"))
        for issuer in all.dropFirst(2) {
            try await holds(
                chain(issuer.leaf("api.test", key: key), issuer), [root], red: pinned,
                green: release(pin(all[0].key, "intermediate"), pin(root.key, "root")),
                reason: "no pin matches the new chain")
        }
    }

    @Test("A root that cross-signed its successor expires: DST Root CA X3, 2021-09-30")
    func rootEnded() async throws {
        let end = now + 30 * Self.day
        let dst = try TestCertificate.root("DST Root CA X3") { $0.notAfter = end }
        let isrg = try TestCertificate.root("ISRG Root X1")
        let issuer = try isrg.intermediate("R3")
        let crossSigned = try dst.crossSign(isrg) { $0.notAfter = end }
        try await holds(
            chain(issuer.leaf("api.test"), issuer, crossSigned), [dst, isrg], red: release(pin(dst.key, "root")),
            green: release(pin(isrg.key, "root"), pin(dst.key, "root")), ["--fail-within", "100d"],
            reason: "DST Root CA X3")
    }

    @Test("A cross-signed CA becomes a root of its own: AddTrust, 2020-05-30")
    func crossSignatureEnded() async throws {
        let addTrust = try TestCertificate.root("AddTrust")
        let userTrust = try TestCertificate.root("USERTrust")
        let issuer = try userTrust.intermediate("Issuer")
        let crossSigned = try addTrust.crossSign(userTrust) { $0.notAfter = now + 30 * Self.day }
        try await holds(
            chain(issuer.leaf("api.test"), issuer, crossSigned), [addTrust, userTrust],
            red: release(pin(userTrust.key, "intermediate"), pin(addTrust.key, "root")),
            green: release(pin(userTrust.key, "ca"), pin(addTrust.key, "ca")), ["--fail-within", "100d"],
            reason: "USERTrust, issued by AddTrust, expires")
    }

    @Test("A leaf is renewed every 45 days, each time with a new key")
    func leafRekeyed() async throws {
        let root = try TestCertificate.root("Root")
        let issuer = try root.intermediate("Issuer")
        let leaf = try issuer.leaf("api.test") { $0.notAfter = now + 45 * Self.day }
        let words = ["--fail-within", "100d"]
        // Before the renewal, the release depends on one key.
        try await holds(
            chain(leaf, issuer), [root], red: release(pin(leaf.key, "leaf")),
            green: release(pin(leaf.key, "leaf"), pin(root.key, "root")), words, reason: "renew it with the same key")
        // With the renewed certificate available.
        try await holds(
            chain(issuer.leaf("api.test"), issuer), [root], red: release(pin(leaf.key, "leaf")),
            green: release(pin(leaf.key, "leaf"), pin(root.key, "root")), reason: "no pin matches the new chain")
    }

    @Test("The only key is lost, and there was never a backup key")
    func backupNeverMade() async throws {
        let root = try TestCertificate.root("Root")
        let key = try TestKey()
        let lost = try TestKey()
        let new = try directory.add(TestPEM.block("PUBLIC KEY", key.publicKeyDER))
        try await holds(
            new, [root], red: release(pin(lost, "leaf")), green: release(pin(lost, "leaf"), pin(key, "leaf")),
            reason: "no pin matches this key")
    }

    @Test("A network security config's pin-set expires, which silently turns pinning off")
    func pinSetEnded() async throws {
        let root = try TestCertificate.root("Root")
        let leaf = try root.leaf("api.test")
        let pins = [try leaf.key.pin, try root.key.pin]
        try await holds(
            chain(leaf), [root], red: directory.add(androidText(pins, expiration: "2027-02-01")),
            green: directory.add(androidText(pins, expiration: "2028-02-01")), ["--fail-within", "100d"],
            reason: "its pins are off then")
    }
}
