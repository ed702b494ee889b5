import CertificateTrust
import PinctlTestPKI
import PinnedNetworking

/// mitmproxy between a client and any origin. It issues certificates under its own CA, decrypts the traffic, and logs
/// every event and every byte.
struct Mitmproxy: Sendable {
    let port: UInt16
    /// `tunnel localhost:443`, `trusted` or `refused REASON`, `client BYTES`, `server BYTES`.
    let log: PeerLog
    /// A trust store with only its CA.
    let store: TrustStore
    private let daemon: TestDaemon

    private static func script(_ log: String) -> String {
        """
        def note(*words):
            with open("\(log)", "a") as log:
                print(*words, file=log)

        def http_connect(flow): note(f"tunnel {flow.request.host}:{flow.request.port}")
        def tls_established_client(data): note("trusted")
        def tls_failed_client(data): note("refused", data.conn.error)
        def tcp_message(flow):
            message = flow.messages[-1]
            note("client" if message.from_client else "server", ascii(message.content))

        """
    }

    init(_ site: PeerSite) async throws {
        let directory = site.directory.path
        port = TestDaemon.freePorts(1)[0]
        log = PeerLog(path: directory + "/mitmproxy.log")
        let authority = try TestCertificate.root("Interceptor") { $0.makeValidNow() }
        store = TrustStore(certificates: [try X509Certificate(derBytes: authority.derBytes)])
        _ = try site.directory.add(authority.key.privateKeyPEM + authority.pemText, name: "mitmproxy-ca.pem")
        let script = try site.directory.add(Self.script(log.path), name: "mitmproxy.py")
        daemon = try await TestDaemon(
            [
                PeerProgram.mitmproxy.path, "--quiet", "--listen-host", "127.0.0.1", "--listen-port", "\(port)",
                "--set", "confdir=" + directory, "--set", "ssl_insecure=true", "--set", "tcp_hosts=.*", "--scripts",
                script,
            ], ports: [port])
    }

    /// Stops the proxy, which completes its log.
    func stop() { daemon.stop() }
}
