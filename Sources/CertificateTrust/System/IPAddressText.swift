import PinctlBasics
import PinctlLibC

/// The text form of IP addresses (`inet_pton`, `inet_ntop`). The arrays live as long as the calls, which know their
/// sizes by the family.
enum IPAddressText {
    /// Parses an address into 4 or 16 bytes, or returns `nil`. IPv4 is four decimal numbers without leading zeros (RFC
    /// 6943, section 3.1.1). IPv6 is as in RFC 4291, section 2.2, with or without brackets and without a zone.
    static func parse(_ text: [UInt8]) -> [UInt8]? {
        guard text.contains(UInt8(ascii: ":")) else { return parseIPv4(text.span) }
        guard text.first == UInt8(ascii: "[") || text.last == UInt8(ascii: "]") else { return parseIPv6(text[...]) }
        guard text.first == UInt8(ascii: "["), text.last == UInt8(ascii: "]") else { return nil }
        return parseIPv6(text.dropFirst().dropLast())
    }

    /// Clients parse the host of every request, and nearly always it ends at the first letter of a name.
    private static func parseIPv4(_ text: Span<UInt8>) -> [UInt8]? {
        var (address, number, digits) = (UInt32(0), UInt32(0), 0)
        var dots = 0
        for index in text.indices {
            switch text[index] {
            case UInt8(ascii: "0")...UInt8(ascii: "9") where digits == 0 || number > 0:
                number = number * 10 + UInt32(text[index] - UInt8(ascii: "0"))
                digits += 1
                guard number <= 255 else { return nil }
            case UInt8(ascii: ".") where digits > 0 && dots < 3:
                address = address << 8 | number
                (number, digits, dots) = (0, 0, dots + 1)
            default: return nil
            }
        }
        guard dots == 3, digits > 0 else { return nil }
        address = address << 8 | number
        return (0..<4).map { UInt8(truncatingIfNeeded: address >> (24 - 8 * $0)) }
    }

    private static func parseIPv6(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        // A zero byte would end the text for C.
        guard text.count < Int(INET6_ADDRSTRLEN), !text.contains(0) else { return nil }
        var address = [UInt8](repeating: 0, count: 16)
        let characters = text.map { CChar(bitPattern: $0) } + [0]
        return unsafe inet_pton(AF_INET6, characters, &address) == 1 ? address : nil
    }

    /// Returns a dotted quad or RFC 5952 text. Other lengths, which only a malformed certificate has, are written in
    /// hexadecimal.
    static func format(_ bytes: [UInt8]) -> String {
        if bytes.count == 4 {
            var text: [UInt8] = []
            text.reserveCapacity(15)
            for byte in bytes {
                if !text.isEmpty { text.append(UInt8(ascii: ".")) }
                if byte >= 100 { text.append(UInt8(ascii: "0") + byte / 100) }
                if byte >= 10 { text.append(UInt8(ascii: "0") + byte / 10 % 10) }
                text.append(UInt8(ascii: "0") + byte % 10)
            }
            return String(decoding: text, as: UTF8.self)
        }
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard bytes.count == 16, unsafe inet_ntop(AF_INET6, bytes, &text, socklen_t(text.count)) != nil
        else { return bytes.map { "0x" + Hexadecimal.encode([$0]) }.joined(separator: " ") }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
