package import PinctlFoundation

/// The available evidence about revocation. Nothing is fetched, and nothing here is trusted until its signature is
/// verified.
public struct RevocationEvidence: Sendable {
    /// The certificate revocation lists, both complete lists and delta CRLs.
    public let lists: [CertificateRevocationList]
    /// Certificates that may have signed a list, besides those that the peer presents.
    public let certificates: [X509Certificate]
    /// The DER of the OCSPResponse about the leaf that the server stapled in the handshake (RFC 6066, section 8).
    public var stapledOCSP: [UInt8]?

    /// The indices of ``lists`` by issuer, the newest list first.
    let listsByIssuer: [CanonicalName: [Int]]

    /// Creates evidence from lists, certificates and a stapled response.
    public init(
        lists: [CertificateRevocationList] = [], certificates: [X509Certificate] = [], stapledOCSP: [UInt8]? = nil
    ) {
        self.lists = lists
        self.certificates = certificates
        self.stapledOCSP = stapledOCSP
        listsByIssuer = Dictionary(grouping: lists.indices, by: { lists[$0].canonicalIssuer })
            .mapValues { $0.sorted { lists[$0].issued > lists[$1].issued } }
    }

    /// No evidence.
    public static let none = RevocationEvidence()
}

extension RevocationEvidence {
    /// The digest of everything in it, 32 bytes, or empty for ``none``.
    package var digest: [UInt8] {
        let parts = lists.map(\.derBytes) + [[]] + certificates.map(\.derBytes) + [stapledOCSP ?? []]
        guard parts.contains(where: { !$0.isEmpty }) else { return [] }
        let digests = parts.flatMap { sha256Digest($0.span) }
        return sha256Digest(digests.span)
    }

    /// Returns the first time after `time` at which a list is due to be replaced, or `nil` if there is none.
    package func nextExpiry(after time: Date) -> Date? {
        lists.compactMap(\.nextUpdate).filter { $0 >= time }.min()
    }

    /// Throws if ``stapledOCSP`` isn't a successful OCSP response. The signer isn't checked.
    package func checkStaple() throws(DERError) {
        if let stapledOCSP { _ = try OCSPResponse(derBytes: stapledOCSP) }
    }
}

extension RevocationEvidence: CustomStringConvertible {
    /// The number of lists and certificates, and whether there is a stapled response.
    public var description: String {
        "\(lists.count) CRLs, \(certificates.count) certificates, "
            + (stapledOCSP == nil ? "no stapled OCSP response" : "a stapled OCSP response")
    }
}
