/// The fields of a certificate that only the revocation check needs: its distribution points and whether it requires a
/// stapled response.
struct RevocationFields {
    private let certificate: X509Certificate
    /// The value of cRLDistributionPoints.
    private var points: Range<Int>?
    /// Whether the issuer exempts it from revocation checks for its lifetime: id-pkix-ocsp-nocheck (RFC 6960, section
    /// 4.2.2.2.1).
    private(set) var isNotToBeChecked = false
    /// Whether the TLS feature extension contains status_request (RFC 7633) or can't be read.
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

    /// The limit on distribution points. Certificates have one or two, and each is compared with every list of its
    /// issuer.
    private static let maximumPoints = 20

    /// Returns the distribution points of the certificate. The result is empty if it has no such extension.
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
