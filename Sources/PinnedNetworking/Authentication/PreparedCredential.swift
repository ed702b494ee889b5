import HTTPMessages

/// A user and password made ready to answer one challenge, as often as it takes.
enum PreparedCredential: Sendable {
    /// The field value.
    case basic(String)
    case digest(DigestSession)
    /// The connection is logged in; see ``ConnectionLogin``.
    case connection(ConnectionLogin.Mechanism)

    /// Throws what the scheme cannot carry; nil for a credential without a password, and for NTLM without a user.
    init?(_ credential: URLCredential, for scheme: AuthenticationOffer.Scheme) throws(CredentialProblem) {
        guard case .password(let user, let password?) = credential.kind else { return nil }
        switch scheme {
        case .negotiate, .ntlm:
            guard !CredentialProblem.hasControlCharacter(user + password) else { throw .controlCharacter }
            guard let mechanism = scheme.connectionMechanism, mechanism == .negotiate || !user.isEmpty else {
                return nil
            }
            self = .connection(mechanism)
        case .basic: self = .basic(try BasicAuthorization.value(user: user, password: password))
        case .digest(let challenge):
            guard let session = try DigestSession(challenge, user: user, password: password) else { return nil }
            self = .digest(session)
        }
    }

    /// The URIs that the challenge named as its space; the whole server for a Digest challenge that named none and for
    /// connections, and nothing for Basic (RFC 7616, section 3.3; RFC 7617, section 2.2).
    var domain: [String] {
        switch self {
        case .basic: []
        case .digest(let session): session.challenge.domain ?? ["/"]
        case .connection: ["/"]
        }
    }

    /// How the connection is logged in; nil for the schemes that log in requests.
    var connectionMechanism: ConnectionLogin.Mechanism? {
        if case .connection(let mechanism) = self { mechanism } else { nil }
    }
}
