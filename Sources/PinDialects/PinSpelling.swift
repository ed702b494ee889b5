import Basics
public import CertificateTrust

/// A notation for the pin of a key. The raw value is the notation's name on the command line.
@nonexhaustive
public enum PinSpelling: String, Sendable, Hashable, CaseIterable {
    /// The base64 digest alone: `C5+lpZ7t…Fr8M=`. Used by TrustKit, Android's network security config, Apple's
    /// NSPinnedDomains, Envoy's `verify_certificate_spki`, and `publicKeyHashes` of the React Native package
    /// react-native-ssl-public-key-pinning (its README).
    case base64
    /// 64 lowercase hexadecimal digits.
    case hex
    /// Uppercase hexadecimal digits in pairs separated by colons, the notation in which `openssl x509 -fingerprint`
    /// prints digests of certificates. The Flutter package http_certificate_pinning takes such a digest of the whole
    /// certificate (its README), not this one of the key.
    case colon
    /// The form of curl's `--pinnedpubkey`: `sha256//` and base64.
    case curl
    /// A directive of RFC 7469, section 2.1: `pin-sha256="…"`.
    case hpkp
    /// The form of OkHttp's CertificatePinner, of the React Native package react-native-ssl-pinning with
    /// `pkPinning` (its README), and of this project: `sha256/` and base64.
    case okhttp
    /// The form of openconnect's `--servercert`: `pin-sha256:` and base64 (openconnect(8)).
    case openconnect
    /// The form of kubeadm's `--discovery-token-ca-cert-hash`: `sha256:` and hexadecimal digits, for the key of the
    /// cluster's CA (the page "kubeadm join" of Kubernetes' documentation).
    case kubeadm
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
        case .openconnect: "pin-sha256:\(base64)"
        case .kubeadm: "sha256:\(pairs.joined())"
        case .nsc: "<pin digest=\"SHA-256\">\(base64)</pin>"
        case .plist: "<dict><key>SPKI-SHA256-BASE64</key><string>\(base64)</string></dict>"
        case .swift: "Pin(\"\(fingerprint)\")"
        case .tlsa: "\(isAuthority ? 2 : 3) 1 1 \(pairs.joined())"
        }
    }
}
