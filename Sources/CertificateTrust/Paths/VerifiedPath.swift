/// A path from a leaf to a trust anchor that was verified for a hostname at a given time. Only ``ServerTrust`` creates
/// one.
public struct VerifiedPath: Sendable, Hashable {
    /// The certificates of the path, leaf first and anchor last. A path of one certificate is a leaf that is itself an
    /// anchor.
    public let certificates: [X509Certificate]
    /// The hostname for which the leaf was verified.
    public let name: ServerName

    /// The reason why the leaf isn't compliant, if the policy reports Certificate Transparency
    /// (``CertificateTransparencyMode/report``).
    public let transparencyFinding: TrustFinding?

    init(
        certificates: [X509Certificate], leaf: X509Certificate, name: ServerName, transparencyFinding: TrustFinding?
    ) {
        self.certificates = certificates
        self.leaf = leaf
        self.name = name
        self.transparencyFinding = transparencyFinding
    }

    /// The server's certificate.
    public let leaf: X509Certificate

    /// The trust anchor at the end of the path.
    public var anchor: X509Certificate { certificates.last ?? leaf }
}

extension VerifiedPath: CustomStringConvertible {
    /// The subjects from the leaf to the anchor, such as `CN=api.example.com -> CN=R11 -> CN=ISRG Root X1`.
    public var description: String { certificates.pathText }
}

extension [X509Certificate] {
    /// The subjects in the order of the array.
    var pathText: String { map(\.subject.description).joined(separator: " -> ") }
}
