import Foundation
import PinctlTestPKI
import Testing

/// A program's command against a server that requires a login, and the expected result.
private struct LoginRow {
    let arguments: [String]
    var isPlain = true
    /// The fields of a 401. The correct login is `me` and `secret`.
    var challenges = ["WWW-Authenticate: Basic realm=\"r\""]
    var right = basic("me", "secret")
    let output: [String]
    /// The Authorization of each request, empty if there is none.
    let sent: [String]

    static func basic(_ user: String, _ password: String) -> String {
        "Basic " + Data("\(user):\(password)".utf8).base64EncodedString()
    }

    func answer(_ request: LoopbackServer.Request) -> LoopbackServer.Response {
        if request.values(of: "Authorization") == [right] { return LoopbackServer.Response(body: "hello") }
        return LoopbackServer.Response("401 Unauthorized", fields: challenges, body: "denied")
    }

    func check(_ program: CompiledProgram, _ site: TestSite) async throws {
        let script = LoopbackServer.Script.answer(answer)
        let server = try isPlain ? LoopbackServer(plain: script) : LoopbackServer(chain: site.chain, script)
        try await server.run { server in
            let url = "\(isPlain ? "http" : "https")://127.0.0.1:\(server.port)/basic-auth"
            let words = [arguments[0], url] + arguments.dropFirst()
            let printed = try await program.output(words, roots: [site.root])
            #expect(printed == output, "\(arguments)")
            let requests = server.records.flatMap(\.requests)
            #expect(requests.map { $0.values(of: "Authorization").joined() } == sent, "\(arguments)")
            if sent.isEmpty { #expect(server.applicationBytes.isEmpty) }
        }
    }
}

private let me = LoginRow.basic("me", "secret")
private let other = LoginRow.basic("me", "wrong")
private let digest = "WWW-Authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth\", algorithm=SHA-256"
private let cancelled = "error -999"

private let listingRows = [
    LoginRow(arguments: ["login", "me", "secret"], output: ["asked 0 nobody", "200 hello"], sent: ["", me]),
    // Default handling of Digest, which has no credential, moves on to Basic.
    LoginRow(
        arguments: ["login", "me", "secret"], challenges: [digest, "WWW-Authenticate: Basic realm=\"r\""],
        output: ["asked 0 nobody", "asked 0 nobody", "200 hello"], sent: ["", me]),
    LoginRow(
        arguments: ["login", "me", "secret"], challenges: [digest], output: ["asked 0 nobody", "401 denied"],
        sent: [""]),
    LoginRow(arguments: ["login", "me", ""], output: ["asked 0 nobody", cancelled], sent: [""]),
    // Challenged again after a rejection, with the rejected credential. A session gives up at the fourth.
    LoginRow(
        arguments: ["login", "me", "wrong"],
        output: ["asked 0 nobody", "asked 1 me", "asked 2 me", "asked 3 me", "401 denied"],
        sent: ["", other, other, other, other]),

    LoginRow(arguments: ["no delegate"], isPlain: false, output: ["401 denied"], sent: [""]),
    LoginRow(
        arguments: ["task delegate"], isPlain: false, right: LoginRow.basic("postman", "password"),
        output: ["200 hello"], sent: ["", LoginRow.basic("postman", "password")]),
    LoginRow(
        arguments: ["task delegate"], isPlain: false, output: [cancelled],
        sent: ["", LoginRow.basic("postman", "password"), LoginRow.basic("postman", "password")]),
    LoginRow(
        arguments: ["task delegate"], isPlain: false, challenges: [digest], output: ["401 denied"], sent: [""]),

    LoginRow(arguments: ["preferences", "me", "secret"], output: ["200 hello"], sent: ["", me]),
    LoginRow(arguments: ["preferences", "me", "wrong"], output: [cancelled], sent: ["", other]),
    // The delegate answers server trust with a password, which rejects the server.
    LoginRow(arguments: ["preferences", "me", "secret"], isPlain: false, output: ["error -1202"], sent: []),

    LoginRow(arguments: ["connection", "me", "secret"], output: ["200 hello"], sent: ["", me]),
    LoginRow(arguments: ["connection", "me", "wrong"], output: ["panel", "error -1012"], sent: ["", other]),
    // A connection doesn't ask the delegate about server trust.
    LoginRow(arguments: ["connection", "me", "secret"], isPlain: false, output: ["200 hello"], sent: ["", me]),
]

private let translationRows = [
    LoginRow(arguments: ["session preferences", "me", "secret"], output: ["200 hello"], sent: ["", me]),
    LoginRow(arguments: ["session preferences", "me", "wrong"], output: [cancelled], sent: ["", other]),
    LoginRow(arguments: ["connection preferences", "me", "secret"], output: ["200 hello"], sent: ["", me]),
    LoginRow(arguments: ["connection preferences", "me", "wrong"], output: ["panel", cancelled], sent: ["", other]),
]

@Suite("Listings from published articles", .timeLimit(.minutes(10)))
struct ListingTests {
    let site: TestSite

