import OpenSSLBridge

/// The SHA-256 of a DER SubjectPublicKeyInfo as the certificate carries it: what the field calls a pin.
///
/// 32 bytes; RFC 7469, section 2.4. Written `sha256/` and 44 characters of base64. The bytes are hashed as sent, not
/// decoded and encoded again, so keys of any algorithm have one, also those OpenSSL cannot read.
public struct SPKIFingerprint: Sendable {
    /// The digest, 32 bytes.
    public let bytes: [32 of UInt8]

    /// A digest that was computed elsewhere, 32 bytes.
    public init(bytes: [32 of UInt8]) {
        self.bytes = bytes
    }

    /// Hashes a DER SubjectPublicKeyInfo.
    public init(hashing subjectPublicKeyInfo: Span<UInt8>) {
        bytes = sha256(subjectPublicKeyInfo)
    }

    /// Hashes the SubjectPublicKeyInfo inside a DER certificate, without decoding the rest.
    ///
    /// The structure around the key is checked: one certificate, DER, nothing behind it.
    public init(ofCertificate der: Span<UInt8>) throws(DERError) {
        let layout = try CertificateLayout(der)
        bytes = sha256(der.extracting(layout.subjectPublicKeyInfo))
    }

    /// Parses `sha256/` and canonical base64 of 32 bytes; nil for any other spelling.
    public init?(_ text: String) {
        guard let bytes = digest(in: text, prefix: "sha256/") else { return nil }
        self.bytes = bytes
    }
}

extension SPKIFingerprint: Hashable {
    public static func == (left: SPKIFingerprint, right: SPKIFingerprint) -> Bool {
        left.bytes.span.elementsEqual(right.bytes.span)
    }

    public func hash(into hasher: inout Hasher) {
        for index in 0..<32 { hasher.combine(bytes[index]) }
    }
}

extension SPKIFingerprint: CustomStringConvertible {
    /// `sha256/` and the digest in base64, 51 characters.
    public var description: String { String(appending: append) }

    /// Writes ``description`` behind what stands in `text`.
    package func append(to text: inout [UInt8]) {
        text.append("sha256/")
        Base64.append(bytes.span, to: &text)
    }
}

/// The SHA-256 of a whole DER certificate, 32 bytes; written `cert-sha256/` and base64.
///
/// It changes with every renewal, so ``SPKIFingerprint`` is what to pin; this is for those who must.
public struct CertificateFingerprint: Sendable {
    /// The digest, 32 bytes.
    public let bytes: [32 of UInt8]

    /// A digest that was computed elsewhere, 32 bytes.
    public init(bytes: [32 of UInt8]) {
        self.bytes = bytes
    }

    /// Hashes a DER certificate.
    public init(hashing certificate: Span<UInt8>) {
        bytes = sha256(certificate)
    }

    /// Parses `cert-sha256/` and canonical base64 of 32 bytes; nil for any other spelling.
    public init?(_ text: String) {
        guard let bytes = digest(in: text, prefix: "cert-sha256/") else { return nil }
        self.bytes = bytes
    }
}

extension CertificateFingerprint: Hashable {
    public static func == (left: CertificateFingerprint, right: CertificateFingerprint) -> Bool {
        left.bytes.span.elementsEqual(right.bytes.span)
    }

    public func hash(into hasher: inout Hasher) {
        for index in 0..<32 { hasher.combine(bytes[index]) }
    }
}

extension CertificateFingerprint: CustomStringConvertible {
    /// `cert-sha256/` and the digest in base64.
    public var description: String { "cert-sha256/" + Base64.encode(bytes.span) }
}

/// The 32 bytes behind `prefix`, or nil: 44 characters of canonical base64, no other length.
private func digest(in text: String, prefix: String) -> [32 of UInt8]? {
    let characters = Array(text.utf8)
    let head = Array(prefix.utf8)
    guard characters.count == head.count + 44, characters.starts(with: head),
        let decoded = Base64.decodeCanonical(Array(characters[head.count...])), decoded.count == 32
    else { return nil }
    return [32 of UInt8] { decoded[$0] }
}

/// SHA-256 of any bytes, 32 bytes, for modules that cannot see OpenSSL.
package func sha256Digest(_ bytes: Span<UInt8>) -> [UInt8] {
    let digest = sha256(bytes)
    return digest.indices.map { digest[$0] }
}

/// SHA-1 of any bytes, 20 bytes: to recognise what people have hashed, never to trust it.
package func sha1Digest(_ bytes: Span<UInt8>) -> [UInt8] { sha1(bytes) }

/// SHA-512 of any bytes, 64 bytes; nil where OpenSSL's configuration does not offer it.
package func sha512Digest(_ bytes: Span<UInt8>) -> [UInt8]? { namedDigest("SHA2-512", of: bytes) }
