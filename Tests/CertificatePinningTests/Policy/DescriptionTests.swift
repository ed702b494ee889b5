import CertificatePinning
import CertificateTrust
import FoundationEssentials
import TestPKI
import Testing

@Suite("Public values as text")
struct DescriptionTests {
    @Test("A printed value says what it means and not what it stores")
    func text() throws {
        let server = try TestSite()
        let (path, pin) = (try server.path, try server.intermediate.pin(.ca, name: "next"))
        let policy = try PinningPolicy(
            pins: [pin], requirement: .eachOf([.ca]), mode: .report,
            expiry: try PinningExpiry("2030-01-01", then: .fail), deny: [try server.leaf.pin()])
        let chain = "CN=api.example.test -> CN=Test Intermediate -> CN=Test Root"
        let intermediate = try server.intermediate.parsed
        let rule = "api.example.test, 1 pin, report, until 2030-01-02T00:00:00Z, then fail"
        let rows: [(Any, String)] = [
            (path, chain), (pin, "\(intermediate.spkiFingerprint) ca \"next\""),
            (try server.trust.presented, "CN=api.example.test -> CN=Test Intermediate"),
            (intermediate.subjectPublicKeyInfo, "EC P-256 \(intermediate.spkiFingerprint)"),
            (policy.rules[0], rule), (PinRequirement.eachOf([.leaf, .root]), "each of leaf, root"),
            (PinRequirement.any, "any"), (TrustRule.nameMismatch, "name-mismatch"),
            (policy, "\(rule)\ndenied: \(try server.leaf.pin())\nunlisted hosts: trust"),
            (TrustPolicy.default, "default"), (TrustPolicy.strict.without(.commonName), "strict with exceptions"),
            (RevocationEvidence.none, "0 CRLs, 0 certificates, no stapled OCSP response"),
        ]
        for (value, text) in rows { #expect("\(value)" == text) }

        var strict = TrustPolicy.strict
        strict.revocation = .require
        strict.purpose = .client
        #expect("\(strict)" == "strict, purpose: client, revocation: require")
        var attempts: [TrustAttempt] = []
        _ = try server.trust.evaluate(at: TestSite.time) { attempts.append($0) }
        #expect(attempts.map { "\($0)" } == ["\(chain): accepted"])
    }
}
