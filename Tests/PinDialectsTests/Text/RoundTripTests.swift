import CertificatePinning
import CertificateTrust
import FoundationEssentials
import Testing

@testable import PinDialects

@Suite("Written and read again")
struct RoundTripTests {
    private static let now = Date(timeIntervalSince1970: 1_795_219_200)

    /// SplitMix64: the same policies in every run.
    private struct Numbers: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var number = state
            number = (number ^ number >> 30) &* 0xBF58_476D_1CE4_E5B9
            number = (number ^ number >> 27) &* 0x94D0_49BB_1331_11EB
            return number ^ number >> 31
        }
    }

    private static func policy(_ numbers: inout Numbers, isForOneHost: Bool) -> CanonicalPolicy {
        let hosts = [
            "example.com", "api.example.com", "a.b.example.org", "xn--bcher-kva.example", "long-name.example.net",
        ]
        let rules = hosts.shuffled(using: &numbers).prefix(isForOneHost ? 1 : Int.random(in: 1...4, using: &numbers))
        return CanonicalPolicy(
            rules: rules.map { rule($0, &numbers) },
            combination: RuleCombination.allCases.randomElement(using: &numbers) ?? .union)
    }

    private static func rule(_ host: String, _ numbers: inout Numbers) -> CanonicalRule {
        let scopes: [HostPattern.Scope] = [.exact, .oneLabelBelow, .exactAndOneLabelBelow, .exactAndBelow]
        let pins = (0..<Int.random(in: 1...4, using: &numbers)).map { _ in pin(&numbers) }
        var rule = CanonicalRule(
            patterns: [HostPattern(host, scopes.randomElement(using: &numbers) ?? .exact)], pins: pins)
        if Bool.random(using: &numbers) { rule.ports = [443, 8443] }
        if Bool.random(using: &numbers) { rule.requirement = .eachOf(Set(pins.prefix(2).map(\.role))) }
        rule.mode = [.enforce, .enforce, .report, .off].randomElement(using: &numbers) ?? .enforce
        if Bool.random(using: &numbers) {
            let moment: RuleExpiry.Moment =
                [.instant(1_798_761_600), .localDay("2027-01-01"), .age(86_400)].randomElement(using: &numbers)
                ?? .age(1)
            rule.expiry = RuleExpiry(moment, RuleExpiry.Effect.allCases.randomElement(using: &numbers) ?? .fail)
        }
        if Bool.random(using: &numbers) { rule.reports = ["https://reports.example/pins", "https://other.example/"] }
        return rule
    }

    private static func pin(_ numbers: inout Numbers) -> CanonicalPin {
        let digest =
            [.sha256, .sha256, .sha256, .sha1, .sha512].randomElement(using: &numbers) ?? CanonicalPin.Digest.sha256
        let value = (0..<(digest.length ?? 0)).map { _ in UInt8.random(in: 0...255, using: &numbers) }
        return CanonicalPin(
            [.publicKey, .publicKey, .certificate].randomElement(using: &numbers) ?? .publicKey, digest, value,
            role: PinRole.allCases.randomElement(using: &numbers) ?? .any,
            trust: [.chain, .chain, .pinAlone].randomElement(using: &numbers) ?? .chain,
            isBackup: Bool.random(using: &numbers), name: Bool.random(using: &numbers) ? "a \"key\"\n$x" : nil)
    }

    @Test(
        "what was converted is written and read without a change", arguments: [PinDialect.okhttp, .hpkp, .curl, .tlsa])
    func roundTrip(_ dialect: PinDialect) throws {
        var numbers = Numbers(state: 5)
        var written = 0
        for _ in 0..<400 {
            let policy = Self.policy(&numbers, isForOneHost: dialect.traits.isForOneHost)
            let (converted, notes) = policy.converted(to: dialect, at: Self.now)
            guard !notes.contains(where: { $0.direction == .impossible }) else { continue }
            written += 1
            let bytes = try dialect.write(converted)
            let read =
                dialect == .hpkp
                ? try HPKPReader.read(bytes, path: "f", host: converted.rules.first?.patterns.first?.host)
                : try dialect.read(bytes, path: "f")
            let differences = converted.differences(in: read.policy)
            #expect(differences.isEmpty, "\(String(decoding: bytes, as: UTF8.self))\n\(differences)")
            #expect(read.policy.combination == converted.combination)
        }
        #expect(written > 40, "\(written) of 400 policies could be written")
    }

    @Test("what a text reader is given, it answers", arguments: [PinDialect.okhttp, .hpkp, .curl, .tlsa])
    func damaged(_ dialect: PinDialect) throws {
        var numbers = Numbers(state: 6)
        let sample = [
            PinDialect.okhttp:
                "val H = \"a.\" + X\nCertificatePinner.Builder().apply { add(\"*.${H}\", \"\"\"sha256/AA\"\"\") } /* */",
            .hpkp: "Public-Key-Pins: pin-sha256=\"AAAA\"; max-age=1; report-uri=\"http://a\\\"\"; x='y'\r\n",
            .curl: "--pinnedpubkey 'sha256//AAAA;sha256//BBBB'",
            .tlsa: "$ORIGIN a.\n@ 1h IN TLSA ( 3 1 1 ab ; c\n cd )\n_443._tcp TYPE52 \\# 4 030101ab \"q\"\n",
        ]
        let seed = Array((sample[dialect] ?? "").utf8)
        try #require(!seed.isEmpty)
        for _ in 0..<2_000 {
            var bytes = seed
            for _ in 0..<Int.random(in: 1...4, using: &numbers) {
                let place = Int.random(in: 0..<bytes.count, using: &numbers)
                switch Int.random(in: 0...2, using: &numbers) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &numbers)
                case 1: bytes.removeSubrange(place..<min(bytes.count, place + 3))
                default: bytes.insert(contentsOf: seed.suffix(Int.random(in: 0...9, using: &numbers)), at: place)
                }
                if bytes.isEmpty { bytes = [0x28] }
            }
            do throws(PolicyFileError) {
                _ = try dialect.read(bytes, path: "f")
            } catch {
                #expect(!error.problems.isEmpty)
            }
        }
    }

    @Test(
        "a long text is read in time that grows with its length",
        arguments: [
            "(", "{", "\"", "\"\"\"", "/*", "'", "add(", "add(\"", "x=", "x+", "x=\"a\"+", "a.",
            "CertificatePinner.Builder(",
            "CertificatePinner.Builder{", ";", "pin-x=", "sha256//;", "( ", "_1._tcp.a. TLSA ", "${", "\\", "a -> ",
        ])
    func long(_ piece: String) {
        let bytes = Array(String(repeating: piece, count: (1 << 16) / piece.utf8.count).utf8)
        for dialect in [PinDialect.okhttp, .hpkp, .curl, .tlsa] {
            do throws(PolicyFileError) {
                _ = try dialect.read(bytes, path: "f")
            } catch {
                #expect(!error.problems.isEmpty)
            }
        }
    }
}
