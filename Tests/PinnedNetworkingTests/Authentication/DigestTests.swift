import CertificateTrust
import PinctlHTTPMessages
import Testing

@testable import PinnedNetworking

/// The responses of curl's tests 2058 to 2069. Their challenges are rejected for lack of a qop, but the hashes are
/// valid.
private struct ProofRow: CustomTestStringConvertible, Sendable {
    let test: Int
    let algorithm: String
    let user: String
    let password: String
    let nonce: String
    var method = "GET"
    let response: String

    var testDescription: String { "curl \(test)" }
}

private let proofRows = [
    ProofRow(
        test: 2058, algorithm: "SHA-256", user: "auser", password: "apasswd", nonce: "1053604144",
        response: "fbed69f9f3fd304c8f1acb1a43eb32688b933c0e28055c16b926cbcec070aeed"),
    ProofRow(
        test: 2059, algorithm: "SHA-256", user: "auser", password: "apasswd", nonce: "1053604144",
        response: "22d200df1fd02a9d3a7269ef5bbb5bf8f16f184a74907df9b64a3755489c0b42"),
    ProofRow(
        test: 2060, algorithm: "SHA-512-256", user: "auser", password: "apasswd", nonce: "1053604144",
        response: "691867f4a06c79fd0a175c1857e3df7015f6fff3ce8676497d2f1f805b5a8eca"),
    ProofRow(
        test: 2061, algorithm: "SHA-256", user: "testuser", password: "testpass", nonce: "1053604145",
        response: "9dc55255f1a2537b838311674b621d45346b862a81631bb20e4ce356ef25062d"),
    ProofRow(
        test: 2062, algorithm: "SHA-512-256", user: "testuser", password: "testpass", nonce: "1053604145",
        response: "9d3256ee6526ec40dd48743bb48e51ee9baba587c78f15c3a86166242150af98"),
    ProofRow(
        test: 2063, algorithm: "SHA-256", user: "testuser", password: "testpass", nonce: "1053604145",
        response: "6c470aec384ab1d4e12d3ce1f5b08303d8cad177e52ebe50ec1a3e141adb0cdc"),
    ProofRow(
        test: 2064, algorithm: "SHA-256", user: "testuser", password: "test2pass", nonce: "2053604145",
        response: "a9c3ec1036068b336cbabefe9dfcad52ee8b89bc7c91ddbb5bb415c6acdf38a5"),
    ProofRow(
        test: 2065, algorithm: "SHA-512-256", user: "testuser", password: "test2pass", nonce: "2053604145",
        response: "0373a49d7d352ff54884faaf762fc6c89281b4112ad8fcbbe1d1ee52dcf7a802"),
    ProofRow(
        test: 2066, algorithm: "SHA-256", user: "testuser", password: "test2pass", nonce: "2053604145",
        response: "374a35326cc09e7d1ec3165aee9de01cae46daac33d8999aa1f483fa7882b86c"),
    ProofRow(
        test: 2067, algorithm: "SHA-256", user: "auser", password: "apasswd", nonce: "1053604144", method: "POST",
        response: "67b97af219c92fa7e8685e5bebb8e74892f6c6792e911c52bd2dfbf0b49272eb"),
    ProofRow(
        test: 2068, algorithm: "SHA-512-256", user: "auser", password: "apasswd", nonce: "1053604144", method: "POST",
        response: "0ba2f7ec8045446588eea82bb0c3812aedb05f4eac8883ea65040a52e9c5629e"),
    ProofRow(
        test: 2069, algorithm: "SHA-256", user: "auser", password: "apasswd", nonce: "1053604144", method: "POST",
        response: "9a29f1dab407e62daa7121185f9f12db6177415e03f35d9a881550095a83378d"),
]

