package import OpenSSLBridge
public import PinctlFoundation

/// An X.509 certificate, parsed but not verified.
///
/// The fields are read from the received DER (RFC 5280, section 4.1). Two certificates are equal if their DER is equal.
public struct X509Certificate: Sendable {
    private let storage: Storage

    /// Parses one DER certificate that fills `derBytes`. Use ``CertificateFile`` to read PEM.
    public init(derBytes: [UInt8]) throws(DERError) {
        storage = Storage(derBytes: derBytes, contents: try Contents(derBytes.span))
    }

    /// Parses the one certificate of a PEM text. Throws if there is none, or more than one.
    public init(pem text: String) throws(CertificateFileError) {
        let certificates = try CertificateFile.read(pem: text)
        guard let certificate = certificates.first, certificates.count == 1 else {
            throw .malformed(
                path: "PEM text", line: nil,
                reason: "contains \(certificates.count) certificates instead of one: read them with CertificateFile")
        }
        self = certificate
    }

    /// Parses a certificate received in a handshake, and keeps OpenSSL's parsed form of it.
    package init(received: ReceivedCertificate) throws(DERError) {
        let der = received.derBytes
        storage = Storage(derBytes: der, contents: try Contents(der.span), parsed: received.certificate)
    }

    /// The DER as received.
    public var derBytes: [UInt8] { storage.derBytes }

    /// The subject of the certificate.
    public var subject: X509Name { X509Name(derBytes: bytes(layout.subject)) }

    /// Appends the description of the ``subject`` to `text`, without copying the name.
    package func appendSubject(to text: inout [UInt8]) {
        let der = storage.derBytes
        X509Name.append(der.span.extracting(layout.subject), to: &text)
    }

    /// The name of the issuer, as the certificate states it.
    public var issuer: X509Name { X509Name(derBytes: bytes(layout.issuer)) }

    /// The serial number, in big-endian two's complement as received.
    public var serialNumber: [UInt8] { bytes(layout.serialNumber) }

    /// The first second of validity.
    public var notBefore: Date { Date(timeIntervalSince1970: Double(validity.lowerBound)) }

    /// The last second of validity, inclusive (RFC 5280, section 4.1.2.5).
    public var notAfter: Date { Date(timeIntervalSince1970: Double(validity.upperBound)) }

    /// The entries of the subjectAltName extension, in order (RFC 5280, section 4.2.1.6).
    public var subjectAlternativeNames: [SubjectAlternativeName] { extensions.subjectAlternativeNames }

    /// The public key as received.
    public var subjectPublicKeyInfo: SubjectPublicKeyInfo {
        SubjectPublicKeyInfo(checked: bytes(layout.subjectPublicKeyInfo))
    }

    /// The pin of the public key.
    public var spkiFingerprint: SPKIFingerprint {
        let der = storage.derBytes
        return SPKIFingerprint(hashing: der.span.extracting(layout.subjectPublicKeyInfo))
    }

    /// The SHA-256 of the whole certificate.
    public var fingerprint: CertificateFingerprint {
        let der = storage.derBytes
        return CertificateFingerprint(hashing: der.span)
    }

    /// Whether basicConstraints has `cA` set (RFC 5280, section 4.2.1.9). False if the extension is missing.
    public var isCertificateAuthority: Bool { extensions.isAuthority }

    /// Whether a server may present the certificate as its own, as far as extendedKeyUsage says (RFC 5280, section
    /// 4.2.1.12).
    package var isForServers: Bool { extensions.allows(.server) }

    /// Whether subject and issuer are the same name. The signature isn't checked.
    public var isSelfIssued: Bool { canonicalSubject == canonicalIssuer }

    /// The DER of the signed part, the TBSCertificate.
    package var signedPart: [UInt8] { bytes(layout.signed) }

    /// The validity in seconds since 1970, both ends inclusive.
    package var validity: ClosedRange<Int64> { storage.contents.validity }

