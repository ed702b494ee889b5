import CertificateTrust

@testable import PinctlHTTPMessages
@testable import PinnedNetworking

extension FuzzTarget {
    /// The values of fields, one a line: what they challenge to, and what answers it.
    static let challenge = FuzzTarget(name: "challenge") { bytes in
        let values = bytes.prefix(HTTPResponseParser.headLimit).split(separator: 0x0A).map { Array($0) }
        let challenges = HTTPChallenge.parse(values)
        precondition(challenges.count <= HTTPChallenge.challengeLimit)
        for challenge in challenges {
            precondition(HTTPGrammar.isToken(challenge.scheme.utf8))
            precondition(challenge.scheme == HTTPField.foldedName(challenge.scheme))
            precondition(challenge.values.count <= HTTPChallenge.parameterLimit)
            precondition(challenge.token68 == nil || challenge.values.isEmpty, "token and parameters")
            answer(challenge)
        }
        let written = Array(challenges.map(\.written).joined(separator: Array(", ".utf8)))
        if written.count <= HTTPChallenge.sizeLimit {
            precondition(HTTPChallenge.parse([written]) == challenges, "read otherwise when written again: \(written)")
        }
        guard let information = HTTPChallenge.information(in: values)?.parameters else { return }
        precondition(information.count <= HTTPChallenge.parameterLimit)
        precondition(proof.verdict(on: information, body: []) != .valid, "a proof by somebody without the secret")
    }

    /// Answers in Digest: the server finds in it what it said, and no more.
    private static func answer(_ challenge: HTTPChallenge) {
        guard let digest = DigestChallenge(challenge),
            let session = try? DigestSession(digest, user: "J\u{E4}s\u{F8}n \"Doe\\", password: "p", clientNonce: "c"),
            let value = session.authorization(method: "GET", target: "/a", body: [1], count: 1, clientNonce: "c")?.value
        else { return }
        let field = HTTPField(name: "Authorization", bytes: value[...])
        precondition(field.bytes == value, "bytes were lost")
        guard let name = try? ServerName("a.test") else { preconditionFailure("a name was refused") }
        let origin = HTTPOrigin(scheme: .https, name: name, port: 443)
        precondition(
            (try? HTTPRequestHead(method: "GET", target: .origin("/a"), origin: origin, credentials: [field])) != nil,
            "an answer that cannot be sent")
        guard value.count <= HTTPChallenge.sizeLimit else { return }
        let read = HTTPChallenge.parse([value])
        precondition(read.count == 1 && read[0].scheme == "digest", "the answer reads as something else: \(value)")
        let values = read[0].values
        precondition(values["nonce"] == digest.nonce && values["uri"] == Array("/a".utf8))
        precondition(values["realm"] == digest.realm ?? [] && values["opaque"] == digest.opaque)
    }

    private static let proof: DigestProof = {
        guard let algorithm = DigestAlgorithm("MD5") else { preconditionFailure("MD5 is unknown") }
        return DigestProof(
            algorithm: algorithm, secret: "secret", nonce: Array("b".utf8), target: "/a", quality: .auth,
            count: "00000001",
            clientNonce: "c")
    }()

    /// A challenge of NTLM, and what answers it.
    static let ntlm = FuzzTarget(name: "ntlm") { bytes in
        guard let challenge = try? NTLMChallenge(bytes) else { return }
        precondition(challenge.serverChallenge.count == 8 && challenge.bytes == bytes)
        let length = challenge.targetInfo.reduce(0) { $0 + $1.bytes.count }
        precondition(length <= bytes.count, "what it says of the target is longer than itself")
        let login = NTLMAuthentication(
            user: NTLMUser("DOMAIN\\user"), password: "p", targetName: "HTTP/a.test", serverEndPoint: [1, 2, 3])
        guard
            let message = try? login.message(
                answering: challenge, clientChallenge: [UInt8](repeating: 7, count: 8), time: 0)
        else { preconditionFailure("a challenge that can be read is not answered") }
        precondition(message.starts(with: NTLMMessage.signature))
        // Length, again, and place of the six things behind the header.
        for start in stride(from: 12, to: 60, by: 8) {
            let count = Int(message[start]) | Int(message[start + 1]) << 8
            let place = (0..<4).reduce(0) { $0 | Int(message[start + 4 + $1]) << ($1 * 8) }
            precondition(place >= NTLMMessage.authenticateHeaderCount && place + count <= message.count)
        }
    }
}

extension HTTPChallenge {
    /// As a server may write it.
    fileprivate var written: [UInt8] {
        if let token68 { return Array("\(scheme) \(token68)".utf8) }
        let parameters = values.map { name, value in
            var quoted = Array("\(name)=\"".utf8)
            for byte in value {
                if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { quoted.append(UInt8(ascii: "\\")) }
                quoted.append(byte)
            }
            return quoted + [UInt8(ascii: "\"")]
        }
        return Array(scheme.utf8) + (parameters.isEmpty ? [] : [0x20]) + parameters.joined(separator: Array(", ".utf8))
    }
}
