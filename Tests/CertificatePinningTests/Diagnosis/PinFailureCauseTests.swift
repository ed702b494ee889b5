import CertificatePinning
import CertificateTrust
import FoundationEssentials
import PinctlTestPKI
import Testing

@Suite("Causes of a pin mismatch")
struct PinFailureCauseTests {
    private let server: TestSite
    private let unrelated: TestSite

    init() throws {
        server = try TestSite()
        unrelated = try TestSite(authority: "Other")
    }

    private static let condition =
        "if this change is yours (confirm on the server itself that pinctl hash of its certificate file prints the "
        + "served leaf pin)"
    private static let otherwise = "; if not, the connection may be intercepted, so don't pin any served key"

    /// Returns the identifiers of the causes, and their texts.
    private func diagnose(
        _ trust: ServerTrust, _ policy: PinningPolicy, port: Int = 443, at time: Date = TestSite.time,
        systemRoots: [TestCertificate]? = nil
    ) throws -> (causes: [String], text: String) {
        let roots = try systemRoots.map { TrustStore(certificates: try $0.map { try $0.parsed }) }
        let causes = policy.failureCauses(for: trust, port: port, at: time, systemRoots: roots)
        return (causes.map(\.identifier), causes.map(\.description).joined(separator: "\n"))
    }

    @Test("No cause is reported when the pins match or aren't checked")
    func nothing() throws {
        #expect(try diagnose(server.trust, PinningPolicy(pins: [server.leaf.pin()])).causes == [])
        #expect(try diagnose(server.trust, PinningPolicy(pins: [unrelated.leaf.pin()], mode: .off)).causes == [])
    }

