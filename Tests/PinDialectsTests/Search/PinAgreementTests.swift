import CertificatePinning
import Testing

@testable import PinDialects

@Suite("The agreement of places that pin")
struct PinAgreementTests {
    private static func agreement(_ files: [(name: String, text: String)]) -> PinAgreement {
        PinAgreement(files.flatMap { SearchText($0.name, $0.text).search().sightings })
    }

    /// The hosts that disagree, each with the places that lack a pin.
    private static func missing(_ files: (name: String, text: String)...) -> [String] {
        agreement(files).hosts.filter(\.disagrees).map { host in
            "\(host.host ?? "-"): " + host.pins.flatMap(\.missing).map(\.title).joined(separator: " ")
        }
    }

    @Test("A place that lacks a pin of another place is named")
    func missing() {
        let both = ("a.ts", "pins = { 'api.example.com': ['{A}', '{B}'] }")
        let one = ("b.ts", "pins = { 'api.example.com': ['{A}'] }")
        #expect(Self.missing(both, one) == ["api.example.com: b.ts"])
        #expect(Self.missing(both, both) == [])
        #expect(Self.missing(both, ("b.ts", "pins = { '*.API.example.com': ['{B}', '{A}'] }")) == [])
        #expect(Self.missing(("a.ts", "pins = ['{A}']"), ("b.ts", "pins = ['{B}']")) == [])
    }

    @Test("Pins that aren't in force are missed nowhere, and places without any in force miss none")
    func standing() {
        let pins = ("a.ts", "pins = { 'api.example.com': ['{A}'] }")
        #expect(Self.missing(pins, ("README.md", "pins of api.example.com: {B}")) == [])
        #expect(Self.missing(pins, ("b.ts", "// pins = { 'api.example.com': ['{B}'] }")) == [])
        #expect(Self.missing(pins, ("test/b.ts", "pins = { 'api.example.com': ['{B}'] }")) == [])
        let commented = ("b.ts", "pins = { 'api.example.com': ['{B}', // '{A}'\n] }")
        #expect(Self.missing(pins, commented) == ["api.example.com: b.ts a.ts"])
    }

    @Test("Pins of a host with its subdomains count for a host below it that another place names")
    func parent() {
        let parent = ("a.ts", "pins = { 'example.com': { includeSubdomains: true, pins: ['{A}'] } }")
        let below = ("b.ts", "pins = { 'api.example.com': ['{B}'] }")
        #expect(Self.missing(parent, below) == ["api.example.com: b.ts a.ts"])
        #expect(Self.missing(parent, ("b.ts", "pins = { 'api.example.com': ['{A}'] }")) == [])
        #expect(Self.missing(("a.ts", "pins = { 'example.com': ['{A}'] }"), below) == [])
        // A place that names the host itself is compared with that.
        let both = (
            "a.ts",
            "pins = { 'example.com': { includeSubdomains: true, pins: ['{A}'] }, 'api.example.com': ['{B}'] }"
        )
        #expect(Self.missing(both, below) == [])
        #expect(Self.missing(parent, ("README.md", "pins of api.example.com: {B}")) == [])
    }

    @Test("Places are compared for each name that both of them pin")
    func scopes() {
        func pins(_ file: String, _ entries: String...) -> (name: String, text: String) {
            (file, "pins = { \(entries.joined(separator: ", ")) }")
        }
        let below = pins("a.ts", "'*.example.com': ['{A}']")
        let host = pins("b.ts", "'example.com': ['{B}']")
        let all = pins("c.ts", "'example.com': { includeSubdomains: true, pins: ['{C}'] }")
        // One pins only names that the other doesn't pin.
        #expect(Self.missing(below, host) == [])
        #expect(Self.missing(below, all) == ["example.com: c.ts a.ts"])
        #expect(Self.missing(host, all) == ["example.com: c.ts b.ts"])
        #expect(Self.missing(pins("a.ts", "'*.example.com': ['{A}']"), pins("b.ts", "'example.com': ['{A}']")) == [])
        // What a place pins below a host isn't pinned for the host.
        let both = pins("d.ts", "'*.example.com': ['{A}']", "'example.com': ['{B}']")
        #expect(Self.missing(both, pins("e.ts", "'example.com': ['{A}', '{B}']")) == ["example.com: d.ts"])
        #expect(Self.missing(both, pins("e.ts", "'example.com': ['{B}']")) == [])
        #expect(Self.missing(both, pins("e.ts", "'*.example.com': ['{A}']", "'example.com': ['{B}']")) == [])
        // A place with names below a host has the pins of the one above it for the host.
        let parent = pins(
            "f.ts", "'example.com': { includeSubdomains: true, pins: ['{A}'] }", "'*.api.example.com': ['{B}']")
        #expect(Self.missing(parent, pins("g.ts", "'api.example.com': ['{A}']")) == [])
        #expect(Self.missing(parent, pins("g.ts", "'api.example.com': ['{B}']")) == ["api.example.com: g.ts f.ts"])
    }

    @Test("The places that lack a pin are listed up to a limit, and each place has one entry")
    func manyPlaces() throws {
        let files = (0..<120).map { ("\($0).ts", "pins = { 'api.example.com': ['\($0 == 0 ? "{A}" : "{B}")'] }") }
        let host = try #require(Self.agreement(files).hosts.first)
        #expect(host.pins.map(\.missing.count) == [100, 1] && host.pins.map(\.moreMissing) == [19, 0])
        #expect(host.lacking.count == 120 && host.lacking.allSatisfy { $0.count == 1 })
    }

    @Test("Digests of certificates and of keys aren't compared with each other")
    func kinds() {
        let keys = ("a.ts", "pins = { 'api.example.com': ['{A}'] }")
        #expect(Self.missing(keys, ("b.ts", "fingerprints = { 'https://api.example.com': ['{B.colons}'] }")) == [])
    }

    @Test("Pins without a host come first, and hosts that disagree last")
    func order() {
        let hosts = Self.agreement([
            ("a.ts", "pins = { 'b.example.com': ['{A}'] }\nx = { 'a.example.com': ['sha256/{B}'] }"),
            ("b.ts", "pins = { 'a.example.com': ['{A}'] }"), ("c.ts", "\n\npins = '{D}'"),
        ])
        #expect(hosts.hosts.map(\.host) == [nil, "b.example.com", "a.example.com"])
        #expect(hosts.placeCount == 3 && hosts.pinCount == 3)
        #expect(hosts.hosts.last?.places.map(\.title) == ["a.ts", "b.ts"])
    }

    @Test("The two configurations of an Info.plist are two places")
    func twoConfigurations() {
        let plist = """
            <plist version="1.0"><dict>
            <key>TSKConfiguration</key><dict><key>TSKPinnedDomains</key><dict><key>api.example.com</key>
            <dict><key>TSKPublicKeyHashes</key><array><string>{A}</string><string>{B}</string></array></dict>
            </dict></dict>
            <key>NSAppTransportSecurity</key><dict><key>NSPinnedDomains</key><dict><key>api.example.com</key>
            <dict><key>NSPinnedCAIdentities</key><array>
            <dict><key>SPKI-SHA256-BASE64</key><string>{A}</string></dict></array></dict>
            </dict></dict></dict></plist>
            """
        #expect(Self.missing(("Info.plist", plist)) == ["api.example.com: Info.plist (NSPinnedDomains)"])
    }
}
