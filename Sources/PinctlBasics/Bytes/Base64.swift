/// The Base64 encoding (RFC 4648, section 4), with a canonical decoder and one that skips white space.
package enum Base64 {
    /// Encodes with padding, on one line.
    package static func encode(_ bytes: Span<UInt8>) -> String {
        String(appending: { append(bytes, to: &$0) })
    }

    /// Encodes with padding, on one line, and appends to `text`.
    package static func append(_ bytes: Span<UInt8>, to text: inout [UInt8]) {
        let alphabet = alphabet
        text.append(addingCapacity: (bytes.count + 2) / 3 * 4) { output in
            func append(_ group: UInt32, _ count: Int) {
                for place in 0..<count { output.append(alphabet[Int(group >> UInt32(18 - 6 * place) & 63)]) }
            }
            var index = 0
            while bytes.count - index >= 3 {
                append(UInt32(bytes[index]) << 16 | UInt32(bytes[index + 1]) << 8 | UInt32(bytes[index + 2]), 4)
                index += 3
            }
            guard index < bytes.count else { return }
            let isLast = bytes.count - index == 1
            append(UInt32(bytes[index]) << 16 | (isLast ? 0 : UInt32(bytes[index + 1]) << 8), isLast ? 2 : 3)
            for _ in 0..<(isLast ? 2 : 1) { output.append(padding) }
        }
    }

    /// Decodes the canonical encoding of some bytes. Returns `nil` if there is white space, padding is missing, or
    /// trailing bits are set. No other copy of the bytes is left in memory.
    package static func decodeCanonical(_ characters: [UInt8]) -> [UInt8]? {
        guard !characters.isEmpty, characters.count % 4 == 0 else { return nil }
        var decoder = Base64Decoder(limit: characters.count)
        decoder.reserveAll()
        // mutant wiped-decoder: () for `decoder.wipe()` by WipedKeyTests/bareBase64
        defer { decoder.wipe() }
        for character in characters {
            // mutant pin-base64: true for 1 by DERTests/canonicalBase64
            guard table[Int(character)] != blank, decoder.take(character) else { return nil }
        }
        guard decoder.finish() else { return nil }
        return Array(decoder.storage[..<decoder.count])
    }

    fileprivate static let padding = UInt8(ascii: "=")
    private static let alphabet: [64 of UInt8] = {
        let characters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        return [64 of UInt8] { characters[$0] }
    }()

    /// The table entry for white space.
    fileprivate static let blank: UInt8 = 0x40
    /// The table entry for characters that are neither in the alphabet nor white space.
    private static let foreign: UInt8 = 0x80

    /// The six bits of each character of the alphabet, and ``blank`` or ``foreign`` for all others.
    fileprivate static let table: [UInt8] = {
        var table = [UInt8](repeating: foreign, count: 256)
        for value in 0..<64 { table[Int(alphabet[value])] = UInt8(value) }
        for character in " \t\r\n\u{0B}\u{0C}".utf8 { table[Int(character)] = blank }
        return table
    }()

    /// The entry of ``pairs`` for two characters that aren't both in the alphabet.
    static let noPair: UInt16 = 0xFFFF

    /// The twelve bits of two characters of the alphabet, or ``noPair``. The index is the first character plus 256
    /// times the second.
    static let pairs: [UInt16] = {
        var pairs = [UInt16](repeating: noPair, count: 0x1_0000)
        for first in 0..<64 {
            for second in 0..<64 {
                pairs[Int(alphabet[first]) | Int(alphabet[second]) << 8] = UInt16(first << 6 | second)
            }
        }
        return pairs
    }()
}

