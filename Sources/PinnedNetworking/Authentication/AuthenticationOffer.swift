import PinctlHTTPMessages

/// One authentication method that a response offers.
struct AuthenticationOffer: Sendable {
    enum Scheme: Sendable {
        case negotiate
        case ntlm
        case digest(DigestChallenge)
        case basic
    }

    let scheme: Scheme
    let space: URLProtectionSpace
    /// The token that NTLM and Negotiate send in place of parameters.
    var token: String?

    /// Returns the offers of a response, strongest first (HA8). Equally strong offers keep the server's order. Digest
    /// challenges of one realm form one space, represented by the first supported one.
    static func offers(in fields: [HTTPField], for request: AuthenticationRequest) -> [AuthenticationOffer] {
        let values = fields.filter { $0.isNamed(request.party.challengeField) }.map(\.bytes)
        let offers = HTTPChallenge.parse(values).compactMap { challenge in
            Scheme(challenge, hasBody: request.body != nil).map { scheme in
                AuthenticationOffer(
                    scheme: scheme,
                    space: request.party.space(
                        realm: scheme.connectionMechanism == nil ? challenge.parameters["realm"] : nil,
                        method: scheme.method),
                    token: challenge.token68)
            }
        }
        return offers.enumerated().sorted { left, right in
            (right.element.scheme.strength, left.offset) < (left.element.scheme.strength, right.offset)
        }.map(\.element)
    }
}

extension AuthenticationOffer.Scheme {
    /// Creates the scheme of a challenge, or `nil` if it isn't supported.
    fileprivate init?(_ challenge: HTTPChallenge, hasBody: Bool) {
        switch challenge.scheme {
        case "negotiate": self = .negotiate
        case "ntlm": self = .ntlm
        case "digest":
            guard let digest = DigestChallenge(challenge), hasBody || digest.quality != .authInt else { return nil }
            self = .digest(digest)
        case "basic":
            guard challenge.token68 == nil else { return nil }
            self = .basic
        default: return nil
        }
    }

    var method: String {
        switch self {
        case .negotiate: NSURLAuthenticationMethodNegotiate
        case .ntlm: NSURLAuthenticationMethodNTLM
        case .digest: NSURLAuthenticationMethodHTTPDigest
        case .basic: NSURLAuthenticationMethodHTTPBasic
        }
    }

    /// The mechanism that logs in the connection, or `nil` for schemes that authenticate each request.
    var connectionMechanism: ConnectionLoginMechanism? {
        switch self {
        case .negotiate: .negotiate
        case .ntlm: .ntlm
        case .digest, .basic: nil
        }
    }

    fileprivate var strength: Int {
        switch self {
        case .negotiate: 6
        case .ntlm: 5
        case .digest(let challenge):
            switch challenge.algorithm.digest {
            case .sha512_256: 4
            case .sha256: 3
            case .md5: 2
            }
        case .basic: 1
        }
    }
}
