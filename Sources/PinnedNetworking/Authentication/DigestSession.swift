import HTTPMessages

/// A credential that answers one Digest challenge, for as many requests as the server takes it for.
struct DigestSession: Sendable, Hashable {
    let challenge: DigestChallenge
    /// The challenge's, until the server names the next.
    var nonce: String
    /// The first nonce of the client; with `-sess` the only one, since the secret holds it.
    let clientNonce: String
    /// H(A1): what stands for user and password.
    private let secret: String
    private let userName: String

    /// Throws what Digest cannot carry; nil where OpenSSL does not offer the digest.
    init?(
        _ challenge: DigestChallenge, user: String, password: String, clientNonce: String = Self.makeClientNonce()
    ) throws(CredentialProblem) {
        guard !CredentialProblem.hasControlCharacter(user) else { throw .controlCharacter }
        let algorithm = challenge.algorithm
        let realm = challenge.realm ?? ""
        let user = user.precomposedStringWithCanonicalMapping
        guard let plain = algorithm.hex(user, realm, password.precomposedStringWithCanonicalMapping),
            let secret = algorithm.isSession ? algorithm.hex(plain, challenge.nonce, clientNonce) : plain,
            let hashedUser = algorithm.hex(user, realm)
        else { return nil }
        self.challenge = challenge
        self.clientNonce = clientNonce
        self.secret = secret
        nonce = challenge.nonce
        if challenge.hashesUser {
            userName = "username=\"\(hashedUser)\", userhash=true"
        } else if challenge.readsUTF8, !user.utf8.allSatisfy({ $0 < 0x80 }) {
            userName = "username*=UTF-8''\(Self.extendedValue(user))"
        } else {
            userName = "username=\(Self.quoted(user))"
        }
    }

    /// What authorizes one request. `body` is needed for `auth-int` only; nil when it is needed and not there.
    ///
    /// `target` is the request target as sent; `count` is how often the nonce was used, this time included.
    func authorization(
        method: String, target: String, body: [UInt8]?, count: UInt32, clientNonce: String = Self.makeClientNonce()
    ) -> DigestAuthorization? {
        let algorithm = challenge.algorithm
        let proof = DigestProof(
            algorithm: algorithm, secret: secret, nonce: nonce, target: target, quality: challenge.quality,
            count: hexadecimal(count), clientNonce: algorithm.isSession ? self.clientNonce : clientNonce)
        guard let response = proof.response(method: method, body: body) else { return nil }
        var parameters = [
            userName, "realm=\(Self.quoted(challenge.realm ?? ""))", "nonce=\(Self.quoted(nonce))",
            "uri=\(Self.quoted(target))",
        ]
        if let name = algorithm.name { parameters.append("algorithm=\(name)") }
        parameters.append("response=\"\(response)\"")
        if let opaque = challenge.opaque { parameters.append("opaque=\(Self.quoted(opaque))") }
        if let quality = challenge.quality {
            parameters.append("qop=\(quality.rawValue), nc=\(proof.count), cnonce=\(Self.quoted(proof.clientNonce))")
        }
        return DigestAuthorization(value: "Digest " + parameters.joined(separator: ", "), proof: proof)
    }

    /// 128 random bits of the system's generator.
    static func makeClientNonce() -> String {
        hexadecimal(UInt64.random(in: 0...UInt64.max)) + hexadecimal(UInt64.random(in: 0...UInt64.max))
    }

    /// `quoted-string` (RFC 9110, section 5.6.4). By scalars: a quote with a combining mark is another Character.
    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            if scalar == "\"" || scalar == "\\" { quoted.unicodeScalars.append("\\") }
            quoted.unicodeScalars.append(scalar)
        }
        return quoted + "\""
    }

    /// The characters of `ext-value` (RFC 8187, section 3.2.1).
    private static func extendedValue(_ text: String) -> String {
        let plain = CharacterSet(
            charactersIn: "!#$&+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
        return text.addingPercentEncoding(withAllowedCharacters: plain) ?? ""
    }
}
