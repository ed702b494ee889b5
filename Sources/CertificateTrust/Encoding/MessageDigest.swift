import OpenSSLBridge

/// The digests of HTTP Digest authentication (RFC 7616, section 6.1), by OpenSSL's names.
package enum MessageDigest: String, Sendable {
    /// MD5, 16 bytes.
    case md5 = "MD5"
    /// SHA-256, 32 bytes.
    case sha256 = "SHA2-256"
    // swift-format-ignore: AlwaysUseLowerCamelCase
    /// SHA-512 with its own initial value, truncated to 32 bytes (FIPS 180-4, section 5.3.6.2).
    case sha512_256 = "SHA2-512/256"

    /// Returns the digest, or `nil` if OpenSSL's configuration doesn't offer it, such as MD5 under FIPS.
    package func hash(_ bytes: [UInt8]) -> [UInt8]? {
        namedDigest(rawValue, of: bytes.span)
    }

    /// Returns the HMAC (RFC 2104) with `key`, which must not be empty. Returns `nil` in the same cases as
    /// ``hash(_:)``.
    package func hmac(_ bytes: [UInt8], key: [UInt8]) -> [UInt8]? {
        namedHMAC(rawValue, key: key.span, of: bytes.span)
    }
}

/// Returns the SHA-1 or SHA-512 digest, which other systems use in pins, by OpenSSL's name. Returns `nil` if OpenSSL
/// doesn't offer it.
package func digest(_ name: String, of bytes: [UInt8]) -> [UInt8]? { namedDigest(name, of: bytes.span) }
