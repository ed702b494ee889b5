import PinctlBasics

/// The question whether a text may contain certificates or keys in a form that isn't read.
enum EncodedText {
    /// The least number of characters of an encoding that counts. The shortest public key in use takes 60.
    private static let leastCount = 60
    /// The widths of lines that Base64 is folded to (RFC 7468, section 2; RFC 2045, section 6.8).
    private static let lineWidths: Set<Int> = [64, 76]

    /// Whether a text has a BEGIN line anywhere, or a long run of Base64 or hexadecimal that begins like DER, or like
    /// PEM in Base64.
    static func mayHaveKeys(_ text: [UInt8]) -> Bool {
        if text.firstRange(of: "-----BEGIN ") != nil { return true }
        var index = 0
        while index < text.count {
            guard isDigit(text[index]) else {
                index += 1
                continue
            }
            let run = text[index...].prefix(while: isDigit)
            if run.count >= leastCount, beginsLikeKey(run) { return true }
            index += run.count
        }
        return false
    }

    /// Whether a byte is a digit of Base64, of its URL alphabet, or of hexadecimal with colons.
    private static func isDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "+/-_=:".utf8.contains(byte)
        }
    }

    /// Whether a run of digits, or what follows a name and `=` or `:` in it, begins like a key.
    private static func beginsLikeKey(_ run: ArraySlice<UInt8>) -> Bool {
        let names = run.prefix(200).indices.filter { run[$0] == UInt8(ascii: "=") || run[$0] == UInt8(ascii: ":") }
        return ([run.startIndex] + names.map { $0 + 1 }).contains { start in
            let digits = run[start...]
            if digits.starts(with: "LS0t".utf8) { return digits.count >= leastCount - 20 }
            let isHexadecimal = digits.prefix(60).allSatisfy { Character(UnicodeScalar($0)).isHexDigit || $0 == 0x3A }
            if isHexadecimal { return digits.starts(with: "3082".utf8) || digits.starts(with: "30:82".utf8) }
            return beginsLikeDER(digits)
        }
    }

    /// Whether the first four digits are Base64 of the head of a SEQUENCE, with a length that fits the number of
    /// digits.
    private static func beginsLikeDER(_ digits: ArraySlice<UInt8>) -> Bool {
        guard let head = Base64.decodeCanonical(Array(digits.prefix(4))), head.count == 3, head[0] == 0x30 else {
            return false
        }
        if head[1] == 0x81 || head[1] == 0x82 { return digits.count >= leastCount - 20 }
        let expected = (Int(head[1]) + 4) / 3 * 4
        return head[1] < 0x80 && (lineWidths.contains(digits.count) || (expected - 2...expected).contains(digits.count))
    }
}
