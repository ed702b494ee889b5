import OpenSSLBridge
import PinctlBasics

/// The SHA-256 of a DER SubjectPublicKeyInfo as in the certificate, also called a pin.
///
/// It has 32 bytes (RFC 7469, section 2.4) and is written as `sha256/` and 44 characters of Base64. The bytes are
/// hashed as received and not re-encoded. Keys of any algorithm therefore have a pin, including those that OpenSSL
/// can't read.
public struct SPKIFingerprint: Sendable, Hashable {
    private let digest: SHA256Digest

    /// The digest, 32 bytes.
    public var bytes: [32 of UInt8] { digest.bytes }

    /// Creates a pin from a digest that was computed elsewhere, 32 bytes.
    public init(bytes: [32 of UInt8]) {
        digest = SHA256Digest(bytes: bytes)
    }

    /// Hashes a DER SubjectPublicKeyInfo.
    public init(hashing subjectPublicKeyInfo: Span<UInt8>) {
        digest = SHA256Digest(hashing: subjectPublicKeyInfo)
    }

    /// Hashes the SubjectPublicKeyInfo in a DER certificate, without decoding the rest.
    ///
    /// The structure around the key is checked: the bytes must be exactly one certificate in DER.
    public init(ofCertificate der: Span<UInt8>) throws(DERError) {
        let layout = try CertificateLayout(der)
        digest = SHA256Digest(hashing: der.extracting(layout.subjectPublicKeyInfo))
    }

    /// Parses `sha256/` and the canonical Base64 of 32 bytes. Returns `nil` for any other text.
    public init?(_ text: String) {
        guard let digest = SHA256Digest(text, prefix: "sha256/") else { return nil }
        self.digest = digest
    }
}

extension SPKIFingerprint: CustomStringConvertible {
    /// The text `sha256/` and the digest in Base64, 51 characters.
    public var description: String { String(appending: append) }

    /// Appends the ``description`` to `text`.
    package func append(to text: inout [UInt8]) {
        text.append("sha256/")
        Base64.append(digest.bytes.span, to: &text)
    }
}

/// The SHA-256 of a whole DER certificate, 32 bytes, written as `cert-sha256/` and Base64.
///
/// It changes with every renewal. Pin an ``SPKIFingerprint`` unless you must pin a certificate.
public struct CertificateFingerprint: Sendable, Hashable {
    private let digest: SHA256Digest

    /// The digest, 32 bytes.
    public var bytes: [32 of UInt8] { digest.bytes }

    /// Creates a fingerprint from a digest that was computed elsewhere, 32 bytes.
    public init(bytes: [32 of UInt8]) {
        digest = SHA256Digest(bytes: bytes)
    }

    /// Hashes a DER certificate.
    public init(hashing certificate: Span<UInt8>) {
        digest = SHA256Digest(hashing: certificate)
    }

    /// Parses `cert-sha256/` and the canonical Base64 of 32 bytes. Returns `nil` for any other text.
    public init?(_ text: String) {
        guard let digest = SHA256Digest(text, prefix: "cert-sha256/") else { return nil }
        self.digest = digest
    }
}

extension CertificateFingerprint: CustomStringConvertible {
    /// The text `cert-sha256/` and the digest in Base64.
    public var description: String { "cert-sha256/" + Base64.encode(digest.bytes.span) }
}

/// The digest of a fingerprint. `[32 of UInt8]` itself isn't Hashable.
private struct SHA256Digest: Hashable {
    let bytes: [32 of UInt8]

    init(bytes: [32 of UInt8]) { self.bytes = bytes }

    init(hashing message: Span<UInt8>) { bytes = sha256(message) }

    /// Parses `prefix` and 44 characters of canonical Base64. Returns `nil` for any other text.
    init?(_ text: String, prefix: String) {
        let characters = Array(text.utf8)
        let head = Array(prefix.utf8)
        guard characters.count == head.count + 44, characters.starts(with: head),
            let decoded = Base64.decodeCanonical(Array(characters[head.count...])), decoded.count == 32
        else { return nil }
        bytes = [32 of UInt8] { decoded[$0] }
    }

    static func == (left: SHA256Digest, right: SHA256Digest) -> Bool {
        left.bytes.span.elementsEqual(right.bytes.span)
    }

    func hash(into hasher: inout Hasher) {
        for index in 0..<32 { hasher.combine(bytes[index]) }
    }
}

/// Returns the SHA-256 of any bytes, 32 bytes, for modules that can't import OpenSSL.
package func sha256Digest(_ bytes: Span<UInt8>) -> [UInt8] {
    let digest = sha256(bytes)
    return digest.indices.map { digest[$0] }
}

/// Returns the SHA-1 of any bytes, 20 bytes. It only recognizes existing hashes and is never trusted.
package func sha1Digest(_ bytes: Span<UInt8>) -> [UInt8] { sha1(bytes) }

/// Returns the SHA-512 of any bytes, 64 bytes, or `nil` if OpenSSL's configuration doesn't offer it.
package func sha512Digest(_ bytes: Span<UInt8>) -> [UInt8]? { namedDigest("SHA2-512", of: bytes) }