@Suite struct DigestTests {
    @Test(
        "The responses are those of the RFCs, curl and Chromium",
        arguments: rfcDigestRows + curlDigestRows + chromiumDigestRows)
    private func responses(row: DigestRow) throws {
        let challenge = try #require(row.digestChallenge)
        let made = try DigestSession(
            challenge, user: row.user, password: row.password, clientNonce: row.clientNonce)
        let session = try #require(made)
        let answer = session.authorization(
            method: row.method, target: row.target, body: row.body, count: 1, clientNonce: row.clientNonce)
        let value = try #require(answer?.value)
        let parsed = try #require(HTTPChallenge.parse([value]).first)
        #expect(parsed.scheme == "digest")
        #expect(parsed.parameters["response"] == row.response)
        #expect(parsed.parameters["uri"] == row.target)
        #expect(parsed.values["realm"] == challenge.realm)
        #expect(parsed.values["nonce"] == challenge.nonce)
        if !challenge.hashesUser, row.more["username*"] == nil { #expect(parsed.parameters["username"] == row.user) }
        for (name, expected) in row.more { #expect(parsed.parameters[name] == expected) }
        #expect((parsed.parameters["cnonce"] != nil) == (challenge.quality != nil))
    }

    @Test("The SHA responses are those of curl's tests", arguments: proofRows)
    private func proofs(row: ProofRow) throws {
        let algorithm = try #require(DigestAlgorithm(row.algorithm))
        let secret = try #require(algorithm.hex(row.user, "testrealm", row.password))
        let proof = DigestProof(
            algorithm: algorithm, secret: secret, nonce: Array(row.nonce.utf8), target: "/\(row.test)", quality: nil,
            count: "",
            clientNonce: "")
        #expect(proof.response(method: row.method, body: nil) == row.response)
    }

    /// One request of a session whose client nonces are `first` and `second`, computed by the text of RFC 7616.
    @Test("Every algorithm and qop follows the RFC's formula", arguments: ["MD5", "SHA-256", "SHA-512-256"])
    func formula(name: String) throws {
        for (suffix, quality) in [("", "auth"), ("", "auth-int"), ("-sess", "auth"), ("-sess", "auth-int")] {
            let algorithm = try #require(DigestAlgorithm(name + suffix))
            let challenge = try #require(
                DigestChallenge(
                    HTTPChallenge(
                        scheme: "digest",
                        parameters: ["realm": "r", "nonce": "n", "algorithm": name + suffix, "qop": quality])))
            let made = try DigestSession(challenge, user: "u", password: "p", clientNonce: "first")
            var session = try #require(made)
            session.nonce = Array("later".utf8)
            let body = Array("entity".utf8)
            let answer = session.authorization(
                method: "POST", target: "/t", body: body, count: 0x1A, clientNonce: "second")
            let authorization = try #require(answer)

            let isSession = suffix == "-sess"
            let user = try #require(algorithm.hex("u", "r", "p"))
            // With -sess the secret keeps the nonces it was made with (section 3.4.2).
            let bound = try #require(algorithm.hex(user, "n", "first"))
            let secret = isSession ? bound : user
            let clientNonce = isSession ? "first" : "second"
            let bodyDigest = try #require(algorithm.hex(body))
            let tail = quality == "auth-int" ? ":" + bodyDigest : ""
            let message = try #require(algorithm.hex("POST:/t" + tail))
            let expected = try #require(algorithm.hex(secret, "later", "0000001a", clientNonce, quality, message))
            let parameters = try #require(HTTPChallenge.parse([authorization.value]).first).parameters
            #expect(parameters["response"] == expected)
            #expect(parameters["cnonce"] == clientNonce)
            #expect(parameters["nc"] == "0000001a")

            let ownMessage = try #require(algorithm.hex(":/t" + tail))
            let proof = try #require(algorithm.hex(secret, "later", "0000001a", clientNonce, quality, ownMessage))
            #expect(authorization.proof.verdict(on: ["rspauth": proof], body: body) == .valid)
        }
    }

    @Test("auth-int needs the body, and gives no answer without it")
    func integrityWithoutBody() throws {
        let row = DigestRow(
            name: "", challenge: #"nonce="n", qop="auth-int""#, user: "u", password: "p", target: "/", response: "")
        let challenge = try #require(row.digestChallenge)
        let made = try DigestSession(challenge, user: "u", password: "p")
        let session = try #require(made)
        #expect(session.authorization(method: "PUT", target: "/", body: nil, count: 1) == nil)
        let answer = session.authorization(method: "GET", target: "/", body: [], count: 1)
        #expect(answer?.proof.verdict(on: ["rspauth": "x"]) == .needsBody)
    }

    @Test("A server's proof is valid only for its own request (HA9)")
    func serverProof() throws {
        let row = rfcDigestRows[1]
        let challenge = try #require(row.digestChallenge)
        let made = try DigestSession(challenge, user: row.user, password: row.password)
        let session = try #require(made)
        let answer = session.authorization(
            method: "GET", target: row.target, body: [], count: 1, clientNonce: rfcClientNonce)
        let proof = try #require(answer).proof
        // Computed with Python's hashlib for the request of RFC 7616, section 3.9.1.
        let rspauth = "86d3b25618d41854ca5039a5d7e53ff6355d5134a9b1fb088a78ac3c462195a0"
        #expect(proof.verdict(on: [:]) == nil)
        #expect(proof.verdict(on: ["rspauth": rspauth]) == .valid)
        #expect(proof.verdict(on: ["rspauth": rspauth.uppercased(), "qop": "AUTH", "nc": "00000001"]) == .valid)
        #expect(proof.verdict(on: ["rspauth": ""]) == .forged)
        #expect(proof.verdict(on: ["rspauth": row.response]) == .forged)
        #expect(proof.verdict(on: ["rspauth": rspauth, "cnonce": "another"]) == .forged)
        #expect(proof.verdict(on: ["rspauth": rspauth, "nc": "00000002"]) == .forged)
        #expect(proof.verdict(on: ["rspauth": rspauth, "qop": "auth-int"], body: []) == .forged)
        #expect(proof.verdict(on: ["rspauth": rspauth, "qop": "none"]) == .forged)
        let later = session.authorization(method: "GET", target: row.target, body: [], count: 2)
        #expect(later?.proof.verdict(on: ["rspauth": rspauth]) == .forged)
    }

    @Test("Quotes and backslashes from a server and a user are returned unchanged (HA9)")
    func quoting() throws {
        let hostile = #"a"b\c, realm="x"#
        let challenge = try #require(
            DigestChallenge(
                HTTPChallenge(
                    scheme: "digest",
                    parameters: ["realm": hostile, "nonce": hostile, "opaque": hostile + "\"\u{301}", "qop": "auth"])))
        let made = try DigestSession(challenge, user: hostile, password: "p")
        let session = try #require(made)
        let answer = session.authorization(method: "GET", target: "/", body: [], count: 1)
        let value = try #require(answer?.value)
        let parameters = try #require(HTTPChallenge.parse([value]).first).parameters
        #expect(parameters["username"] == hostile)
        #expect(parameters["realm"] == hostile)
        #expect(parameters["nonce"] == hostile)
        #expect(parameters["opaque"] == hostile + "\"\u{301}")
    }

    @Test("Bytes of a server's realm, nonce and opaque are returned unchanged, in any encoding (HA9)")
    func bytes() throws {
        let texts: [[UInt8]] = [
            Array("caf\u{E9}".utf8), Array("cafe\u{301}".utf8), [0x63, 0x61, 0x66, 0xE9], [0xFF, 0xFE, 0x80],
            [0xC3, 0x28], [0xC3, 0xA9, 0xE9], [0xED, 0xA0, 0x80], [0xC0, 0x80], Array("\u{1F511}\u{FEFF}".utf8),
        ]
        for text in texts {
            let quote = [UInt8(ascii: "\"")]
            let parts: [[UInt8]] = [
                Array("Digest qop=auth, realm=".utf8), quote, text, quote, Array(", nonce=".utf8), quote, text + [0x31],
                quote, Array(", opaque=".utf8), text + [0x32],
            ]
            // As a response's field, read by the client.
            let received = HTTPField(name: "WWW-Authenticate", bytes: parts.flatMap(\.self)[...])
            #expect(received.bytes == parts.flatMap(\.self))
            let challenge = try #require(HTTPChallenge.parse([received.bytes]).first.flatMap { DigestChallenge($0) })
            let made = try DigestSession(challenge, user: "J\u{E4}s\u{F8}n", password: "p", clientNonce: "c")
            let answer = try #require(
                made?.authorization(method: "GET", target: "/", body: [], count: 1, clientNonce: "c"))
            // As a request's field, on the wire.
            let field = HTTPField(name: "Authorization", bytes: answer.value[...])
            let head = try HTTPRequestHead(
                method: "GET", target: .origin("/"),
                origin: HTTPOrigin(scheme: .https, name: try ServerName("a.test"), port: 443), credentials: [field])
            #expect(head.bytes.firstRange(of: Array("Authorization: ".utf8) + answer.value + [13, 10]) != nil)
            let sent = try #require(HTTPChallenge.parse([answer.value]).first)
            #expect(sent.values["realm"] == text)
            #expect(sent.values["nonce"] == text + [0x31])
            #expect(sent.values["opaque"] == text + [0x32])
            #expect(sent.values["username"] == Array("J\u{E4}s\u{F8}n".utf8))
            // The same bytes are hashed.
            let hash = try #require(DigestAlgorithm(nil))
            let secret = try #require(hash.hex("J\u{E4}s\u{F8}n".utf8, text, "p".utf8))
            let request = try #require(hash.hex("GET:/".utf8))
            #expect(
                sent.parameters["response"]
                    == hash.hex(
                        secret.utf8, text + [0x31], "00000001".utf8, "c".utf8, "auth".utf8, request.utf8))
        }
    }

    @Test("Client nonces have 128 random bits (HA9)")
    func clientNonces() {
        let nonces = (0..<1_000).map { _ in DigestSession.makeClientNonce() }
        #expect(Set(nonces).count == 1_000)
        #expect(nonces.allSatisfy { $0.count == 32 && $0.allSatisfy(\.isHexDigit) })
        // Each of the 128 bits occurs as 0 and as 1.
        let bits = nonces.map { nonce in Array(nonce).map { Int(String($0), radix: 16) ?? 0 } }
        for place in 0..<32 {
            #expect(bits.reduce(0) { $0 | $1[place] } == 15)
            #expect(bits.reduce(15) { $0 & $1[place] } == 0)
        }
    }

    @Test("A user name with a control character is rejected (HA16)", arguments: ["a\nb", "a\u{0}", "\u{7F}", "\u{85}"])
    func controlCharacters(user: String) throws {
        let challenge = try #require(rfcDigestRows[0].digestChallenge)
        #expect(throws: CredentialProblem.controlCharacter) {
            try DigestSession(challenge, user: user, password: "p")
        }
    }
}
