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
    /// The key to request, or `nil` for each kind that the server has.
    package var keys: Keys?
    /// Whether every address of a host must be checked, or only the first that answers. If it is `nil`, every address
    /// is checked that this machine has a route to.
    package var allAddresses: Bool?
    /// The protocol that the server starts with. `nil` means TLS from the first byte.
    package var startTLS: String?
    /// The key exchange group that the server must use, or `nil` for any.
    package var requiredGroup: String?

    /// Creates the default settings: each kind of key, at every address of the rule's host.
    package init() {}
}