    init() throws { site = try TestSite.pinned([.ip([127, 0, 0, 1]), .dns("example.com"), .dns("example.net")]) }

    @Test(
        "Listings from articles about URLSession compile unchanged and work as described",
        .enabled(if: Seeds.areThere, "there are no articles in \(Seeds.directory)"), arguments: [5, 6])
    func listings(languageMode: Int) async throws {
        let program = try await CompiledProgram("Listings", languageMode: languageMode)
        for row in listingRows { try await row.check(program, site) }
    }

    @Test("Swift translations of Objective-C listings work as described", arguments: [5, 6])
    func translations(languageMode: Int) async throws {
        let program = try await CompiledProgram("Translations", languageMode: languageMode)
        for row in translationRows { try await row.check(program, site) }
        try await delegates(program)
        try await manualTrust(program)
    }

    @Test("Protocol classes as test suites have them compile without warnings and stub the network", arguments: [5, 6])
    func stubs(languageMode: Int) async throws {
        let program = try await CompiledProgram("Stubs", languageMode: languageMode)
        try await LoopbackServer(plain: .respond(LoopbackServer.Response(body: "hello"))).run { server in
            let url = "http://127.0.0.1:\(server.port)/"
            let offline = ["202 no body", "202 body", "offline", "error -1", "error -1", "200 hello"]
            #expect(try await program.output(["mock", url], roots: []) == offline)
            #expect(server.records.count == 1)
            let marks = ["text/plain created marked task", "200 hello"]
            #expect(try await program.output(["marks", url], roots: []) == marks)
            let pinned = try await CompiledProgram.run([program.path, "pinned", url])
            #expect(String(decoding: pinned.output, as: UTF8.self) == String(repeating: "error -1\n", count: 4))
            let log = String(decoding: pinned.errors, as: UTF8.self).split(separator: "\n")
            #expect(log.count { $0.contains("pins don't apply to requests that MockURLProtocol handles") } == 2)
            #expect(log.count == 2)
        }
    }

    /// Delegates that are objects, actors, bound to the main actor or forward to an actor, with completion handler and
    /// async.
    private func delegates(_ program: CompiledProgram) async throws {
        let row = LoginRow(arguments: [], output: [], sent: [])
        try await LoopbackServer(chain: site.chain, .answer(row.answer)).run { server in
            let output = try await program.output(
                ["delegates", "https://127.0.0.1:\(server.port)/"], roots: [try TestSite.pinned().root])
            #expect(output == Array(repeating: "200 hello", count: 9))
            #expect(server.records.map(\.requests.count) == Array(repeating: 2, count: 9))
        }
    }

    /// A server's key compared with the one in the bundle: the correct one is accepted without a trusted root, another
    /// one is rejected even with one, and other hosts are left to default handling.
    private func manualTrust(_ program: CompiledProgram) async throws {
        let other = try TestSite.pinned([.dns("example.com"), .dns("example.net")])
        try program.addResource(site.leaf.key.pin, name: "example.com.pin")
        for (host, site, trusted, output, count) in [
            ("example.com", site, other, ["200 hello"], 1),
            ("example.com", other, other, [cancelled], 0),
            ("example.net", other, other, ["200 hello"], 1),
            ("example.net", site, other, ["error -1202"], 0),
        ] {
            try await LoopbackServer(chain: site.chain).run { server in
                let target = "\(host):443"
                try await LoopbackServer(plain: .proxy(to: [target: server.port])).run { proxy in
                    let url = "http://127.0.0.1:\(proxy.port)/"
                    let printed = try await program.output([host, url], roots: [trusted.root])
                    #expect(printed == output, "\(host) \(count)")
                    #expect(await server.ended()[0].requests.count == count)
                    #expect(server.applicationBytes.isEmpty == (count == 0))
                }
            }
        }
    }
}
