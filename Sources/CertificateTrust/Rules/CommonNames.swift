/// The common name of a server's certificate, which people read and nothing verifies.
///
/// The Baseline Requirements (section 7.1.4.3) want a byte copy of an alternative name. Half of all private
/// certificates, and BetterTLS, have some other text there, which misleads nobody. What does is a name that reads as
/// one of the alternative names and is another, or that is spelled so that two readers take it for different hosts.
struct CommonNames {
    private let spellings: Set<[UInt8]>
    private let lowered: Set<[UInt8]>
    private let addresses: Set<[UInt8]>

    /// The alternative names that common names are held against.
    init(beside names: [SubjectAlternativeName]) {
        spellings = Set(
            names.compactMap { name in
                switch name {
                case .dns(let bytes): bytes
                case .ipAddress: Array(name.description.utf8)
                case .other: nil
                }
            })
        lowered = Set(spellings.map(HostText.lowered))
        addresses = Set(names.compactMap { if case .ipAddress(let bytes) = $0 { bytes } else { nil } })
    }

    /// Whether a common name spells one of the names in another way, or is an internationalized name that is none of
    /// them.
    func areMisled(by commonName: String) -> Bool {
        let bytes = Array(commonName.utf8)
        guard !spellings.contains(bytes) else { return false }
        if let address = Self.address(bytes) { return addresses.contains(address) }
        // A reader in C stops at the zero.
        guard !bytes.contains(0) else { return true }
        // The four dots of IDNA (RFC 3490, section 3.1).
        let labels = commonName.split(omittingEmptySubsequences: false) { ".\u{3002}\u{FF0E}\u{FF61}".contains($0) }
        let isInternationalized =
            bytes.contains { $0 >= 0x80 } || labels.contains { $0.lowercased().hasPrefix("xn--") }
        // A text with spaces is no host name, whatever its letters are.
        if isInternationalized { return labels.count > 1 && !commonName.contains(" ") }
        let host = HostText.lowered(bytes)
        return lowered.contains(host.last == UInt8(ascii: ".") ? Array(host.dropLast()) : host)
    }

    /// An address in any spelling that some reader takes: also `0xC0A80101`, `192.168.001.001` and `3232235777`.
    private static func address(_ text: [UInt8]) -> [UInt8]? {
        if let address = IPAddressText.parse(text) { return address }
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard (1...4).contains(parts.count) else { return nil }
        var value: UInt64 = 0
        for (index, part) in parts.enumerated() {
            guard let number = number(part) else { return nil }
            // The last part fills the bytes that are left (inet_aton).
            let width = index == parts.count - 1 ? 5 - parts.count : 1
            guard number < 1 << UInt64(8 * width) else { return nil }
            value = value << UInt64(8 * width) | number
        }
        return (0..<4).map { UInt8(truncatingIfNeeded: value >> UInt64(24 - 8 * $0)) }
    }

    /// Decimal, also with zeros in front, or hexadecimal behind `0x`.
    private static func number(_ part: ArraySlice<UInt8>) -> UInt64? {
        let text = String(decoding: part, as: UTF8.self).lowercased()
        guard !text.hasPrefix("+"), !text.hasPrefix("-") else { return nil }
        return text.hasPrefix("0x") ? UInt64(text.dropFirst(2), radix: 16) : UInt64(text)
    }
}
