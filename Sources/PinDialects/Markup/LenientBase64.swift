import CertificateTrust

/// Base64 as Foundation and Android decode it: bits that belong to no byte may be set.
enum LenientBase64 {
    /// The bytes; nil for characters of no alphabet. Without `needsPadding` the `=` may be missing.
    static func decode(_ characters: some Sequence<UInt8>, needsPadding: Bool = true) -> [UInt8]? {
        var digits = Array(characters)
        let count = digits.count
        while digits.last == UInt8(ascii: "=") { digits.removeLast() }
        let missing = (4 - digits.count % 4) % 4
        guard missing < 3, count - digits.count == missing || count == digits.count && !needsPadding else { return nil }
        // Zeros in place of the padding make whole groups, and as many bytes too much.
        digits += [UInt8](repeating: UInt8(ascii: "A"), count: missing)
        return Base64.decodeCanonical(digits)?.dropLast(missing)
    }
}
