import CertificateTrust

extension DigestText {
    /// A digest by which people pin.
    @nonexhaustive
    public enum Algorithm: String, Sendable, Hashable, CaseIterable {
        /// 20 bytes; no system takes a pin by it any more.
        case sha1 = "SHA-1"
        /// 32 bytes.
        case sha256 = "SHA-256"
        /// 64 bytes.
        case sha512 = "SHA-512"
    }
}

extension DigestText.Algorithm {
    /// The one whose digests have `count` bytes; nil for other counts.
    package init?(byteCount count: Int) {
        switch count {
        case 20: self = .sha1
        case 32: self = .sha256
        case 64: self = .sha512
        default: return nil
        }
    }

    /// The digest; nil where OpenSSL's configuration does not offer it.
    package func hash(_ bytes: [UInt8]) -> [UInt8]? {
        switch self {
        case .sha1: sha1Digest(bytes.span)
        case .sha256: sha256Digest(bytes.span)
        case .sha512: sha512Digest(bytes.span)
        }
    }
}
