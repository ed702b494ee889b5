/// What a certificate says that only revocation asks for: where its lists are, whether it needs a staple.
struct RevocationFields {
    private let certificate: X509Certificate
    /// The value of cRLDistributionPoints.
    private var points: Range<Int>?
    /// Whether its issuer vouches for it for as long as it lives: id-pkix-ocsp-nocheck (RFC 6960, section 4.2.2.2.1).
    private(set) var isNotToBeChecked = false
    /// Whether the TLS feature extension asks for status_request (RFC 7633), or cannot be read.
    private(set) var demandsStaple = false

    init(_ certificate: X509Certificate) throws(DERError) {
        self.certificate = certificate
        let der = certificate.derBytes
        let bytes = der.span
        try CertificateLayout(bytes).forEachExtension(bytes) { (identifier, _, value) throws(DERError) in
            switch identifier.map({ bytes[$0] }) {
            case [0x55, 0x1D, 0x1F]: points = value
            case [0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x30, 0x01, 0x05]: isNotToBeChecked = true
            case [0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x01, 0x18]:
                demandsStaple = (try? Self.hasStatusRequest(bytes, value)) ?? true
            default: break
            }
        }
    }

    /// Certificates have one or two points; each one is held against every list of its issuer.
    private static let maximumPoints = 20

    /// The points of the certificate, none without the extension.
    func distributionPoints() throws(DERError) -> [DistributionPoint] {
        guard let points else { return [] }
        let der = certificate.derBytes
        let bytes = der.span
        let issuer = certificate.issuer.derBytes
        var outer = DERCursor(points)
        var list = DERCursor(try outer.next(DERTag.sequence, bytes).contents)
        var result: [DistributionPoint] = []
        while !list.isAtEnd {
            let point = try list.next(DERTag.sequence, bytes)
            guard result.count < Self.maximumPoints else {
                throw .invalidValue(what: "number of distribution points", offset: point.whole.lowerBound)
            }
            result.append(try DistributionPoint(bytes, point.contents, issuer: issuer))
        }
        return result
    }

    private static func hasStatusRequest(_ bytes: Span<UInt8>, _ value: Range<Int>) throws(DERError) -> Bool {
        var outer = DERCursor(value)
        var features = DERCursor(try outer.next(DERTag.sequence, bytes).contents)
        var isAsked = false
        while !features.isAtEnd {
            // 5 is status_request.
            if try features.next(DERTag.integer, bytes).contents.map({ bytes[$0] }) == [5] { isAsked = true }
        }
        return isAsked
    }
}
