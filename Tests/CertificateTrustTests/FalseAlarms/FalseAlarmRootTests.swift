import CertificateTrust
import FoundationEssentials
import PinctlTestPKI
import Testing

@Suite("No false alarms: the roots of ca-certificates", .enabled(if: !Roots.files.isEmpty, Roots.skipped))
struct FalseAlarmRootTests {
    @Test("A re-keyed clone of every root anchors a valid chain, whatever the root's oddities")
    func clones() throws {
        let key = try TestKey.shared(.p256)
        for file in Roots.files {
            let original = try #require(try CertificateFile.read(file).first)
            let validity = original.validity
            let middle = validity.lowerBound + (validity.upperBound - validity.lowerBound) / 2
            let root = try TestCertificate.clone(of: original.derBytes)
            let intermediate = try root.issue(.authority("Intermediate").under(root, at: middle), key: key)
            let leaf = try intermediate.issue(
                .server(["api.example.test"]).under(intermediate, at: middle), key: key)
            let claim = Claim(leaf: leaf, presented: [intermediate], anchors: [root], time: middle)
            #expect(try claim.verdict() == "accepted", "\(file)")
        }
    }

    @Test(
        "The strict profile rejects few roots, and only for basicConstraints, key identifiers or the root profile")
    func strict() throws {
        let key = try TestKey.shared(.p256)
        var accepted = 0
        for file in Roots.files {
            let original = try #require(try CertificateFile.read(file).first)
            let time = original.validity.upperBound
            let root = try TestCertificate.clone(of: original.derBytes)
            let leaf = try root.issue(.server(["api.example.test"]).under(root, at: time), key: key)
            let finding = try Claim(leaf: leaf, anchors: [root], time: time, policy: .strict).finding()
            accepted += finding == nil ? 1 : 0
            // Under a root without a subjectKeyIdentifier, the leaf has no authorityKeyIdentifier, which is found
            // first.
            let rules: [TrustRule] = [.basicConstraints, .rootProfile, .authorityKeyIdentifier]
            #expect(finding.map { rules.contains($0.rule) } ?? true, "\(file): \(finding?.detail ?? "")")
        }
        #expect(accepted > Roots.files.count * 9 / 10)
    }

    @Test("A clone of a root differs from it only in the key and the signature")
    func fidelity() throws {
        for file in Roots.files {
            let original = try #require(try CertificateFile.read(file).first)
            let minted = try TestCertificate.clone(of: original.derBytes)
            let clone = try X509Certificate(derBytes: minted.derBytes)
            #expect(clone.serialNumber == original.serialNumber)
            #expect(clone.subject == original.subject)
            #expect(clone.issuer == original.issuer)
            #expect(clone.validity == original.validity)
            #expect(clone.subjectPublicKeyInfo != original.subjectPublicKeyInfo)
            #expect(!minted.extensionsDER.isEmpty)
            #expect(original.derBytes.firstRange(of: minted.extensionsDER) != nil)
        }
    }
}

/// The certificates in Debian's ca-certificates package, without any roots added on the machine.
private enum Roots {
    static let directory = "/usr/share/ca-certificates/mozilla"
    static let skipped = Comment("no \(directory): install ca-certificates")
    static let files = ((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [])
        .filter { $0.hasSuffix(".crt") }.sorted().map { directory + "/" + $0 }
}

extension TestCertificate.Settings {
    /// Returns the settings with a validity of this one second and with the issuer's own key identifier as the
    /// authority key identifier.
    fileprivate func under(_ issuer: TestCertificate, at time: Int64) -> Self {
        var settings = self
        (settings.notBefore, settings.notAfter) = (time, time)
        settings.hasAuthorityKeyIdentifier = false
        settings.extensions = issuer.subjectKeyIdentifier.map { [.authorityKeyIdentifier($0)] } ?? []
        return settings
    }
}
