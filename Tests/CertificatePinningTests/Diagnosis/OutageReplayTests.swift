import CertificatePinning
import CertificateTrust
import FoundationEssentials
import PinDialects
import PinctlTestPKI
import Testing

/// Rebuilds key rotations that broke real apps. Each test checks what lint reports while there is still time, that its
/// remedy would have worked, and what the diagnosis reports on the day of the outage.
@Suite("Replayed outages")
struct OutageReplayTests {
    /// The day on which lint runs, 2027-01-15, and the day of the outage.
    private let before = TestSite.time
    private let after = TestSite.time + 60 * 86_400
    private let directory: TestDirectory

    init() throws { directory = try TestDirectory() }

    /// Returns a policy with one rule for the test server, in a file next to the certificates.
    private func policy(_ pins: [String], rule: String = "") throws -> PolicyFile {
        let text = """
            { "version": 1, "domains": [
              { "host": "\(TestSite.host)",\(rule) "pins": [\(pins.joined(separator: ", "))] } ] }
            """
        return try PolicyFile(bytes: Array(text.utf8), path: directory.path + "/pins.jsonc")
    }

    /// Returns a pin with the file that has its certificate.
    private func pin(_ certificate: TestCertificate, _ role: String, _ more: String = "") throws -> String {
        let file = try directory.add(certificate.pemText)
        return #"{ "pin": "\#(try certificate.key.pin)", "role": "\#(role)", "from": "\#(file)"\#(more) }"#
    }

    private func backup(_ key: TestKey) throws -> String {
        #"{ "pin": "\#(try key.pin)", "role": "leaf", "backup": true }"#
    }

    private func errors(_ file: PolicyFile) -> [LintFinding] { file.lint(at: before).filter { $0.severity == .error } }

    /// Returns the causes on the day of the outage, when the policy rejects the server.
    private func causes(_ file: PolicyFile, _ trust: ServerTrust) -> [String] {
        #expect(file.policy.verdict(trust, at: after) == "refused: mismatch")
        return file.policy.failureCauses(for: trust, port: 443, at: after).map(\.identifier)
    }

    /// Checks that the fixed policy has no lint errors and accepts what is served on the day of the outage.
    private func holds(_ file: PolicyFile, _ trust: ServerTrust) {
        #expect(errors(file) == [])
        #expect(file.policy.verdict(trust, at: after) == "accepted: matched")
    }

    @Test("Lint and diagnosis catch a CDN's move to another CA: Cloudflare, Let's Encrypt to Google, 2026-07")
    func authorityMoved() throws {
        let old = try TestSite(authority: "Encrypt")
        let new = try TestSite(authority: "Google")
        let key = try TestKey()
        let pinned = try policy([pin(old.intermediate, "intermediate")])
        #expect(errors(pinned).map(\.rule) == [.onlyIntermediates])
        #expect(errors(pinned)[0].message.hasSuffix("or a backup key of your own"))
        #expect(causes(pinned, try new.trust) == ["intermediate-changed"])
        // The key outlives the CA, because any CA can issue a certificate for it.
        let reissued = try TestSite.trust(
            sent: [new.intermediate.leaf(TestSite.host, key: key), new.intermediate], anchors: [new.root])
        holds(try policy([pin(old.intermediate, "intermediate"), backup(key)]), reissued)
    }

    @Test("Lint and diagnosis catch a new intermediate under the same root: CloudFront, Amazon M01 to M04, 2026-07")
    func intermediateReplaced() throws {
        let amazon = try TestSite(authority: "Amazon")
        let next = try amazon.root.intermediate("Amazon M04")
        let served = try TestSite.trust(sent: [next.leaf(TestSite.host), next], anchors: [amazon.root])
        let pinned = try policy([pin(amazon.intermediate, "intermediate")])
        #expect(errors(pinned).map(\.rule) == [.onlyIntermediates])
        #expect(errors(pinned)[0].message.contains("also pin their roots"))
        #expect(causes(pinned, served) == ["intermediate-changed"])
        holds(try policy([pin(amazon.intermediate, "intermediate"), pin(amazon.root, "root")]), served)
    }

