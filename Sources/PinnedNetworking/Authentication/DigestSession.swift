import PinctlBasics
import PinctlHTTPMessages

/// A credential that answers one Digest challenge, for as many requests as the server accepts it.
struct DigestSession: Sendable, Hashable {
    let challenge: DigestChallenge
    /// The nonce of the challenge, or the next one that the server announced.
    var nonce: [UInt8]
    /// The first nonce of the client. With `-sess` it is the only one, since the secret includes it.
    let clientNonce: String
    /// H(A1), the hash that represents user and password.
    private let secret: String
    /// The user name parameter of the field.
    private let userName: [UInt8]

    /// Creates a session. Throws if Digest can't send the credential. Returns `nil` if OpenSSL doesn't provide the
    /// digest.
    init?(
        _ challenge: DigestChallenge, user: String, password: String, clientNonce: String = Self.makeClientNonce()
    ) throws(CredentialProblem) {
        guard !CredentialProblem.hasControlCharacter(user) else { throw .controlCharacter }
        let algorithm = challenge.algorithm
        let realm = challenge.realm ?? []
        let user = user.precomposedStringWithCanonicalMapping
        let password = password.precomposedStringWithCanonicalMapping
        guard let plain = algorithm.hex(user.utf8, realm, password.utf8),
            let secret = algorithm.isSession
                ? algorithm.hex(plain.utf8, challenge.nonce, clientNonce.utf8) : plain,
            let hashedUser = algorithm.hex(user.utf8, realm)
        else { return nil }
        self.challenge = challenge
        self.clientNonce = clientNonce
        self.secret = secret
        nonce = challenge.nonce
        if challenge.hashesUser {
            userName = Array("username=\"\(hashedUser)\", userhash=true".utf8)
        } else if challenge.readsUTF8, !user.utf8.allSatisfy({ $0 < 0x80 }) {
            userName = Array("username*=UTF-8''\(Self.extendedValue(user))".utf8)
        } else {
            userName = Self.quoted("username", user.utf8)
        }
    }

    /// Returns the authorization of one request. Returns `nil` if `auth-int` requires the `body` and it isn't
    /// available.
    ///
    /// `target` is the request target as sent. `count` is the number of uses of the nonce, including this one.
    func authorization(
        method: String, target: String, body: [UInt8]?, count: UInt32, clientNonce: String = Self.makeClientNonce()
    ) -> DigestAuthorization? {
        let algorithm = challenge.algorithm
        let proof = DigestProof(
            algorithm: algorithm, secret: secret, nonce: nonce, target: target, quality: challenge.quality,
            count: Hexadecimal.encode(count), clientNonce: algorithm.isSession ? self.clientNonce : clientNonce)
        guard let response = proof.response(method: method, body: body) else { return nil }
        var parameters = [
            userName, Self.quoted("realm", challenge.realm ?? []), Self.quoted("nonce", nonce),
            Self.quoted("uri", target.utf8),
        ]
        if let name = algorithm.name { parameters.append(Array("algorithm=\(name)".utf8)) }
        parameters.append(Self.quoted("response", response.utf8))
        if let opaque = challenge.opaque { parameters.append(Self.quoted("opaque", opaque)) }
        if let quality = challenge.quality {
            parameters.append(Array("qop=\(quality.rawValue), nc=\(proof.count)".utf8))
            parameters.append(Self.quoted("cnonce", proof.clientNonce.utf8))
        }
        let value = Array("Digest ".utf8) + parameters.joined(separator: Array(", ".utf8))
        return DigestAuthorization(value: value, proof: proof)
    }

    /// Returns 128 random bits from the system's generator.
    static func makeClientNonce() -> String {
        Hexadecimal.encode(UInt64.random(in: 0...UInt64.max)) + Hexadecimal.encode(UInt64.random(in: 0...UInt64.max))
    }

    /// Returns a parameter whose value is a `quoted-string` (RFC 9110, section 5.6.4).
    private static func quoted(_ name: String, _ value: some Collection<UInt8>) -> [UInt8] {
        var quoted = Array("\(name)=\"".utf8)
        for byte in value {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { quoted.append(UInt8(ascii: "\\")) }
            quoted.append(byte)
        }
        return quoted + [UInt8(ascii: "\"")]
    }

    /// Returns the text in the characters of `ext-value` (RFC 8187, section 3.2.1).
    private static func extendedValue(_ text: String) -> String {
        let plain = CharacterSet(
            charactersIn: "!#$&+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
        return text.addingPercentEncoding(withAllowedCharacters: plain) ?? ""
    }
}
