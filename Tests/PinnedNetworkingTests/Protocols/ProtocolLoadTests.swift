import Testing

@testable import PinnedNetworking

@Suite struct ProtocolLoadTests {
    struct Row: CustomTestStringConvertible, Sendable {
        /// The calls of a protocol class, in words.
        let calls: String
        /// The calls that count.
        let accepted: String

        var testDescription: String { calls }
    }

    static let rows = [
        Row(calls: "response data data end", accepted: "response data data end"),
        Row(calls: "response end", accepted: "response end"),
        Row(calls: "failure", accepted: "failure"),
        Row(calls: "response data failure", accepted: "response data failure"),
        // Many stubs finish after every failure.
        Row(calls: "failure end", accepted: "failure"),
        Row(calls: "response failure end", accepted: "response failure"),
        Row(calls: "end", accepted: "noResponse"),
        Row(calls: "end response data end", accepted: "noResponse"),
        Row(calls: "data end", accepted: "noResponse"),
        Row(calls: "data response data end", accepted: "response data end"),
        Row(calls: "response response data end", accepted: "response data end"),
        Row(calls: "response end end data failure response", accepted: "response end"),
        Row(calls: "redirect response data end", accepted: "redirect"),
        Row(calls: "redirect redirect", accepted: "redirect"),
        Row(calls: "response redirect data end", accepted: "response data end"),
        Row(calls: "redirect failure end", accepted: "redirect"),
        Row(calls: "challenge response end", accepted: "challenge response end"),
        Row(calls: "challenge withdrawn challenge failure", accepted: "challenge withdrawn challenge failure"),
        Row(calls: "response challenge withdrawn end", accepted: "response challenge withdrawn end"),
        Row(calls: "failure challenge withdrawn", accepted: "failure"),
        Row(calls: "response stop data end failure challenge", accepted: "response"),
        Row(calls: "stop response", accepted: ""),
    ]

    @Test("A call of a protocol class that is late, repeated or out of order is ignored", arguments: rows)
    func calls(row: Row) throws {
        let url = try #require(URL(string: "https://stub.test/"))
        let response = URLResponse(url: url, mimeType: nil, expectedContentLength: -1, textEncodingName: nil)
        let challenge = URLAuthenticationChallenge(
            protectionSpace: URLProtectionSpace(
                host: "stub.test", port: 443, protocol: nil, realm: nil, authenticationMethod: nil))
        var load = ProtocolLoad()
        var accepted: [String] = []
        for call in row.calls.split(separator: " ") {
            let event: ProtocolLoad.Event? =
                switch call {
                case "response": .response(response)
                case "data": .data(Data([1]))
                case "end": .end
                case "failure": .failure(URLError(.badURL))
                case "redirect": .redirect(URLRequest(url: url), response)
                case "challenge": .challenge(challenge)
                case "withdrawn": .challengeWithdrawn
                default: nil
                }
            if event == nil { load.stop() }
            switch event.flatMap({ load.accept($0) }) {
            case nil: continue
            case .response: accepted.append("response")
            case .data: accepted.append("data")
            case .end: accepted.append("end")
            case .failure(let error): accepted.append(error is ProtocolLoadError ? "noResponse" : "failure")
            case .redirect: accepted.append("redirect")
            case .challenge: accepted.append("challenge")
            case .challengeWithdrawn: accepted.append("withdrawn")
            }
        }
        #expect(accepted.joined(separator: " ") == row.accepted)
    }
}