    @Test("Lint and diagnosis catch a CA with several random intermediates: Let's Encrypt, since 2024")
    func randomIntermediate() throws {
        let encrypt = try TestSite(authority: "Encrypt")
        let all = [encrypt.intermediate] + (try (11...14).map { try encrypt.root.intermediate("R\($0)") })
        let pinned = try policy([pin(all[0], "intermediate"), pin(all[1], "intermediate")])
        #expect(errors(pinned).map(\.rule) == [.onlyIntermediates])
        let fixed = try policy([pin(all[0], "intermediate"), pin(encrypt.root, "root")])
        for intermediate in all.dropFirst(2) {
            let served = try TestSite.trust(
                sent: [intermediate.leaf(TestSite.host), intermediate], anchors: [encrypt.root])
            #expect(causes(pinned, served) == ["intermediate-changed"])
            holds(fixed, served)
        }
    }

    @Test(
        "Lint and diagnosis catch a root that expires after it cross-signed its successor: DST Root CA X3, 2021-09-30")
    func rootEnded() throws {
        let dst = try TestCertificate.root("DST Root CA X3") {
            $0.notAfter = Int64(before.timeIntervalSince1970) + 30 * 86_400
        }
        let isrg = try TestSite(authority: "ISRG")
        let crossSigned = try dst.crossSign(isrg.root) { $0.notAfter = dst.settings.notAfter }
        let served = try TestSite.trust(
            sent: [isrg.leaf, isrg.intermediate, crossSigned], anchors: [dst, isrg.root])
        let pinned = try policy([pin(dst, "root")])
        #expect(pinned.policy.verdict(served, at: before) == "accepted: matched")
        #expect(errors(pinned).map(\.rule) == [.certificateExpiry])
        #expect(errors(pinned)[0].message.contains("expires on 2027-02-14: pin the CA that replaces it now"))
        #expect(causes(pinned, served) == ["off-path"])
        let fixed = try policy([pin(isrg.root, "root"), #""\#(try dst.key.pin)""#])
        #expect(fixed.policy.verdict(served, at: before) == "accepted: matched")
        holds(fixed, served)
    }

    @Test("Lint and diagnosis catch a cross-signed CA that becomes a root: AddTrust, 2020-05-30")
    func crossSignatureEnded() throws {
        let addTrust = try TestCertificate.root("AddTrust External CA Root")
        let userTrust = try TestSite(authority: "USERTrust")
        let crossSigned = try addTrust.crossSign(userTrust.root) {
            $0.notAfter = Int64(before.timeIntervalSince1970) + 30 * 86_400
        }
        let served = try TestSite.trust(
            sent: [userTrust.leaf, userTrust.intermediate, crossSigned], anchors: [addTrust, userTrust.root])
        let pinned = try policy([pin(crossSigned, "intermediate"), pin(addTrust, "root")])
        #expect(pinned.policy.verdict(served, at: before) == "accepted: matched")
        #expect(errors(pinned).map(\.rule) == [.certificateExpiry])
        #expect(causes(pinned, served) == ["wrong-position", "off-path"])
        let fixed = try policy([pin(userTrust.root, "ca"), pin(addTrust, "ca")])
        #expect(fixed.policy.verdict(served, at: before) == "accepted: matched")
        holds(fixed, served)
    }

    @Test("Lint and diagnosis catch a leaf that is renewed every 45 days, each time with a new key")
    func leafRekeyed() throws {
        let server = try TestSite()
        let key = try TestKey()
        func leaf(from start: Date, key: TestKey? = nil) throws -> TestCertificate {
            try server.intermediate.leaf(TestSite.host, key: key) {
                $0.notBefore = Int64(start.timeIntervalSince1970)
                $0.notAfter = $0.notBefore + 45 * 86_400
            }
        }
        func trust(_ leaf: TestCertificate) throws -> ServerTrust {
            try TestSite.trust(sent: [leaf, server.intermediate], anchors: [server.root])
        }
        let first = try leaf(from: before - 86_400, key: key)
        let pinned = try policy([pin(first, "leaf")])
        #expect(pinned.policy.verdict(try trust(first), at: before) == "accepted: matched")
        #expect(errors(pinned).map(\.rule) == [.shortLivedLeaf])
        #expect(
            errors(pinned)[0].message.contains("renew with the same key (certbot --reuse-key), or also pin the root")
        )
        let renewed = try leaf(from: after - 86_400)
        #expect(causes(pinned, try trust(renewed)) == ["leaf-rekeyed"])
        // Either half of the remedy works.
        #expect(
            pinned.policy.verdict(try trust(leaf(from: after - 86_400, key: key)), at: after) == "accepted: matched")
        holds(try policy([pin(first, "leaf"), pin(server.root, "root")]), try trust(renewed))
    }

