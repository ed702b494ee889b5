import CertificatePinning
import CertificateTrust
import PinctlBasics

/// A text that is a pin by its form: a SHA-256 digest in Base64 or hexadecimal, with or without a prefix.
struct PinText {
    let pin: CanonicalPin
    /// Whether a prefix says that it is a pin.
    var hasPrefix: Bool { !prefix.isEmpty }
    /// Whether its bytes are separated by colons, as those of fingerprints are.
    let isSeparated: Bool
    /// Whether the form alone says that it is a pin or a fingerprint.
    var isMarked: Bool { hasPrefix || isSeparated }
    private let prefix: Substring
    private let digits: Substring

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
        (self.prefix, self.digits) = (text.prefix(prefix.count), text.dropFirst(prefix.count))
        let digits = Array(self.digits.utf8)
        isSeparated = digits.count == 95 && digits.indices.allSatisfy { ($0 % 3 == 2) == (digits[$0] == 0x3A) }
        let value =
            digits.count == 44 || digits.count == 43
            ? LenientBase64.decode(digits, needsPadding: false)
            : Hexadecimal.decode(isSeparated ? digits.filter { $0 != 0x3A } : digits)
        guard let value, value.count == 32 else { return nil }
        // Tools print the digest of a certificate in hexadecimal digits, and that of a key in Base64.
        let isHex = ![43, 44].contains(digits.count)
        let isOfCertificate =
            !words.isDisjoint(with: [.certificate, .fingerprint])
            || isHex && words.contains(.tls) && !words.contains(.pin)
        let isCertificate = isSeparated || isOfCertificate && prefix.isEmpty
        pin = CanonicalPin(isCertificate && !words.contains(.key) ? .certificate : .publicKey, .sha256, value)
    }

    /// Returns the digest of another pin with the same prefix, in the same form of Base64 or hexadecimal.
    func spelled(_ pin: CanonicalPin) -> String {
        let isBase64 = [43, 44].contains(digits.utf8.count)
        guard !isBase64 else {
            let text = Base64.encode(pin.value.span)
            return prefix + (digits.hasSuffix("=") ? text : String(text.prefix(43)))
        }
        let text =
            digits.contains(":")
            ? pin.value.map { Hexadecimal.encode([$0]) }.joined(separator: ":") : Hexadecimal.encode(pin.value)
        return prefix + (digits.contains(where: \.isUppercase) ? text.uppercased() : text)
    }
}
