import PinctlBasics
public import PinctlFoundation

/// A certificate revocation list (CRL), parsed but not verified.
///
/// The fields are read from the received DER (RFC 5280, section 5). Entries aren't copied: they are searched when a
/// certificate is looked up. Two lists are equal if their DER is equal.
public struct CertificateRevocationList: Sendable {
    /// The received DER.
    public let derBytes: [UInt8]
    /// The name of the issuer, as the list states it.
    public let issuer: X509Name
    /// The time of issue (thisUpdate), in seconds since 1970.
    let issued: Int64
    /// The time when the next list is due (nextUpdate), in seconds since 1970. `nil` if the list doesn't state it.
    let due: Int64?
    let canonicalIssuer: CanonicalName
    let signature: SignedDER
    private(set) var scope = IssuingDistributionPoint()
    /// The cRLNumber without leading zeros (RFC 5280, section 5.2.3).
    private(set) var number: ListNumber?
    /// The number of the base list, if this is a delta CRL. `nil` for a complete list (RFC 5280, section 5.2.4).
    private(set) var baseNumber: ListNumber?
    /// The value of authorityKeyIdentifier.
    private(set) var authorityKeyIdentifier: [UInt8] = []
    /// The reason why the list can't be used, if any: an unsupported critical extension in the list or an entry, or a
    /// cRLNumber that is missing or critical, which violates RFC 5280, section 5.2.
    var unusable: String?
    /// The contents of revokedCertificates.
    let entries: Range<Int>

    /// The time of issue.
    public var thisUpdate: Date { Date(timeIntervalSince1970: Double(issued)) }

    /// The time when the next list is due, inclusive. `nil` if the list doesn't state it, which RFC 5280 doesn't allow.
    public var nextUpdate: Date? { due.map { Date(timeIntervalSince1970: Double($0)) } }

    /// Parses one DER CertificateList that fills `derBytes`. Use ``RevocationEvidence/init(files:)`` to read PEM.
    public init(derBytes: [UInt8]) throws(DERError) {
        self.derBytes = derBytes
        let bytes = derBytes.span
        var outer = DERCursor(0..<bytes.count)
        var parts = DERCursor(try outer.next(DERTag.sequence, bytes).contents)
        try outer.finish()
        signature = try SignedDER(bytes, &parts)
        try parts.finish()

        var fields = DERCursor(signature.contents)
        let version = try fields.nextIfPresent(DERTag.integer, bytes)
        if let version, version.contents.map({ bytes[$0] }) != [1] {
            throw .invalidValue(what: "CRL version", offset: version.whole.lowerBound)
        }
        let algorithm = try fields.next(DERTag.sequence, bytes)
        guard bytes.extracting(algorithm.whole).elementsEqual(bytes.extracting(signature.algorithm)) else {
            throw .invalidValue(what: "signature algorithm", offset: algorithm.whole.lowerBound)
        }
        let name = try fields.next(DERTag.sequence, bytes).whole
        let issuerBytes = name.map { bytes[$0] }
        issuer = X509Name(derBytes: issuerBytes)
        canonicalIssuer = try CanonicalName(bytes, name)
        issued = try DERTime.seconds(bytes, try fields.next(bytes).whole)
        due =
            switch fields.peek(bytes) {
            case DERTag.utcTime, DERTag.generalizedTime: try DERTime.seconds(bytes, try fields.next(bytes).whole)
            default: nil
            }
        entries = try fields.nextIfPresent(DERTag.sequence, bytes)?.contents ?? fields.position..<fields.position
        let explicit = try fields.nextIfPresent(DERTag.constructedContext(0), bytes)
        try fields.finish()
        guard version != nil || explicit == nil else {
            throw .invalidValue(what: "extension in a version 1 CRL", offset: signature.signed.lowerBound)
        }
        if let explicit { try readExtensions(bytes, explicit.contents, issuerBytes) }
        if number == nil { unusable = unusable ?? "has no number (cRLNumber)" }
        try checkEntries(bytes)
    }

    /// Reads the list's extensions. RFC 5280, section 5.2 lets two of them be critical, and both are read here.
    private mutating func readExtensions(
        _ bytes: Span<UInt8>, _ explicit: Range<Int>, _ issuer: [UInt8]
    ) throws(DERError) {
        var outer = DERCursor(explicit)
        let list = try outer.next(DERTag.sequence, bytes).contents
        try outer.finish()
        var seen: [[UInt8]] = []
        try DERExtensions.forEach(bytes, list) { (identifier, isCritical, value) throws(DERError) in
            let name = identifier.map { bytes[$0] }
            guard !seen.contains(name), seen.count < Self.maximumExtensions else {
                throw .invalidValue(what: "repeated extension", offset: identifier.lowerBound)
            }
            seen.append(name)
            switch name {
            case [0x55, 0x1D, 0x1C]: scope = try IssuingDistributionPoint(bytes, value, issuer: issuer)
            case [0x55, 0x1D, 0x1B]: baseNumber = try ListNumber(bytes, value)
            case [0x55, 0x1D, 0x14] where !isCritical: number = try ListNumber(bytes, value)
            case [0x55, 0x1D, 0x23] where !isCritical: authorityKeyIdentifier = value.map { bytes[$0] }
            default:
                if isCritical {
                    unusable = "has the critical extension \(ObjectIdentifierText.dotted(bytes, identifier))"
                }
            }
        }
    }

    /// The limit on extensions, which keeps the search for duplicates short. Lists have about five.
    private static let maximumExtensions = 20
}

extension CertificateRevocationList: Hashable {
    public static func == (left: CertificateRevocationList, right: CertificateRevocationList) -> Bool {
        left.derBytes == right.derBytes
    }

    /// Hashes the length and the end of the signature, which identify the whole list as they do a certificate.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(derBytes.count)
        for byte in derBytes.suffix(8) { hasher.combine(byte) }
    }
}

extension CertificateRevocationList: CustomStringConvertible {
    /// The issuer and the time of issue, such as `CRL of CN=R11, issued 2026-11-20T18:48:48Z`.
    public var description: String { "CRL of \(issuer), issued \(thisUpdate.rfc3339)" }
}
