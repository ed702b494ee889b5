/// The extent to which Certificate Transparency is checked.
public enum CertificateTransparencyMode: String, Sendable, Hashable, CaseIterable {
    /// Nothing is checked.
    case ignore
    /// A leaf without enough timestamps is accepted, and its path says why it isn't compliant:
    /// ``VerifiedPath/transparencyFinding``.
    case report
    /// A path is rejected unless its leaf has enough timestamps of recognized logs. Without a list of logs, or with one
    /// that is 70 days old, every path is rejected.
    case require
}

/// The evidence about Certificate Transparency, besides the timestamps in the leaf.
public struct TransparencyEvidence: Sendable {
    /// The recognized logs. Without them, no timestamp can be verified.
    public var logs: TransparencyLogList?
    /// The SignedCertificateTimestampList that the server sent in the TLS extension signed_certificate_timestamp (RFC
    /// 6962, section 3.3.1).
    public var handshakeTimestamps: [UInt8]?

    /// Creates evidence from a list of logs and what the server sent.
    public init(logs: TransparencyLogList? = nil, handshakeTimestamps: [UInt8]? = nil) {
        self.logs = logs
        self.handshakeTimestamps = handshakeTimestamps
    }

    /// No evidence.
    public static let none = TransparencyEvidence()
}

extension TransparencyEvidence: CustomStringConvertible {
    /// The list of logs, and whether the server sent timestamps.
    public var description: String {
        (logs?.description ?? "no list of logs") + ", "
            + (handshakeTimestamps == nil ? "no timestamps" : "timestamps") + " in the handshake"
    }
}

/// The rules for Certificate Transparency.
extension TrustRule {
    /// The leaf doesn't have enough timestamps of recognized logs (RFC 6962; the policies of Chrome and Apple).
    public static let certificateTransparency = TrustRule(rawValue: "certificate-transparency")
    /// Timestamps can't be judged, because there is no list of logs or because it is too old.
    public static let transparencyUnknown = TrustRule(rawValue: "transparency-unknown")
}
