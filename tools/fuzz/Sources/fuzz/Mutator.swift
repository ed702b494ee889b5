import PinctlTestPKI

/// Makes new inputs of old ones. The same seed makes the same inputs.
struct Mutator {
    private let seeds: [[UInt8]]
    private var generator: SeededGenerator

    /// `run` is the number of the input; it alone decides what comes.
    init(_ seeds: [[UInt8]], run: UInt64) {
        self.seeds = seeds
        generator = SeededGenerator(seed: run &* 0xD134_2543_DE82_EF95)
    }

    /// Bytes that mean something to one reader or another.
    private static let tokens: [[UInt8]] =
        [
            "<", "/>", "</", "<!--", "-->", "<![CDATA[", "]]>", "&#x", "&amp;", "<!DOCTYPE", "<?xml ", "\"", "'", "=",
            "\u{FEFF}",
            "<dict>", "<key>", "<array/>", "<true/>", "<pin-set/>", "<domain>", "bplist00", "\r\n", "sha256/", ";",
            "*.",
            "\\", "//", "/*", "pin-sha256=", "AAAA", "0", "-1", "9223372036854775807",
            "9223372036854775808", ",", ":", " ", "\n", "\r\n\r\n", "HTTP/1.1 100 \r\n\r\n", "Content-Length: ",
            "Transfer-Encoding: chunked", "Digest ", "realm=", "220-", "(|||1|)",
        ].map { Array($0.utf8) } + [[0], [0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0x7F, 0xFF, 0xFF, 0xFF]]

    /// An input; with `size`, at least so many bytes of it.
    mutating func input(size: Int = 0) -> [UInt8] {
        var bytes = seeds[number(below: seeds.count)]
        for _ in 0...number(below: 6) { change(&bytes) }
        while bytes.count < size {
            let piece = piece(of: bytes)
            let count = min(1 + number(below: 4096), (size - bytes.count) / max(1, piece.count) + 1)
            let repeated = (0..<count).flatMap { _ in piece }
            bytes.insert(contentsOf: repeated.isEmpty ? [0] : repeated, at: number(below: bytes.count + 1))
        }
        return bytes
    }

    private mutating func change(_ bytes: inout [UInt8]) {
        let place = number(below: bytes.count + 1)
        switch number(below: 8) {
        case 0 where place < bytes.count: bytes[place] ^= 1 << UInt8(number(below: 8))
        case 1 where place < bytes.count: bytes[place] = UInt8(number(below: 256))
        case 2: bytes.insert(contentsOf: Self.tokens[number(below: Self.tokens.count)], at: place)
        case 3: bytes.removeSubrange(place..<min(bytes.count, place + 1 + number(below: 16)))
        case 4: bytes.insert(contentsOf: piece(of: bytes), at: place)
        case 5: bytes.removeSubrange(place...)
        case 6: bytes.insert(contentsOf: piece(of: seeds[number(below: seeds.count)]), at: place)
        default:
            let token = Self.tokens[number(below: Self.tokens.count)]
            bytes.replaceSubrange(place..<min(bytes.count, place + token.count), with: token)
        }
    }

    private mutating func piece(of bytes: [UInt8]) -> ArraySlice<UInt8> {
        let start = number(below: bytes.count + 1)
        return bytes[start..<min(bytes.count, start + 1 + number(below: 64))]
    }

    private mutating func number(below bound: Int) -> Int { Int.random(in: 0..<bound, using: &generator) }
}
