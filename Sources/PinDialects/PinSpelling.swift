import Basics
public import CertificateTrust

/// A notation for the pin of a key. The raw value is the notation's name on the command line.
@nonexhaustive
public enum PinSpelling: String, Sendable, Hashable, CaseIterable {
    /// The base64 digest alone: `C5+lpZ7t…Fr8M=`. Used by TrustKit, Android's network security config and Apple's
    /// NSPinnedDomains.
    case base64
    /// 64 lowercase hexadecimal digits.
    case hex
    /// Uppercase hexadecimal digits in pairs separated by colons, as `openssl x509 -fingerprint` prints them.
    case colon
    /// The form of curl's `--pinnedpubkey`: `sha256//` and base64.
    case curl
    /// A directive of RFC 7469, section 2.1: `pin-sha256="…"`.
    case hpkp
    /// The form of OkHttp's CertificatePinner, and of this project: `sha256/` and base64.
    case okhttp
    /// The data of a TLSA record with selector SPKI and SHA-256 (RFC 6698, section 2.1): `3 1 1` for a server's key, `2
    /// 1 1` for the key of a CA.
    case tlsa
    /// An element of Android's network security config: `<pin digest="SHA-256">…</pin>`.
    case nsc
    /// An element of Apple's NSPinnedDomains: a dictionary with the key SPKI-SHA256-BASE64.
    case plist
    /// A pin as Swift source with this project's types.
    case swift

    /// Returns a pin in this notation. Only TLSA depends on `isAuthority`, which says whether the key belongs to a CA.
    public func text(_ fingerprint: SPKIFingerprint, isAuthority: Bool = false) -> String {
        let bytes = Array(copying: fingerprint.bytes.span)
        var base64: String { Base64.encode(bytes.span) }
        var pairs: [String] { bytes.map { Hexadecimal.encode([$0]) } }
        return switch self {
        case .base64: base64
        case .hex: pairs.joined()
        case .colon: pairs.joined(separator: ":").uppercased()
        case .curl: "sha256//\(base64)"
        case .hpkp: "pin-sha256=\"\(base64)\""
        case .okhttp: fingerprint.description
        case .nsc: "<pin digest=\"SHA-256\">\(base64)</pin>"
        case .plist: "<dict><key>SPKI-SHA256-BASE64</key><string>\(base64)</string></dict>"
        case .swift: "Pin(\"\(fingerprint)\")"
        case .tlsa: "\(isAuthority ? 2 : 3) 1 1 \(pairs.joined())"
        }
    }
}
