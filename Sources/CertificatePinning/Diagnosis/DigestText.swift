import CertificateTrust
import PinctlBasics

/// A digest in any usual spelling: base64 (standard or URL-safe, padded or not) or hexadecimal (with colons, blanks or
/// neither), optionally after any of the usual prefixes and in quotes.
public struct DigestText: Sendable, Hashable {
    /// The digest, 20, 32 or 64 bytes.
    public let bytes: [UInt8]
    /// The algorithm whose digests have that length.
    public let algorithm: Algorithm

    /// Parses a text. Returns nil if it isn't a digest.
    public init?(_ text: String) {
        // The longest text is a prefix and a SHA-512 digest in hexadecimal pairs with colons, which is shorter than
        // this.
        guard text.utf8.count <= 256 else { return nil }
        // Base64 can begin with a slash. After `sha256//` comes curl's digest, or one that begins with the second
        // slash.
        guard let digest = Self(text, marks: Self.marks) ?? Self(text, marks: Self.marks.filter { !$0.hasSuffix("//") })
        else {
            return nil
        }
        self = digest
    }

    private init?(_ text: String, marks: [String]) {
        var core = text[...]
        var isMarked = true
        while isMarked {
            core = core.trimming { $0.isWhitespace || "\"';,".contains($0) }
            isMarked = false
            for mark in marks where core.lowercased().hasPrefix(mark) {
                core = core.dropFirst(mark.count)
                isMarked = true
                break
            }
        }
        let characters = Array(core.utf8)
        guard let bytes = Self.hexadecimal(characters) ?? Self.base64(characters),
            let algorithm = Algorithm(byteCount: bytes.count)
        else { return nil }
        self.bytes = bytes
        self.algorithm = algorithm
    }

    /// Creates a digest from its bytes. Returns nil if no algorithm has digests of that length.
    init?(bytes: [UInt8]) {
        guard let algorithm = Algorithm(byteCount: bytes.count) else { return nil }
        self.bytes = bytes
        self.algorithm = algorithm
    }

    /// The prefixes in lower case. A longer one comes before any that it begins with.
    private static let marks = [
        "pin-", "cert-", "sha256//", "sha256/", "sha256:", "sha256-", "sha256=", "sha256 fingerprint=", "sha1//",
        "sha1/", "sha1:", "sha1=", "sha1 fingerprint=", "sha512/", "sha512:", "sha512-", "sha512=", "b'",
    ]

    private static func hexadecimal(_ text: [UInt8]) -> [UInt8]? {
        let bytes = Hexadecimal.decode(text.lazy.filter { $0 != UInt8(ascii: ":") && $0 != UInt8(ascii: " ") })
        return bytes.flatMap { Algorithm(byteCount: $0.count) == nil ? nil : $0 }
    }

    private static func base64(_ text: [UInt8]) -> [UInt8]? {
        var digits = text.prefix { $0 != UInt8(ascii: "=") }.map(standardDigit)
        guard text[digits.count...].allSatisfy({ $0 == UInt8(ascii: "=") }) else { return nil }
        // Clear the unused bits of the last digit, which may be set in made-up digests such as BBBB… and in typed ones.
        if let last = digits.last, let value = alphabet.firstIndex(of: last) {
            let unused = [0, 0, 0b1111, 0b11][digits.count % 4]
            digits[digits.count - 1] = alphabet[value & ~unused]
        }
        return Base64.decodeCanonical(digits + [UInt8](repeating: UInt8(ascii: "="), count: (4 - digits.count % 4) % 4))
    }

    private static func standardDigit(_ digit: UInt8) -> UInt8 {
        switch digit {
        case UInt8(ascii: "-"): UInt8(ascii: "+")
        case UInt8(ascii: "_"): UInt8(ascii: "/")
        default: digit
        }
    }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
}

extension Substring {
    fileprivate func trimming(_ isBlank: (Character) -> Bool) -> Substring {
        var rest = drop(while: isBlank)
        while let last = rest.last, isBlank(last) { rest.removeLast() }
        return rest
    }
}

extension DigestText {
    /// A digest algorithm used for pins.
    @nonexhaustive
    public enum Algorithm: String, Sendable, Hashable, CaseIterable {
        /// SHA-1, 20 bytes. No system accepts it for pins any more.
        case sha1 = "SHA-1"
        /// SHA-256, 32 bytes.
        case sha256 = "SHA-256"
        /// SHA-512, 64 bytes.
        case sha512 = "SHA-512"
    }
}

extension DigestText.Algorithm {
    /// Creates the algorithm whose digests have `count` bytes. Returns nil for other counts.
    package init?(byteCount count: Int) {
        switch count {
        case 20: self = .sha1
        case 32: self = .sha256
        case 64: self = .sha512
        default: return nil
        }
    }

    /// Returns the digest, or nil if OpenSSL's configuration doesn't offer the algorithm.
    package func hash(_ bytes: [UInt8]) -> [UInt8]? {
        switch self {
        case .sha1: sha1Digest(bytes.span)
        case .sha256: sha256Digest(bytes.span)
        case .sha512: sha512Digest(bytes.span)
        }
    }
}
