/// The settings of `pinctl check` for the servers of a rule.
package struct CheckSettings: Sendable, Hashable {
    /// The key type to request from a server that has certificates of several types.
    package enum Keys: String, Sendable, Hashable, CaseIterable {
        /// The type that the server selects.
        case auto
        case both
        case rsa
        case ecdsa
    }

    /// The names of the protocols that start in cleartext and upgrade to TLS.
    package static let startTLSProtocols = [
        "smtp", "lmtp", "imap", "pop3", "sieve", "nntp", "ftp", "ldap", "xmpp", "xmpp-server", "postgres", "mysql",
    ]

    /// The key exchange groups that a server can be required to use. Each is known in TLS 1.3 before the certificate.
    package static let keyExchangeGroups = ["X25519MLKEM768", "X25519", "P-256", "P-384", "P-521"]

    /// The addresses to connect to, as on the command line. If empty, the rule's host is used.
    package var targets: [String] = []
    package var keys = Keys.auto
    /// Whether to check every address of a host.
    package var allAddresses = false
    /// The protocol that the server starts with. `nil` means TLS from the first byte.
    package var startTLS: String?
    /// The key exchange group that the server must use, or `nil` for any.
    package var requiredGroup: String?

    /// Creates the default settings: one handshake with the first address that answers.
    package init() {}
}
