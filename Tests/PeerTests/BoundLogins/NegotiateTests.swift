import PinctlTestPKI
import PinnedNetworking
import Testing

/// Negotiate with a real key distribution center and a real acceptor.
@Suite(
    PeerProgram.apache.isNeeded, PeerProgram.kdc.isNeeded, PeerProgram.gssapi.isNeeded, .serialized,
    .timeLimit(.minutes(10)))
struct NegotiateTests {
    let site: PeerSite
    let kerberos: Kerberos

    init() async throws {
        site = try PeerSite()
        kerberos = try await Kerberos(site)
    }

    private func session(_ delegate: LoginDelegate?, isPlain: Bool = false) throws -> URLSession {
        try site.session(to: isPlain ? kerberos.ports.http : kerberos.ports.https, delegate: delegate)
    }

    private static let tickets: LoginDelegate.Answer = (
        .useCredential, URLCredential(user: "", password: "", persistence: .forSession)
    )

    private static func login(_ password: String) -> LoginDelegate.Answer {
        (.useCredential, URLCredential(user: Kerberos.user, password: password, persistence: .forSession))
    }

    @Test("A user's Kerberos tickets are a login, requested once and sent with each request", arguments: [false, true])
    func tickets(isPlain: Bool) async throws {
        try kerberos.kinit()
        let delegate = LoginDelegate(Self.tickets)
        let session = try session(delegate, isPlain: isPlain)
        for _ in 0..<2 {
            let answer = try await session.get(isPlain ? "http://pinned.test/a" : "https://pinned.test/a")
            #expect(answer == ("reader@PINNED.TEST GET ", 200))
        }
        #expect(delegate.logins == ["Negotiate pinned.test:\(isPlain ? 80 : 443) after 0"])
        #expect(try await kerberos.log.lines(3).map { $0.split(separator: " ")[2] } == ["401", "200", "200"])
    }

    @Test("A user and password get their own tickets, which no other login uses")
    func password() async throws {
        let delegate = LoginDelegate(Self.login(Kerberos.password))
        #expect(try await session(delegate).get("https://pinned.test/a") == ("reader@PINNED.TEST GET ", 200))
        // The ticket cache of the user who runs the tests is empty.
        let other = LoginDelegate(Self.tickets)
        #expect(try await session(other).get("https://pinned.test/a").status == 401)
    }

    @Test("Without a ticket, a correct password or an answer, the 401 is the response, and no ticket is used unasked")
    func refusal() async throws {
        let noTicket = try await session(LoginDelegate(Self.tickets)).get("https://pinned.test/a")
        #expect(noTicket.status == 401)
        let wrong = try await session(LoginDelegate(Self.login("wrong"))).get("https://pinned.test/a")
        #expect(wrong.status == 401)
        try kerberos.kinit()
        // HA11: no ticket is sent by default.
        #expect(try await session(LoginDelegate()).get("https://pinned.test/a").status == 401)
        #expect(try await session(nil).get("https://pinned.test/a").status == 401)
    }

    @Test(
        "A server that accepts a ticket but can't prove its identity ends the request",
        arguments: ["oQcwBaADCgEA", "AAAA"])
    func forged(token: String) async throws {
        try kerberos.kinit()
        let script = LoopbackServer.Script.answer { request in
            request.values(of: "Authorization").isEmpty
                ? .init("401 Unauthorized", fields: ["WWW-Authenticate: Negotiate"])
                : .init(fields: ["WWW-Authenticate: Negotiate \(token)"], body: "yes, it is me")
        }
        let server = try LoopbackServer(chain: site.origin.chain, script)
        let session = try site.session(to: server.port, delegate: LoginDelegate(Self.tickets))
        #expect(try await session.failure("https://pinned.test/").code == .badServerResponse)
    }

    @Test("HA11: A ticket for one host isn't sent to another, not even after a redirect")
    func otherHost() async throws {
        try kerberos.kinit()
        let script = LoopbackServer.Script.answer { request in
            request.values(of: "Host") == ["pinned.test"]
                ? .init("302 Found", fields: ["Location: https://localhost/"])
                : .init("401 Unauthorized", fields: ["WWW-Authenticate: Negotiate"], body: "show me")
        }
        let server = try LoopbackServer(chain: site.origin.chain, script)
        let delegate = LoginDelegate(Self.tickets)
        let answer = try await site.session(to: server.port, delegate: delegate).get("https://pinned.test/")
        #expect(answer == ("show me", 401))
        #expect(delegate.logins.isEmpty)
        #expect(!String(decoding: server.applicationBytes, as: UTF8.self).contains("Negotiate"))
    }
}
