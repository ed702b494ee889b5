/// What a certificate says that matters for revocation: where its lists are, what it may sign, whether it needs a
/// staple. Read when it is asked for: most evaluations do not.
struct RevocationFields {
    private(set) var distributionPoints: [DistributionPoint] = []
    /// keyUsage, bits 0 to 7 from the top; nil without the extension.
    private var keyUsage: UInt8?
    /// Whether extendedKeyUsage names OCSPSigning (RFC 6960, section 4.2.2.2).
    private(set) var isResponder = false
    /// Whether its issuer vouches for it for as long as it lives: id-pkix-ocsp-nocheck (RFC 6960, section 4.2.2.2.1).
    private(set) var isNotToBeChecked = false
    /// Whether the TLS feature extension asks for status_request (RFC 7633).
    private(set) var demandsStaple = false
    /// A critical extension that is not read here, nor any of those that limit what a responder does not do.
    private(set) var unknownCriticalExtension: String?

    let signature: SignedDER

    /// cRLSign, or no keyUsage at all (RFC 5280, section 6.3.3 (f)).
    var maySignLists: Bool { keyUsage.map { $0 & 0x02 != 0 } ?? true }
    /// digitalSignature, or no keyUsage at all.
    var maySignResponses: Bool { keyUsage.map { $0 & 0x80 != 0 } ?? true }

    init(_ certificate: X509Certificate) throws(DERError) {
        let der = certificate.derBytes
        let bytes = der.span
        var outer = DERCursor(0..<bytes.count)
        var parts = DERCursor(try outer.next(DERTag.sequence, bytes).contents)
        signature = try SignedDER(bytes, &parts)
        let issuer = certificate.issuer.derBytes
        try CertificateLayout(bytes).forEachExtension(bytes) { (identifier, isCritical, value) throws(DERError) in
            try read(bytes, identifier, isCritical, value, issuer)
        }
    }

    private mutating func read(
        _ bytes: Span<UInt8>, _ identifier: Range<Int>, _ isCritical: Bool, _ value: Range<Int>, _ issuer: [UInt8]
    ) throws(DERError) {
        var outer = DERCursor(value)
        switch identifier.map({ bytes[$0] }) {
        case [0x55, 0x1D, 0x0F]:
            let bits = try outer.next(DERTag.bitString, bytes).contents
            keyUsage = bits.count > 1 ? bytes[bits.lowerBound + 1] : 0
        case [0x55, 0x1D, 0x1F]:
            var points = DERCursor(try outer.next(DERTag.sequence, bytes).contents)
            while !points.isAtEnd {
                let point = try points.next(DERTag.sequence, bytes)
                guard distributionPoints.count < Self.maximumPoints else {
                    throw .invalidValue(what: "number of distribution points", offset: point.whole.lowerBound)
                }
                distributionPoints.append(try DistributionPoint(bytes, point.contents, issuer: issuer))
            }
        case [0x55, 0x1D, 0x25]:
            var usages = DERCursor(try outer.next(DERTag.sequence, bytes).contents)
            while !usages.isAtEnd {
                let usage = try usages.next(DERTag.objectIdentifier, bytes).contents
                if usage.map({ bytes[$0] }) == Self.ocspSigning { isResponder = true }
            }
        case [0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x30, 0x01, 0x05]: isNotToBeChecked = true
        case [0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x01, 0x18]:
            var features = DERCursor(try outer.next(DERTag.sequence, bytes).contents)
            while !features.isAtEnd {
                // 5 is status_request.
                if try features.next(DERTag.integer, bytes).contents.map({ bytes[$0] }) == [5] { demandsStaple = true }
            }
        // subjectAltName, basicConstraints, certificatePolicies.
        case [0x55, 0x1D, 0x11], [0x55, 0x1D, 0x13], [0x55, 0x1D, 0x20]: break
        default:
            if isCritical { unknownCriticalExtension = ObjectIdentifierText.dotted(bytes, identifier) }
        }
    }

    /// id-kp-OCSPSigning.
    private static let ocspSigning: [UInt8] = [0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x09]
    /// Certificates have one or two; each one is held against every list of its issuer.
    private static let maximumPoints = 20
}
