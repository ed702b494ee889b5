import CertificateTrust
import PinctlBasics

extension PinFingerprint {
    /// Parses `sha256/BASE64` or `cert-sha256/BASE64`, canonical base64 of 32 bytes.
    ///
    /// Rejects the digests of an empty input and of a line end, because a failed command outputs them.
    public init(_ text: String) throws(PinTextError) {
        if let fingerprint = SPKIFingerprint(text) {
            self = .publicKey(fingerprint)
        } else if let fingerprint = CertificateFingerprint(text) {
            self = .certificate(fingerprint)
        } else {
            throw PinTextError(text, reason: PinTextError.Reason(ofMalformed: text))
        }
        let digest = text.drop { $0 != "/" }.dropFirst()
        // mutant pin-of-nothing: false by PolicyProblemTests PolicyInCodeTests
        if digest == "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=" {
            throw PinTextError(text, reason: .digestOf("empty input"))
        }
        if digest == "AbpHGcgLb+kRsJGnwFEktk7uzpZOCcBY74+YBdrKVGs=" {
            throw PinTextError(text, reason: .digestOf("a line end"))
        }
    }
}

/// The error for a text that isn't a pin.
public struct PinTextError: Error, Hashable, Sendable {
    /// The reason why the text isn't a pin.
    @nonexhaustive
    public enum Reason: Hashable, Sendable {
        /// The text isn't a known form of a pin.
        case unknownSpelling
        /// The prefix names a digest other than SHA-256.
        case otherDigest(String)
        /// The text is another system's form of this pin.
        case foreignSpelling(of: String)
        /// The text is base64 with `-` and `_`.
        case urlSafeBase64
        /// The text isn't base64, or isn't canonical: it has white space, missing padding or nonzero unused bits.
        case notCanonicalBase64
        /// The digest has this many bytes instead of the 32 of SHA-256.
        case length(Int)
        /// The text is the digest of something that isn't a key.
        case digestOf(String)
    }

    /// The text.
    public let text: String
    /// The reason why it isn't a pin.
    public let reason: Reason

    init(_ text: String, reason: Reason) {
        self.text = text
        self.reason = reason
    }
}

extension PinTextError: CustomStringConvertible {
    public var description: String {
        let name = quoted(text)
        return switch reason {
        case .unknownSpelling: "\(name) isn't a pin: write sha256/ and the base64 of the key's SHA-256"
        case .otherDigest(let digest):
            "\(name) uses the digest \(quoted(digest)), but pins use SHA-256: hash the key again"
        case .foreignSpelling(let pin) where text.contains(":") && text.allSatisfy { $0.isHexDigit || $0 == ":" }:
            "\(name) looks like the fingerprint that openssl x509 prints, which is of a whole certificate: write the "
                + "pin that pinctl hash prints for it, or if this is the digest of a key, write \(pin)"
        case .foreignSpelling(let pin): "\(name) is in another system's format: write \(pin)"
        case .urlSafeBase64: "\(name) is URL-safe base64: replace - with + and _ with /"
        case .notCanonicalBase64:
            "\(name) "
                + (lengthProblem ?? "isn't canonical base64: write the 44 characters of a SHA-256, the last one =")
        case .length(let count): "\(name) has \(count) bytes, but SHA-256 has 32: hash the key again"
        case .digestOf(let what):
            "\(name) is the SHA-256 of \(what), so the command that made it failed: hash the key again"
        }
    }
}

extension PinTextError {
    /// The number of characters in the base64 of a SHA-256. The last one is `=`.
    private static let digestLength = 44

    /// The text's number of characters, if it is wrong and all of them can be in base64.
    private var lengthProblem: String? {
        let characters = text.drop { $0 != "/" }.dropFirst()
        let isBase64 = characters.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="):
                true
            default: false
            }
        }
        let count = characters.utf8.count
        guard isBase64, count != Self.digestLength else { return nil }
        let advice =
            switch count - Self.digestLength {
            case -1 where !characters.hasSuffix("="): "is the = at the end missing?"
            case -1: "is one missing?"
            case 1: "is one too many?"
            default: "copy the whole pin again"
            }
        return
            "has \(count) characters after \(text.prefix { $0 != "/" })/, but a pin has \(Self.digestLength): \(advice)"
    }
}

extension PinTextError.Reason {
    /// Determines the reason why a text isn't `sha256/` or `cert-sha256/` followed by a digest.
    fileprivate init(ofMalformed text: String) {
        // No form of a digest is longer than SHA-512 in hexadecimal.
        guard text.utf8.count <= 160 else {
            self = .unknownSpelling
            return
        }
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        let digests = ["md5", "sha1", "sha224", "sha384", "sha512", "cert-sha1"]
        if parts.count == 2, digests.contains(parts[0].lowercased()) {
            self = .otherDigest(String(parts[0]))
        } else if parts.count == 2, parts[0] == "sha256" || parts[0] == "cert-sha256", !parts[1].hasPrefix("/") {
            self.init(ofPayload: Array(parts[1].utf8))
        } else if let digest = Self.digest(inForeign: text) {
            self = .foreignSpelling(of: SPKIFingerprint(bytes: digest).description)
        } else {
            self = .unknownSpelling
        }
    }

    private init(ofPayload payload: [UInt8]) {
        if let bytes = Base64.decodeCanonical(payload) {
            self = .length(bytes.count)
        } else {
            let isURLSafe = payload.contains { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
            self = isURLSafe ? .urlSafeBase64 : .notCanonicalBase64
        }
    }

    /// Returns the digest of bare base64, hexadecimal with or without colons, curl's `sha256//`, HPKP's
    /// `pin-sha256="…"`, openconnect's `pin-sha256:` or kubeadm's `sha256:`.
    private static func digest(inForeign text: String) -> [32 of UInt8]? {
        var core = Substring(text)
        if core.hasPrefix("sha256//") {
            core = core.dropFirst("sha256//".count)
        } else if core.hasPrefix("pin-sha256=\""), core.hasSuffix("\"") {
            core = core.dropFirst("pin-sha256=\"".count).dropLast()
        } else if let mark = ["pin-sha256:", "sha256:"].first(where: core.hasPrefix) {
            core = core.dropFirst(mark.count)
        }
        let bytes =
            Hexadecimal.decode(core.utf8.lazy.filter { $0 != UInt8(ascii: ":") })
            ?? Base64.decodeCanonical(Array(core.utf8))
        guard let bytes, bytes.count == 32 else { return nil }
        return [32 of UInt8] { bytes[$0] }
    }
}
