import CertificateTrust
import PinctlTestPKI
import Testing

@testable import PinnedNetworking

/// HA9: `Authentication-Info` or `Proxy-Authentication-Info` must prove that the server or proxy knows the password
/// (RFC 7616, section 3.5), or the request fails.
@Suite(.timeLimit(.minutes(10)))
struct ServerProofTests {
    /// The password and the body of a proof.
    struct Row: CustomTestStringConvertible, Sendable {
        var quality = "auth"
        var password = "p"
        var body = "hello"
        var isValid = false

        var testDescription: String { "\(quality) \(password) \(body)" }
    }

    private static let rows = [
        Row(isValid: true), Row(password: "guess"), Row(quality: "auth-int", isValid: true),
        Row(quality: "auth-int", password: "guess"), Row(quality: "auth-int", body: "hullo"),
        Row(quality: "auth-int", body: ""),
    ]

    private static func asks(_ field: String, _ row: Row) -> String {
        "\(field): Digest realm=\"r\", nonce=\"n\", algorithm=SHA-256, qop=\"\(row.quality)\""
    }

    /// The field that answers a request's credential.
    private static func proof(_ name: String, to credential: String, _ row: Row, body: String) throws -> String {
        try proof(name, to: credential, row, bytes: Array(body.utf8))
    }

