/// Returns the MD4 digest (RFC 1320), 16 bytes. NTLM derives its key from the MD4 digest of the password. No security
/// depends on MD4's strength.
///
/// OpenSSL 3 has MD4 only in its legacy provider, which isn't loaded.
func md4(_ message: [UInt8]) -> [UInt8] {
    var padded = message + [0x80]
    padded += [UInt8](repeating: 0, count: (120 - padded.count % 64) % 64)
    padded += littleEndian(UInt64(message.count) &* 8)
    var state: (UInt32, UInt32, UInt32, UInt32) = (0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476)
    for start in stride(from: 0, to: padded.count, by: 64) {
        mix(padded[start..<start + 64], into: &state)
    }
    return [state.0, state.1, state.2, state.3].flatMap { littleEndian($0) }
}

/// Processes one block of 64 bytes: three rounds of sixteen steps (section 3.4).
private func mix(_ block: ArraySlice<UInt8>, into state: inout (UInt32, UInt32, UInt32, UInt32)) {
    let words = (0..<16).map { word in
        (0..<4).reduce(UInt32(0)) { $0 | UInt32(block[block.startIndex + word * 4 + $1]) << UInt32($1 * 8) }
    }
    var (a, b, c, d) = state
    func step(_ mixed: UInt32, _ word: Int, _ constant: UInt32, _ shift: UInt32) {
        let sum = a &+ mixed &+ words[word] &+ constant
        (a, b, c, d) = (d, sum << shift | sum >> (32 - shift), b, c)
    }
    for index in 0..<16 { step(b & c | ~b & d, index, 0, [3, 7, 11, 19][index % 4]) }
    for index in 0..<16 {
        step(b & c | b & d | c & d, index % 4 * 4 + index / 4, 0x5A82_7999, [3, 5, 9, 13][index % 4])
    }
    let order = [0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15]
    for index in 0..<16 { step(b ^ c ^ d, order[index], 0x6ED9_EBA1, [3, 9, 11, 15][index % 4]) }
    state = (state.0 &+ a, state.1 &+ b, state.2 &+ c, state.3 &+ d)
}

/// Returns the bytes of a number, least significant first.
func littleEndian<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
    (0..<Number.bitWidth / 8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
}
