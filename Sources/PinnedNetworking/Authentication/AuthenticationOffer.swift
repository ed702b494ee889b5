import HTTPMessages

/// One way to authenticate that a response offers.
struct AuthenticationOffer: Sendable {
    enum Scheme: Sendable {
        case negotiate
        case ntlm
        case digest(DigestChallenge)
        case basic
    }

    let scheme: Scheme
    let space: URLProtectionSpace

    /// The offers of a response, strongest first (HA8). Digest challenges of one realm are one space, of which the
    /// strongest that can be answered stands for all.
    static func offers(in fields: [HTTPField], for request: AuthenticationRequest) -> [AuthenticationOffer] {
        let values = fields.filter { $0.isNamed(request.place.challengeField) }.map(\.value)
        let schemes = HTTPChallenge.parse(values).compactMap { challenge in
            Scheme(challenge, hasBody: request.body != nil).map { (scheme: $0, realm: challenge.parameters["realm"]) }
        }
        var seen: Set<URLProtectionSpace> = []
        // A stable order: the server's own among equals.
        return schemes.enumerated().sorted {
            ($1.element.scheme.strength, $0.offset) < ($0.element.scheme.strength, $1.offset)
        }.map { _, offer in
            AuthenticationOffer(
                scheme: offer.scheme, space: request.place.space(realm: offer.realm, method: offer.scheme.method))
        }.filter { seen.insert($0.space).inserted }
    }
}

extension AuthenticationOffer.Scheme {
    /// Nil for what cannot be answered.
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
