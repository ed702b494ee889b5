/// A check of the common name in a server certificate, which people read and no software verifies.
///
/// The Baseline Requirements (section 7.1.4.3) require a byte-for-byte copy of an alternative name. Half of all private
/// certificates, and those of BetterTLS, have some unrelated text there, which misleads nobody. A common name is
/// misleading if it reads like one of the alternative names but is a different name, or if two readers could take its
/// spelling for different hosts.
struct CommonNames {
    private let spellings: Set<[UInt8]>
    private let lowered: Set<[UInt8]>
    private let addresses: Set<[UInt8]>

    /// Collects the alternative names that common names are compared with.
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

    /// Whether a common name is a different spelling of one of the names, or an internationalized name that isn't one
    /// of them.
    func areMisled(by commonName: String) -> Bool {
        let bytes = Array(commonName.utf8)
        guard !spellings.contains(bytes) else { return false }
        let read = Self.addresses(bytes)
        if !read.isEmpty { return !addresses.isDisjoint(with: read) }
        // C programs stop reading at the zero byte.
        guard !bytes.contains(0) else { return true }
        // The four dots of IDNA (RFC 3490, section 3.1).
        let labels = commonName.split(omittingEmptySubsequences: false) { ".\u{3002}\u{FF0E}\u{FF61}".contains($0) }
        let isInternationalized =
            bytes.contains { $0 >= 0x80 } || labels.contains { $0.lowercased().hasPrefix("xn--") }
        // A text with spaces isn't a hostname, whatever letters it has.
        if isInternationalized { return labels.count > 1 && !commonName.contains(" ") }
        let host = HostText.lowered(bytes)
        return lowered.contains(host.last == UInt8(ascii: ".") ? Array(host.dropLast()) : host)
    }

    /// Returns the IPv4 or IPv6 addresses that some reader takes the text for, including `0xC0A80101`,
    /// `192.168.001.001` and `3232235777`. A number with leading zeros is octal for `inet_aton` and decimal for others.
    private static func addresses(_ text: [UInt8]) -> [[UInt8]] {
        if let address = IPAddressText.parse(text) { return [address] }
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard (1...4).contains(parts.count) else { return [] }
        return [10, 8].compactMap { radix in address(parts, leadingZeros: radix) }
    }

    private static func address(_ parts: [ArraySlice<UInt8>], leadingZeros radix: Int) -> [UInt8]? {
        var value: UInt64 = 0
        for (index, part) in parts.enumerated() {
            guard let number = number(part, leadingZeros: radix) else { return nil }
            // The last part fills the remaining bytes (inet_aton).
            let width = index == parts.count - 1 ? 5 - parts.count : 1
            guard number < 1 << UInt64(8 * width) else { return nil }
            value = value << UInt64(8 * width) | number
        }
        return (0..<4).map { UInt8(truncatingIfNeeded: value >> UInt64(24 - 8 * $0)) }
    }

    /// Parses a number. It is hexadecimal after `0x`, and has this radix after `0`.
    private static func number(_ part: ArraySlice<UInt8>, leadingZeros radix: Int) -> UInt64? {
        let text = String(decoding: part, as: UTF8.self).lowercased()
        guard !text.hasPrefix("+"), !text.hasPrefix("-") else { return nil }
        return text.hasPrefix("0x")
            ? UInt64(text.dropFirst(2), radix: 16) : UInt64(text, radix: text.hasPrefix("0") ? radix : 10)
    }
}
