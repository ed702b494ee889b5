/// A protocol that begins in cleartext and upgrades to TLS on the client's request.
package enum StartTLSProtocol: String, Sendable, Hashable, CaseIterable {
    case smtp
    case lmtp
    case imap
    case pop3
    case sieve
    case nntp
    case ftp
    case ldap
    case xmpp
    case xmppServer = "xmpp-server"
    case postgres
    case mysql

    /// The registered port of the protocol.
    package var defaultPort: UInt16 {
        switch self {
        case .smtp: 25
        case .lmtp: 24
        case .imap: 143
        case .pop3: 110
        case .sieve: 4190
        case .nntp: 119
        case .ftp: 21
        case .ldap: 389
        case .xmpp: 5222
        case .xmppServer: 5269
        case .postgres: 5432
        case .mysql: 3306
        }
    }
}
