import CertificateTrust
import PinctlBasics

/// A base64 decoder that, like Foundation and Android, allows unused bits to be set.
enum LenientBase64 {
    /// Returns the decoded bytes, or `nil` if the text isn't base64. The `=` may be missing if `needsPadding` is false.
    static func decode(_ characters: some Sequence<UInt8>, needsPadding: Bool = true) -> [UInt8]? {
        var digits = Array(characters)
        let count = digits.count
        while digits.last == UInt8(ascii: "=") { digits.removeLast() }
        let missing = (4 - digits.count % 4) % 4
        guard missing < 3, count - digits.count == missing || count == digits.count && !needsPadding else { return nil }
        // Zeros in place of the padding complete the last group and add as many bytes, which are dropped again.
        digits += [UInt8](repeating: UInt8(ascii: "A"), count: missing)
        return Base64.decodeCanonical(digits)?.dropLast(missing)
    }
}
