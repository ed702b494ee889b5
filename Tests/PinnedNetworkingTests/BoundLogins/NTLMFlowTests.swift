import CertificateTrust
import PinctlBasics
import PinctlTestPKI
import Testing

@testable import PinnedNetworking

/// One of curl's tests of NTLM: the replies of a server or proxy to each request, and the expected order of requests.
/// curl is told to start with NTLM; here the first request never has a login.
private struct FlowRow: CustomTestStringConvertible, Sendable {
    /// The number in curl's `tests/data`.
    let number: Int
    var isProxied = false
    var hasLogin = true
    var body = ""
    /// By the request, in the form of ``NTLMFlowTests/word(_:)``.
    let replies: [String: LoopbackServer.Response]
    /// The requests in order.
    let requests: [String]
    var connections = 1
    let end: Int
    /// curl's different behavior, and the reason for the difference.
    var deviation: String?

    var testDescription: String { "curl's test \(number)" }

    static func asks(_ schemes: String..., code: Int = 401, closes: Bool = false) -> LoopbackServer.Response {
        let field = code == 407 ? "Proxy-Authenticate" : "WWW-Authenticate"
        return .init("\(code) No", fields: schemes.map { "\(field): \($0)" }, body: "not yet", closes: closes)
    }

    /// The second message.
    static func goesOn(_ code: Int = 401, closes: Bool = false) -> LoopbackServer.Response {
        let challenge = NTLMAcceptor.challenge([
            NTLMAttribute(kind: .init(rawValue: 2), value: NTLMAuthentication.utf16("DOM"))
        ])
        return asks("NTLM " + Base64.encode(challenge.span), code: code, closes: closes)
    }
}

private let rows = [
    FlowRow(
        number: 67, replies: ["GET": FlowRow.asks("NTLM"), "GET 1": FlowRow.goesOn(), "GET 3": .init(body: "page")],
        requests: ["GET", "GET 1", "GET 3"], end: 200),
    FlowRow(
        number: 68,
        replies: ["GET": FlowRow.asks("NTLM"), "GET 1": FlowRow.goesOn(), "GET 3": FlowRow.asks("NTLM")],
        requests: ["GET", "GET 1", "GET 3"], end: 401),
    FlowRow(
        number: 69,
        replies: [
            "GET": FlowRow.asks("Basic", "Wild-and-crazy", "NTLM"), "GET 1": FlowRow.goesOn(),
            "GET 3": .init(body: "page"),
        ], requests: ["GET", "GET 1", "GET 3"], end: 200),
    FlowRow(
        number: 81, isProxied: true,
        replies: [
            "GET": FlowRow.asks("NTLM", code: 407), "GET 1": FlowRow.goesOn(407), "GET 3": .init(body: "page"),
        ], requests: ["GET", "GET 1", "GET 3"], end: 200),
    FlowRow(
        number: 82, isProxied: true,
        replies: ["GET": FlowRow.asks("NTLM", code: 407), "GET 1": FlowRow.asks("NTLM", code: 407)],
        requests: ["GET", "GET 1"], end: 407,
        deviation: "sends the password by Basic, unasked; here a scheme is one that the proxy offers"),
    FlowRow(
        number: 159, replies: ["GET": FlowRow.asks("NTLM"), "GET 1": FlowRow.goesOn(closes: true)],
        requests: ["GET", "GET 1", "GET 1", "GET 1"], connections: 3, end: 401,
        deviation: "gives up at once; here a kept connection may have run into its time, so it is begun anew twice"),
    FlowRow(
        number: 162, isProxied: true, hasLogin: false, replies: ["GET": FlowRow.asks("NTLM", code: 407)],
        requests: ["GET"], end: 407),
    FlowRow(
        number: 169, isProxied: true,
        replies: [
            "GET": FlowRow.asks("NTLM", code: 407), "GET 1": FlowRow.goesOn(407),
            "GET 3": FlowRow.asks(#"Digest realm="r e a l m", nonce="abcdef""#), "GET Digest": .init(body: "page"),
        ], requests: ["GET", "GET 1", "GET 3", "GET Digest"], end: 200),
    FlowRow(
        number: 1100, body: "stuff to send away",
        replies: [
            "POST 18": FlowRow.asks("NTLM"), "POST 18 1": FlowRow.goesOn(),
            "POST 18 3": .init("302 Found", fields: ["Location: /1100"]), "GET": .init(body: "page"),
        ], requests: ["POST 18", "POST 18 1", "POST 18 3", "GET"], end: 200,
        deviation: "sends the first message without the body; here bodies that are this short go along"),
]

/// NTLM with scripted servers from curl's tests. Only NTLM version 2 is used, with a proof of the earlier messages
/// (MIC), so the bytes differ from curl's.
@Suite(.timeLimit(.minutes(10)))
struct NTLMFlowTests {
    private static let user = "testuser"
    private static let password = "testpass"

    /// Method, length of the body if there is one, and the login: its scheme, or the number of the NTLM message.
    private static func word(_ request: LoopbackServer.Request) -> String {
        let login = ["Proxy-Authorization", "Authorization"].flatMap { request.values(of: $0) }.first
        let parts = login?.split(separator: " ").map { String($0) } ?? []
        let message = parts.first == "NTLM" ? Base64.decodeCanonical(Array(parts[1].utf8)) : nil
        let words = [
            request.method, request.body.isEmpty ? nil : "\(request.body.count)",
            message.map { "\($0[8])" } ?? parts.first,
        ]
        return words.compactMap(\.self).joined(separator: " ")
    }

    @Test("Servers and proxies get the requests that curl's tests expect", arguments: rows)
    private func flow(row: FlowRow) async throws {
        let site = try TestSite.shared.get()
        let script = LoopbackServer.Script.answer { row.replies[Self.word($0)] ?? .init("500 Unexpected") }
        let delegate = TaskHandlerDelegate { challenge in
            guard row.hasLogin, challenge.previousFailureCount == 0 else { return (.rejectProtectionSpace, nil) }
            return (.useCredential, URLCredential(user: Self.user, password: Self.password, persistence: .none))
        }
        try await LoopbackServer(plain: script).run { server in
            let session = try site.session(server, delegate: delegate) {
                $0.urlCredentialStorage = URLCredentialStorage()
                if row.isProxied { $0.proxyConfigurations = [try? server.configuration()].compactMap(\.self) }
            }
            var request = URLRequest(url: try #require(URL(string: "http://pinned.test/\(row.number)")))
            if !row.body.isEmpty {
                request.httpMethod = "POST"
                request.httpBody = Data(row.body.utf8)
            }
            let (data, response) = try await session.data(for: request)
            #expect((response as? HTTPURLResponse)?.statusCode == row.end)
            #expect(String(decoding: data, as: UTF8.self) == (row.end == 200 ? "page" : "not yet"))
            let requests = server.records.flatMap(\.requests)
            #expect(requests.map(Self.word) == row.requests)
            #expect(server.records.count == row.connections)
            for login in requests.flatMap({ $0.values(of: "Authorization") + $0.values(of: "Proxy-Authorization") }) {
                guard login.hasPrefix("NTLM "), let message = Base64.decodeCanonical(Array(login.dropFirst(5).utf8)),
                    message[8] == 3
                else { continue }
                let answer = try #require(NTLMAnswer(message))
                #expect(answer.user == Self.user)
                // 24 bytes would be version 1.
                #expect(answer.response.count > 24)
            }
        }
    }
}
