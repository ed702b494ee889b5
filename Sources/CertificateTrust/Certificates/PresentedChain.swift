package import OpenSSLBridge

/// The certificates that a server presented: a leaf and the others, in the order sent. Nothing is verified.
public struct PresentedChain: Sendable, Hashable {
    /// The first certificate, whose private key the peer must have.
    public let leaf: X509Certificate
    /// All other certificates, in the order sent. They may include duplicates and unrelated certificates.
    public let intermediates: [X509Certificate]

    /// Creates a chain of parsed certificates.
    public init(leaf: X509Certificate, intermediates: [X509Certificate] = []) {
        self.leaf = leaf
        self.intermediates = intermediates
    }

    /// Parses DER certificates, leaf first, as TLS provides them (RFC 8446, section 4.4.2).
    ///
    /// Throws if the leaf is malformed. Other malformed certificates are left out, because they can't become part of a
    /// path.
    public init(derCertificates: [[UInt8]]) throws(PresentedChainError) {
        try self.init(derCertificates) { der throws(DERError) in try X509Certificate(derBytes: der) }
    }

    /// Parses the certificates received in a handshake, leaf first.
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

    /// All certificates, leaf first.
    public var certificates: [X509Certificate] { [leaf] + intermediates }
}

extension PresentedChain {
    /// Orders certificates into a chain. The leaf is the one that issued none of the others. Each further certificate
    /// follows the one that names it as its issuer, and the rest come last. Returns `nil` unless there is exactly one
    /// possible leaf.
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

/// The reason why certificates don't form a presented chain.
@nonexhaustive
public enum PresentedChainError: Error, Hashable, Sendable {
    /// There is no certificate.
    case empty
    /// The first certificate isn't a DER certificate.
    case malformedLeaf(DERError)
}

extension PresentedChainError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .empty: "no peer certificate available: check that the port speaks TLS with certificates"
        case .malformedLeaf(let error): "the peer's certificate is malformed: \(error)"
        }
    }
}

extension PresentedChain: CustomStringConvertible {
    /// The subjects in the order in which the peer presented the certificates.
    public var description: String { certificates.pathText }
}