    @Test("A changed CA is diagnosed when pinned issuers are gone and the chain is trusted under another root")
    func authorityChanged() throws {
        for role in [PinRole.root, .ca] {
            let policy = try PinningPolicy(pins: [unrelated.root.pin(role), unrelated.intermediate.pin(.intermediate)])
            let found = try diagnose(server.trust, policy, systemRoots: [server.root, unrelated.root])
            #expect(found.causes == ["authority-changed"])
            #expect(
                found.text
                    == "the CA changed, and the chain now ends at CN=Test Root: \(Self.condition), have the "
                    + "certificate issued by a pinned CA or for a backup key, then ship the pin of its new root, "
                    + "\(try server.root.key.pin)\(Self.otherwise)")
        }
        let withLeaf = try PinningPolicy(pins: [unrelated.root.pin(.root), unrelated.leaf.pin(.leaf)])
        #expect(try diagnose(server.trust, withLeaf).causes == ["authority-changed", "leaf-rekeyed"])
    }

    @Test("A changed intermediate is diagnosed when no root is pinned")
    func intermediateChanged() throws {
        let found = try diagnose(server.trust, PinningPolicy(pins: [unrelated.intermediate.pin(.intermediate)]))
        #expect(found.causes == ["intermediate-changed"])
        #expect(
            found.text.hasPrefix(
                "the intermediate CA changed to CN=Test Intermediate: \(Self.condition), serve a chain with the pinned "
                    + "key again, because released apps keep their pins, "))
    }

    @Test("A re-keyed leaf is diagnosed, with the start date of its certificate")
    func leafRekeyed() throws {
        let found = try diagnose(server.trust, PinningPolicy(pins: [unrelated.leaf.pin(.leaf)], mode: .report))
        #expect(found.causes == ["leaf-rekeyed"])
        #expect(
            found.text
                == "the server has a new key, in a certificate valid since 2026-01-01: \(Self.condition), serve a "
                + "pinned or backup key again, because released apps keep their pins, and keep that key when you renew"
                + "\(Self.otherwise)")
        // The owner of a pin without a role is unknown.
        let anyRole = try diagnose(server.trust, PinningPolicy(pins: [unrelated.leaf.pin()]))
        #expect(anyRole.causes == ["no-key-served"])
        #expect(
            anyRole.text
                == "no certificate of the chain, which ends at CN=Test Root, has a pinned key: \(Self.condition), "
                + "serve a chain with a pinned key again, because released apps keep their pins\(Self.otherwise)")
        // The keys of public roots are known.
        let isrg = Pin(.publicKey(try #require(SPKIFingerprint("sha256/C5+lpZ7tcVwmwQIMcRtPbsQtWLABXhQzejna0wHFr8M="))))
        let publicRoot = try diagnose(server.trust, PinningPolicy(pins: [isrg]))
        #expect(publicRoot.causes == ["authority-changed"])
        #expect(publicRoot.text.hasPrefix("the CA changed from isrg-root-x1 to CN=Test Root: "))
        let backup = Pin(.publicKey(try unrelated.root.parsed.spkiFingerprint), role: .root, isBackup: true)
        let withBackup = try PinningPolicy(pins: [unrelated.leaf.pin(.leaf), backup])
        #expect(try diagnose(server.trust, withBackup).causes == ["leaf-rekeyed"])
    }

    @Test("Only the required roles without a match are explained")
    func unmetRoles() throws {
        let pins = [try server.root.pin(.root), try unrelated.root.pin(.root), try unrelated.leaf.pin(.leaf)]
        let policy = try PinningPolicy(pins: pins, requirement: .eachOf([.leaf, .root]))
        #expect(try diagnose(server.trust, policy).causes == ["leaf-rekeyed"])
    }

    @Test("Interception is diagnosed when the chain doesn't end at an expected root")
    func inspected() throws {
        let policy = try PinningPolicy(pins: [server.root.pin(.root), server.leaf.pin(.leaf)])
        let installed = try diagnose(unrelated.trust, policy, systemRoots: [server.root])
        #expect(installed.causes == ["inspected"])
        #expect(
            installed.text
                == "the chain leads to CN=Other Root, which isn't an expected root, but a private CA or a "
                + "TLS-intercepting proxy: if that CA is yours (compare its certificate with the one that its "
                + "operator gave you), trust its root for this host with --ca-file or \"anchors\", which "
                + "pinctl init --ca-file writes; if not, don't pin its key, because the connection may be intercepted")
        let appended = try TestSite.trust(
            sent: [unrelated.leaf, unrelated.intermediate, server.leaf], anchors: [unrelated.root])
        #expect(try diagnose(appended, policy, systemRoots: [server.root]).causes == ["inspected", "off-path"])
        let unknown = try TestSite.trust(sent: unrelated.chain, anchors: [server.root])
        #expect(try diagnose(unknown, policy).causes == ["inspected"])
        // Anchors that the rule configures itself aren't reported as interception.
        let own = TrustStore(certificates: [try unrelated.root.parsed])
        let ownPolicy = try PinningPolicy(pins: [server.root.pin(.root)], anchors: own)
        #expect(try diagnose(unrelated.trust, ownPolicy, systemRoots: [server.root]).causes == ["authority-changed"])
    }

    @Test("A missing intermediate is diagnosed when the server sends only its own certificate")
    func issuerMissing() throws {
        let alone = try TestSite.trust(sent: [server.leaf], anchors: [server.root])
        let pinned = try diagnose(alone, PinningPolicy(pins: [server.leaf.pin()]))
        #expect(pinned.causes == ["issuer-missing"])
        #expect(
            pinned.text
                == "the chain lacks the certificate of CN=Test Intermediate, which the server doesn't send and which "
                + "isn't a trusted root: configure the server to send its intermediate certificates, or, if that "
                + "issuer is a private root of yours, trust it with --ca-file or \"anchors\"; if it is neither, don't "
                + "trust it, because the connection may be intercepted")
        // Two causes would contradict. The remedy covers an interception.
        #expect(try diagnose(alone, PinningPolicy(pins: [unrelated.leaf.pin()])).causes == ["issuer-missing"])
        let appended = try TestSite.trust(sent: [unrelated.leaf, server.leaf], anchors: [server.root])
        #expect(try diagnose(appended, PinningPolicy(pins: [server.leaf.pin()])).causes == ["issuer-missing"])
        let withRoot = try TestSite.trust(sent: [server.leaf, server.root], anchors: [unrelated.root])
        #expect(try diagnose(withRoot, PinningPolicy(pins: [unrelated.leaf.pin()])).causes == ["issuer-missing"])
    }

    @Test("A chain that is sent up to its private root lacks that root's trust and no intermediate, pinned or not")
    func privateRoot() throws {
        for sent in [
            [server.leaf, server.intermediate, server.root], [try server.root.leaf(TestSite.host), server.root],
        ] {
            let trust = try TestSite.trust(sent: sent, anchors: [unrelated.root])
            for pins in [[try sent[0].pin()], [try server.root.pin(.root)], [try unrelated.leaf.pin()]] {
                let found = try diagnose(trust, PinningPolicy(pins: pins))
                #expect(found.causes == ["inspected"])
                #expect(found.text.hasPrefix("the chain leads to CN=Test Root, "))
                #expect(found.text.contains("trust its root for this host with --ca-file or \"anchors\""))
            }
        }
    }

    @Test("A self-signed certificate has another cause than a default one for other names")
    func selfSigned() throws {
        func causes(_ host: String, _ name: String? = nil) throws -> [String] {
            var settings = TestCertificate.Settings.server([host])
            if let name { settings.subject = TestName(.commonName(name)) }
            let trust = try TestSite.trust(sent: [.selfSigned(settings)], anchors: [server.root])
            return try diagnose(trust, PinningPolicy(pins: [server.leaf.pin()])).causes
        }
        #expect(try causes(TestSite.host) == ["self-signed"])
        #expect(try causes("localhost") == ["default-certificate"])
        #expect(try causes(TestSite.host, "TRAEFIK DEFAULT CERT") == ["default-certificate"])
        let other = try server.intermediate.leaf("other.test")
        let trust = try TestSite.trust(sent: [other, server.intermediate], anchors: [server.root])
        #expect(try diagnose(trust, PinningPolicy(pins: [server.leaf.pin()])).causes == [])
    }

    @Test("A digest of bytes other than the SubjectPublicKeyInfo is diagnosed")
    func wrongBytes() throws {
        let key = try server.leaf.key.publicKeyDER
        let rows: [(DigestInput, [UInt8])] = [
            (.certificate, server.leaf.derBytes), (.certificate, server.root.derBytes),
            (.signedPart, try server.leaf.parsed.signedPart), (.keyOctets, key.suffix(65)),
            (.keyBitString, try server.intermediate.key.publicKeyDER.suffix(68)),
            (.publicKeyPEM, Array(TestPEM.block("PUBLIC KEY", key).utf8)),
        ]
        for (input, bytes) in rows {
            let pin = Pin(.publicKey(SPKIFingerprint(hashing: bytes.span)), name: "api")
            let found = try diagnose(server.trust, PinningPolicy(pins: [pin]))
            #expect(found.causes == ["wrong-bytes"])
            #expect(found.text.hasPrefix("api is the SHA-256 of \(input) of CN="))
            #expect(found.text.contains(", not of its key: \(Self.condition), write sha256/"))
        }
    }

    @Test("A pin with another digit than the served key's is diagnosed as mistyped, and not as a new key")
    func mistyped() throws {
        let key = try server.leaf.parsed.spkiFingerprint
        var bytes = key.bytes
        bytes[5] ^= 4
        let pin = Pin(.publicKey(SPKIFingerprint(bytes: bytes)), role: .leaf, name: "api")
        let other = Pin(.publicKey(SPKIFingerprint(hashing: [1, 2, 3].span)), role: .leaf)
        let found = try diagnose(server.trust, PinningPolicy(pins: [pin, other]))
        #expect(found.causes == ["wrong-bytes"])
        #expect(found.text.hasPrefix("api differs from the pin of CN="), "\(found.text)")
        #expect(found.text.contains("write \(key)"), "\(found.text)")
        bytes = key.bytes
        for index in 0..<4 { bytes[index] ^= 4 }
        let far = Pin(.publicKey(SPKIFingerprint(bytes: bytes)), role: .leaf, name: "api")
        #expect(try diagnose(server.trust, PinningPolicy(pins: [far, other])).causes == ["leaf-rekeyed"])
    }

    @Test("The digest of a key in place of a certificate's digest is diagnosed")
    func keyAsCertificate() throws {
        let key = try server.leaf.parsed.spkiFingerprint
        let pin = Pin(.certificate(CertificateFingerprint(bytes: key.bytes)))
        let found = try diagnose(server.trust, PinningPolicy(pins: [pin]))
        #expect(found.causes == ["wrong-bytes"])
        let certificate = try server.leaf.parsed.fingerprint
        #expect(
            found.text.hasSuffix(
                "not of the whole certificate: \(Self.condition), write \(key), or \(certificate) for the "
                    + "certificate\(Self.otherwise)"))
    }

    @Test("A pinned key at another position of the path is diagnosed")
    func wrongPosition() throws {
        let found = try diagnose(server.trust, PinningPolicy(pins: [server.intermediate.pin(.root, name: "ca")]))
        #expect(found.causes == ["wrong-position"])
        #expect(
            found.text
                == "the key of ca is on the path as intermediate, but the pin counts only as root: "
                + "\(Self.condition), give the "
                + "pin the role intermediate, or pin the key that has the role root\(Self.otherwise)")
    }

    @Test("A pinned key that is served but isn't on the verified path is diagnosed, with the reason")
    func offPath() throws {
        let sent = [server.leaf, server.intermediate, unrelated.root]
        let trust = try TestSite.trust(sent: sent, anchors: [server.root])
        let found = try diagnose(trust, PinningPolicy(pins: [unrelated.root.pin()]))
        #expect(found.causes == ["off-path"])
        #expect(
            found.text.contains(
                "is in CN=Other Root, which isn't on any valid path: \(Self.condition), pin a key that is on the "
                    + "verified path"
            ))

        let expired = try unrelated.root.crossSign(server.root) { $0.notAfter = $0.notBefore + 86_400 }
        let crossSigned = try TestSite.trust(
            sent: [server.leaf, server.intermediate, expired], anchors: [server.root, unrelated.root])
        let old = try diagnose(crossSigned, PinningPolicy(pins: [unrelated.root.pin(.root, name: "old")]))
        #expect(old.causes == ["off-path"])
        #expect(old.text.contains("the key of old is in CN=Other Root, which isn't on any valid path (certificate 2 ("))
        #expect(
            old.text.hasSuffix(
                "\(Self.condition), pin the CA that replaced the expired one, and ship that pin before the next CA "
                    + "expires\(Self.otherwise)"))
    }

    @Test("A host that its rule misses by a level, a dot or a port is diagnosed")
    func hostMissed() throws {
        let rows: [(host: String, subdomains: Bool, ports: Set<Int>?, words: String?)] = [
            ("example.test", false, nil, "doesn't include subdomains"),
            ("a.api.example.test", true, nil, "is for a name below it"),
            ("www.example.test", false, nil, "is for a neighboring name"),
            ("apiexample.test", false, nil, "differs by a dot"),
            (TestSite.host, false, [8443], "covers other ports"),
            ("example.test", true, [8443], "covers other ports"),
            ("unrelated.test", true, nil, nil), ("192.0.2.1", false, nil, nil),
        ]
        for row in rows {
            for unlisted in UnlistedHosts.allCases {
                let rule = PinningRule(
                    host: try ServerName(row.host), includesSubdomains: row.subdomains, ports: row.ports,
                    pins: [try server.leaf.pin()], location: PolicyLocation(path: "p.jsonc", line: 3, column: 5))
                let policy = try PinningPolicy(rules: [rule], unlisted: unlisted)
                let found = try diagnose(server.trust, policy)
                #expect(found.causes == (row.words == nil ? [] : ["host-missed"]))
                guard let words = row.words else { continue }
                let start =
                    words == "covers other ports"
                    ? "the rule for \(row.host) at p.jsonc:3:5 "
                    : "no rule covers api.example.test, and the nearest one, for \(row.host) at p.jsonc:3:5, "
                #expect(found.text.hasPrefix("\(start)\(words): "), "\(found.text)")
            }
        }
    }

    @Test("The nearest of several rules is named")
    func nearestRule() throws {
        let pins = [try server.leaf.pin()]
        let hosts = ["www.example.test", "b.api.example.test", "example.test"]
        let policy = try PinningPolicy(rules: hosts.map { PinningRule(host: try ServerName($0), pins: pins) })
        #expect(try diagnose(server.trust, policy).text.contains("the nearest one, for example.test, doesn't include"))
    }

    @Test("A wrong clock is diagnosed, and a single expired certificate isn't taken for one")
    func clock() throws {
        let policy = try PinningPolicy(pins: [server.leaf.pin()])
        let behind = try diagnose(server.trust, policy, at: Date(timeIntervalSince1970: 0))
        #expect(behind.causes == ["clock-behind"])
        #expect(
            behind.text.hasPrefix(
                "the clock is probably behind, because the server's certificates are not valid "
                    + "before 2026-01-01: set the clock"))
        let later = try server.intermediate.leaf(TestSite.host) { $0.notBefore = $0.notAfter - 86_400 }
        let early = try TestSite.trust(sent: [later, server.intermediate], anchors: [server.root])
        #expect(try diagnose(early, policy).causes == [])
        let ahead = try diagnose(server.trust, policy, at: TestSite.time + 20 * 365 * 86_400)
        #expect(ahead.causes == ["clock-ahead"])
        #expect(
            ahead.text.hasPrefix(
                "the clock is probably ahead, because all of the server's certificates expired by 2036-01-01"))
        let forgotten = try server.intermediate.leaf(TestSite.host) { $0.notAfter = $0.notBefore + 86_400 }
        let trust = try TestSite.trust(sent: [forgotten, server.intermediate], anchors: [server.root])
        #expect(try diagnose(trust, policy).causes == [])
    }

    @Test("An expired rule is diagnosed", arguments: PinningExpiry.Action.allCases)
    func ruleEnded(action: PinningExpiry.Action) throws {
        let expiry = try PinningExpiry("2026-12-01", then: action)
        let rule = PinningRule(
            host: try ServerName(TestSite.host), pins: [try unrelated.leaf.pin(.leaf)], expiry: expiry)
        let policy = try PinningPolicy(rules: [rule])
        let found = try diagnose(server.trust, policy)
        #expect(found.causes == ["rule-ended"] + (action == .report ? ["leaf-rekeyed"] : []))
        let since = action == .fail ? "so it rejects every server" : "so its pins no longer reject a server"
        #expect(found.text.hasPrefix("the rule for api.example.test expired at 2026-12-02T00:00:00Z, \(since): ship"))
        #expect(try diagnose(server.trust, policy, at: TestSite.time - 86_400 * 100).causes == ["leaf-rekeyed"])
    }

    @Test("A key that the policy denies is diagnosed")
    func denied() throws {
        let rule = PinningRule(host: try ServerName(TestSite.host), pins: [try server.leaf.pin()])
        let policy = try PinningPolicy(rules: [rule], deny: [server.root.pin(name: "lost")])
        let found = try diagnose(server.trust, policy)
        #expect(found.causes == ["denied"])
        #expect(found.text.hasPrefix("the policy denies the key of lost: have the certificate issued for another key"))
    }

    @Test("A denied certificate isn't called a key")
    func deniedCertificate() throws {
        let rule = PinningRule(host: try ServerName(TestSite.host), pins: [try server.leaf.pin()])
        let root = try X509Certificate(derBytes: server.root.derBytes)
        let policy = try PinningPolicy(rules: [rule], deny: [Pin(.certificate(root.fingerprint), name: "lost")])
        let found = try diagnose(server.trust, policy)
        #expect(found.causes == ["denied"])
        #expect(found.text.hasPrefix("the policy denies the certificate lost: serve another certificate"))
    }

    @Test("Another leaf than the pinned certificate isn't called a new key")
    func leafReplaced() throws {
        let other = Pin(.certificate(try X509Certificate(derBytes: unrelated.leaf.derBytes).fingerprint), role: .leaf)
        let found = try diagnose(server.trust, PinningPolicy(pins: [other], mode: .report))
        #expect(found.causes == ["leaf-replaced"])
        #expect(
            found.text.hasPrefix("the server has another certificate than the pinned one, valid since 2026-01-01: "))
        // A key beside it may be what changed.
        let both = try diagnose(server.trust, PinningPolicy(pins: [other, unrelated.leaf.pin(.leaf)], mode: .report))
        #expect(both.causes == ["leaf-rekeyed"])
    }

    @Test("A match of only the backup is diagnosed")
    func onlyBackup() throws {
        let backup = Pin(.publicKey(try server.leaf.parsed.spkiFingerprint), isBackup: true, name: "spare")
        let found = try diagnose(server.trust, PinningPolicy(pins: [unrelated.leaf.pin(), backup]))
        #expect(found.causes == ["only-backup"])
        #expect(found.text == "only backup pins match (spare): create the next backup key now, and ship its pin")
        let both = try PinningPolicy(pins: [server.root.pin(), backup])
        #expect(try diagnose(server.trust, both).causes == [])
    }

    @Test("Several causes are reported, with mistakes in the policy first")
    func several() throws {
        let certificate = SPKIFingerprint(bytes: try server.leaf.parsed.fingerprint.bytes)
        let policy = try PinningPolicy(pins: [
            unrelated.leaf.pin(.leaf), Pin(.publicKey(certificate)), server.root.pin(.leaf),
        ])
        #expect(
            try diagnose(server.trust, policy).causes == ["wrong-position", "wrong-bytes", "leaf-rekeyed"])
    }

    @Test("A certificate's text can't move the cursor")
    func visible() throws {
        let root = try TestCertificate.root("Evil\u{1B}[2J\nRoot")
        let trust = try TestSite.trust(sent: [root.leaf(TestSite.host)], anchors: [root])
        let found = try diagnose(trust, PinningPolicy(pins: [unrelated.root.pin(.root)]))
        #expect(found.causes == ["authority-changed"])
        #expect(found.text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value < 0x7F })
    }
}
