import CertificatePinning
import CertificateTrust
import FoundationEssentials
import PinctlTestPKI
import Testing

@Suite("Decisions on a verified path")
struct PinDecisionTests {
    private let server: TestSite
    private let unrelated: TestSite

    init() throws {
        server = try TestSite()
        unrelated = try TestSite(authority: "Unrelated")
    }

    @Test("A role covers its positions on a path", arguments: PinRole.allCases)
    func roles(role: PinRole) {
        let places: [PinRole: [[Int]]] = [
            .leaf: [[0], [0], [0], [0]], .intermediate: [[], [], [1], [1, 2]], .root: [[], [1], [2], [3]],
            .ca: [[], [1], [1, 2], [1, 2, 3]], .any: [[0], [0, 1], [0, 1, 2], [0, 1, 2, 3]],
        ]
        for count in 1...4 {
            let covered = (-1...count).filter { role.covers(index: $0, of: count) }
            #expect(covered == places[role]?[count - 1])
        }
    }

    @Test("PE3: a pin counts only in its role", arguments: PinRole.allCases)
    func wrongRole(role: PinRole) throws {
        let path = try server.path
        let accepted: [(TestCertificate, [PinRole])] = [
            (server.leaf, [.leaf, .any]), (server.intermediate, [.intermediate, .ca, .any]),
            (server.root, [.root, .ca, .any]),
        ]
        for (certificate, roles) in accepted {
            let policy = try PinningPolicy(pins: [certificate.pin(role)])
            let decision = policy.outcome(path, port: 443, at: TestSite.time)
            #expect(decision.verdict == (roles.contains(role) ? "accepted: matched" : "refused: mismatch"))
            #expect(decision.isAccepted == roles.contains(role))
        }
    }

    @Test("PE3: a self-signed leaf isn't a root, even if it has the root's name and is an anchor")
    func selfSignedLeaf() throws {
        var settings = TestCertificate.Settings.server([TestSite.host])
        settings.subject = server.root.subject
        let impostor = try TestCertificate.selfSigned(settings)
        let trust = try TestSite.trust(sent: [impostor, server.root], anchors: [impostor, server.root])
        for role in [PinRole.root, .ca, .intermediate] {
            #expect(try PinningPolicy(pins: [impostor.pin(role)]).verdict(trust) == "refused: mismatch")
            #expect(try PinningPolicy(pins: [server.root.pin(role)]).verdict(trust) == "refused: mismatch")
        }
        #expect(try PinningPolicy(pins: [impostor.pin(.leaf)]).verdict(trust) == "accepted: matched")
    }

    @Test("Each required role needs a match")
    func requirement() throws {
        let path = try server.path
        let leaf = try server.leaf.pin(.leaf)
        let root = try server.root.pin()
        let other = try unrelated.leaf.pin(.leaf)
        let rows: [([Pin], PinRequirement, [PinRole]?)] = [
            ([leaf, root], .eachOf([.leaf, .root]), nil), ([leaf, root], .eachOf([.leaf, .ca]), nil),
            ([leaf, root], .eachOf([.any]), nil), ([leaf, root], .eachOf([.leaf, .intermediate]), [.intermediate]),
            ([other, root], .eachOf([.leaf, .root]), [.leaf]), ([other, root], .any, nil),
            ([other, try unrelated.root.pin()], .eachOf([.leaf, .root]), [.leaf, .root]), ([other], .any, [.any]),
        ]
        for (pins, requirement, unmet) in rows {
            let decision = try PinningPolicy(pins: pins, requirement: requirement).outcome(
                path, port: 443, at: TestSite.time)
            #expect(decision.isAccepted == (unmet == nil))
            #expect(decision.mismatch?.unmetRoles == unmet)
        }
    }

