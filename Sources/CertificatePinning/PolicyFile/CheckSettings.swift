/// How `pinctl check` looks at the servers of a rule.
package struct CheckSettings: Sendable, Hashable {
    /// The keys that a server with several is asked for.
    package enum Keys: String, Sendable, Hashable, CaseIterable {
        /// Whichever it shows.
        case auto
        case both
        case rsa
        case ecdsa
    }

    /// Names of protocols that begin in the clear and turn to TLS.
    package static let startTLSProtocols = [
        "smtp", "lmtp", "imap", "pop3", "sieve", "nntp", "ftp", "ldap", "xmpp", "xmpp-server", "postgres", "mysql",
    ]

    /// Where to connect, as on the command line; empty for the rule's host.
    package var targets: [String] = []
    package var keys = Keys.auto
    /// Whether every address of a host is asked.
    package var allAddresses = false
    /// The protocol that the server begins with; nil for TLS from the first byte.
    package var startTLS: String?

    /// One handshake at the first address that answers.
    package init() {}
}