    private static func proof(_ name: String, to credential: String, _ row: Row, bytes: [UInt8]) throws -> String {
        let given = try #require(HTTPChallenge.parse([credential]).first).parameters
        let hash = try #require(DigestAlgorithm("SHA-256"))
        let secret = try #require(hash.hex("u", "r", row.password))
        let uri = try #require(given["uri"])
        let message = try row.quality == "auth" ? [uri] : [uri, #require(hash.hex(bytes))]
        let digest = try #require(hash.hex((([""] + message).joined(separator: ":")).utf8))
        let (count, clientNonce) = (try #require(given["nc"]), try #require(given["cnonce"]))
        let proof = try #require(hash.hex(secret, "n", count, clientNonce, row.quality, digest))
        return "\(name): rspauth=\"\(proof)\", qop=\(row.quality), nc=\(count), cnonce=\"\(clientNonce)\""
    }

    /// Answers each request with a credential with a proof, and requests a credential from the others.
    private static func answer(
        _ request: LoopbackServer.Request, _ row: Row, isProxy: Bool
    ) -> LoopbackServer.Response {
        guard let credential = request.values(of: isProxy ? "Proxy-Authorization" : "Authorization").first else {
            return isProxy
                ? .init("407 Proxy Authentication Required", fields: [asks("Proxy-Authenticate", row)])
                : .init("401 Unauthorized", fields: [asks("WWW-Authenticate", row)])
        }
        let name = isProxy ? "Proxy-Authentication-Info" : "Authentication-Info"
        let field = try? proof(name, to: credential, row, body: row.body)
        return .init(fields: [field ?? "X-Failed: yes"], body: "hello")
    }

    private func session(
        _ site: TestSite, _ server: LoopbackServer, proxy: LoopbackServer? = nil
    ) throws -> URLSession {
        let delegate = TaskAsyncDelegate { challenge in
            challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodHTTPDigest
                ? (.useCredential, credential("u")) : (.performDefaultHandling, nil)
        }
        return try site.session(server, delegate: delegate) {
            $0.urlCredentialStorage = URLCredentialStorage()
            $0.proxyConfigurations = (try? proxy?.configuration()).map { [$0] } ?? []
        }
    }

    private func expect(_ session: URLSession, _ url: String, from host: String, isValid: Bool) async throws {
        guard !isValid else {
            #expect(try await session.get(url).body == "hello")
            return
        }
        let error = try await session.failure(url)
        #expect(error.code == .badServerResponse)
        #expect(error.localizedDescription.contains("the response of \(host) does not prove"))
    }

    @Test("A server's proof from another password or another body ends the request", arguments: rows)
    func origin(row: Row) async throws {
        let site = try TestSite.shared.get()
        try await LoopbackServer(chain: site.chain, .answer { Self.answer($0, row, isProxy: false) }).run { server in
            try await expect(
                session(site, server), "https://pinned.test/", from: "pinned.test", isValid: row.isValid)
        }
    }

    @Test("A proof covers the body as received, before it is decoded", arguments: [true, false])
    func encoded(isValid: Bool) async throws {
        let site = try TestSite.shared.get()
        let gzip = try TestCompression.gzip(Array("hello".utf8))
        let row = Row(quality: "auth-int")
        let script = LoopbackServer.Script.answer { request in
            guard let credential = request.values(of: "Authorization").first else {
                return Self.answer(request, row, isProxy: false)
            }
            let covered = isValid ? gzip : Array("hello".utf8)
            let field = try? Self.proof("Authentication-Info", to: credential, row, bytes: covered)
            let fields = ["Content-Encoding: gzip", "Content-Length: \(gzip.count)", field ?? "X-Failed: yes"]
            return .raw(LoopbackServer.Response.head("200 OK", fields) + gzip, closes: false)
        }
        try await LoopbackServer(chain: site.chain, script).run { server in
            try await expect(session(site, server), "https://pinned.test/", from: "pinned.test", isValid: isValid)
        }
    }

    @Test("A forwarding proxy's proof from another password or another body ends the request", arguments: rows)
    func forwardingProxy(row: Row) async throws {
        let site = try TestSite.shared.get()
        try await LoopbackServer(plain: .answer { Self.answer($0, row, isProxy: true) }).run { proxy in
            try await expect(
                session(site, proxy, proxy: proxy), "http://pinned.test/", from: proxy.address, isValid: row.isValid)
        }
    }

    @Test(
        "A wrong proof from either the proxy or the server ends the request, even if the other is correct",
        arguments: [(true, true), (true, false), (false, true)])
    func both(isProxyRight: Bool, isServerRight: Bool) async throws {
        let site = try TestSite.shared.get()
        let right = Row(quality: "auth-int")
        let wrong = Row(quality: "auth-int", body: "hullo")
        let script = LoopbackServer.Script.answer { request in
            let asked = Self.answer(request, right, isProxy: true)
            guard let own = request.values(of: "Proxy-Authorization").first else { return asked }
            guard let theirs = request.values(of: "Authorization").first else {
                return Self.answer(request, right, isProxy: false)
            }
            let fields = [
                ("Proxy-Authentication-Info", own, isProxyRight), ("Authentication-Info", theirs, isServerRight),
            ]
            return .init(
                fields: fields.compactMap { name, credential, isRight in
                    let row = isRight ? right : wrong
                    return try? Self.proof(name, to: credential, row, body: row.body)
                }, body: "hello")
        }
        try await LoopbackServer(plain: script).run { proxy in
            let host = isProxyRight ? "pinned.test" : proxy.address
            try await expect(
                session(site, proxy, proxy: proxy), "http://pinned.test/", from: host,
                isValid: isProxyRight && isServerRight)
        }
    }

    @Test("A proxy's wrong proof for a tunnel ends the request before anything is sent through it", arguments: rows)
    func tunnel(row: Row) async throws {
        let site = try TestSite.shared.get()
        // A tunnel has no body.
        var row = row
        row.body = row.isValid ? "" : row.body == "" ? "hello" : row.body
        let script = row
        try await LoopbackServer(chain: site.chain).run { server in
            let proxy = try LoopbackServer(
                plain: .proxy(to: ["pinned.test:443": server.port]) { request in
                    guard let credential = request.values(of: "Proxy-Authorization").first else {
                        return .respond(Self.answer(request, script, isProxy: true))
                    }
                    let field = try? Self.proof("Proxy-Authentication-Info", to: credential, script, body: script.body)
                    return .tunnel(after: .headOnly("200 OK", fields: [field ?? "X-Failed: yes"]))
                })
            try await proxy.run { proxy in
                try await expect(
                    session(site, server, proxy: proxy), "https://pinned.test/", from: proxy.address,
                    isValid: row.isValid)
                if !row.isValid { #expect(server.applicationBytes.isEmpty) }
            }
        }
    }
}
