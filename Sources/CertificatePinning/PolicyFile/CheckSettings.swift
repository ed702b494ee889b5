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

    /// The addresses to connect to, as on the command line. If empty, the rule's host is used.
    package var targets: [String] = []
    package var keys = Keys.auto
    /// Whether to check every address of a host.
    package var allAddresses = false
    /// The protocol that the server starts with. `nil` means TLS from the first byte.
    package var startTLS: String?

    /// Creates the default settings: one handshake with the first address that answers.
    package init() {}
}
