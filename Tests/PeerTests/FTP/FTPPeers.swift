import PinctlTestPKI
import PinnedNetworking
import Testing

/// vsftpd with a public file, `hello.txt`, over TLS only: implicit or explicit. It requests a client certificate and
/// accepts connections without one, as it does by default.
struct VSFTPD: Sendable {
    let port: UInt16
    private let daemon: TestDaemon

    init(_ site: PeerSite, isImplicit: Bool, wantsSession: Bool = true) async throws {
        let directory = site.directory.path
        port = TestDaemon.freePorts(1)[0]
        let made = try TestCommand.run(["mkdir", "-p", directory + "/pub", "/var/run/vsftpd/empty"])
        try #require(made.status == 0, "\(made.text)")
        _ = try site.directory.add("hello", name: "pub/hello.txt")
        _ = try site.directory.add(
            """
            listen=YES
            background=NO
            listen_address=127.0.0.1
            listen_port=\(port)
            anonymous_enable=YES
            local_enable=NO
            no_anon_password=NO
            anon_root=\(directory)/pub
            ftp_username=daemon
            allow_writeable_chroot=YES
            seccomp_sandbox=NO
            # Another address than the one that is listened at.
            pasv_address=192.0.2.7
            ssl_enable=YES
            implicit_ssl=\(isImplicit ? "YES" : "NO")
            allow_anon_ssl=YES
            force_anon_logins_ssl=YES
            force_anon_data_ssl=YES
            require_ssl_reuse=\(wantsSession ? "YES" : "NO")
            ssl_ciphers=HIGH
            rsa_cert_file=\(directory)/origin.pem
            rsa_private_key_file=\(directory)/origin.key

            """, name: "vsftpd.conf")
        // vsftpd accepts only a configuration file owned by root.
        let modes = try TestCommand.run([
            "sh", "-c", "chmod 755 \(directory) \(directory)/pub && chmod 644 \(directory)/pub/*",
        ])
        try #require(modes.status == 0, "\(modes.text)")
        daemon = try await TestDaemon([PeerProgram.vsftpd.path, directory + "/vsftpd.conf"], ports: [port])
    }
}

/// pyftpdlib with one user, `reader`, and the file `hello.txt`: without TLS, or with TLS required on both connections.
struct PyFTPD: Sendable {
    let port: UInt16
    private let daemon: TestDaemon

    static let password = "sesame"

    init(_ site: PeerSite, isSecure: Bool) async throws {
        let directory = site.directory.path
        port = TestDaemon.freePorts(1)[0]
        let made = try TestCommand.run(["mkdir", "-p", directory + "/pub"])
        try #require(made.status == 0, "\(made.text)")
        _ = try site.directory.add("hello", name: "pub/hello.txt")
        _ = try site.directory.add(
            try String(contentsOfFile: directory + "/origin.pem", encoding: .utf8)
                + String(contentsOfFile: directory + "/origin.key", encoding: .utf8), name: "both.pem")
        _ = try site.directory.add(Self.script, name: "ftpd.py")
        daemon = try await TestDaemon(
            ["/usr/bin/python3", directory + "/ftpd.py", String(port), directory, isSecure ? "tls" : "plain"],
            ports: [port])
    }

    private static let script = """
        import sys
        from pyftpdlib.authorizers import DummyAuthorizer
        from pyftpdlib.handlers import FTPHandler, TLS_FTPHandler
        from pyftpdlib.servers import FTPServer

        port, directory, mode = int(sys.argv[1]), sys.argv[2], sys.argv[3]
        users = DummyAuthorizer()
        users.add_user("reader", "sesame", directory + "/pub")
        handler = TLS_FTPHandler if mode == "tls" else FTPHandler
        handler.authorizer = users
        handler.auth_failed_timeout = 0
        if mode == "tls":
            handler.certfile = directory + "/both.pem"
            handler.tls_control_required = handler.tls_data_required = True
        FTPServer(("127.0.0.1", port), handler).serve_forever()

        """
}
