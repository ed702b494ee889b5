public import CertificateTrust

/// How the pin of a key is written elsewhere. The raw value is what a command line calls the spelling.
@nonexhaustive
public enum PinSpelling: String, Sendable, Hashable, CaseIterable {
    /// The digest alone: `C5+lpZ7t…Fr8M=`. TrustKit, Android's network security config, Apple's NSPinnedDomains.
    case base64
    /// 64 hexadecimal digits, lower case.
    case hex
    /// Hexadecimal digits in pairs, upper case, as `openssl x509 -fingerprint` sets them.
    case colon
    /// curl's `--pinnedpubkey`: `sha256//` and base64.
    case curl
    /// A directive of RFC 7469, section 2.1: `pin-sha256="…"`.
    case hpkp
    /// OkHttp's CertificatePinner, and this project's own: `sha256/` and base64.
    case okhttp
    /// The data of a TLSA record with selector SPKI and SHA-256 (RFC 6698, section 2.1): `3 1 1` for a server's key,
    /// `2 1 1` for an authority's.
    case tlsa
    /// An element of Android's network security config: `<pin digest="SHA-256">…</pin>`.
    case nsc
    /// An element of Apple's NSPinnedDomains: a dictionary with the key SPKI-SHA256-BASE64.
    case plist
    /// A pin in Swift with this project's types.
    case swift

    /// Writes a pin; `isAuthority` says whose key it is, which only TLSA tells apart.
    public func text(_ fingerprint: SPKIFingerprint, isAuthority: Bool = false) -> String {
        var base64: String { Base64.encode(fingerprint.bytes.span) }
        return switch self {
        case .base64: base64
        case .hex: Self.pairs(fingerprint).joined()
        case .colon: Self.pairs(fingerprint).joined(separator: ":").uppercased()
        case .curl: "sha256//\(base64)"
        case .hpkp: "pin-sha256=\"\(base64)\""
        case .okhttp: fingerprint.description
        case .nsc: "<pin digest=\"SHA-256\">\(base64)</pin>"
        case .plist: "<dict><key>SPKI-SHA256-BASE64</key><string>\(base64)</string></dict>"
        case .swift: "Pin(\"\(fingerprint)\")"
        case .tlsa: "\(isAuthority ? 2 : 3) 1 1 \(Self.pairs(fingerprint).joined())"
        }
    }

    private static func pairs(_ fingerprint: SPKIFingerprint) -> [String] {
        fingerprint.bytes.indices.map { index in
            let byte = fingerprint.bytes[index]
            return (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
    }
}