    @Test("All matching pins are returned, leaf first, with their positions")
    func matches() throws {
        let pins = [try server.root.pin(name: "r"), try unrelated.leaf.pin(), try server.leaf.pin(.leaf, name: "l")]
        let matches = try #require(
            try PinningPolicy(pins: pins).outcome(try server.path, port: 443, at: TestSite.time).matches)
        #expect(matches.map(\.pin.name) == ["l", "r"])
        #expect(matches.map(\.index) == [0, 2])
        #expect(matches.map(\.role) == [.leaf, .root])
    }

    @Test("PE4, PE5: a renewal with the same key matches the pin of the key but not that of the certificate")
    func renewal() throws {
        let renewed = try server.intermediate.leaf(TestSite.host, key: server.leaf.key)
        let trust = try TestSite.trust(sent: [renewed, server.intermediate], anchors: [server.root])
        let old = Pin(.certificate(try server.leaf.parsed.fingerprint))
        #expect(try PinningPolicy(pins: [server.leaf.pin(.leaf)]).verdict(trust) == "accepted: matched")
        #expect(try PinningPolicy(pins: [old]).verdict(trust) == "refused: mismatch")
        #expect(try PinningPolicy(pins: [old]).verdict(server.trust) == "accepted: matched")
        let asKey = Pin(.publicKey(SPKIFingerprint(bytes: try server.leaf.parsed.fingerprint.bytes)))
        #expect(try PinningPolicy(pins: [asKey]).verdict(server.trust) == "refused: mismatch")
    }

    @Test("PE6: the anchor's key counts even if the server doesn't send it")
    func anchorNotSent() throws {
        #expect(try PinningPolicy(pins: [server.root.pin(.root)]).verdict(server.trust) == "accepted: matched")
    }

    @Test("Unlisted hosts are verified or rejected, as the policy specifies", arguments: UnlistedHosts.allCases)
    func unlisted(hosts: UnlistedHosts) throws {
        let rule = PinningRule(host: try ServerName("other.test"), pins: [try unrelated.leaf.pin()])
        let policy = try PinningPolicy(rules: [rule], unlisted: hosts)
        let expected = hosts == .trust ? "accepted: unpinned" : "refused: unlisted"
        #expect(policy.outcome(try server.path, port: 443, at: TestSite.time).verdict == expected)
        #expect(try policy.verdict(server.trust) == expected)
        let untrusted = try TestSite.trust(sent: [server.leaf], anchors: [unrelated.root])
        #expect(policy.verdict(untrusted) == (hosts == .trust ? "refused: untrusted" : "refused: unlisted"))
    }

    @Test("PE16: a pin for one port doesn't apply to another")
    func ports() throws {
        let rule = PinningRule(host: try ServerName(TestSite.host), ports: [8443], pins: [try unrelated.leaf.pin()])
        let policy = try PinningPolicy(rules: [rule])
        #expect(try policy.verdict(server.trust, port: 8443) == "refused: mismatch")
        #expect(try policy.verdict(server.trust, port: 443, at: TestSite.time) == "accepted: unpinned")
    }

    @Test("PE15: report mode allows only a mismatch, and mode off ignores pins but still verifies the chain")
    func modes() throws {
        let wrong = [try unrelated.leaf.pin()]
        let untrusted = try TestSite.trust(sent: server.chain, anchors: [unrelated.root])
        let otherName = try TestSite.trust(
            sent: server.chain, anchors: [server.root], name: "www.example.test")
        let rows: [(PinningMode, String)] = [
            (.enforce, "refused: mismatch"), (.report, "accepted: forgiven"), (.off, "accepted: unpinned"),
        ]
        for (mode, expected) in rows {
            let policy = try PinningPolicy(pins: wrong, mode: mode)
            #expect(try policy.verdict(server.trust) == expected)
            #expect(policy.outcome(try server.path, port: 443, at: TestSite.time).verdict == expected)
            #expect(policy.verdict(untrusted) == "refused: untrusted")
            #expect(try policy.verdict(server.trust, at: TestSite.time + 20 * 365 * 86400) == "refused: untrusted")
            let forAll = try PinningPolicy(rules: [
                PinningRule(host: try ServerName("example.test"), includesSubdomains: true, pins: wrong, mode: mode)
            ])
            #expect(forAll.verdict(otherName) == "refused: untrusted")
        }
        #expect(
            try PinningPolicy(pins: [server.leaf.pin()], mode: .report).verdict(server.trust) == "accepted: matched")
    }

    @Test("A rule's own anchors replace the caller's anchors")
    func anchors() throws {
        let own = TrustStore(certificates: [try server.root.parsed])
        let other = TrustStore(certificates: [try unrelated.root.parsed])
        let pins = [try server.leaf.pin()]
        let trusted = try server.trust
        let untrusted = try TestSite.trust(sent: server.chain, anchors: [unrelated.root])
        #expect(try PinningPolicy(pins: pins, anchors: own).verdict(untrusted) == "accepted: matched")
        #expect(try PinningPolicy(pins: pins, anchors: other).verdict(trusted) == "refused: untrusted")
        #expect(try PinningPolicy(pins: pins, mode: .off, anchors: other).verdict(trusted) == "refused: untrusted")
    }
}
