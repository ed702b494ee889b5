/// What a path must satisfy besides leading to an anchor.
public struct TrustPolicy: Sendable, Hashable {
    /// What the leaf is used for.
    @nonexhaustive
    public enum Purpose: Sendable, Hashable {
        /// A TLS server (`id-kp-serverAuth`, `X509_PURPOSE_SSL_SERVER`).
        case server
    }

    /// What the leaf is used for.
    public let purpose: Purpose

    /// What the Web accepts: RSA of 2048 bits or more, SHA-256 or better (OpenSSL's security level 2), a path of at most
    /// ten certificates between leaf and anchor.
    public static let `default` = TrustPolicy(purpose: .server)
}
