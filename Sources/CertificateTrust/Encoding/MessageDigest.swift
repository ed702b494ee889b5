import OpenSSLBridge

/// The digests of HTTP's Digest authentication (RFC 7616, section 6.1), by OpenSSL's names.
package enum MessageDigest: String, Sendable {
    /// 16 bytes.
    case md5 = "MD5"
    /// 32 bytes.
    case sha256 = "SHA2-256"
    // swift-format-ignore: AlwaysUseLowerCamelCase
    /// SHA-512 with its own initial value, cut to 32 bytes (FIPS 180-4, section 5.3.6.2).
    case sha512_256 = "SHA2-512/256"

    /// The digest; nil where OpenSSL's configuration does not offer it, as MD5 under FIPS.
    package func hash(_ bytes: [UInt8]) -> [UInt8]? {
        namedDigest(rawValue, of: bytes.span)
    }

    /// The digest keyed by `key`, which is not empty (HMAC; RFC 2104); nil as ``hash(_:)``.
    package func hmac(_ bytes: [UInt8], key: [UInt8]) -> [UInt8]? {
        namedHMAC(rawValue, key: key.span, of: bytes.span)
    }
}

/// SHA-1 or SHA-512, which pins of other systems use, by OpenSSL's name; nil where OpenSSL does not offer it.
package func digest(_ name: String, of bytes: [UInt8]) -> [UInt8]? { namedDigest(name, of: bytes.span) }
