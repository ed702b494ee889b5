import CertificatePinning
import CertificateTrust
import PinctlBasics

/// A text that is a pin by its form: a SHA-256 digest in Base64 or hexadecimal, with or without a prefix.
struct PinText {
    let pin: CanonicalPin
    /// Whether the form alone says that it is a pin: a prefix, or bytes separated by colons.
    let isMarked: Bool

    // Images and keys of SSH have sha256: before their digests.
    private static let prefixes = [
        "sha256/", "sha256//", "sha-256/", "pin-sha256=", "pin-sha256:",
    ]

    /// Returns `nil` for any other text. `words` are those of the keys around it, which may say that it is the digest
    /// of a certificate.
    init?(_ text: String, _ words: PinWords) {
        let text = text.trimmingPrefix { $0 == " " }
        guard text.utf8.count <= 120 else { return nil }
        let lower = text.lowercased()
        // The Base64 of a pin may begin with a slash, too.
        let isSlash = text.utf8.count == (text.hasSuffix("=") ? 51 : 50)
        // mutant map-slash: false for `isSlash` by PinMapTests/slash
        let prefixes = Self.prefixes.filter { lower.hasPrefix($0) && !(isSlash && $0 == "sha256//") }
        let prefix = prefixes.max { $0.utf8.count < $1.utf8.count } ?? ""
        let digits = Array(text.utf8.dropFirst(prefix.utf8.count))
        let isSeparated = digits.count == 95 && digits.indices.allSatisfy { ($0 % 3 == 2) == (digits[$0] == 0x3A) }
        let value =
            digits.count == 44 || digits.count == 43
            ? LenientBase64.decode(digits, needsPadding: false)
            : Hexadecimal.decode(isSeparated ? digits.filter { $0 != 0x3A } : digits)
        guard let value, value.count == 32 else { return nil }
        let isCertificate =
            isSeparated || !words.isDisjoint(with: [.certificate, .fingerprint]) && prefix.isEmpty
        pin = CanonicalPin(isCertificate && !words.contains(.key) ? .certificate : .publicKey, .sha256, value)
        isMarked = !prefix.isEmpty || isSeparated
    }
}
