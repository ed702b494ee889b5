import CertificateTrust
import Foundation
import PinctlTLSTransport
import PinctlTestPKI

/// A server that starts without TLS and upgrades to it, with the origin's chain of a ``PeerSite``.
///
/// postfix and dovecot must be started by root, and switch to users of their own. PostgreSQL refuses to run as root.
struct StartTLSPeer: Sendable {
    let ports: [StartTLSProtocol: UInt16]
    private let daemon: TestDaemon

    static var isRoot: Bool { geteuid() == 0 }

    private init(_ command: [String], _ ports: [StartTLSProtocol: UInt16]) async throws {
        self.ports = ports
        daemon = try await TestDaemon(command, ports: Array(ports.values))
    }

    func stop() { daemon.stop() }

    private static func run(_ command: String...) throws {
        let result = try TestCommand.run(command)
        guard result.status == 0 else { throw PeerFailure(text: "\(command): \(result.text)") }
    }

    /// postfix with its own queue.
    static func postfix(_ site: PeerSite) async throws -> StartTLSPeer {
        let directory = site.directory.path
        let port = TestDaemon.freePorts(1)[0]
        try run("chmod", "755", directory)
        try run("mkdir", directory + "/queue", directory + "/data", directory + "/etc")
        try run("chown", "postfix", directory + "/data")
        _ = try site.directory.add(
            """
            compatibility_level = 3.6
            queue_directory = \(directory)/queue
            data_directory = \(directory)/data
            inet_interfaces = 127.0.0.1
            inet_protocols = ipv4
            mynetworks = 127.0.0.0/8
            myhostname = mail.test
            mydestination =
            local_recipient_maps =
            alias_maps =
            alias_database =
            smtpd_tls_chain_files = \(directory)/origin.key, \(directory)/origin.pem
            smtpd_tls_security_level = may

            """, name: "etc/main.cf")
        _ = try site.directory.add(
            """
            127.0.0.1:\(port) inet n - n - - smtpd
            anvil unix - - n - 1 anvil
            tlsmgr unix - - n 1000? 1 tlsmgr
            proxymap unix - - n - - proxymap
            rewrite unix - - n - - trivial-rewrite
            cleanup unix n - n - 0 cleanup

            """, name: "etc/master.cf")
        // Creates the directories of the queue, and prints warnings about a missing system configuration.
        _ = try TestCommand.run(["postfix", "-c", directory + "/etc", "check"])
        return try await StartTLSPeer([PeerProgram.postfix.path, "-c", directory + "/etc", "-d"], [.smtp: port])
    }

    /// dovecot with these protocols.
    static func dovecot(_ site: PeerSite, _ spoken: [StartTLSProtocol]) async throws -> StartTLSPeer {
        let directory = site.directory.path
        try run("chmod", "755", directory)
        let ports = Dictionary(uniqueKeysWithValues: zip(spoken, TestDaemon.freePorts(spoken.count)))
        let services = spoken.map { spoken in
            let name = spoken == .sieve ? "managesieve" : spoken.rawValue
            return """
                service \(spoken == .lmtp ? "lmtp" : name + "-login") {
                  chroot =
                  inet_listener \(spoken.rawValue) {
                    port = \(ports[spoken] ?? 0)
                  }
                  \(spoken == .imap || spoken == .pop3 ? "inet_listener \(spoken.rawValue)s {\n port = 0\n }" : "")
                }
                """
        }
        let configuration = try site.directory.add(
            """
            base_dir = \(directory)/run
            state_dir = \(directory)/state
            log_path = \(directory)/dovecot.log
            protocols = \(spoken.map(\.rawValue).joined(separator: " "))
            listen = 127.0.0.1
            ssl = yes
            ssl_cert = <\(directory)/origin.pem
            ssl_key = <\(directory)/origin.key
            passdb {
              driver = static
              args = password=x
            }
            userdb {
              driver = static
              args = uid=dovecot gid=dovecot home=\(directory)
            }
            \(services.joined(separator: "\n"))

            """, name: "dovecot.conf")
        return try await StartTLSPeer([PeerProgram.dovecot.path, "-F", "-c", configuration], ports)
    }

    /// slapd without a database.
    static func slapd(_ site: PeerSite) async throws -> StartTLSPeer {
        let directory = site.directory.path
        let port = TestDaemon.freePorts(1)[0]
        let configuration = try site.directory.add(
            """
            pidfile \(directory)/slapd.pid
            TLSCertificateFile \(directory)/origin.pem
            TLSCertificateKeyFile \(directory)/origin.key

            """, name: "slapd.conf")
        return try await StartTLSPeer(
            [PeerProgram.slapd.path, "-f", configuration, "-h", "ldap://127.0.0.1:\(port)", "-d", "0"], [.ldap: port])
    }

    /// PostgreSQL with its own cluster.
    static func postgreSQL(_ site: PeerSite) async throws -> StartTLSPeer {
        let directory = site.directory.path
        let port = TestDaemon.freePorts(1)[0]
        let program = PeerProgram.postgresql.path
        let user = isRoot ? ["runuser", "-u", "postgres", "--"] : []
        if isRoot { try run("chown", "-R", "postgres", directory) }
        let initdb = URL(fileURLWithPath: program).deletingLastPathComponent().path + "/initdb"
        let made = try TestCommand.run(user + [initdb, "-N", "-A", "trust", "-D", directory + "/data"])
        guard made.status == 0 else { throw PeerFailure(text: made.text) }
        let settings = [
            "listen_addresses=127.0.0.1", "unix_socket_directories=", "ssl=on", "ssl_cert_file=\(directory)/origin.pem",
            "ssl_key_file=\(directory)/origin.key",
        ]
        return try await StartTLSPeer(
            user + [program, "-D", directory + "/data", "-p", String(port)] + settings.flatMap { ["-c", $0] },
            [.postgres: port])
    }
}

struct PeerFailure: Error, CustomStringConvertible {
    let text: String
    var description: String { text }
}
