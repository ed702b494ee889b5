import CertificatePinning
import CertificateTrust
import FoundationEssentials
import PinctlTestPKI
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

        let host = try ServerName(TestSite.host)
        let backup = Pin(pin.fingerprint, isBackup: true, name: "next")
        #expect("\(backup)" == "\(intermediate.spkiFingerprint) any backup \"next\"")
        let matches = try PinningPolicy(pins: [pin, backup]).outcome(path, port: 443, at: TestSite.time).matches
        #expect(matches.map { "\($0)" } == "[\(pin) matches the intermediate, \(backup) matches the intermediate]")
        let wide = PinningRule(host: host, includesSubdomains: true, ports: [8_443, 443], pins: [pin, backup])
        #expect("\(wide)" == "api.example.test and subdomains port 443, 8443, 2 pins, enforce")
    }

    @Test("A decision names the rule that made it, and the pins that match or the reason why the server is refused")
    func decisions() throws {
        let server = try TestSite { $0.subject = TestName() }
        let pins = [try server.leaf.pin(.leaf), try server.root.pin(.root, name: "roots")]
        let other = PinningRule(host: try ServerName("other.test"), pins: pins)
        let failure = "certificate pinning failure for api.example.test port 443"
        let rows: [(policy: PinningPolicy, isAccepted: Bool, text: String)] = [
            (
                try PinningPolicy(pins: pins), true,
                "the rule for api.example.test matches: \(pins[0].fingerprint) as leaf, roots as root"
            ),
            (try PinningPolicy(pins: pins, mode: .off), true, "the pins of the rule for api.example.test are off"),
            (try PinningPolicy(rules: [other]), true, "no rule of the policy covers the host"),
            (
                try PinningPolicy(rules: [other], unlisted: .refuse), false,
                "\(failure): the policy has no rule for it and refuses unlisted hosts: add a rule"
            ),
            (
                try PinningPolicy(pins: pins, deny: [try server.leaf.pin()]), false,
                "\(failure): the policy denies \(pins[0].fingerprint), the leaf of its path: serve a chain without it"
            ),
        ]
        for row in rows {
            let outcome = row.policy.outcome(try server.path, port: 443, at: TestSite.time)
            #expect(outcome.isAccepted == row.isAccepted && outcome.description == row.text, "\(outcome.description)")
        }
        let unrelated = try TestSite.trust(sent: server.chain, anchors: [])
        let finding = try #require(throws: TrustFinding.self) { try unrelated.evaluate(at: TestSite.time) }
        let error = #expect(throws: PinningError.self) {
            try rows[0].policy.evaluate(unrelated, port: 443, at: TestSite.time)
        }
        #expect(error?.description == finding.description)
    }

    @Test("A trust policy is printed with the settings that differ from its profile")
    func trustPolicies() {
        var strict = TrustPolicy.strict
        strict.revocation = .require
        strict.purpose = .client
        #expect("\(strict)" == "strict, purpose: client, revocation: require")
        var policy = TrustPolicy.default
        policy.maximumIntermediates = 2
        policy.strength = .bits128
        policy.certificateTransparency = .report
        policy.certificatePolicies.requireExplicit = true
        policy.publicSuffixes = PublicSuffixes(list: Array("co.test".utf8))
        policy.publicRoots = []
        #expect(
            "\(policy)"
                == "default, at most 2 intermediates, strength: bits128, certificate transparency: report, "
                + "certificate policies required, its own public suffixes, its own public roots")
    }

    @Test("An attempt says whether its path is valid, and why not")
    func attempts() throws {
        let server = try TestSite()
        func attempts(_ trust: ServerTrust, isAccepted: Bool) -> [TrustAttempt] {
            var attempts: [TrustAttempt] = []
            _ = try? trust.evaluate(at: TestSite.time, accepting: { _ in isAccepted }, tracing: { attempts.append($0) })
            return attempts
        }
        let chain = "CN=api.example.test -> CN=Test Intermediate"
        let accepted = attempts(try server.trust, isAccepted: true)
        #expect(accepted.map { "\($0)" } == ["\(chain) -> CN=Test Root: accepted"] && accepted[0].isValid)
        let refused = attempts(try server.trust, isAccepted: false)
        #expect(refused.map { "\($0)" } == ["\(chain) -> CN=Test Root: refused by the caller"] && refused[0].isValid)
        let untrusted = attempts(try TestSite.trust(sent: server.chain, anchors: []), isAccepted: true)
        #expect(untrusted.count == 1 && untrusted.allSatisfy { !$0.isValid })
        #expect(
            untrusted[0].description.hasPrefix("\(chain): certificate 1 (CN=Test Intermediate): unable to get local"))
    }
}
