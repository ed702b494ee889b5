public import FoundationEssentials
import OpenSSLBridge

/// An X.509 certificate: parsed, nothing verified.
///
/// The parts are read from the DER as sent (RFC 5280, section 4.1). Two certificates are equal when their DER is.
public struct X509Certificate: Sendable {
    private let storage: Storage

    /// Parses one DER certificate that fills `derBytes`; use ``CertificateFile`` for PEM.
    public init(derBytes: [UInt8]) throws(DERError) {
        storage = Storage(derBytes: derBytes, contents: try Contents(derBytes.span))
    }

    /// The DER as sent.
    public var derBytes: [UInt8] { storage.derBytes }

    /// Whom the certificate names.
    public var subject: X509Name { X509Name(derBytes: bytes(layout.subject)) }

    /// Who signed it, by its own word.
    public var issuer: X509Name { X509Name(derBytes: bytes(layout.issuer)) }

    /// The serial number, big-endian two's complement as sent.
    public var serialNumber: [UInt8] { bytes(layout.serialNumber) }

    /// The first second of validity.
    public var notBefore: Date { Date(timeIntervalSince1970: Double(validity.lowerBound)) }

    /// The last second of validity, inclusive (RFC 5280, section 4.1.2.5).
    public var notAfter: Date { Date(timeIntervalSince1970: Double(validity.upperBound)) }

    /// The names and addresses of the subjectAltName extension, in order (RFC 5280, section 4.2.1.6).
    public var subjectAlternativeNames: [SubjectAlternativeName] { storage.contents.subjectAlternativeNames }

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
    public var isCertificateAuthority: Bool { storage.contents.isAuthority }

    /// Whether subject and issuer are the same name; the signature is not looked at.
    public var isSelfIssued: Bool { canonicalSubject == canonicalIssuer }

    /// Seconds since 1970, both inclusive.
    package var validity: ClosedRange<Int64> { storage.contents.validity }

    var canonicalSubject: CanonicalName { storage.contents.canonicalSubject }
    var canonicalIssuer: CanonicalName { storage.contents.canonicalIssuer }
    /// Contents of subjectKeyIdentifier and of authorityKeyIdentifier's keyIdentifier; nil when absent.
    var subjectKeyIdentifier: [UInt8]? { storage.contents.subjectKeyIdentifier }
    var authorityKeyIdentifier: [UInt8]? { storage.contents.authorityKeyIdentifier }

    /// The dNSNames that nameConstraints excludes, ASCII capitals lowered (RFC 5280, section 4.2.1.10).
    var excludedDNSNames: [[UInt8]] { storage.contents.excludedDNSNames }

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
        hasher.combine(der.count)
        for byte in der.suffix(8) { hasher.combine(byte) }
    }
}

extension X509Certificate {
    /// What the DER says, read once.
    struct Contents: Sendable {
        let layout: CertificateLayout
        let validity: ClosedRange<Int64>
        let canonicalSubject: CanonicalName
        let canonicalIssuer: CanonicalName
        /// Certificates have ten or so; a bound keeps the search for doubles short.
        private static let maximumExtensions = 100

        private(set) var subjectAlternativeNames: [SubjectAlternativeName] = []
        private(set) var isAuthority = false
        private(set) var subjectKeyIdentifier: [UInt8]?
        private(set) var authorityKeyIdentifier: [UInt8]?
        private(set) var excludedDNSNames: [[UInt8]] = []

        init(_ bytes: Span<UInt8>) throws(DERError) {
            let layout = try CertificateLayout(bytes)
            self.layout = layout
            let notBefore = try DERTime.seconds(bytes, layout.notBefore)
            let notAfter = try DERTime.seconds(bytes, layout.notAfter)
            guard notBefore <= notAfter else {
                throw .invalidValue(what: "validity, which ends before it starts,", offset: layout.notAfter.lowerBound)
            }
            validity = notBefore...notAfter
            canonicalSubject = try CanonicalName(bytes, layout.subject)
            canonicalIssuer = try CanonicalName(bytes, layout.issuer)
            try SubjectPublicKeyInfo.check(bytes.extracting(layout.subjectPublicKeyInfo))
            var seen: [[UInt8]] = []
            try layout.forEachExtension(bytes) { (identifier, _, value) throws(DERError) in
                let name = identifier.map { bytes[$0] }
                // RFC 5280, section 4.2: at most one of each, or two readers could take different ones.
                guard !seen.contains(name), seen.count < Self.maximumExtensions else {
                    throw .invalidValue(what: "repeated extension", offset: identifier.lowerBound)
                }
                seen.append(name)
                try read(bytes, name, value)
            }
        }

        private mutating func read(_ bytes: Span<UInt8>, _ name: [UInt8], _ value: Range<Int>) throws(DERError) {
            var outer = DERCursor(value)
            switch name {
            case [0x55, 0x1D, 0x0E]:
                subjectKeyIdentifier = try outer.next(DERTag.octetString, bytes).contents.map { bytes[$0] }
            case [0x55, 0x1D, 0x11]:
                subjectAlternativeNames = try SubjectAlternativeName.list(bytes, value)
                return
            case [0x55, 0x1D, 0x13]:
                var fields = DERCursor(try outer.next(DERTag.sequence, bytes).contents)
                if let flag = try fields.nextIfPresent(DERTag.boolean, bytes) {
                    isAuthority = flag.contents.count == 1 && bytes[flag.contents.lowerBound] == 0xFF
                }
            case [0x55, 0x1D, 0x1E]:
                var subtrees = DERCursor(try outer.next(DERTag.sequence, bytes).contents)
                _ = try subtrees.nextIfPresent(DERTag.constructedContext(0), bytes)
                guard let excluded = try subtrees.nextIfPresent(DERTag.constructedContext(1), bytes) else { break }
                var list = DERCursor(excluded.contents)
                while !list.isAtEnd {
                    var subtree = DERCursor(try list.next(DERTag.sequence, bytes).contents)
                    let base = try subtree.next(bytes)
                    guard base.tag == DERTag.context(2) else { continue }
                    excludedDNSNames.append(SubjectAlternativeName.lowered(base.contents.map { bytes[$0] }))
                }
            case [0x55, 0x1D, 0x23]:
                var fields = DERCursor(try outer.next(DERTag.sequence, bytes).contents)
                authorityKeyIdentifier = try fields.nextIfPresent(DERTag.context(0), bytes)?.contents.map { bytes[$0] }
            default: return
            }
            try outer.finish()
        }
    }

    private final class Storage: Sendable {
        let derBytes: [UInt8]
        let contents: Contents
        private let parsed = Locked<OpenSSLCertificate?>(nil)

        init(derBytes: [UInt8], contents: Contents) {
            self.derBytes = derBytes
            self.contents = contents
        }

        func openSSLCertificate() throws(OpenSSLError) -> OpenSSLCertificate {
            try parsed.withLock { (parsed: inout OpenSSLCertificate?) throws(OpenSSLError) in
                if let parsed { return parsed }
                let der = derBytes
                let certificate = try OpenSSLCertificate(parsing: der.span)
                parsed = certificate
                return certificate
            }
        }
    }
}
