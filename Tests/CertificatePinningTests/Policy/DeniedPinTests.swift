import CertificatePinning
import CertificateTrust
import PinctlTestPKI
import Testing

@Suite("Denied pins and bypassed pins")
struct DeniedPinTests {
    private let server: TestSite
    private let other: TestSite

    init() throws {
        server = try TestSite()
        other = try TestSite(authority: "Other")
    }

    @Test(
        "A denied key is rejected at every position of the path, before pins are matched, in every mode",
        arguments: PinningMode.allCases)
    func denied(mode: PinningMode) throws {
        for certificate in [server.leaf, server.intermediate, server.root] {
            let deny = [try certificate.pin(name: "lost")]
            let policy = try PinningPolicy(pins: [server.leaf.pin()], mode: mode, deny: deny)
            #expect(try policy.verdict(server.trust) == "refused: denied")
            #expect(policy.outcome(try server.path, port: 443, at: TestSite.time).verdict == "refused: denied")
        }
        let whole = [Pin(.certificate(try server.root.parsed.fingerprint))]
        #expect(
            try PinningPolicy(pins: [server.leaf.pin()], mode: mode, deny: whole).verdict(server.trust)
                == "refused: denied")
        let elsewhere = [try server.root.pin(.leaf), try other.leaf.pin()]
        let policy = try PinningPolicy(pins: [server.leaf.pin()], mode: mode, deny: elsewhere)
        #expect(try policy.verdict(server.trust) == (mode == .off ? "accepted: unpinned" : "accepted: matched"))
    }

    @Test(
        "PE27: A denied certificate is rejected in every form in which its issuer's signature verifies",
        arguments: [TestKey.Kind.p256, .p384, .rsa2048])
    func otherForm(kind: TestKey.Kind) throws {
        let root = try TestCertificate.root("Root", key: TestKey.shared(kind))
        let intermediate = try root.intermediate("Intermediate", key: TestKey(.p256))
        let leaf = try intermediate.leaf(TestSite.host)
        let chain = [leaf, intermediate]
        for (index, issuer) in [intermediate, root].enumerated() {
            let certificate = chain[index]
            let deny = [Pin(.certificate(try certificate.parsed.fingerprint), role: index == 0 ? .leaf : .ca)]
            let forms = certificate.equivalents(issuedBy: issuer)
            #expect(forms.count == (issuer.key.kind == .rsa2048 ? 1 : 3))
            for form in forms {
                var sent = chain.map(\.derBytes)
                sent[index] = form
                let trust = ServerTrust(
                    presented: try PresentedChain(derCertificates: sent), name: try ServerName(TestSite.host),
                    store: TrustStore(certificates: [try root.parsed]))
                #expect(try PinningPolicy(pins: [leaf.pin()]).verdict(trust) == "accepted: matched")
                #expect(try PinningPolicy(pins: [leaf.pin()], deny: deny).verdict(trust) == "refused: denied")
                // The certificate isn't in that position.
                let elsewhere = [Pin(.certificate(try certificate.parsed.fingerprint), role: .root)]
                #expect(try PinningPolicy(pins: [leaf.pin()], deny: elsewhere).verdict(trust) == "accepted: matched")

                // plan decides alike on a policy file.
                let path = try sent.map { try X509Certificate(derBytes: $0) } + [root.parsed]
                for (deny, isDenied) in [(deny, true), (elsewhere, false)] {
                    let denied = deny.map { CanonicalPin($0) }
                    let policy = CanonicalPolicy(rules: [], combination: .closest, denied: denied)
                    let decision = policy.decide(path, by: [], under: DecisionCircumstances(at: TestSite.time))
                    #expect((decision.verdict == .denied) == isDenied)
                }
            }
        }
    }

    @Test("A denied key is rejected for unlisted hosts and after a rule expires")
    func unlisted() throws {
        let rule = PinningRule(host: try ServerName("a.test"), pins: [try other.leaf.pin()])
        let policy = try PinningPolicy(rules: [rule], deny: [server.intermediate.pin()])
        #expect(try policy.verdict(server.trust) == "refused: denied")
        #expect(policy.deniedPin(among: [try server.leaf.parsed]) == nil)
        #expect(policy.deniedPin(among: [try server.leaf.parsed, try server.intermediate.parsed]) != nil)
        for action in PinningExpiry.Action.allCases {
            let ended = try PinningPolicy(
                pins: [server.leaf.pin()], expiry: PinningExpiry(at: TestSite.time, then: action),
                deny: [server.root.pin()])
            #expect(try ended.verdict(server.trust) == "refused: denied")
        }
    }

    @Test(
        "PE2: of two valid paths, the one without the denied key is found, in whatever order they are sent",
        arguments: PinningMode.allCases)
    func anotherPath(mode: PinningMode) throws {
        let crossSigned = try other.root.crossSign(server.root)
        let unknown = try TestSite(authority: "Unknown").leaf
        for issuers in [[server.intermediate, crossSigned], [crossSigned, server.intermediate]] {
            let trust = try TestSite.trust(sent: [server.leaf] + issuers, anchors: [server.root, other.root])
            for (denied, kept) in [(server.root, other.root), (other.root, server.root)] {
                // The cross-signed certificate has the key of the server's root, so its path is denied too.
                let deny = [Pin(.certificate(try denied.parsed.fingerprint))]
                let matching = try PinningPolicy(pins: [kept.pin(.root)], mode: mode, deny: deny)
                #expect(matching.verdict(trust) == (mode == .off ? "accepted: unpinned" : "accepted: matched"))
                let forgiving = try PinningPolicy(pins: [unknown.pin()], mode: mode, deny: deny)
                let expected: [PinningMode: String] = [
                    .enforce: "refused: mismatch", .report: "accepted: forgiven", .off: "accepted: unpinned",
                ]
                #expect(
                    [expected[mode], mode == .enforce ? "refused: denied" : nil].contains(forgiving.verdict(trust)))
            }
            let both = try PinningPolicy(pins: [server.leaf.pin()], mode: mode, deny: [server.root.pin()])
            #expect(both.verdict(trust) == "refused: denied")
        }
    }

    @Test("The text for a denied key names its position and its pin")
    func text() throws {
        let pin = try server.root.pin(name: "lost")
        let policy = try PinningPolicy(pins: [server.leaf.pin()], deny: [pin])
        #expect(
            policy.outcome(try server.path, port: 443, at: TestSite.time).description == """
                certificate pinning failure for api.example.test port 443: the policy denies \(pin.fingerprint) \
                (lost), the root of its path, CN=Test Root: serve a chain without it
                """)
    }

    @Test("Pins are bypassed for anchors outside the given store, if configured, with a warning")
    func bypass() throws {
        let system = TrustStore(certificates: [try server.root.parsed])
        let pins = [try server.leaf.pin()]
        let proxied = try TestSite.trust(sent: other.chain, anchors: [server.root, other.root])
        let policy = try PinningPolicy(pins: pins, pinsApplyOnlyUnder: system)
        #expect(policy.verdict(proxied) == "accepted: bypassed")
        #expect(try policy.verdict(server.trust) == "accepted: matched")
        #expect(try PinningPolicy(pins: pins).verdict(proxied) == "refused: mismatch")
        #expect(
            try PinningPolicy(pins: [other.root.pin(.leaf)], pinsApplyOnlyUnder: system).verdict(server.trust)
                == "refused: mismatch")
        // A bypass doesn't accept an anchor that the client doesn't trust, or a denied one.
        let untrusted = try TestSite.trust(sent: other.chain, anchors: [server.root])
        #expect(policy.verdict(untrusted) == "refused: untrusted")
        #expect(
            try PinningPolicy(pins: pins, pinsApplyOnlyUnder: system, deny: [other.root.pin()]).verdict(proxied)
                == "refused: denied")
        let decision = policy.outcome(
            try proxied.evaluate(at: TestSite.time), port: 443, at: TestSite.time)
        #expect(decision.description.hasPrefix("PINS ARE BYPASSED: the path doesn't end at a system root"))
    }

    @Test("PE2: Pins aren't bypassed by a local root if another path ends at an anchor under which they apply")
    func bypassBesideAnchor() throws {
        // A company's CA has cross-signed a public root, so every public chain has a path to each.
        let crossSigned = try other.root.crossSign(server.root)
        let sent = [server.leaf, server.intermediate, crossSigned]
        let trust = try TestSite.trust(sent: sent, anchors: [server.root, other.root])
        for root in [server.root, other.root] {
            let store = TrustStore(certificates: [try root.parsed])
            func verdict(_ mode: PinningMode, deny: [Pin] = []) throws -> String {
                try PinningPolicy(pins: [other.leaf.pin()], mode: mode, pinsApplyOnlyUnder: store, deny: deny)
                    .verdict(trust)
            }
            #expect(try verdict(.enforce) == "refused: mismatch")
            #expect(try verdict(.report) == "accepted: forgiven")
            #expect(try verdict(.enforce, deny: [root.pin()]) == "refused: denied")
        }
        // If the client lost the public root, only the local one is left.
        let local = try TestSite.trust(sent: sent, anchors: [other.root])
        let store = TrustStore(certificates: [try server.root.parsed])
        #expect(
            try PinningPolicy(pins: [other.leaf.pin()], pinsApplyOnlyUnder: store).verdict(local)
                == "accepted: bypassed")
    }

    @Test("PE2, CB18: A local root bypasses no pins if the search ends before a path to the public one was tried")
    func bypassBeyondBudget() throws {
        let system = TrustStore(certificates: [try server.root.parsed])
        let policy = try PinningPolicy(pins: [other.leaf.pin()], pinsApplyOnlyUnder: system)
        // The local root is another certificate of the public one.
        let local = try TestCertificate.root("Test Root", key: server.root.key)
        let issuer = try server.intermediate.intermediate("Issuer")
        let leaf = try issuer.leaf(TestSite.host)
        let fakes = try issuer.namesakes(20, below: server.intermediate)
        var verdicts: [String] = []
        for count in 0...fakes.count {
            let sent = [leaf] + fakes.prefix(count) + [issuer, server.intermediate]
            verdicts.append(policy.verdict(try TestSite.trust(sent: sent, anchors: [local, server.root])))
        }
        #expect(Set(verdicts) == ["refused: mismatch", "refused: untrusted"])
        #expect(verdicts.first == "refused: mismatch")
        let alone = try TestSite.trust(sent: [leaf, issuer, server.intermediate], anchors: [local])
        #expect(policy.verdict(alone) == "accepted: bypassed")
    }

    @Test("A path that matches the pins is preferred to one that bypasses them")
    func pinnedFirst() throws {
        let crossSigned = try other.root.crossSign(server.root)
        let trust = try TestSite.trust(
            sent: [server.leaf, server.intermediate, crossSigned], anchors: [server.root, other.root])
        for (system, pinned) in [(server.root, server.root), (server.root, other.root), (other.root, server.root)] {
            let store = TrustStore(certificates: [try system.parsed])
            let policy = try PinningPolicy(pins: [pinned.pin(.root)], pinsApplyOnlyUnder: store)
            #expect(policy.verdict(trust) == "accepted: matched")
        }
    }
}
