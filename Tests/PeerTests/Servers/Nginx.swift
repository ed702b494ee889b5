import PinctlTestPKI
import PinnedNetworking

/// nginx that requests a client certificate of ``PeerSite/origin``, and answers with the certificate's subject.
struct Nginx: Sendable {
    let port: UInt16
    /// `TLSv1.3 SUCCESS CN=reader request=1 resumed=.`, with `r` if the TLS session is resumed.
    let log: PeerLog
    private let daemon: TestDaemon

    /// Uses one version, `TLSv1.2` or `TLSv1.3`; `verifies` is `on`, `optional` or `off`. Without keep-alive each
    /// request has its own connection.
    init(_ site: PeerSite, version: String, verifies: String, keepsAlive: Bool = true) async throws {
        let directory = site.directory.path
        port = TestDaemon.freePorts(1)[0]
        log = PeerLog(path: directory + "/nginx.log")
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path \(directory);" }
        _ = try site.directory.add(site.origin.root.pemText, name: "clients.pem")
        _ = try site.directory.add(
            """
            daemon off;
            master_process off;
            pid \(directory)/nginx.pid;
            error_log \(directory)/nginx.err;
            events {}
            http {
                log_format clients '$ssl_protocol $ssl_client_verify $ssl_client_s_dn '
                    'request=$connection_requests resumed=$ssl_session_reused';
                access_log \(directory)/nginx.log clients;
                \(temporary.joined(separator: "\n    "))
                keepalive_timeout \(keepsAlive ? 600 : 0);
                server {
                    listen 127.0.0.1:\(port) ssl;
                    ssl_protocols \(version);
                    ssl_certificate \(directory)/origin.pem;
                    ssl_certificate_key \(directory)/origin.key;
                    ssl_client_certificate \(directory)/clients.pem;
                    ssl_verify_client \(verifies);
                    ssl_verify_depth 2;
                    location / { return 200 "$ssl_client_s_dn"; }
                }
            }

            """, name: "nginx.conf")
        // Until it has read its configuration, nginx logs errors to a system file.
        daemon = try await TestDaemon(
            [PeerProgram.nginx.path, "-e", directory + "/nginx.err", "-c", directory + "/nginx.conf"], ports: [port])
    }

    /// Stops the server, which completes its log.
    func stop() { daemon.stop() }
}
