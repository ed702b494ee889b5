/// Base64 (RFC 4648, section 4), with the two strictnesses this project needs.
package enum Base64 {
    /// Encodes with padding, on one line.
    package static func encode(_ bytes: Span<UInt8>) -> String {
        var output: [UInt8] = []
        output.reserveCapacity((bytes.count + 2) / 3 * 4)
        var index = 0
        while index < bytes.count {
            let left = bytes.count - index
            let group =
                UInt32(bytes[index]) << 16
                | (left > 1 ? UInt32(bytes[index + 1]) << 8 : 0)
                | (left > 2 ? UInt32(bytes[index + 2]) : 0)
            output.append(alphabet[Int(group >> 18)])
            output.append(alphabet[Int(group >> 12 & 63)])
            output.append(left > 1 ? alphabet[Int(group >> 6 & 63)] : padding)
            output.append(left > 2 ? alphabet[Int(group & 63)] : padding)
            index += 3
        }
        return String(decoding: output, as: UTF8.self)
    }

    /// Decodes the one canonical spelling of some bytes; nil for white space, missing padding, set trailing bits.
    package static func decodeCanonical(_ characters: [UInt8]) -> [UInt8]? {
        guard !characters.isEmpty, characters.count % 4 == 0 else { return nil }
        var decoder = Base64Decoder(limit: characters.count)
        for character in characters {
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

    /// Table entry of white space.
    fileprivate static let blank: UInt8 = 0x40
    /// Table entry of what is neither in the alphabet nor white space.
    private static let foreign: UInt8 = 0x80

    /// Six bits for a character of the alphabet, ``blank`` or ``foreign`` for the others.
    fileprivate static let table: [256 of UInt8] = {
        var table = [256 of UInt8](repeating: foreign)
        for value in 0..<64 { table[Int(alphabet[value])] = UInt8(value) }
        for character in " \t\r\n\u{0B}\u{0C}".utf8 { table[Int(character)] = blank }
        return table
    }()
}

/// Decodes base64 that comes in pieces into storage it keeps. White space is passed over, all else is strict.
struct Base64Decoder {
    /// What is decoded so far stands in the first ``count`` bytes.
    private(set) var storage: [UInt8] = []
    private(set) var count = 0
    private let limit: Int
    private var group: UInt32 = 0
    private var groupCount = 0
    private var paddings = 0

    /// Decodes at most `limit` bytes.
    init(limit: Int) { self.limit = limit }

    /// Whether the limit is reached.
    var isFull: Bool { count + 3 > limit }

    /// Whether exactly `Proc` was read: the start of the `Proc-Type` field of an encrypted block (RFC 1421).
    var holdsOnlyProc: Bool {
        count == 3 && groupCount == 0 && storage[0] == 0x3E && storage[1] == 0xBA && storage[2] == 0x1C
    }

    /// Forgets the bytes and keeps their storage.
    mutating func reset() {
        count = 0
        group = 0
        groupCount = 0
        paddings = 0
    }

    /// Decodes from `start` while whole groups of four characters and line ends come; returns where it stopped.
    ///
    /// `line` counts line feeds; `isLineStart` tells whether the place it stopped at begins a line.
    mutating func decodeLines(
        _ characters: Span<UInt8>, from start: Int, line: inout Int, isLineStart: inout Bool
    ) -> Int {
        guard groupCount == 0, paddings == 0 else { return start }
        var index = start
        let room = min(limit - count, (characters.count - start) / 4 * 3)
        grow(to: count + room)
        let stop = count + room
        // A span of a local copy: each subscript of an InlineArray copies the whole of it.
        let local = Base64.table
        let table = local.span
        var position = count
        var output = storage.mutableSpan
        while index < characters.count {
            let first = characters[index]
            if first == 0x0A {
                line += 1
                isLineStart = true
                index += 1
                continue
            }
            guard index + 4 <= characters.count, position + 3 <= stop else { break }
            let a = table[Int(first)]
            let b = table[Int(characters[index + 1])]
            let c = table[Int(characters[index + 2])]
            let d = table[Int(characters[index + 3])]
            guard (a | b | c | d) < 64 else {
                guard first == 0x0D else { break }
                index += 1
                continue
            }
            output[position] = a << 2 | b >> 4
            output[position + 1] = b << 4 | c >> 2
            output[position + 2] = c << 6 | d
            position += 3
            index += 4
            isLineStart = false
        }
        count = position
        return index
    }

    /// Takes one character; false when it cannot stand here.
    mutating func take(_ character: UInt8) -> Bool {
        let value = Base64.table.span[Int(character)]
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

    /// Ends the text; false when a group is open or its unused bits are set.
    mutating func finish() -> Bool {
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
        storage.append(contentsOf: repeatElement(0, count: max(size, storage.count * 2) - storage.count))
    }
}
