import PinctlTestPKI
import Testing

/// Pebble, the ACME server for tests by Let's Encrypt, which takes every challenge as met.
struct Pebble: Sendable {
    /// The URL of the directory.
    let directory: String
    /// The root of the server's own certificate, and the root of the certificates that it issues.
    let roots: String
    private let daemon: TestDaemon

    init(in parent: TestDirectory) async throws {
        let ports = TestDaemon.freePorts(4)
        let root = try TestCertificate.root("Test Host") { $0.makeValidNow() }
        let server = try root.leaf {
            $0.makeValidNow()
            $0.alternativeNames = [.ip([127, 0, 0, 1])]
        }
        let configuration = try parent.add(
            """
            {"pebble": {"listenAddress": "127.0.0.1:\(ports[0])", "managementListenAddress": "127.0.0.1:\(ports[1])",
              "certificate": "\(try parent.add(server.pemText))", \
            "privateKey": "\(try parent.add(server.key.privateKeyPEM))",
              "httpPort": \(ports[2]), "tlsPort": \(ports[3]), "ocspResponderURL": "",
              "externalAccountBindingRequired": false, "certificateValidityPeriod": 7776000}}
            """)
        daemon = try await TestDaemon(
            [
                "env", "PEBBLE_VA_ALWAYS_VALID=1", "PEBBLE_VA_NOSLEEP=1", "PEBBLE_WFE_NONCEREJECT=0",
                PeerProgram.pebble.path, "-config", configuration,
            ], ports: [ports[0], ports[1]])
        directory = "https://127.0.0.1:\(ports[0])/dir"
        let host = try parent.add(root.pemText)
        let issuer = try await TestCommand.runAside(
            ["curl", "--silent", "--show-error", "--cacert", host, "https://127.0.0.1:\(ports[1])/roots/0"])
        try #require(issuer.status == 0, "\(issuer.text)")
        roots = try parent.add(root.pemText + String(decoding: issuer.output, as: UTF8.self), name: "roots.pem")
    }
}
