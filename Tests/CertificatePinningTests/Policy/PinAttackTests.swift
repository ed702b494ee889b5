import CertificatePinning
import CertificateTrust
import FoundationEssentials
import PinctlTestPKI
import Testing

/// Lists the attacks on the evaluation of pins by the codes that test names use, and where each of them is tested. The
/// attacks below the line need a session, and their tests are in PinnedNetworkingTests and PeerTests.
///
/// | attack | suite | test |
/// |---|---|---|
/// | PE1 unpinned chain, pinned certificate sent along | PinAttackTests | appendedCertificates, sameNameOtherKey |
/// | PE1 unpinned chain, pinned path invalid | PinAttackTests | pinnedPathInvalid |
/// | PE2 one of two paths is pinned | PinAttackTests, DeniedPinTests | pinnedPathFound, anotherPath |
/// | PE3 pin in the wrong role | PinDecisionTests | wrongRole, selfSignedLeaf |
/// | PE4 renewal with the same key | PinDecisionTests | renewal |
/// | PE5 digests of other bytes than the key | PinEvaluationAttackTests | otherDigests |
/// | PE6 anchor that is not sent | PinDecisionTests | anchorNotSent |
/// | PE7 pin matches, chain is not valid | PinAttackTests | pinnedButUntrusted, pinnedButRevoked |
/// | PE8 pinned self-signed server | PinEvaluationAttackTests | selfSigned |
/// | PE9 rules that expire | PinningExpiryTests | all |
/// | PE10 useless backups | PinEvaluationAttackTests | backups |
/// | PE11 malformed pins | PolicyProblemTests | malformedPins |
/// | PE12 files that pin nothing or cannot be read | PolicyFileReadingTests | pinsNothing, noFile |
/// | PE13 duplicate keys | JSONCReaderTests | duplicateKeys |
/// | PE13 misspelled, mistyped keys | PolicyProblemTests, PolicyFileTests | values, overlap, types |
/// | PE14 subdomains, suffixes, look-alikes | RuleChoiceTests, PolicyProblemTests | choice, publicSuffix, subdomains |
/// | PE15 report mode allows too much | PinDecisionTests | modes |
/// | PE16 ports and schemes | PinDecisionTests, RuleChoiceTests | ports |
/// | PE19 files changed after loading | PinEvaluationAttackTests, PolicyStoreTests | changedFiles, replace |
/// | PE23 the hashed bytes are those that were sent | PinEvaluationAttackTests | sameKeysAsGo |
/// | PE24 100,000 hosts | RuleChoiceTests, tools/bench | manyHosts |
/// | PE25 wildcards | RuleChoiceTests, PolicyProblemTests | choice, hosts |
/// | PE26 decisions reused for similar servers | PinEvaluationAttackTests | alike |
/// | --- | | |
/// | PE1, PE7 no byte of a request is sent | PinnedRequestTests | unpinnedChain, untrustedButPinned |
/// | PE16 plain http to a pinned host | PinnedRequestTests | portsAndSchemes |
/// | PE17 redirects | VerdictTests, LoginTests | verdict (isRedirected), otherHost |
/// | PE18 proxies under their own pins | ProxyTests | ownPins, acceptedForAnother |
/// | PE18 proxies under their own pins | SecureProxyTests | proxyPins, originPins |
/// | PE20 two policies side by side | PinnedRequestTests | parallelPolicies |
/// | PE21 a policy replaced in use | VerdictTests | verdict (policy) |
/// | PE21 a policy replaced in use | ConnectionReuseTests, PolicyChangeTests | observed, store |
/// | PE22 every answer of a delegate | ServerTrustChallengeTests | dispositions |
/// | PE22 every answer of a delegate | VerdictTests | verdict (never, late, twice) |
@Suite("Attacks on pins")
struct PinAttackTests {
    /// The server whose keys are pinned.
    private let victim: TestSite
    /// A server with a certificate for the same name from another CA that the client trusts.
    private let attacker: TestSite

    init() throws {
        victim = try TestSite(authority: "Victim")
        attacker = try TestSite(authority: "Attacker")
    }

    @Test("PE1: a pinned certificate that is sent along but isn't on the verified path doesn't count")
    func appendedCertificates() throws {
        let pinned = [victim.leaf, victim.intermediate, victim.root]
        let chain = attacker.chain
        var sent = pinned.map { chain + [$0] }
        sent += [chain + pinned, chain + pinned.reversed(), [attacker.leaf] + pinned + [attacker.intermediate]]
        for certificates in sent {
            let trust = try TestSite.trust(sent: certificates, anchors: [victim.root, attacker.root])
            for certificate in pinned {
                #expect(try PinningPolicy(pins: [certificate.pin()]).verdict(trust) == "refused: mismatch")
            }
            #expect(try PinningPolicy(pins: pinned.map { try $0.pin() }).verdict(trust) == "refused: mismatch")
        }
    }

