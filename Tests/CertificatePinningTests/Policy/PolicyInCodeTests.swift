import CertificatePinning
import CertificateTrust
import FoundationEssentials
import PinctlTestPKI
import Testing

@Suite("Policies written in Swift")
struct PolicyInCodeTests {
    private typealias File = PolicyFileTests

    @Test("A rule written in Swift equals the same rule in a file")
    func texts() throws {
        let policy = try PinningPolicy(rules: [
            PinningRule("API.example.com", pins: [File.pinA], backups: [File.pinB]),
            PinningRule(
                "example.org", includesSubdomains: true, ports: [443], pins: [File.certificatePin], role: .leaf,
                mode: .report,
                expiry: PinningExpiry("2027-03-31", then: .report), note: "a trial"),
        ])
        let read = try File.read(
            """
            { "version": 1, "domains": [
              { "host": "api.example.com", "pins": ["\(File.pinA)", { "pin": "\(File.pinB)", "backup": true }] },
              { "host": "example.org", "subdomains": true, "ports": [443], "mode": "report", "note": "a trial",
                "pins": [{ "pin": "\(File.certificatePin)", "role": "leaf" }],
                "expires": "2027-03-31T23:59:60Z", "onExpiry": "report" },
            ] }
            """.replacing("2027-03-31T23:59:60Z", with: "2027-03-31"))
        #expect(policy.digest == read.policy.digest)
        #expect(policy.rules.map(\.pins) == read.policy.rules.map(\.pins))
        #expect(policy.rules[1].note == "a trial")
    }

    @Test("An invalid host, pin or report URL throws")
    func malformed() throws {
        #expect(throws: PolicyError.invalidHost(.empty)) { try PinningRule("", pins: [File.pinA]) }
        for host in ["https://a.test", "*.a.test", "a.test:443", "bücher.test"] {
            #expect(throws: PolicyError.self) { try PinningRule(host, pins: [File.pinA]) }
        }
        for pin in ["", "sha256/AAAA", "sha1/AAAA", "sha256/" + String(repeating: "A", count: 1 << 20)] {
            let error = #expect(throws: PolicyError.self) { try PinningRule("a.test", pins: [pin]) }
            guard case .invalidPin = error else { throw PolicyError.noRules }
            #expect(throws: PolicyError.self) { try PinningRule("a.test", pins: [File.pinA], backups: [pin]) }
        }
        #expect(throws: PolicyError.noPins(host: try ServerName("a.test"))) {
            try PinningPolicy(rules: [PinningRule("a.test", pins: [])])
        }
        let report = try #require(URL(string: "https://r.a.test/"))
        let host = try ServerName("a.test")
        let rule = PinningRule(host: host, includesSubdomains: true, pins: [try Pin(File.pinA)], reports: [report])
        #expect(throws: PolicyError.reportToItself(report, host: host)) { try PinningPolicy(rules: [rule]) }
        let plain = try #require(URL(string: "http://r.test/"))
        #expect(throws: PolicyError.reportWithoutTLS(plain, host: host)) {
            try PinningPolicy(rules: [PinningRule(host: host, pins: [try Pin(File.pinA)], reports: [plain])])
        }
    }

    @Test("A key is pinned from a certificate, a request or a public key, as DER, PEM or base64")
    func keys() throws {
        let root = try TestCertificate.root("Root")
        let certificate = try root.parsed
        let expected = Pin(.publicKey(certificate.spkiFingerprint), role: .root, isBackup: true, name: "r")
        #expect(Pin(keyOf: certificate, role: .root, isBackup: true, name: "r") == expected)
        let key = certificate.subjectPublicKeyInfo.derBytes
        let base64 = Data(root.derBytes).base64EncodedString()
        let pem = root.pemText
        let request = try TestSigningRequest(root.subject, key: root.key).pemText
        for bytes in [root.derBytes, key, Array(pem.utf8), Array(("notes\n" + request).utf8)] {
            #expect(try Pin(keyIn: bytes, role: .root, isBackup: true, name: "r") == expected)
        }
        let body = pem.split(separator: "\n").dropFirst().dropLast().joined(separator: "\n  ")
        for text in [
            base64, "\n  " + body + "\n", pem, Data(key).base64EncodedString(), TestPEM.block("PUBLIC KEY", key),
        ] {
            #expect(try Pin(keyIn: text, role: .root, isBackup: true, name: "r") == expected)
        }
    }

    @Test("Input without exactly one public key throws and never traps")
    func brokenKeys() throws {
        let root = try TestCertificate.root("Root")
        let privateKey = try root.key.privateKeyPEM
        let rows: [(String, PinnedKeyError.Reason?)] = [
            (root.pemText + root.pemText, .several), (privateKey, .privateKey), ("", nil), ("text", nil),
            (File.pinA, nil), ("AAAA", nil), (String(root.pemText.dropLast(40)), nil),
            ("-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n", .noKey),
        ]
        for (text, reason) in rows {
            let error = #expect(throws: PinnedKeyError.self) { try Pin(keyIn: text) }
            if let reason { #expect(error?.reason == reason) }
            #expect(error?.description.contains(": ") == true)
        }
        let der = root.derBytes
        for end in 0..<der.count { #expect(throws: PinnedKeyError.self) { try Pin(keyIn: Array(der[..<end])) } }
        let large = [0x30, 0x84, 0x7F, 0xFF, 0xFF, 0xFF] + [UInt8](repeating: 0, count: 2 << 20)
        #expect(throws: PinnedKeyError.self) { try Pin(keyIn: large) }
    }
}
