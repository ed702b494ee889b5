public import FoundationEssentials
package import OpenSSLBridge

/// An X.509 certificate: parsed, nothing verified.
///
/// The parts are read from the DER as sent (RFC 5280, section 4.1). Two certificates are equal when their DER is.
public struct X509Certificate: Sendable {
    private let storage: Storage

    /// Parses one DER certificate that fills `derBytes`; use ``CertificateFile`` for PEM.
    public init(derBytes: [UInt8]) throws(DERError) {
        storage = Storage(derBytes: derBytes, contents: try Contents(derBytes.span))
    }

    /// Parses what came in a handshake, and keeps what OpenSSL made of it.
    package init(received: ReceivedCertificate) throws(DERError) {
        let der = received.derBytes
        storage = Storage(derBytes: der, contents: try Contents(der.span), parsed: received.certificate)
    }

    /// The DER as sent.
    public var derBytes: [UInt8] { storage.derBytes }

    /// Whom the certificate names.
    public var subject: X509Name { X509Name(derBytes: bytes(layout.subject)) }

    /// Writes the ``subject`` as it is described behind what stands in `text`, without a copy of the name.
    package func appendSubject(to text: inout [UInt8]) {
        let der = storage.derBytes
        X509Name.append(der.span.extracting(layout.subject), to: &text)
    }

    /// Who signed it, by its own word.
    public var issuer: X509Name { X509Name(derBytes: bytes(layout.issuer)) }

    /// The serial number, big-endian two's complement as sent.
    public var serialNumber: [UInt8] { bytes(layout.serialNumber) }

    /// The first second of validity.
    public var notBefore: Date { Date(timeIntervalSince1970: Double(validity.lowerBound)) }

    /// The last second of validity, inclusive (RFC 5280, section 4.1.2.5).
    public var notAfter: Date { Date(timeIntervalSince1970: Double(validity.upperBound)) }

    /// The names and addresses of the subjectAltName extension, in order (RFC 5280, section 4.2.1.6).
    public var subjectAlternativeNames: [SubjectAlternativeName] { extensions.subjectAlternativeNames }

    /// The public key as sent.
    public var subjectPublicKeyInfo: SubjectPublicKeyInfo {
        SubjectPublicKeyInfo(checked: bytes(layout.subjectPublicKeyInfo))
    }

    /// The pin of the key.
    public var spkiFingerprint: SPKIFingerprint {
        let der = storage.derBytes
        return SPKIFingerprint(hashing: der.span.extracting(layout.subjectPublicKeyInfo))
    }

    /// The SHA-256 of the whole certificate.
    public var fingerprint: CertificateFingerprint {
        let der = storage.derBytes
        return CertificateFingerprint(hashing: der.span)
    }

    /// Whether basicConstraints says `cA` (RFC 5280, section 4.2.1.9). False without the extension.
    public var isCertificateAuthority: Bool { extensions.isAuthority }

    /// Whether subject and issuer are the same name; the signature is not looked at.
    public var isSelfIssued: Bool { canonicalSubject == canonicalIssuer }

    /// The DER of what the issuer signed, the TBSCertificate.
    package var signedPart: [UInt8] { bytes(layout.signed) }

    /// Seconds since 1970, both inclusive.
    package var validity: ClosedRange<Int64> { storage.contents.validity }

    var canonicalSubject: CanonicalName { storage.canonicalNames.subject }
    var canonicalIssuer: CanonicalName { storage.canonicalNames.issuer }
    var extensions: CertificateExtensions { storage.contents.extensions }
    /// What it calls its own key (RFC 5280, section 4.2.1.2).
    var subjectKeyIdentifier: ArraySlice<UInt8>? { extensions.subjectKeyIdentifier.map { storage.derBytes[$0] } }
    /// What it calls its issuer's key (RFC 5280, section 4.2.1.1).
    var issuerKeyIdentifier: ArraySlice<UInt8>? {
        extensions.authorityKeyIdentifier?.keyIdentifier.map { storage.derBytes[$0] }
    }
    /// 1 to 3.
    package var version: Int { layout.version }
    var hasExtensions: Bool { layout.extensions != nil }
    /// Whether it bears a signature of ``SignatureAlgorithms``.
    var hasAcceptedSignature: Bool { storage.contents.hasAcceptedSignature }
    /// The signature's algorithm, if it is one of FIPS 204 or FIPS 205.
    var postQuantumSignature: PostQuantumAlgorithm? {
        let der = storage.derBytes
        return PostQuantumAlgorithm(algorithmIdentifier: der.span.extracting(layout.signatureAlgorithms.inner))
    }
    /// How the two algorithms of its signature go together.
    var signatureAlgorithms: SignatureAlgorithmPair { storage.contents.signatureAlgorithms }

