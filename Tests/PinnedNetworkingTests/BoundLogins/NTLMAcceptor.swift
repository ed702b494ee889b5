import CertificateTrust
import PinctlBasics
import PinctlTestPKI

@testable import PinnedNetworking

/// The server side of NTLM, which assigns a connection to the user who logged in on it, and answers with the user's
/// name.
final class NTLMAcceptor: Sendable {
    private enum State {
        case challenged([UInt8])
        case loggedIn(String)
    }

    let passwords: [String: String]
    let field: (challenge: String, credential: String)
    let status: String
    private let states = Locked<[Int: State]>([:])
    private let answers = Locked<[NTLMAnswer]>([])

    /// The clients' answers, in order.
    var received: [NTLMAnswer] { answers.withLock { $0 } }

    init(_ passwords: [String: String] = ["me": "word", "you": "other"], isProxy: Bool = false) {
        self.passwords = passwords
        field =
            isProxy
            ? ("Proxy-Authenticate", "Proxy-Authorization") : ("WWW-Authenticate", "Authorization")
        status = isProxy ? "407 Proxy Authentication Required" : "401 Unauthorized"
    }

    /// The answer to a request on a connection without a login; nil for other requests.
    func refusal(_ request: LoopbackServer.Request) -> LoopbackServer.Response? {
        states.withLock { states in
            let text = request.values(of: field.credential).first ?? ""
            guard text.hasPrefix("NTLM "), let message = Base64.decodeCanonical(Array(text.dropFirst(5).utf8)) else {
                if case .loggedIn = states[request.connection] { return nil }
                return .init(status, fields: ["\(field.challenge): NTLM"], body: "log in")
            }
            if message == NTLMMessage.negotiate {
                let challenge = Self.challenge([
                    NTLMAttribute(kind: .init(rawValue: 2), value: NTLMAuthentication.utf16("DOM")),
                    NTLMAttribute(kind: .timestamp, value: [1, 2, 3, 4, 5, 6, 7, 1]),
                ])
                states[request.connection] = .challenged(challenge)
                return .init(
                    status, fields: ["\(field.challenge): NTLM \(Base64.encode(challenge.span))"], body: "go on")
            }
            guard case .challenged(let challenge) = states[request.connection], let answer = NTLMAnswer(message) else {
                states[request.connection] = nil
                return .init(status, fields: ["\(field.challenge): NTLM"], body: "where do you come from")
            }
            answers.withLock { $0.append(answer) }
            guard let password = passwords[answer.user], isProven(answer, message, by: password, challenge) else {
                states[request.connection] = nil
                return .init(status, fields: ["\(field.challenge): NTLM"], body: "no")
            }
            states[request.connection] = .loggedIn(answer.user)
            return nil
        }
    }

    /// The user of a request's connection.
    func user(of request: LoopbackServer.Request) -> String {
        states.withLock { if case .loggedIn(let user) = $0[request.connection] { user } else { "nobody" } }
    }

    func answer(_ request: LoopbackServer.Request) -> LoopbackServer.Response {
        refusal(request) ?? .init(body: user(of: request) + " " + String(decoding: request.body, as: UTF8.self))
    }

    private func isProven(
        _ answer: NTLMAnswer, _ message: [UInt8], by password: String, _ challenge: [UInt8]
    ) -> Bool {
        let login = NTLMAuthentication(
            user: NTLMUser(domain: answer.domain, name: answer.user), password: password, targetName: "",
            serverEndPoint: nil)
        let serverChallenge = Array(challenge[24..<32])
        var unsigned = message
        unsigned.replaceSubrange(NTLMMessage.micRange, with: [UInt8](repeating: 0, count: 16))
        guard let key = try? login.responseKey(), answer.response.count > 16,
            let proof = try? NTLMAuthentication.hmac(serverChallenge + answer.response.dropFirst(16), key: key),
            let sessionKey = try? NTLMAuthentication.hmac(proof, key: key),
            let mic = try? NTLMAuthentication.hmac(NTLMMessage.negotiate + challenge + unsigned, key: sessionKey)
        else { return false }
        return proof == Array(answer.response.prefix(16)) && mic == answer.mic
    }

    static func challenge(_ attributes: [NTLMAttribute]) -> [UInt8] {
        let info = (attributes + [.end]).flatMap(\.bytes)
        let count = littleEndian(UInt16(info.count))
        let flags: NTLMMessage.Flags = [.client, .targetInfo]
        return NTLMMessage.signature + littleEndian(UInt32(2)) + [0, 0, 0, 0] + littleEndian(UInt32(48))
            + littleEndian(flags.rawValue) + [1, 2, 3, 4, 5, 6, 7, 8] + [UInt8](repeating: 0, count: 8) + count + count
            + littleEndian(UInt32(48)) + info
    }
}

/// An AUTHENTICATE_MESSAGE as it arrived.
struct NTLMAnswer: Sendable {
    let lmResponse: [UInt8]
    let response: [UInt8]
    let domain: String
    let user: String
    let sessionKey: [UInt8]
    let flags: NTLMMessage.Flags
    let mic: [UInt8]
    /// The attributes of the target that the proof covers.
    let attributes: [NTLMAttribute]

    init?(_ message: [UInt8]) {
        guard message.count >= NTLMMessage.authenticateHeaderCount, message.starts(with: NTLMMessage.signature),
            message[8] == 3
        else { return nil }
        func number(_ start: Int, _ count: Int) -> Int {
            message[start..<start + count].reversed().reduce(0) { $0 << 8 | Int($1) }
        }
        var parts: [[UInt8]] = []
        for field in 0..<6 {
            let (count, start) = (number(12 + field * 8, 2), number(16 + field * 8, 4))
            guard start + count <= message.count else { return nil }
            parts.append(Array(message[start..<start + count]))
        }
        func text(_ bytes: [UInt8]) -> String {
            String(
                decoding: stride(from: 0, to: bytes.count - 1, by: 2).map {
                    UInt16(bytes[$0]) | UInt16(bytes[$0 + 1]) << 8
                }, as: UTF16.self)
        }
        (lmResponse, response, domain, user, sessionKey) = (
            parts[0], parts[1], text(parts[2]), text(parts[3]), parts[5]
        )
        flags = NTLMMessage.Flags(rawValue: UInt32(number(60, 4)))
        mic = Array(message[NTLMMessage.micRange])
        guard response.count > 44, let attributes = try? NTLMAttribute.list(response[44...]) else { return nil }
        self.attributes = attributes
    }
}