    @Test("Lint and diagnosis catch a backup key that was never made when the only key is lost")
    func backupNeverMade() throws {
        let server = try TestSite()
        let slot = #""x-backup-slot": "openssl genpkey …","#
        let pinned = try policy([pin(server.leaf, "leaf")], rule: slot)
        #expect(errors(pinned).map(\.rule) == [.emptyBackupSlot])
        #expect(errors(pinned)[0].message.contains("create a backup key as it describes, add its pin"))
        let key = try TestKey()
        let replaced = try TestSite.trust(
            sent: [server.intermediate.leaf(TestSite.host, key: key), server.intermediate], anchors: [server.root])
        #expect(causes(pinned, replaced) == ["leaf-rekeyed"])
        let fixed = try policy([pin(server.leaf, "leaf"), backup(key)])
        holds(fixed, replaced)
        let told = fixed.policy.failureCauses(for: replaced, port: 443, at: after).map(\.identifier)
        #expect(told == ["only-backup"])
    }

    @Test("Lint and diagnosis catch a network security config whose pin-set expires and silently stops pinning")
    func pinSetEnded() throws {
        let server = try TestSite()
        let unrelated = try TestSite(authority: "Other")
        func config(_ day: String) throws -> [UInt8] {
            Array(
                """
                <network-security-config>
                  <domain-config>
                    <domain>\(TestSite.host)</domain>
                    <pin-set expiration="\(day)">
                      <pin digest="SHA-256">\(try server.leaf.key.pin.dropFirst("sha256/".count))</pin>
                      <pin digest="SHA-256">\(try server.root.key.pin.dropFirst("sha256/".count))</pin>
                    </pin-set>
                  </domain-config>
                </network-security-config>
                """.utf8)
        }
        func lint(_ day: String) throws -> [LintFinding] {
            let bytes = try config(day)
            return try PinDialect.android.read(bytes, path: "nsc.xml").policy.lint(bytes, path: "nsc.xml", at: before)
        }
        let findings = try lint("2027-02-01")
        #expect(findings.map { "\($0.rule.rawValue) \($0.severity.rawValue)" } == ["P006 error", "P007 warning"])
        #expect(findings[0].message.contains("its pins are ignored from then on: ship a later expiry"))
        #expect(try lint("2028-02-01").map(\.rule) == [.silentExpiry])

        // The same rule in this project's policy format: it accepts any trusted chain on the day of the outage.
        let pinned = try policy(
            [pin(server.leaf, "leaf")], rule: #""expires": "2027-02-01", "onExpiry": "stop-pinning","#)
        #expect(pinned.policy.verdict(try unrelated.trust, at: before) == "refused: mismatch")
        #expect(pinned.policy.verdict(try unrelated.trust, at: after) == "accepted: stopped")
        let causes = pinned.policy.failureCauses(for: try unrelated.trust, port: 443, at: after)
        #expect(causes.map(\.identifier) == ["rule-ended"])
    }
}
