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
        var decoder = Decoder()
        for character in characters {
            guard table[Int(character)] & Decoder.blank == 0 || character == padding else { return nil }
            guard decoder.take(character) else { return nil }
        }
        return decoder.finish()
    }

    /// Decodes a PEM body a character at a time (RFC 7468, section 3): white space is passed over, all else is strict.
    struct Decoder {
        private(set) var bytes: [UInt8] = []
        private var group: UInt32 = 0
        private var count = 0
        private var paddings = 0

        /// Bit of a table entry: white space.
        static let blank: UInt8 = 0x40
        /// Bit of a table entry: outside the alphabet.
        static let foreign: UInt8 = 0x80

        mutating func reserve(_ capacity: Int) { bytes.reserveCapacity(capacity) }

        /// Forgets the bytes and keeps their storage.
        mutating func reset() {
            bytes.removeAll(keepingCapacity: true)
            group = 0
            count = 0
            paddings = 0
        }

        /// Takes one character; false when it cannot stand here.
        mutating func take(_ character: UInt8) -> Bool {
            let value = Base64.table[Int(character)]
            if value < 64 {
                guard paddings == 0 else { return false }
                group = group << 6 | UInt32(value)
                count += 1
                if count == 4 {
                    bytes.append(UInt8(truncatingIfNeeded: group >> 16))
                    bytes.append(UInt8(truncatingIfNeeded: group >> 8))
                    bytes.append(UInt8(truncatingIfNeeded: group))
                    group = 0
                    count = 0
                }
                return true
            }
            if value & Self.blank != 0 { return true }
            guard character == Base64.padding, count >= 2, count + paddings < 4 else { return false }
            paddings += 1
            return true
        }

        /// Takes a run of characters, four at a time while it can; false when one cannot stand there.
        mutating func take(_ characters: Span<UInt8>) -> Bool {
            var index = 0
            while index < characters.count {
                if count == 0, paddings == 0 {
                    // Whole groups without a check per character: one bit tells that a group holds something else.
                    while index + 4 <= characters.count {
                        let a = Base64.table[Int(characters[index])]
                        let b = Base64.table[Int(characters[index + 1])]
                        let c = Base64.table[Int(characters[index + 2])]
                        let d = Base64.table[Int(characters[index + 3])]
                        guard (a | b | c | d) < 64 else { break }
                        let group = UInt32(a) << 18 | UInt32(b) << 12 | UInt32(c) << 6 | UInt32(d)
                        bytes.append(UInt8(truncatingIfNeeded: group >> 16))
                        bytes.append(UInt8(truncatingIfNeeded: group >> 8))
                        bytes.append(UInt8(truncatingIfNeeded: group))
                        index += 4
                    }
                    guard index < characters.count else { break }
                }
                guard take(characters[index]) else { return false }
                index += 1
            }
            return true
        }

        /// The bytes, or nil when a group is open or its unused bits are set.
        mutating func finish() -> [UInt8]? {
            switch (count, paddings) {
            case (0, 0): return bytes
            case (2, 2):
                guard group & 0x0F == 0 else { return nil }
                bytes.append(UInt8(truncatingIfNeeded: group >> 4))
            case (3, 1):
                guard group & 0x03 == 0 else { return nil }
                bytes.append(UInt8(truncatingIfNeeded: group >> 10))
                bytes.append(UInt8(truncatingIfNeeded: group >> 2))
            default: return nil
            }
            return bytes
        }
    }

    private static let padding = UInt8(ascii: "=")
    private static let alphabet: [64 of UInt8] = {
        let characters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        return [64 of UInt8] { characters[$0] }
    }()

    /// Six bits for a character of the alphabet; ``Decoder/blank`` or ``Decoder/foreign`` for the others.
    fileprivate static let table: [256 of UInt8] = {
        var table = [256 of UInt8](repeating: Decoder.foreign)
        for value in 0..<64 { table[Int(alphabet[value])] = UInt8(value) }
        for character in " \t\r\n\u{0B}\u{0C}".utf8 { table[Int(character)] = Decoder.blank }
        return table
    }()
}
