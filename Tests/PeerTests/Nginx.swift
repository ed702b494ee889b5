import PinnedNetworking
import TestPKI

/// nginx that asks its clients for a certificate of ``PeerSite/root``, and answers with the subject it was given.
struct Nginx: Sendable {
    let port: UInt16
    /// `TLSv1.3 SUCCESS CN=reader request=1 resumed=.`: `r` where the TLS session is an earlier one.
    let log: PeerLog
    private let daemon: TestDaemon

    /// Speaks one version, `TLSv1.2` or `TLSv1.3`; `verifies` is `on`, `optional` or `off`. Without keep-alive each
    /// request has a connection of its own.
    init(_ site: PeerSite, version: String, verifies: String, keepsAlive: Bool = true) async throws {
        let folder = site.folder.path
        port = TestDaemon.freePorts(1)[0]
        log = PeerLog(path: folder + "/nginx.log")
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path \(folder);" }
        _ = try site.folder.add(site.root.pemText, name: "clients.pem")
        _ = try site.folder.add(
            """
            daemon off;
            master_process off;
            pid \(folder)/nginx.pid;
            error_log \(folder)/nginx.err;
            events {}
            http {
                log_format clients '$ssl_protocol $ssl_client_verify $ssl_client_s_dn '
                    'request=$connection_requests resumed=$ssl_session_reused';
                access_log \(folder)/nginx.log clients;
                \(temporary.joined(separator: "\n    "))
                keepalive_timeout \(keepsAlive ? 600 : 0);
                server {
                    listen 127.0.0.1:\(port) ssl;
                    ssl_protocols \(version);
                    ssl_certificate \(folder)/origin.pem;
                    ssl_certificate_key \(folder)/origin.key;
                    ssl_client_certificate \(folder)/clients.pem;
                    ssl_verify_client \(verifies);
                    ssl_verify_depth 2;
                    location / { return 200 "$ssl_client_s_dn"; }
                }
            }

            """, name: "nginx.conf")
        // Before it has read its configuration it tells its complaints to a file of the system's.
        daemon = try await TestDaemon(
            [PeerProgram.nginx.path, "-e", folder + "/nginx.err", "-c", folder + "/nginx.conf"], ports: [port])
    }

    /// Ends the server: its log is whole then.
    func stop() { daemon.stop() }
}
