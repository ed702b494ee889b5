import HTTPMessages

/// A user and password made ready to answer one challenge, as often as it takes.
enum PreparedCredential: Sendable {
    /// The field value.
    case basic(String)
    case digest(DigestSession)

    /// Throws what the scheme cannot carry; nil for a credential without a password and a scheme that is not spoken.
    init?(_ credential: URLCredential, for scheme: AuthenticationOffer.Scheme) throws(CredentialProblem) {
        guard case .password(let user, let password?) = credential.kind else { return nil }
        switch scheme {
        case .negotiate, .ntlm: return nil
        case .basic: self = .basic(try BasicAuthorization.value(user: user, password: password))
        case .digest(let challenge):
            guard let session = try DigestSession(challenge, user: user, password: password) else { return nil }
            self = .digest(session)
        }
    }

    /// The URIs that the challenge named as its space; the whole server for a Digest challenge that named none, and
    /// nothing for Basic (RFC 7616, section 3.3; RFC 7617, section 2.2).
    var domain: [String] {
        guard case .digest(let session) = self else { return [] }
        return session.challenge.domain.isEmpty ? ["/"] : session.challenge.domain
    }
}
