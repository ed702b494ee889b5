import PinctlTestPKI
import PinnedNetworking
import Testing

/// A key distribution center of the realm `PINNED.TEST`, and apache2 as its service `HTTP/pinned.test`.
///
/// GSSAPI finds the realm through the process's environment, so tests that use it run one at a time.
struct Kerberos: Sendable {
    let ports: (http: UInt16, https: UInt16)
    let log: PeerLog
    private let directory: String
    private let daemons: [TestDaemon]

    static let (user, password) = ("reader", "open sesame")

    init(_ site: PeerSite) async throws {
        let directory = site.directory.path
        self.directory = directory
        let free = TestDaemon.freePorts(3)
        ports = (free[0], free[1])
        log = PeerLog(path: directory + "/gssapi.log")
        _ = try site.directory.add(Self.client(directory, kdc: free[2]), name: "krb5.conf")
        _ = try site.directory.add(Self.centre(directory, port: free[2]), name: "kdc.conf")
        _ = try site.directory.add(Self.apache(directory, ports), name: "gssapi.conf")
        let environment = ["env", "KRB5_CONFIG=\(directory)/krb5.conf", "KRB5_KDC_PROFILE=\(directory)/kdc.conf"]
        for command in [
            ["/usr/sbin/kdb5_util", "create", "-s", "-W", "-P", "master", "-r", "PINNED.TEST"],
            ["/usr/sbin/kadmin.local", "-q", "addprinc -pw \"\(Self.password)\" \(Self.user)"],
            ["/usr/sbin/kadmin.local", "-q", "addprinc -randkey HTTP/pinned.test"],
            ["/usr/sbin/kadmin.local", "-q", "ktadd -k \(directory)/http.keytab HTTP/pinned.test"],
        ] {
            let result = try TestCommand.run(environment + command)
            try #require(result.status == 0, "\(result.text)")
        }
        _ = try site.directory.add(
            """
            function handle(r)
                r.content_type = "text/plain"
                r:write((r.user or "-") .. " " .. r.method .. " " .. (r:requestbody() or ""))
                return apache2.OK
            end

            """, name: "page.lua")
        try site.share()
        daemons = [
            try await TestDaemon(environment + ["/usr/sbin/krb5kdc", "-n"], ports: [free[2]]),
            try await TestDaemon(
                environment + [
                    PeerProgram.apache.path, "-f", directory + "/gssapi.conf", "-D", "NO_DETACH", "-D", "FOREGROUND",
                ], ports: [free[0], free[1]]),
        ]
        setEnvironment("KRB5_CONFIG", directory + "/krb5.conf")
        setEnvironment("KRB5CCNAME", "FILE:" + directory + "/tickets")
    }

    /// Gets a ticket for the user, as `kinit` does.
    func kinit() throws {
        let result = try TestCommand.run(
            [
                "env", "KRB5_CONFIG=\(directory)/krb5.conf", "/usr/bin/kinit", "-c", "FILE:\(directory)/tickets",
                Self.user,
            ],
            input: Self.password + "\n")
        try #require(result.status == 0, "\(result.text)")
    }

    private static func client(_ directory: String, kdc: UInt16) -> String {
        """
        [libdefaults]
            default_realm = PINNED.TEST
            dns_lookup_kdc = false
            dns_lookup_realm = false
            dns_canonicalize_hostname = false
            rdns = false
            udp_preference_limit = 1
        [realms]
            PINNED.TEST = {
                kdc = 127.0.0.1:\(kdc)
            }
        [domain_realm]
            pinned.test = PINNED.TEST
        [dbmodules]
            PINNED.TEST = {
                db_library = db2
            }

        """
    }

    private static func centre(_ directory: String, port: UInt16) -> String {
        """
        [kdcdefaults]
            kdc_listen = 127.0.0.1:\(port)
            kdc_tcp_listen = 127.0.0.1:\(port)
        [realms]
            PINNED.TEST = {
                database_name = \(directory)/principal
                key_stash_file = \(directory)/stash
                acl_file = \(directory)/acl
                max_life = 1h
            }

        """
    }

    private static func apache(_ directory: String, _ ports: (http: UInt16, https: UInt16)) -> String {
        let modules = ["mpm_event", "authn_core", "authz_core", "authz_user", "auth_gssapi", "ssl", "lua"]
            .map { "LoadModule \($0)_module /usr/lib/apache2/modules/mod_\($0).so" }.joined(separator: "\n")
        return modules + """

            ServerName pinned.test
            DefaultRuntimeDir \(directory)
            PidFile \(directory)/gssapi.pid
            ErrorLog \(directory)/gssapi.err
            User nobody
            Group nogroup
            StartServers 1
            ServerLimit 1
            ThreadsPerChild 16
            MaxRequestWorkers 16
            Listen 127.0.0.1:\(ports.http)
            Listen 127.0.0.1:\(ports.https)
            LogFormat "%m %U %>s %u" login
            CustomLog \(directory)/gssapi.log login
            <Location />
                AuthType GSSAPI
                AuthName "kerberos realm"
                GssapiCredStore keytab:\(directory)/http.keytab
                GssapiAllowedMech krb5
                Require valid-user
            </Location>
            LuaMapHandler / \(directory)/page.lua
            <VirtualHost 127.0.0.1:\(ports.http)>
                LuaMapHandler / \(directory)/page.lua
            </VirtualHost>
            <VirtualHost 127.0.0.1:\(ports.https)>
                LuaMapHandler / \(directory)/page.lua
                SSLEngine On
                SSLCertificateFile \(directory)/origin.pem
                SSLCertificateKeyFile \(directory)/origin.key
            </VirtualHost>

            """
    }
}
