import PinctlTestPKI
import PinnedNetworking
import Testing

/// squid as an HTTP proxy that requires the login of ``PeerSite/user``.
struct Squid: Sendable {
    let port: UInt16
    /// `CONNECT localhost:443 200 reader ORIGIN'S-LOGIN`
    let log: PeerLog
    private let daemon: TestDaemon

    /// Offers one scheme: `Basic` or `Digest`, in the realm `proxy realm`, or `NTLM`, with a helper that accepts any
    /// user who speaks NTLM.
    init(_ site: PeerSite, scheme: String) async throws {
        let directory = site.directory.path
        port = TestDaemon.freePorts(1)[0]
        log = PeerLog(path: directory + "/squid.log")
        let helpers = ["Basic": "basic_ncsa_auth", "Digest": "digest_file_auth -c", "NTLM": "ntlm_fake_auth"]
        let helper = try #require(helpers[scheme])
        let users = scheme == "Basic" ? try PeerSite.basicUsers() : try PeerSite.digestUsers(["proxy realm"])
        let realm = scheme == "NTLM" ? "" : "auth_param \(scheme.lowercased()) realm proxy realm"
        _ = try site.directory.add(users, name: "squid.users")
        _ = try site.directory.add(
            """
            http_port 127.0.0.1:\(port)
            visible_hostname squid.test
            pid_filename none
            cache_log \(directory)/squid.err
            logformat login %rm %ru %>Hs %un %{Authorization}>h
            # A connection without a request is no line of the log.
            acl asked has request
            access_log stdio:\(directory)/squid.log login asked
            cache deny all
            coredump_dir none
            pinger_enable off
            max_filedescriptors 256
            shutdown_lifetime 0 seconds
            auth_param \(scheme.lowercased()) program /usr/lib/squid/\(helper) \
            \(scheme == "NTLM" ? "" : directory + "/squid.users")
            \(realm)
            auth_param \(scheme.lowercased()) children 1 startup=1
            acl users proxy_auth REQUIRED
            acl refused port 1
            http_access deny refused
            http_access allow users
            http_access deny all

            """, name: "squid.conf")
        try site.share()
        daemon = try await TestDaemon([PeerProgram.squid.path, "-N", "-f", directory + "/squid.conf"], ports: [port])
    }

    /// Stops the server, which completes its log.
    func stop() { daemon.stop() }
}
