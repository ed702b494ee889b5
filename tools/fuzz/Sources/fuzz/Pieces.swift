import PinctlTestPKI

/// A message as a network may bring it: in pieces of one to three bytes for the most part, and of up to 4 KiB. The same
/// message is always cut the same way.
func pieces(of bytes: [UInt8]) -> [[UInt8]] {
    // FNV-1a.
    let digest = bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    var generator = SeededGenerator(seed: digest)
    var pieces: [[UInt8]] = []
    var rest = bytes[...]
    while !rest.isEmpty {
        let most = Int.random(in: 0..<4, using: &generator) == 0 ? 4096 : 3
        pieces.append(Array(rest.prefix(Int.random(in: 1...most, using: &generator))))
        rest = rest.dropFirst(pieces[pieces.count - 1].count)
    }
    return pieces
}

/// A message by its lines, and the tags of XML in it.
func lines(of bytes: [UInt8]) -> [[UInt8]] {
    var lines: [[UInt8]] = []
    var rest = bytes[...]
    while let end = rest.firstIndex(where: { $0 == 0x0A || $0 == 0x3E }) ?? rest.indices.last {
        lines.append(Array(rest[...end]))
        rest = rest[(end + 1)...]
    }
    return lines
}
