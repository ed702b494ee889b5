import PinctlTestPKI
import PinnedNetworking

/// apache2 with pages that require a login, over HTTP and HTTPS, and as a forward proxy with TLS to the client.
///
/// Every page answers with the user, the method and the body of its request.
struct Apache: Sendable {
    /// The proxy requires the login of ``PeerSite/user`` too. At `clients`, the handshake fails without a certificate
    /// of ``PeerSite/origin``.
    let ports: Ports
    /// `GET /basic/a 200 user NONCE COUNT`
    let log: PeerLog
    let proxyLog: PeerLog
    private let daemon: TestDaemon

    typealias Ports = (http: UInt16, https: UInt16, proxy: UInt16, clients: UInt16)

    /// The pages' realms by the first part of their path, with the directives of their section.
    private static let sections = [
        ("basic", "Basic", ""),
        ("other", "Basic", ""),
        ("digest", "Digest", ""),
        // Nonces are valid for one second, or for one request, or their counts have to be in order.
        ("stale", "Digest", "AuthDigestNonceLifetime 1"),
        ("once", "Digest", "AuthDigestNonceLifetime 0"),
        ("counted", "Digest", "AuthDigestNcCheck On"),
    ]
    private static let modules = [
        "mpm_event", "authn_core", "authn_file", "authz_core", "authz_user", "auth_basic", "auth_digest", "ssl", "lua",
        "proxy", "proxy_http", "proxy_connect",
    ]

    /// Starts the server. The port for clients with a certificate uses one version of TLS.
    init(_ site: PeerSite, version: String = "TLSv1.3") async throws {
        let directory = site.directory.path
        let free = TestDaemon.freePorts(4)
        ports = (free[0], free[1], free[2], free[3])
        log = PeerLog(path: directory + "/apache.log")
        proxyLog = PeerLog(path: directory + "/apache-proxy.log")

        _ = try site.directory.add(site.origin.root.pemText, name: "root.pem")
        _ = try site.directory.add(PeerSite.basicUsers(), name: "basic.users")
        let realms = Self.sections.filter { $0.1 == "Digest" }.map { $0.0 + " realm" }
        _ = try site.directory.add(PeerSite.digestUsers(realms), name: "digest.users")
        _ = try site.directory.add(
            """
            function handle(r)
                r.content_type = "text/plain"
                r:write((r.user or "-") .. " " .. r.method .. " " .. (r:requestbody() or ""))
                return apache2.OK
            end

            """, name: "page.lua")
        _ = try site.directory.add(Self.configuration(directory, ports, version), name: "apache.conf")
        try site.share()
        daemon = try await TestDaemon(
            [PeerProgram.apache.path, "-f", directory + "/apache.conf", "-D", "NO_DETACH", "-D", "FOREGROUND"],
            ports: free
        )
    }

    /// Stops the server, which completes its logs.
    func stop() { daemon.stop() }

    private static func configuration(_ directory: String, _ ports: Ports, _ version: String) -> String {
        let modules = modules.map { "LoadModule \($0)_module /usr/lib/apache2/modules/mod_\($0).so" }
        let sections = sections.map { name, scheme, directive in
            """
            <Location /\(name)>
                AuthType \(scheme)
                AuthName "\(name) realm"
                AuthUserFile \(directory)/\(scheme.lowercased()).users
                Require valid-user
                \(directive)
            </Location>
            """
        }
        return (modules + sections).joined(separator: "\n") + """

            ServerName localhost
            DefaultRuntimeDir \(directory)
            PidFile \(directory)/apache.pid
            ErrorLog \(directory)/apache.err
            # Left alone when it was not started by root.
            User nobody
            Group nogroup
            StartServers 1
            ServerLimit 1
            ThreadsPerChild 64
            MaxRequestWorkers 64

            Listen 127.0.0.1:\(ports.http)
            Listen 127.0.0.1:\(ports.https)
            Listen 127.0.0.1:\(ports.proxy)
            Listen 127.0.0.1:\(ports.clients)
            # The login as it came: there is none on the first request to a realm.
            LogFormat "%m %U %>s %u %{Authorization}i" login
            CustomLog \(directory)/apache.log login
            <VirtualHost 127.0.0.1:\(ports.http)>
                LuaMapHandler / \(directory)/page.lua
            </VirtualHost>
            <VirtualHost 127.0.0.1:\(ports.https)>
                LuaMapHandler / \(directory)/page.lua
                SSLEngine On
                SSLCertificateFile \(directory)/origin.pem
                SSLCertificateKeyFile \(directory)/origin.key
            </VirtualHost>
            <VirtualHost 127.0.0.1:\(ports.clients)>
                LuaMapHandler / \(directory)/page.lua
                SSLEngine On
                SSLProtocol \(version)
                SSLCertificateFile \(directory)/origin.pem
                SSLCertificateKeyFile \(directory)/origin.key
                SSLVerifyClient require
                SSLVerifyDepth 2
                SSLCACertificateFile \(directory)/root.pem
            </VirtualHost>
            <VirtualHost 127.0.0.1:\(ports.proxy)>
                SSLEngine On
                SSLCertificateFile \(directory)/proxy.pem
                SSLCertificateKeyFile \(directory)/proxy.key
                ProxyRequests On
                AllowCONNECT 1-65535
                LogFormat "%m %U %>s %u %{Authorization}i" proxy
                CustomLog \(directory)/apache-proxy.log proxy
                <Proxy "*">
                    AuthType Basic
                    AuthName "proxy realm"
                    AuthUserFile \(directory)/basic.users
                    Require valid-user
                </Proxy>
            </VirtualHost>

            """
    }
}
