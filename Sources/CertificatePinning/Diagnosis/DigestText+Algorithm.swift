import CertificateTrust

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