/// A decoder for Base64 that arrives in pieces. It keeps its storage, skips white space, and is strict otherwise.
package struct Base64Decoder {
    /// The storage, of which the first ``count`` bytes are decoded.
    package private(set) var storage: [UInt8] = []
    package private(set) var count = 0
    private let limit: Int
    private var group: UInt32 = 0
    private var groupCount = 0
    private var paddings = 0

    /// Creates a decoder for at most `limit` bytes.
    package init(limit: Int) { self.limit = limit }

    /// Whether the limit has been reached.
    package var isFull: Bool { count + 3 > limit }

    /// Whether exactly `Proc` was decoded: the start of the `Proc-Type` field of an encrypted block (RFC 1421).
    package var holdsOnlyProc: Bool {
        count == 3 && groupCount == 0 && storage[0] == 0x3E && storage[1] == 0xBA && storage[2] == 0x1C
    }

    /// Discards the bytes and keeps their storage.
    package mutating func reset() {
        count = 0
        group = 0
        groupCount = 0
        paddings = 0
    }

    /// Reserves the storage for as many bytes as the limit allows, since growing it would leave the old one in memory.
    fileprivate mutating func reserveAll() { storage.reserveCapacity(limit + Base64Words.slack) }

    /// Overwrites the storage.
    package mutating func wipe() { PinctlBasics.wipe(&storage) }

    /// Decodes from `start` up to a character that isn't valid Base64 there, and returns its index.
    ///
    /// Adds the number of line feeds to `line`. Sets `isLineStart` to whether the returned index begins a line.
    package mutating func decode(_ characters: Span<UInt8>, from start: Int, line: inout Int, isLineStart: inout Bool)
        -> Int
    {
        var index = start
        while index < characters.count {
            if groupCount == 0, paddings == 0 {
                line += decodeWords(characters, &index)
                guard index < characters.count else { break }
            }
            guard take(characters[index]) else { break }
            if characters[index] == 0x0A { line += 1 }
            index += 1
        }
        // A carriage return doesn't decide whether a line begins.
        var last = index
        while last > start, characters[last - 1] == 0x0D { last -= 1 }
        if last > start { isLineStart = characters[last - 1] == 0x0A }
        return index
    }

    private mutating func decodeWords(_ characters: Span<UInt8>, _ index: inout Int) -> Int {
        grow(to: count + min(limit - count, (characters.count - index) / 4 * 3) + Base64Words.slack)
        var position = count
        var output = storage.mutableSpan
        let lines = Base64Words.decode(characters, from: &index, into: &output, at: &position)
        count = position
        return lines
    }

    /// Decodes one character. Returns false if it isn't allowed here.
    package mutating func take(_ character: UInt8) -> Bool {
        let value = Base64.table[Int(character)]
        if value == Base64.blank { return true }
        if character == Base64.padding {
            guard groupCount >= 2, groupCount + paddings < 4 else { return false }
            paddings += 1
            return true
        }
        guard value < 64, paddings == 0, !isFull else { return false }
        group = group << 6 | UInt32(value)
        groupCount += 1
        if groupCount == 4 {
            append(UInt8(truncatingIfNeeded: group >> 16))
            append(UInt8(truncatingIfNeeded: group >> 8))
            append(UInt8(truncatingIfNeeded: group))
            group = 0
            groupCount = 0
        }
        return true
    }

    /// Ends the text. Returns false if a group is incomplete or its unused bits are set.
    package mutating func finish() -> Bool {
        switch (groupCount, paddings) {
        case (0, 0): return true
        case (2, 2):
            guard group & 0x0F == 0 else { return false }
            append(UInt8(truncatingIfNeeded: group >> 4))
        case (3, 1):
            guard group & 0x03 == 0 else { return false }
            append(UInt8(truncatingIfNeeded: group >> 10))
            append(UInt8(truncatingIfNeeded: group >> 2))
        default: return false
        }
        return true
    }

    private mutating func append(_ byte: UInt8) {
        grow(to: count + 1)
        storage[count] = byte
        count += 1
    }

    private mutating func grow(to size: Int) {
        guard storage.count < size else { return }
        let target = max(size, min(storage.count * 2, limit + Base64Words.slack))
        storage.append(contentsOf: repeatElement(0, count: target - storage.count))
    }
}
