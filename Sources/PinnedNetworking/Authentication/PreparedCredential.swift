import CertificateTrust
import PinctlBasics
import PinctlHTTPMessages

/// A user and password prepared to answer one challenge, in any number of requests.
enum PreparedCredential: Sendable {
    /// The value of the field.
    case basic(String)
    case digest(DigestSession)
    /// The login of the connection. See ``ConnectionLogin``.
    case connection(ConnectionLoginMechanism)

    /// Prepares a credential. Throws if the scheme can't send it. Returns `nil` for a credential without a password,
    /// and for NTLM without a user.
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

    /// The URIs that belong to the space according to the challenge. The whole server for connections and for a Digest
    /// challenge without a domain, and none for Basic (RFC 7616, section 3.3; RFC 7617, section 2.2).
    var domain: [String] {
        switch self {
        case .basic: []
        case .digest(let session): session.challenge.domain ?? ["/"]
        case .connection: ["/"]
        }
    }

    /// The mechanism that logs in the connection, or `nil` for schemes that authenticate each request.
    var connectionMechanism: ConnectionLoginMechanism? {
        if case .connection(let mechanism) = self { mechanism } else { nil }
    }
}

/// The answer to a Basic challenge (RFC 7617).
enum BasicAuthorization {
    /// Returns the value of the field: user and password in UTF-8 and Unicode normalization form C. Servers that
    /// specify a charset require this form, and browsers send it to the others.
    static func value(user: String, password: String) throws(CredentialProblem) -> String {
        // mutant basic-injection: true by BasicTests
        guard !user.utf8.contains(UInt8(ascii: ":")) else { throw .colonInUserName }
        // mutant basic-control: true by BasicTests
        guard !CredentialProblem.hasControlCharacter(user + password) else { throw .controlCharacter }
        let text = "\(user):\(password)".precomposedStringWithCanonicalMapping
        let bytes = Array(text.utf8)
        return "Basic " + Base64.encode(bytes.span)
    }
}

/// The reason why a scheme can't send a credential. The text contains nothing of the credential.
enum CredentialProblem: Error, Hashable {
    /// The user name contains a colon. Basic ends the user name at the first colon (RFC 7617, section 2).
    case colonInUserName
    case controlCharacter

    static func hasControlCharacter(_ text: String) -> Bool {
        text.unicodeScalars.contains { $0.properties.generalCategory == .control }
    }
}

extension CredentialProblem: CustomStringConvertible {
    var description: String {
        switch self {
        case .colonInUserName: "a user name with a colon cannot be sent by Basic: use another name, or Digest"
        case .controlCharacter: "a user name or password has a control character: remove it"
        }
    }
}