    @Test("PE1: a CA with a pinned CA's name but another key doesn't match")
    func sameNameOtherKey() throws {
        let root = try TestCertificate.root("Victim Root")
        let intermediate = try root.intermediate("Victim Intermediate")
        let leaf = try intermediate.leaf(TestSite.host)
        let trust = try TestSite.trust(
            sent: [leaf, intermediate, victim.intermediate, victim.root], anchors: [root, victim.root])
        #expect(
            try PinningPolicy(pins: [victim.intermediate.pin(), victim.root.pin()]).verdict(trust)
                == "refused: mismatch")
    }

    @Test("PE1: a path that matches the pins but isn't valid isn't used")
    func pinnedPathInvalid() throws {
        let valid = try victim.root.crossSign(attacker.intermediate)
        let expired = try victim.root.crossSign(attacker.intermediate) { $0.notAfter = $0.notBefore + 86400 }
        for (crossSigned, expected) in [(valid, "accepted: matched"), (expired, "refused: mismatch")] {
            let sent = [attacker.leaf, attacker.intermediate, crossSigned]
            let trust = try TestSite.trust(sent: sent, anchors: [victim.root, attacker.root])
            #expect(try PinningPolicy(pins: [victim.root.pin()]).verdict(trust) == expected)
        }
    }

    @Test("PE2: of two valid paths, the pinned one is found, in whatever order they are sent")
    func pinnedPathFound() throws {
        let crossSigned = try attacker.root.crossSign(victim.root)
        let chain = [victim.intermediate, crossSigned]
        for issuers in [chain, chain.reversed(), chain + [victim.root], [victim.root] + chain] {
            let trust = try TestSite.trust(sent: [victim.leaf] + issuers, anchors: [victim.root, attacker.root])
            for root in [victim.root, attacker.root] {
                #expect(try PinningPolicy(pins: [root.pin(.root)]).verdict(trust) == "accepted: matched")
                // Report mode also looks for the pinned path before it allows a mismatch.
                #expect(try PinningPolicy(pins: [root.pin(.root)], mode: .report).verdict(trust) == "accepted: matched")
            }
        }
    }

    @Test("PE7: a matching pin doesn't make an invalid chain acceptable", arguments: PinningMode.allCases)
    func pinnedButUntrusted(mode: PinningMode) throws {
        let policy = try PinningPolicy(pins: [victim.leaf.pin(), victim.root.pin()], mode: mode)
        let untrusted: [ServerTrust] = try [
            TestSite.trust(sent: victim.chain, anchors: [attacker.root]),
            TestSite.trust(sent: [victim.leaf], anchors: [victim.root]),
            TestSite.trust(
                sent: [victim.intermediate.leaf("other.test", key: victim.leaf.key), victim.intermediate],
                anchors: [victim.root]),
            TestSite.trust(
                sent: [
                    victim.intermediate.leaf(TestSite.host, key: victim.leaf.key) {
                        $0.notAfter = $0.notBefore + 86400
                    }, victim.intermediate,
                ], anchors: [victim.root]),
        ]
        for trust in untrusted { #expect(policy.verdict(trust) == "refused: untrusted") }
    }

    @Test("PE7: revocation lists also apply to a rule with its own anchors")
    func pinnedButRevoked() throws {
        let store = TrustStore(certificates: [try victim.root.parsed])
        let claim = try victim.trust
        for (revoked, expected) in [(true, "refused: untrusted"), (false, "accepted: matched")] {
            let list = try victim.intermediate.revocationList(.init(revoked ? victim.leaf : attacker.leaf))
            var policy = TrustPolicy.default
            policy.revocation = .use
            let trust = ServerTrust(
                presented: claim.presented, name: claim.name, store: claim.store, policy: policy,
                revocation: RevocationEvidence(lists: [try CertificateRevocationList(derBytes: list)]))
            for anchors in [nil, store] {
                #expect(try PinningPolicy(pins: [victim.root.pin()], anchors: anchors).verdict(trust) == expected)
            }
        }
    }

    @Test("The text of a mismatch shows the keys and their names, and escapes characters that move the cursor")
    func mismatchText() throws {
        let root = try TestCertificate.root("Evil\u{1B}[2J\u{202E}\nRoot\u{200B}")
        let leaf = try root.leaf(TestSite.host)
        let trust = try TestSite.trust(sent: [leaf], anchors: [root])
        let pins = [
            try victim.leaf.pin(.leaf, name: "api-\u{9B}2026"), try root.pin(.leaf),
            Pin(.certificate(try victim.root.parsed.fingerprint), isBackup: true),
        ]
        let location = PolicyLocation(path: "pins.jsonc", line: 14, column: 5)
        let policy = try PinningPolicy(rules: [
            PinningRule(host: try ServerName(TestSite.host), pins: pins, location: location)
        ])
        var text = ""
        do throws(PinningError) {
            _ = try policy.evaluate(trust, port: 443, at: TestSite.time)
        } catch {
            text = error.description
        }
        let expected = """
            pin mismatch for api.example.test port 443: no pin of the rule at pins.jsonc:14:5 for api.example.test \
            matches the verified path
              served, verified:
                \(try leaf.parsed.spkiFingerprint)  leaf  CN=api.example.test
                \(try leaf.parsed.fingerprint)
                \(try root.parsed.spkiFingerprint)  root  CN=Evil\\u{1B}[2J\\u{202E}\\u{A}Root\\u{200B}
                \(try root.parsed.fingerprint)
              pinned:
                \(pins[0].fingerprint)  leaf  api-\\u{9B}2026
                \(pins[1].fingerprint)  leaf  served, but as root
                \(pins[2].fingerprint)  any  backup
            if this change is yours (confirm on the server itself that pinctl hash of its certificate file prints \
            the served leaf pin), serve a pinned or backup key again, because released apps keep their pins, and ship \
            the pin of the next key before you serve it; if not, the connection may be intercepted, so don't pin any \
            served key
            """
        #expect(text == expected)
    }

    @Test("The text of a mismatch names the missing roles")
    func missingRoleText() throws {
        let policy = try PinningPolicy(
            pins: [victim.root.pin(name: "root"), attacker.leaf.pin()], requirement: .eachOf([.leaf, .root]))
        let mismatch = try #require(policy.outcome(try victim.path, port: 443, at: TestSite.time).mismatch)
        #expect(mismatch.description.contains("for api.example.test requires a match as leaf"))
        #expect(mismatch.description.contains("  any  root  matches as root\n"))
    }
}
