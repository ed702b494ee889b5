import CertificatePinning
import CertificateTrust
import FoundationEssentials
import PinctlTestPKI
import Testing

/// Tests of attacks on evaluating pins that need no second trusted CA. ``PinAttackTests`` lists all attacks.
@Suite("Attacks on pin evaluation")
struct PinEvaluationAttackTests {
    private let server: TestSite

    init() throws { server = try TestSite() }

    private static func pin(_ digest: [UInt8]) throws -> Pin {
        try Pin("sha256/" + Data(digest).base64EncodedString())
    }

    @Test(
        "PE5: of everything in a certificate that could be hashed, only the SubjectPublicKeyInfo matches a key pin",
        arguments: [TestKey.Kind.rsa2048, .p256, .ed25519])
    func otherDigests(kind: TestKey.Kind) throws {
        let leaf = try server.intermediate.leaf(TestSite.host, key: TestKey(kind))
        let trust = try TestSite.trust(sent: [leaf, server.intermediate], anchors: [server.root])
        let certificate = try leaf.parsed
        let key = certificate.subjectPublicKeyInfo.derBytes
        // SEQUENCE { AlgorithmIdentifier, BIT STRING }. PKCS#1's RSAPublicKey, or the raw point, is inside the latter.
        let isLong = key[1] == 0x82
        let algorithm = isLong ? 4 : 2
        let bits = algorithm + 2 + Int(key[algorithm + 1])
        let inside = Array(key[(bits + (isLong ? 5 : 3))...])
        let hashed = [
            leaf.derBytes, inside, Array(key[bits...]), Array(key[algorithm..<bits]), Array(leaf.pemText.utf8),
            Array(Data(key).base64EncodedString().utf8), key + [0x0A], certificate.subject.derBytes,
        ]
        for bytes in hashed {
            #expect(try PinningPolicy(pins: [Self.pin(sha256Digest(bytes.span))]).verdict(trust) == "refused: mismatch")
        }
        #expect(try PinningPolicy(pins: [Self.pin(sha256Digest(key.span))]).verdict(trust) == "accepted: matched")
    }

    @Test("PE8: pinning a self-signed server accepts only its certificate, for its name and its validity")
    func selfSigned() throws {
        let own = try TestCertificate.selfSigned(.server([TestSite.host]))
        let store = TrustStore(certificates: [try own.parsed])
        let policy = try PinningPolicy(pins: [own.pin(.leaf)], anchors: store)
        func verdict(_ sent: TestCertificate, name: String = TestSite.host, at time: Date = TestSite.time) throws
            -> String
        {
            policy.verdict(try TestSite.trust(sent: [sent], anchors: [server.root], name: name), at: time)
        }
        #expect(try verdict(own) == "accepted: matched")
        #expect(try verdict(TestCertificate.selfSigned(own.settings)) == "refused: untrusted")
        #expect(try verdict(own, at: TestSite.time + 20 * 365 * 86_400) == "refused: untrusted")
        #expect(try verdict(server.leaf) == "refused: untrusted")
        let everywhere = try PinningPolicy(rules: [
            PinningRule(
                host: ServerName("example.test"), includesSubdomains: true, pins: [own.pin(.leaf)], anchors: store)
        ])
        let other = try TestSite.trust(sent: [own], anchors: [], name: "www.example.test")
        #expect(everywhere.verdict(other) == "refused: untrusted")
        // Another certificate with the same key isn't the anchor.
        let renewed = try TestCertificate.selfSigned(.server([TestSite.host]), key: own.key)
        #expect(try verdict(renewed) == "refused: untrusted")
    }

