import CertificateTrust
import PinctlTestPKI
import PinnedNetworking
import Testing

@Suite(PeerProgram.nginx.isNeeded, .timeLimit(.minutes(10)))
struct NginxIdentityTests {
    let site: PeerSite
    let client: TestCertificate

    init() throws {
        site = try PeerSite()
        client = try site.origin.intermediate.client
    }

    /// The file formats of the client's identity. Each contains the intermediate.
    enum Form: CaseIterable { case pem, encryptedPEM, pkcs12 }

    private func identity(_ form: Form) throws -> ClientIdentity {
        let chain = client.pemText + site.origin.intermediate.pemText
        return switch form {
        case .pem: try ClientIdentity(pem: Array((client.key.privateKeyPEM + chain).utf8))
        case .encryptedPEM:
            try ClientIdentity(
                pem: Array((chain + client.key.encryptedPrivateKeyPEM(passphrase: "secret")).utf8),
                password: Array("secret".utf8))
        case .pkcs12:
            try ClientIdentity(
                pkcs12: TestPKCS12.file(client, chain: [site.origin.intermediate], password: "secret"),
                password: Array("secret".utf8))
        }
    }

    @Test(
        "A client certificate is requested with its issuers, and sent once per connection",
        arguments: Form.allCases,
        [("TLSv1.2", "on"), ("TLSv1.3", "on"), ("TLSv1.2", "optional"), ("TLSv1.3", "optional")])
    func given(form: Form, server: (version: String, verifies: String)) async throws {
        let nginx = try await Nginx(site, version: server.version, verifies: server.verifies)
        let delegate = LoginDelegate(LoginDelegate.identity(try identity(form)))
        let session = try site.session(to: nginx.port, delegate: delegate)
        for _ in 0..<2 { #expect(try await session.get("https://pinned.test/") == ("CN=reader", 200)) }
        #expect(delegate.logins == ["ClientCertificate pinned.test:443 after 0"])
        let challenge = try #require(delegate.challenges.last)
        #expect(challenge.protectionSpace.distinguishedNames == [Data(site.origin.root.subject.derBytes)])
        let lines = try await nginx.log.lines(2)
        #expect(
            lines == [
                "\(server.version) SUCCESS CN=reader request=1 resumed=.",
                "\(server.version) SUCCESS CN=reader request=2 resumed=.",
            ])
    }

    @Test(
        "Without a client certificate the server decides",
        arguments: ["TLSv1.2", "TLSv1.3"], [("on", 400), ("optional", 200)])
    func none(version: String, server: (verifies: String, status: Int)) async throws {
        let nginx = try await Nginx(site, version: version, verifies: server.verifies)
        let answers: [LoginDelegate.Answer] = [
            (.performDefaultHandling, nil), (.useCredential, nil), (.rejectProtectionSpace, nil), LoginDelegate.login,
        ]
        for answer in answers {
            let delegate = LoginDelegate(answer)
            let session = try site.session(to: nginx.port, delegate: delegate)
            #expect(try await session.get("https://pinned.test/").status == server.status)
            #expect(delegate.logins == ["ClientCertificate pinned.test:443 after 0"])
        }
        #expect(try await site.session(to: nginx.port).get("https://pinned.test/").status == server.status)
        let line = "\(version) NONE - request=1 resumed=."
        #expect(try await nginx.log.lines(5) == Array(repeating: line, count: 5))
    }

    @Test(
        "A client certificate of an unknown CA is sent, and the server rejects it", arguments: ["TLSv1.2", "TLSv1.3"],
        ["on", "optional"])
    func wrong(version: String, verifies: String) async throws {
        let nginx = try await Nginx(site, version: version, verifies: verifies)
        let identity = try TestCertificate.root("Unrelated") { $0.makeValidNow() }.client.identity
        let session = try site.session(to: nginx.port, delegate: LoginDelegate(LoginDelegate.identity(identity)))
        let answer = try await session.get("https://pinned.test/")
        #expect(answer.status == 400)
        #expect(answer.body.contains("The SSL certificate error"))
        #expect(try await nginx.log.lines(1)[0].hasPrefix("\(version) FAILED:"))
    }

    @Test(
        "Cancelling the client certificate challenge ends the request before any of it is sent",
        arguments: ["TLSv1.2", "TLSv1.3"])
    func cancel(version: String) async throws {
        let nginx = try await Nginx(site, version: version, verifies: "on")
        let delegate = LoginDelegate((.cancelAuthenticationChallenge, nil))
        let error = try await site.session(to: nginx.port, delegate: delegate).failure("https://pinned.test/")
        #expect(error.code == .cancelled)
        nginx.stop()
        #expect(nginx.log.lines.isEmpty)
    }

    @Test(
        "A TLS session is resumed, unless the client authenticated in it", arguments: ["TLSv1.2", "TLSv1.3"],
        [("off", "NONE -", "r"), ("on", "SUCCESS CN=reader", ".")])
    func resumption(version: String, server: (verifies: String, client: String, second: String)) async throws {
        let nginx = try await Nginx(site, version: version, verifies: server.verifies, keepsAlive: false)
        let identity = LoginDelegate.identity(try identity(.pem))
        let session = try site.session(to: nginx.port, delegate: LoginDelegate(identity, identity))
        for _ in 0..<2 { #expect(try await session.get("https://pinned.test/").status == 200) }
        let lines = try await nginx.log.lines(2)
        #expect(lines == [".", server.second].map { "\(version) \(server.client) request=1 resumed=\($0)" })
    }

    @Test(
        "A request whose pins don't match ends before the client certificate challenge",
        arguments: ["TLSv1.2", "TLSv1.3"])
    func pins(version: String) async throws {
        let nginx = try await Nginx(site, version: version, verifies: "on")
        let delegate = LoginDelegate(LoginDelegate.identity(try identity(.pem)))
        let session = try site.session(to: nginx.port, delegate: delegate) {
            $0.pinning = try .pinning(site.proxy.key.pin, host: "pinned.test")
        }
        #expect(try await session.failure("https://pinned.test/").code == .serverCertificateUntrusted)
        #expect(delegate.logins.isEmpty)
        nginx.stop()
        #expect(nginx.log.lines.isEmpty)
    }
}
