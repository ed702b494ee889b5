import CertificatePinning
import PinDialects
import Testing

@Suite("Readers of damaged texts")
struct TextReaderTests {
    /// SplitMix64: the same texts in every run.
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
            "a sha1/\n",
            "Certificate pinning failure!\n",
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
