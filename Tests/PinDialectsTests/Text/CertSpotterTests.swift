import CertificatePinning
import CertificateTrust
import FoundationEssentials
import PinctlBasics
import PinctlTestPKI
import Testing

@testable import PinDialects

@Suite("Cert Spotter's authorized keys")
struct CertSpotterTests {
    private static func pin(_ byte: UInt8, _ role: PinRole = .leaf) -> CanonicalPin {
        CanonicalPin(.publicKey, .sha256, [UInt8](repeating: byte, count: 32), role: role)
    }

    private static func hex(_ byte: UInt8) -> String { Hexadecimal.encode([UInt8](repeating: byte, count: 32)) }

    private func export(_ rules: [CanonicalRule]) throws -> (text: String, notes: [ConversionNote]) {
        let policy = CanonicalPolicy(rules: rules, combination: .closest)
        let (converted, notes) = policy.converted(to: .certspotter, at: .now)
        return (String(decoding: try PinDialect.certspotter.write(converted), as: UTF8.self), notes)
    }

    @Test("Each key has a line with all of its names, and a host with subdomains also has its wildcard")
    func lines() throws {
        let (text, notes) = try export([
            CanonicalRule(patterns: [HostPattern("api.test", .exact)], pins: [Self.pin(1), Self.pin(0xAB)]),
            CanonicalRule(patterns: [HostPattern("web.test", .exactAndBelow)], pins: [Self.pin(1)]),
        ])
        #expect(
            text == """
                {"pubkey_sha256":"\(Self.hex(1))","dns_names":["api.test","web.test","*.web.test"]}
                {"pubkey_sha256":"\(Self.hex(0xAB))","dns_names":["api.test"]}

                """)
        #expect(notes.isEmpty)
    }

    @Test("A condition on connections isn't reported as lost, because a monitor makes none")
    func transparency() throws {
        var rule = CanonicalRule(patterns: [HostPattern("api.test", .exact)], pins: [Self.pin(1)])
        rule.certificateTransparency = .require
        #expect(try export([rule]).notes.isEmpty)
    }

    @Test("Keys of CAs are left out with a note, because a log has certificates of servers")
    func roles() throws {
        let host = [HostPattern("api.test", .exact)]
        let (text, notes) = try export([CanonicalRule(patterns: host, pins: [Self.pin(1), Self.pin(2, .ca)])])
        #expect(!text.contains(Self.hex(2)) && notes.contains { $0.change == .roleLost })
        let policy = CanonicalPolicy(
            rules: [CanonicalRule(patterns: host, pins: [Self.pin(2, .root)])], combination: .closest)
        #expect(policy.converted(to: .certspotter, at: .now).notes.contains { $0.direction == .impossible })
    }

    @Test(
        "A line that Cert Spotter wouldn't understand is an error at its position",
        arguments: [
            "{\"pubkey_sha256\":\"00\",\"dns_names\":[\"a.test\"]}",
            "{\"pubkey_sha256\":\"\(hex(0xAB).uppercased())\",\"dns_names\":[\"a.test\"]}",
            "{\"pubkey_sha256\":\"\(hex(1))\",\"dns_names\":[]}",
            "{\"pubkey_sha256\":\"\(hex(1))\",\"dns_names\":[1]}",
            "{\"pubkey_sha256\":\"\(hex(1))\",\"dns_names\":[\"*.\"]}",
            "{\"pubkey_sha256\":\"\(hex(1))\",\"dns_names\":[\"*.*.a.test\"]}",
            "{\"pubkey_sha256\":\"\(hex(1))\"}", "[]", "{", "sha256/AAAA",
            "{\"pubkey_sha256\":\"\(hex(1))\",\"pubkey_sha256\":\"\(hex(2))\",\"dns_names\":[\"a.test\"]}",
        ])
    func malformed(line: String) throws {
        let good = "{\"pubkey_sha256\":\"\(Self.hex(1))\",\"dns_names\":[\"a.test\"]}"
        let error = #expect(throws: PolicyFileError.self) {
            try PinDialect.certspotter.read(Array("\(good)\n\n\(line)\n".utf8), path: "keys.ndjson")
        }
        #expect(error?.problems.first?.description.hasPrefix("keys.ndjson:3:") == true, "\(String(describing: error))")
    }

    @Test("A hook of Cert Spotter finds its PUBKEY_SHA256 in the file exactly if the key is pinned")
    func hook() throws {
        let key = try TestKey()
        let pin = CanonicalPin(.publicKey, .sha256, try key.publicKeyDigest, role: .leaf)
        let (text, _) = try export([CanonicalRule(patterns: [HostPattern("api.test", .exact)], pins: [pin])])
        let directory = try TestDirectory()
        let file = try directory.add(text)
        let hook = "grep -q \"\\\"pubkey_sha256\\\":\\\"$PUBKEY_SHA256\\\"\" \"$KEYS\" || echo unknown"
        func run(_ digest: [UInt8]) throws -> String {
            try TestCommand.run(
                ["sh", "-c", hook], environment: ["PUBKEY_SHA256=\(Hexadecimal.encode(digest))", "KEYS=\(file)"]
            ).text
        }
        #expect(try run(key.publicKeyDigest).isEmpty)
        #expect(try run(try TestKey().publicKeyDigest) == "unknown\n")
        withExtendedLifetime(directory) {}
    }
}
