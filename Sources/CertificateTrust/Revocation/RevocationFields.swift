/// What a certificate says that only revocation asks for: where its lists are, whether it needs a staple, its
/// signature.
struct RevocationFields {
    private(set) var distributionPoints: [DistributionPoint] = []
    /// Whether its issuer vouches for it for as long as it lives: id-pkix-ocsp-nocheck (RFC 6960, section 4.2.2.2.1).
    private(set) var isNotToBeChecked = false
    /// Whether the TLS feature extension asks for status_request (RFC 7633).
    private(set) var demandsStaple = false
    let signature: SignedDER

    init(_ certificate: X509Certificate) throws(DERError) {
        let der = certificate.derBytes
        let bytes = der.span
        var outer = DERCursor(0..<bytes.count)
        var parts = DERCursor(try outer.next(DERTag.sequence, bytes).contents)
        signature = try SignedDER(bytes, &parts)
        let issuer = certificate.issuer.derBytes
        try CertificateLayout(bytes).forEachExtension(bytes) { (identifier, _, value) throws(DERError) in
            try read(bytes, identifier, value, issuer)
        }
    }

    private mutating func read(
        _ bytes: Span<UInt8>, _ identifier: Range<Int>, _ value: Range<Int>, _ issuer: [UInt8]
    ) throws(DERError) {
        var outer = DERCursor(value)
        switch identifier.map({ bytes[$0] }) {
        case [0x55, 0x1D, 0x1F]:
            var points = DERCursor(try outer.next(DERTag.sequence, bytes).contents)
            while !points.isAtEnd {
                let point = try points.next(DERTag.sequence, bytes)
                guard distributionPoints.count < Self.maximumPoints else {
                    throw .invalidValue(what: "number of distribution points", offset: point.whole.lowerBound)
                }
                distributionPoints.append(try DistributionPoint(bytes, point.contents, issuer: issuer))
            }
        case [0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x30, 0x01, 0x05]: isNotToBeChecked = true
        case [0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x01, 0x18]:
            var features = DERCursor(try outer.next(DERTag.sequence, bytes).contents)
            while !features.isAtEnd {
                // 5 is status_request.
                if try features.next(DERTag.integer, bytes).contents.map({ bytes[$0] }) == [5] { demandsStaple = true }
            }
        default: break
        }
    }

    /// Certificates have one or two; each one is held against every list of its issuer.
    private static let maximumPoints = 20
}
