/// A path from a leaf to a trust anchor that was verified for a name at a time. Only ``ServerTrust`` makes one.
public struct VerifiedPath: Sendable, Hashable {
    /// Leaf first, anchor last. One certificate alone is a leaf that is itself an anchor.
    public let certificates: [X509Certificate]
    /// The name the leaf was verified for.
    public let name: ServerName

    init(certificates: [X509Certificate], leaf: X509Certificate, name: ServerName) {
        self.certificates = certificates
        self.leaf = leaf
        self.name = name
    }

    /// The certificate of the server.
    public let leaf: X509Certificate

    /// The trust anchor the path ends at.
    public var anchor: X509Certificate { certificates.last ?? leaf }
}
