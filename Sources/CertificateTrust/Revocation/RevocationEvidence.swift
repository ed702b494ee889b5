/// What is at hand about revocation. Nothing is fetched, and nothing here is trusted before its signature is.
public struct RevocationEvidence: Sendable {
    /// Lists of revoked certificates: complete ones, and such as add to one.
    public let lists: [CertificateRevocationList]
    /// Certificates that may have signed a list, beside those that the peer presents.
    public let certificates: [X509Certificate]
    /// DER of the OCSPResponse about the leaf that the server sent in the handshake (RFC 6066, section 8).
    public var stapledOCSP: [UInt8]?

    /// Places in ``lists`` by issuer, the newest list first.
    let listsByIssuer: [CanonicalName: [Int]]

    /// Evidence from any source.
    public init(
        lists: [CertificateRevocationList] = [], certificates: [X509Certificate] = [], stapledOCSP: [UInt8]? = nil
    ) {
        self.lists = lists
        self.certificates = certificates
        self.stapledOCSP = stapledOCSP
        listsByIssuer = Dictionary(grouping: lists.indices, by: { lists[$0].canonicalIssuer })
            .mapValues { $0.sorted { lists[$0].issued > lists[$1].issued } }
    }

    /// Nothing at hand.
    public static let none = RevocationEvidence()
}

extension RevocationEvidence {
    /// Throws where ``stapledOCSP`` is no successful OCSP response at all; whom it is from is not looked at.
    package func checkStaple() throws(DERError) {
        if let stapledOCSP { _ = try OCSPResponse(derBytes: stapledOCSP) }
    }
}