    @Test("PE10: a useless backup is found by lint or is rejected as a pin")
    func backups() throws {
        let (pinA, pinB) = (PolicyFileTests.pinA, PolicyFileTests.pinB)
        let backup = #"{ "pin": "\#(pinB)", "backup": true }"#
        func rules(_ pins: String...) throws -> [LintRule] {
            let text = PolicyFileTests.rule(#""host": "a.test", "pins": [\#(pins.joined(separator: ", "))]"#)
            return try PolicyFileTests.read(text).lint(at: TestSite.time).map(\.rule)
        }
        #expect(try rules("\"\(pinA)\"", backup) == [])
        #expect(try rules("\"\(pinA)\"") == [.noBackup])
        #expect(try rules("\"\(pinA)\"", "\"\(pinB)\"") == [.noBackup])
        #expect(try rules("\"\(pinA)\"", "\"\(pinA)\"", backup) == [.duplicate])
        #expect(try rules("\"\(pinB)\"", backup).contains(.servedBackup))
        // The same 32 bytes in another spelling never become a second pin.
        let digest = String(pinA.dropFirst("sha256/".count))
        let hexadecimal = "0b9fa5a59eed715c26c1020c711b4f6ec42d58b0015e14337a39dad301c5afc3"
        for spelling in [
            digest, "sha256//" + digest, hexadecimal, hexadecimal.uppercased(), " " + pinA, pinA + " ",
            "SHA256/" + digest,
            String(pinA.dropLast()), pinA.replacing("wHFr8M=", with: "wHFr8N="),
        ] {
            #expect(throws: PolicyFileError.self, "\(spelling)") { try rules("\"\(pinA)\"", "\"\(spelling)\"") }
        }
    }

    @Test("PE19: changes to files on disk don't affect a loaded policy")
    func changedFiles() throws {
        let directory = try TestDirectory()
        let unrelated = try TestSite(authority: "Unrelated")
        let key = try directory.add(server.leaf.pemText, name: "key.pem")
        let anchors = try directory.add(server.root.pemText, name: "root.pem")
        let names = try directory.add(
            #"{ "version": 1, "pins": { "other": "\#(PolicyFileTests.pinA)" } }"#, name: "names.jsonc")
        let path = try directory.add(
            PolicyFileTests.rule(
                #""host": "\#(TestSite.host)", "pins": [{ "file": "key.pem" }], "anchors": { "files": ["root.pem"] }"#,
                top: #""include": ["names.jsonc"], "deny": ["other"],"#),
            name: "policy.jsonc")
        let policy = try PinningPolicy(contentsOfFile: path)
        let digest = policy.digest
        let forged = try TestSite.trust(
            sent: unrelated.chain, anchors: [unrelated.root, server.root])
        for (file, contents) in [
            (key, unrelated.leaf.pemText), (anchors, unrelated.root.pemText), (names, "{"), (path, "{"),
        ] {
            #expect(try TestCommand.run(["rm", file]).status == 0)
            _ = try directory.add(contents, name: String(file.dropFirst(directory.path.count + 1)))
            #expect(try policy.verdict(server.trust) == "accepted: matched")
            #expect(policy.verdict(forged) == "refused: untrusted")
            #expect(policy.digest == digest)
        }
        #expect(throws: PolicyFileError.self) { try PinningPolicy(contentsOfFile: path) }
    }

    @Test("PE26: a server that resembles an accepted one is judged by its own key")
    func alike() throws {
        let policy = try PinningPolicy(pins: [server.leaf.pin(.leaf)])
        let double = try server.intermediate.issue(server.leaf.settings)
        #expect(double.derBytes != server.leaf.derBytes && double.settings.serial == server.leaf.settings.serial)
        let trust = try TestSite.trust(sent: [double, server.intermediate], anchors: [server.root])
        for _ in 0..<3 {
            #expect(try policy.verdict(server.trust) == "accepted: matched")
            #expect(policy.verdict(trust) == "refused: mismatch")
            // The same claim again, as the same object.
            #expect(policy.verdict(trust) == "refused: mismatch")
        }
    }

    // MARK: PE23

    private static let home = ProcessInfo.processInfo.environment["HOME"] ?? ""
    private static let go = home + "/.cache/pinctl/others/bin/go"
    private static let hasGo = TestCommand.isPresent(go, "version")

    @Test(
        "PE23: Go and this project find the same key in each of 10,000 mutated certificates that both can read",
        .enabled(if: hasGo, "no Go in ~/.cache/pinctl/others, where tools/conformance/differential puts it"))
    func sameKeysAsGo() throws {
        let kinds: [TestKey.Kind] = [.rsa2048, .p256, .p384, .ed25519]
        let bases = try kinds.map { try server.intermediate.leaf(TestSite.host, key: TestKey($0)).derBytes }
        var state: UInt64 = 23
        func random(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        var lines: [String] = []
        var pins: [String?] = []
        for number in 0..<10_000 {
            var der = bases[number % bases.count]
            for _ in 0...random(3) { der[random(der.count)] = UInt8(random(256)) }
            lines.append(der.map { String(0x100 + Int($0), radix: 16).suffix(2) }.joined())
            pins.append((try? SPKIFingerprint(ofCertificate: der.span)).map { "\($0)" })
        }
        let run = try TestCommand.run(
            [Self.go, "run", "tools/conformance/peers/pins.go"], input: lines.joined(separator: "\n") + "\n",
            environment: ["HOME=\(Self.home)", "GOTOOLCHAIN=local", "GOPROXY=off"])
        #expect(run.status == 0, "\(String(decoding: run.errors.prefix(500), as: UTF8.self))")
        let answers = String(decoding: run.output, as: UTF8.self).split(separator: "\n")
        #expect(answers.count == pins.count)
        var compared = 0
        for (answer, pin) in zip(answers, pins) where answer != "-" {
            // This project rejects some certificates that Go reads. They have no key to compare.
            guard let pin else { continue }
            #expect(pin == "sha256/\(answer)")
            compared += 1
        }
        #expect(compared > 2000)
    }
}
