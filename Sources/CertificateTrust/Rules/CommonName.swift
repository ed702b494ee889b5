/// The common name of a server's certificate, which people read and nothing verifies.
///
/// The Baseline Requirements (section 7.1.4.3) want a byte copy of an alternative name. Half of all private
/// certificates, and BetterTLS, have some other text there, which misleads nobody. What does is a name that reads as
/// one of the alternative names and is another, or that is spelled so that two readers take it for different hosts.
enum CommonName {
    /// The first of some common names that spells one of `names` in another way, or is an internationalized name that is
    /// none of them.
    static func misleading(
        among commonNames: [String], beside names: [SubjectAlternativeName]
    ) -> String? {
        guard !commonNames.isEmpty else { return nil }
        // Sets, since a certificate may have thousands of each.
        let exact = Set(names)
        let hosts = Set(
            names.compactMap { if case .dns(let host) = $0 { SubjectAlternativeName.lowered(host) } else { nil } })
        return commonNames.first { commonName in
            let bytes = Array(commonName.utf8)
            guard !exact.contains(.dns(bytes)) else { return false }
            if let address = address(bytes) {
                return exact.contains(.ipAddress(address)) && IPAddressText.format(address) != commonName
            }
            let labels = commonName.split(separator: ".", omittingEmptySubsequences: false)
            let isInternationalized = labels.contains { label in
                label.lowercased().hasPrefix("xn--") || label.utf8.contains { $0 >= 0x80 }
            }
            // A text with spaces is no host name, whatever its letters are.
            if isInternationalized { return labels.count > 1 && !commonName.contains(" ") }
            let host = SubjectAlternativeName.lowered(bytes)
            return hosts.contains(host.last == UInt8(ascii: ".") ? Array(host.dropLast()) : host)
        }
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