    /// The algorithm and size of the public key.
    package var keyKind: PublicKeyKind { storage.contents.keyKind }
    var rsaExponent: UInt64? { storage.contents.rsaExponent }

    private var layout: CertificateLayout { storage.contents.layout }

    private func bytes(_ range: Range<Int>) -> [UInt8] { Array(storage.derBytes[range]) }

    /// The same certificate inside OpenSSL, parsed on first use and kept (`d2i_X509`).
    func openSSLCertificate() throws(OpenSSLError) -> OpenSSLCertificate { try storage.openSSLCertificate() }
}

extension X509Certificate: Hashable {
    public static func == (left: X509Certificate, right: X509Certificate) -> Bool {
        left.storage === right.storage || left.storage.derBytes == right.storage.derBytes
    }

    /// The end of the signature stands for the whole: an array is hashed a byte at a time, and certificates that share
    /// the end of one are told apart by `==`.
    public func hash(into hasher: inout Hasher) {
        let der = storage.derBytes
        var end: UInt64 = 0
        for byte in der.suffix(8) { end = end << 8 | UInt64(byte) }
        hasher.combine(der.count)
        hasher.combine(end)
    }
}

extension X509Certificate: CustomStringConvertible {
    /// The subject, safe to print.
    public var description: String { subject.description }
}

extension X509Certificate {
    /// What the DER says, read once.
    struct Contents: Sendable {
        let layout: CertificateLayout
        let validity: ClosedRange<Int64>
        let extensions: CertificateExtensions
        let keyKind: PublicKeyKind
        /// Nil for other keys, and for one over 64 bits.
        let rsaExponent: UInt64?
        let signatureAlgorithms: SignatureAlgorithmPair
        let hasAcceptedSignature: Bool

        init(_ bytes: Span<UInt8>) throws(DERError) {
            let layout = try CertificateLayout(bytes)
            let notBefore = try DERTime.seconds(bytes, layout.notBefore)
            let notAfter = try DERTime.seconds(bytes, layout.notAfter)
            guard notBefore <= notAfter else {
                throw .invalidValue(what: "validity, which ends before it starts,", offset: layout.notAfter.lowerBound)
            }
            try NameWalk.forEachAttribute(bytes, layout.subject) { _, _, _ in }
            try NameWalk.forEachAttribute(bytes, layout.issuer) { _, _, _ in }
            let key = bytes.extracting(layout.subjectPublicKeyInfo)
            try SubjectPublicKeyInfo.check(key)
            extensions = try CertificateExtensions(bytes, layout)
            self.layout = layout
            validity = notBefore...notAfter
            keyKind = (try? PublicKeyKind(subjectPublicKeyInfo: key)) ?? .malformed
            rsaExponent = PublicKeyKind.rsaExponent(subjectPublicKeyInfo: key)
            signatureAlgorithms = SignatureAlgorithmPair(bytes, layout)
            hasAcceptedSignature = SignatureAlgorithms.accept(bytes.extracting(layout.signatureAlgorithms.inner))
        }
    }

    /// Subject and issuer in the form in which they are compared.
    private final class CanonicalNames: Sendable {
        let subject: CanonicalName
        let issuer: CanonicalName

        init(_ derBytes: [UInt8], _ layout: CertificateLayout) {
            subject = CanonicalName(checked: derBytes.span, layout.subject)
            issuer = CanonicalName(checked: derBytes.span, layout.issuer)
        }
    }

    private final class Storage: Sendable {
        let derBytes: [UInt8]
        let contents: Contents
        private let parsed: LazyReference<OpenSSLCertificate>
        private let names = LazyReference<CanonicalNames>()

        init(derBytes: [UInt8], contents: consuming Contents, parsed: OpenSSLCertificate? = nil) {
            self.derBytes = derBytes
            // One with two spellings of its algorithm is not for OpenSSL as it is; see below.
            if case .sameButNull = contents.signatureAlgorithms {
                self.parsed = LazyReference()
            } else {
                self.parsed = LazyReference(parsed)
            }
            self.contents = contents
        }

        /// Made on first use: whoever reads a certificate for its key asks for no issuer.
        var canonicalNames: CanonicalNames { names.value { CanonicalNames(derBytes, contents.layout) } }

        func openSSLCertificate() throws(OpenSSLError) -> OpenSSLCertificate {
            try parsed.value { () throws(OpenSSLError) in
                var der = derBytes
                if case .sameButNull = contents.signatureAlgorithms { der = contents.layout.withOneAlgorithm(der.span) }
                return try OpenSSLCertificate(parsing: der.span)
            }
        }
    }
}
