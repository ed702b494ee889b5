/// A path from a leaf to a trust anchor that was verified for a hostname at a given time. Only ``ServerTrust`` creates
/// one.
public struct VerifiedPath: Sendable, Hashable {
    /// The certificates of the path, leaf first and anchor last. A path of one certificate is a leaf that is itself an
    /// anchor.
    public let certificates: [X509Certificate]
    /// The hostname for which the leaf was verified.
    public let name: ServerName

    init(certificates: [X509Certificate], leaf: X509Certificate, name: ServerName) {
        self.certificates = certificates
        self.leaf = leaf
        self.name = name
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