    var canonicalSubject: CanonicalName { storage.canonicalNames.subject }
    var canonicalIssuer: CanonicalName { storage.canonicalNames.issuer }
    var extensions: CertificateExtensions { storage.contents.extensions }
    /// The identifier of its own key (RFC 5280, section 4.2.1.2).
    var subjectKeyIdentifier: ArraySlice<UInt8>? { extensions.subjectKeyIdentifier.map { storage.derBytes[$0] } }
    /// The identifier of its issuer's key (RFC 5280, section 4.2.1.1).
    var issuerKeyIdentifier: ArraySlice<UInt8>? {
        extensions.authorityKeyIdentifier?.keyIdentifier.map { storage.derBytes[$0] }
    }
    /// The version, 1 to 3.
    package var version: Int { layout.version }
    var hasExtensions: Bool { layout.extensions != nil }
    /// Whether ``SignatureAlgorithms`` accepts the signature algorithm.
    var hasAcceptedSignature: Bool { storage.contents.hasAcceptedSignature }
    /// Whether the signature algorithm is encoded as ``SignatureAlgorithms`` has it for the Web PKI.
    var hasWebSignature: Bool {
        let der = storage.derBytes
        return SignatureAlgorithms.isOfWebPKI(der.span.extracting(layout.signatureAlgorithms.inner))
    }
    /// The signature algorithm, if it is one of FIPS 204 or FIPS 205.
    var postQuantumSignature: PostQuantumAlgorithm? {
        let der = storage.derBytes
        return PostQuantumAlgorithm(algorithmIdentifier: der.span.extracting(layout.signatureAlgorithms.inner))
    }
    /// The relation between the two signature algorithms in the certificate.
    var signatureAlgorithms: SignatureAlgorithmPair { storage.contents.signatureAlgorithms }

    /// The algorithm and size of the public key.
    package var keyKind: PublicKeyKind { storage.contents.keyKind }
    var rsaExponent: UInt64? { storage.contents.rsaExponent }

    private var layout: CertificateLayout { storage.contents.layout }

    private func bytes(_ range: Range<Int>) -> [UInt8] { Array(storage.derBytes[range]) }

    /// Returns the same certificate in OpenSSL, parsed on first use and then cached (`d2i_X509`).
    func openSSLCertificate() throws(OpenSSLError) -> OpenSSLCertificate { try storage.openSSLCertificate() }
}

extension X509Certificate: Hashable {
    public static func == (left: X509Certificate, right: X509Certificate) -> Bool {
        left.storage === right.storage || left.storage.derBytes == right.storage.derBytes
    }

    /// Hashes the length and the last bytes of the signature, because an array is hashed one byte at a time.
    /// Certificates for which both are the same are distinguished by `==`.
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
    /// The parsed contents of the DER.
    struct Contents: Sendable {
        let layout: CertificateLayout
        let validity: ClosedRange<Int64>
        let extensions: CertificateExtensions
        let keyKind: PublicKeyKind
        /// The RSA exponent. `nil` for other keys, and for an exponent over 64 bits.
        let rsaExponent: UInt64?
        let signatureAlgorithms: SignatureAlgorithmPair
        let hasAcceptedSignature: Bool

        init(_ bytes: Span<UInt8>) throws(DERError) {
            let layout = try CertificateLayout(bytes)
            let notBefore = try DERTime.seconds(bytes, layout.notBefore)
            let notAfter = try DERTime.seconds(bytes, layout.notAfter)
            guard notBefore <= notAfter else {
                throw .invalidValue(what: "validity (ends before it starts)", offset: layout.notAfter.lowerBound)
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

    /// The subject and issuer in the form in which they are compared.
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
            // OpenSSL can't use a certificate with two encodings of its algorithm as received. `openSSLCertificate()`
            // parses another form.
            if case .sameButNull = contents.signatureAlgorithms {
                self.parsed = LazyReference()
            } else {
                self.parsed = LazyReference(parsed)
            }
            self.contents = contents
        }

        /// The canonical names, created on first use. Callers that only need the key never compare issuers.
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
