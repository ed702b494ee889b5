import PinctlTestPKI
import PinnedNetworking
import Testing

/// FTP with third-party servers.
@Suite(.timeLimit(.minutes(10)))
struct FTPPeerTests {
    let site: PeerSite

    init() throws { site = try PeerSite() }

    private func text(_ url: String, _ session: URLSession) async throws -> String {
        let (data, _) = try await session.data(from: try #require(URL(string: url)))
        return String(decoding: data, as: UTF8.self)
    }

    @Test(
        "vsftpd serves a file over TLS, explicit or implicit, also if it requires session resumption",
        PeerProgram.vsftpd.isNeeded, arguments: [(false, false), (false, true), (true, true)])
    func vsftpd(isImplicit: Bool, wantsSession: Bool) async throws {
        let peer = try await VSFTPD(site, isImplicit: isImplicit, wantsSession: wantsSession)
        let scheme = isImplicit ? "ftps" : "ftpes"
        let session = try site.session(to: peer.port) {
            $0.pinning = try .pinning(site.origin.leaf.key.pin, host: "pinned.test")
        }
        #expect(try await text("\(scheme)://pinned.test/hello.txt", session) == "hello")
        #expect(try await session.failure("\(scheme)://pinned.test/none.txt").code == .fileDoesNotExist)
        // Without TLS, the client rejects the request because the host is pinned, and the server would because it
        // requires TLS.
        #expect(
            try await session.failure("ftp://pinned.test/hello.txt").code
                == .appTransportSecurityRequiresSecureConnection)
    }

    @Test("A vsftpd server whose pins don't match is rejected", PeerProgram.vsftpd.isNeeded)
    func mismatch() async throws {
        let peer = try await VSFTPD(site, isImplicit: false)
        let session = try site.session(to: peer.port) {
            $0.pinning = try .pinning(unknownPin, host: "pinned.test")
        }
        #expect(try await session.failure("ftpes://pinned.test/hello.txt").code == .serverCertificateUntrusted)
    }

    @Test(
        "pyftpdlib serves a file to a user, with and without TLS", PeerProgram.pyftpdlib.isNeeded,
        arguments: [false, true])
    func pyftpdlib(isSecure: Bool) async throws {
        let peer = try await PyFTPD(site, isSecure: isSecure)
        let scheme = isSecure ? "ftpes" : "ftp"
        let login = LoginDelegate(
            (.useCredential, URLCredential(user: "reader", password: "wrong", persistence: .none)),
            (.useCredential, URLCredential(user: "reader", password: PyFTPD.password, persistence: .none)))
        let session = try site.session(to: peer.port, delegate: login)
        #expect(try await text("\(scheme)://pinned.test/hello.txt", session) == "hello")
        #expect(login.logins == ["Default pinned.test:21 after 0", "Default pinned.test:21 after 1"])
        let nobody = try site.session(to: peer.port)
        #expect(try await nobody.failure("\(scheme)://pinned.test/hello.txt").code == .userAuthenticationRequired)
        let named = "\(scheme)://reader:\(PyFTPD.password)@pinned.test"
        #expect(try await text(named + "/hello.txt", nobody) == "hello")
        #expect(try await nobody.failure(named + "/none.txt").code == .fileDoesNotExist)
    }

    @Test("A server without TLS is rejected if TLS was requested", PeerProgram.pyftpdlib.isNeeded)
    func stripped() async throws {
        let peer = try await PyFTPD(site, isSecure: false)
        let session = try site.session(to: peer.port)
        #expect(try await session.failure("ftpes://pinned.test/hello.txt").code == .secureConnectionFailed)
    }
}
