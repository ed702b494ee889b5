package import OpenSSLBridge

/// The certificates a server presented: a leaf and what came with it, in the order sent. Nothing is verified.
public struct PresentedChain: Sendable, Hashable {
    /// The first certificate, whose key the peer has to own.
    public let leaf: X509Certificate
    /// All others, in the order sent; duplicates and strangers may be among them.
    public let intermediates: [X509Certificate]

    /// A chain of parsed certificates.
    public init(leaf: X509Certificate, intermediates: [X509Certificate] = []) {
        self.leaf = leaf
        self.intermediates = intermediates
    }

    /// Parses DER certificates, leaf first, as TLS hands them over (RFC 8446, section 4.4.2).
    ///
    /// The leaf must parse. Of the others, one that does not is left out: it cannot become part of a path.
    public init(derCertificates: [[UInt8]]) throws(PresentedChainError) {
        try self.init(derCertificates) { der throws(DERError) in try X509Certificate(derBytes: der) }
    }

    /// The same of what a handshake brought.
    package init(received: [ReceivedCertificate]) throws(PresentedChainError) {
        try self.init(received) { certificate throws(DERError) in try X509Certificate(received: certificate) }
    }

    private init<Certificate>(
        _ certificates: [Certificate], parse: (Certificate) throws(DERError) -> X509Certificate
    ) throws(PresentedChainError) {
        guard let first = certificates.first else { throw .empty }
        do throws(DERError) { leaf = try parse(first) } catch { throw .malformedLeaf(error) }
        intermediates = certificates.dropFirst().compactMap { try? parse($0) }
    }

    /// Leaf first, then the others.
    public var certificates: [X509Certificate] { [leaf] + intermediates }
}

extension PresentedChain {
    /// The chain that certificates in any order are: the one that names none of the others' issuers first, each behind
    /// the one it is named by, then those that are left over. Nil when there is not exactly one to begin with.
    package init?(ordering certificates: [X509Certificate]) {
        var known: Set<X509Certificate> = []
        let certificates = certificates.filter { known.insert($0).inserted }
        let issuers = Set(certificates.filter { !$0.isSelfIssued }.map(\.canonicalIssuer))
        let ends = certificates.filter { !issuers.contains($0.canonicalSubject) }
        guard let leaf = ends.first, ends.count == 1 else { return nil }
        var places: [CanonicalName: [Int]] = [:]
        for (index, certificate) in certificates.enumerated() where certificate != leaf {
            places[certificate.canonicalSubject, default: []].append(index)
        }
        var ordered: [X509Certificate] = []
        var last = leaf
        while !last.isSelfIssued, let index = places[last.canonicalIssuer]?.first {
            places[last.canonicalIssuer]?.removeFirst()
            last = certificates[index]
            ordered.append(last)
        }
        let rest = places.values.joined().sorted().map { certificates[$0] }
        self.init(leaf: leaf, intermediates: ordered + rest)
    }
}

/// Why bytes are no presented chain.
@nonexhaustive
public enum PresentedChainError: Error, Hashable, Sendable {
    /// No certificate at all.
    case empty
    /// The first certificate is not DER of a certificate.
    case malformedLeaf(DERError)
}

extension PresentedChainError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .empty: "the peer presented no certificate: check that the port speaks TLS with certificates"
        case .malformedLeaf(let error): "the peer's certificate is malformed: \(error)"
        }
    }
}
