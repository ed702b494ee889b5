import PinctlTestPKI
import Testing

@testable import CertificateTrust

/// Hostnames, and what a certificate's names cover, compared with `NameSpecification`.
@Suite("The specification of hostnames")
struct NameSpecificationTests {
    @Test(
        "Every short text over a small alphabet names a host as specified, or none",
        arguments: [
            ("aB1-_.*\0\u{E9}", 5, 6, 66_429, 597_870), ("10.", 9, 11, 29_523, 265_719),
            ("1:.[", 7, 9, 21_844, 349_524), ("0xfg.", 6, 7, 19_530, 97_655), (":1f", 9, 11, 29_523, 265_719),
        ] as [(String, Int, Int, Int, Int)])
    func texts(_ alphabet: String, _ usual: Int, _ full: Int, _ usualCount: Int, _ fullCount: Int) {
        let isFull = SpecificationSize(usual: 0).isFull
        var comparison = Comparison()
        Self.forEachText(over: alphabet.map { Array(String($0).utf8) }, upTo: isFull ? full : usual) {
            comparison.compareHost($0)
        }
        #expect(comparison.differences == [])
        #expect(comparison.count == (isFull ? fullCount : usualCount))
    }

    @Test("Every name of up to three labels is covered by entries of up to four labels as specified")
    func entries() throws {
        let isFull = SpecificationSize(usual: 0).isFull
        let dot = [UInt8(ascii: ".")]
        func names(_ labels: [String], upTo length: Int) -> [[UInt8]] {
            var names: [[UInt8]] = []
            Self.forEachText(over: labels.map { Array($0.utf8) }, upTo: length, separator: dot) { names.append($0) }
            return names
        }
        let hosts = try names(["a", "B", "ab", "xn--a", "a_"], upTo: 3).map {
            try ServerName(String(decoding: $0, as: UTF8.self))
        }
        let entries = names(["a", "b", "A", "*", "a*", "*b", "", "xn--a", "xn--*"], upTo: isFull ? 4 : 3)
        var comparison = Comparison()
        for host in hosts {
            for entry in entries { comparison.compareMatch(host, entry) }
        }
        #expect(comparison.differences == [])
        #expect(comparison.count == 155 * (isFull ? 7_380 : 819))
        #expect(comparison.matches > 0)
    }

    @Test("Random hosts, and entries that differ from them by little, match as specified")
    func random() {
        var numbers = SeededGenerator(seed: 20)
        var comparison = Comparison()
        let labels = [
            "a", "bc", "xn--a", "*", "A", "1", "0x1", "a_b", "-a", "", "\u{212A}", String(repeating: "l", count: 63),
        ]
        let edits = ["*", ".", "a", "A", "\0", "-", "\u{17F}", "1", ":", "::", "[", "]"].map { Array($0.utf8) }
        for _ in 0..<SpecificationSize(usual: 20_000).cases {
            let words = (0..<Int.random(in: 1...5, using: &numbers)).map { _ in
                Int.random(in: 0..<4, using: &numbers) > 0
                    ? ["a", "bc", "test"][Int.random(in: 0..<3, using: &numbers)]
                    : labels[Int.random(in: 0..<labels.count, using: &numbers)]
            }
            let separator = Int.random(in: 0..<10, using: &numbers) == 0 ? ":" : "."
            let text = Array(words.joined(separator: separator).utf8)
            var entry = text
            for _ in 0..<Int.random(in: 0...2, using: &numbers) {
                let start = Int.random(in: 0...entry.count, using: &numbers)
                let end = min(start + Int.random(in: 0...3, using: &numbers), entry.count)
                entry.replaceSubrange(start..<end, with: edits[Int.random(in: 0..<edits.count, using: &numbers)])
            }
            if Bool.random(using: &numbers), let dot = entry.firstIndex(of: UInt8(ascii: ".")) {
                entry.replaceSubrange(..<dot, with: [UInt8(ascii: "*")])
            }
            comparison.compareHost(entry)
            guard let name = comparison.compareHost(text) else { continue }
            comparison.compareMatch(name, entry)
            comparison.compareAddress(name, (0..<4).map { _ in UInt8.random(in: 0...2, using: &numbers) })
        }
        #expect(comparison.differences == [])
        #expect(comparison.matches > 100)
    }
}

extension NameSpecificationTests {
    private struct Comparison {
        private(set) var count = 0
        private(set) var matches = 0
        private(set) var differences: [String] = []

        @discardableResult
        mutating func compareHost(_ text: [UInt8]) -> ServerName? {
            count += 1
            let name = try? ServerName(String(decoding: text, as: UTF8.self))
            let expected = NameSpecification.host(text)
            if name.map(Self.host) != expected {
                note("\(String(decoding: text, as: UTF8.self).debugDescription): \(name?.description ?? "no host")")
            }
            return name
        }

        mutating func compareMatch(_ name: ServerName, _ entry: [UInt8]) {
            count += 1
            let found = name.matches(.dns(entry))
            if found { matches += 1 }
            if found != NameSpecification.matches(Self.host(name), dNSName: entry) {
                note("\(name), \(String(decoding: entry, as: UTF8.self).debugDescription): \(found)")
            }
        }

        mutating func compareAddress(_ name: ServerName, _ bytes: [UInt8]) {
            count += 1
            let found = name.matches(.ipAddress(bytes))
            if found != NameSpecification.matches(Self.host(name), iPAddress: bytes) {
                note("\(name), \(bytes): \(found)")
            }
        }

        private static func host(_ name: ServerName) -> NameSpecification.Host {
            switch name.kind {
            case .dns(let text):
                .dns(text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map(Array.init))
            case .ipv4(let bytes), .ipv6(let bytes): .address(bytes)
            }
        }

        private mutating func note(_ difference: String) {
            if differences.count < 5 { differences.append(difference) }
        }
    }

    /// Calls `body` with every text of 1 to `length` symbols.
    private static func forEachText(
        over symbols: [[UInt8]], upTo length: Int, separator: [UInt8] = [], after start: [UInt8]? = nil,
        _ body: ([UInt8]) -> Void
    ) {
        guard length > 0 else { return }
        for symbol in symbols {
            let text = start.map { $0 + separator + symbol } ?? symbol
            body(text)
            forEachText(over: symbols, upTo: length - 1, separator: separator, after: text, body)
        }
    }
}
