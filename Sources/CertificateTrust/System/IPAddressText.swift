import PinctlBasics
import PinctlLibC

/// The text form of IP addresses (`inet_pton`, `inet_ntop`). The arrays live as long as the calls, which know their
/// sizes by the family.
enum IPAddressText {
    /// Parses an address into 4 or 16 bytes, or returns `nil`. IPv4 is four decimal numbers without leading zeros (RFC
    /// 6943, section 3.1.1). IPv6 is as in RFC 4291, section 2.2, with or without brackets and without a zone.
    static func parse(_ text: [UInt8]) -> [UInt8]? {
        guard text.contains(UInt8(ascii: ":")) else { return parse(text[...], AF_INET, count: 4) }
        guard text.first == UInt8(ascii: "[") || text.last == UInt8(ascii: "]") else {
            return parse(text[...], AF_INET6, count: 16)
        }
        guard text.first == UInt8(ascii: "["), text.last == UInt8(ascii: "]") else { return nil }
        return parse(text.dropFirst().dropLast(), AF_INET6, count: 16)
    }

    private static func parse(_ text: ArraySlice<UInt8>, _ family: Int32, count: Int) -> [UInt8]? {
        // A zero byte would end the text for C.
        guard text.count < Int(INET6_ADDRSTRLEN), !text.contains(0) else { return nil }
        var address = [UInt8](repeating: 0, count: count)
        let characters = text.map { CChar(bitPattern: $0) } + [0]
        return unsafe inet_pton(family, characters, &address) == 1 ? address : nil
    }

    /// Returns a dotted quad or RFC 5952 text. Other lengths, which only a malformed certificate has, are written in
    /// hexadecimal.
    static func format(_ bytes: [UInt8]) -> String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard bytes.count == 4 || bytes.count == 16,
            unsafe inet_ntop(bytes.count == 4 ? AF_INET : AF_INET6, bytes, &text, socklen_t(text.count)) != nil
        else { return bytes.map { "0x" + Hexadecimal.encode([$0]) }.joined(separator: " ") }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
