import CertificateTrust
import Foundation
import PinctlBasics
import PinctlCommands
import PinctlTLSTransport
import PinctlTestPKI
import Testing

/// The chain that `pinctl show` and `check` see after STARTTLS is the one that openssl s_client sees.
@Suite(.timeLimit(.minutes(10)))
struct StartTLSPeerTests {
    let site: PeerSite

    init() throws { site = try PeerSite() }

    private static let root: ConditionTrait = .enabled(if: StartTLSPeer.isRoot, "it is to be started by root")

    @Test("pinctl and openssl see the same chain of postfix", PeerProgram.postfix.isNeeded, root)
    func postfix() async throws { try await agree(try await .postfix(site)) }

    @Test("pinctl and openssl see the same chain of dovecot", PeerProgram.dovecot.isNeeded, root)
    func dovecot() async throws { try await agree(try await .dovecot(site, [.imap, .pop3])) }

    @Test("pinctl and openssl see the same chain of dovecot's LMTP", PeerProgram.lmtp.isNeeded, root)
    func lmtp() async throws { try await agree(try await .dovecot(site, [.lmtp])) }

    @Test("pinctl and openssl see the same chain of dovecot's ManageSieve", PeerProgram.managesieve.isNeeded, root)
    func sieve() async throws { try await agree(try await .dovecot(site, [.sieve])) }

    @Test("pinctl and openssl see the same chain of slapd", PeerProgram.slapd.isNeeded)
    func slapd() async throws { try await agree(try await .slapd(site)) }

    @Test("pinctl and openssl see the same chain of PostgreSQL", PeerProgram.postgresql.isNeeded)
    func postgreSQL() async throws { try await agree(try await .postgreSQL(site)) }

    /// Compares the chain with the one that openssl sees, and runs `pinctl check` on it.
    private func agree(_ peer: StartTLSPeer) async throws {
        defer { peer.stop() }
        let (pin, unknown) = (try site.origin.intermediate.key.pin, try site.proxy.key.pin)
        let anchors = try site.directory.add(site.origin.root.pemText, name: "anchors.pem")
        for (spoken, port) in peer.ports {
            let theirs = try openSSL(spoken, port)
            #expect(theirs == [site.origin.leaf.derBytes, site.origin.intermediate.derBytes], "\(spoken)")
            let route = Route(host: try ServerName("127.0.0.1"), port: port)
            let endpoint = Endpoint(name: try ServerName("pinned.test"), port: port, route: route)
            let pending = try await Transport.shared.dial(endpoint, startTLS: spoken)
            #expect(pending.presented.certificates.map(\.derBytes) == theirs, "\(spoken)")
            await pending.refuse()

            let target = "\(spoken.rawValue)://pinned.test:\(port)@127.0.0.1"
            let (status, pem) = await pinctl("show", "--ca-file", anchors, "--pem", target)
            #expect(status == .good && certificates(in: pem) == theirs, "\(pem)")
            let shown = try ShownServers(await pinctl("show", "--ca-file", anchors, "--json", target).text).results
            #expect(shown.map(\.address) == ["127.0.0.1:\(port)"] && shown.map(\.verdict) == ["ok"], "\(shown)")
            #expect(shown.first?.key == "ecdsa" && shown.first?.tls?.hasPrefix("TLSv1.") == true)

            for (pin, status) in [(pin, ExitCode.good), (unknown, .finding)] {
                let (found, text) = await pinctl("check", "--ca-file", anchors, "--pin", pin, target)
                #expect(found == status, "\(text)")
            }
            let other = spoken == .smtp ? StartTLSProtocol.imap : .smtp
            let (found, _) = await pinctl(
                "check", "--ca-file", anchors, "--pin", pin, "--timeout", "2",
                "\(other.rawValue)://pinned.test:\(port)@127.0.0.1")
            #expect(found == .couldNotCheck)
        }
    }

    /// The chain as `openssl s_client` shows it, in DER.
    private func openSSL(_ spoken: StartTLSProtocol, _ port: UInt16) throws -> [[UInt8]] {
        try certificates(shownByOpenSSL: port, "-starttls", spoken.rawValue)
    }
}

/// The chain of a server on loopback as `openssl s_client` shows it, in DER.
func certificates(shownByOpenSSL port: UInt16, _ flags: String...) throws -> [[UInt8]] {
    let result = try TestCommand.run(
        [
            "timeout", "60", "openssl", "s_client", "-connect", "127.0.0.1:\(port)", "-servername", "pinned.test",
            "-showcerts",
        ] + flags)
    // The leaf is printed a second time.
    return certificates(in: String(decoding: result.output, as: UTF8.self)).prefix(2).map { $0 }
}

/// The PEM certificates in a text, in DER.
func certificates(in text: String) -> [[UInt8]] {
    text.components(separatedBy: "-----BEGIN CERTIFICATE-----\n").dropFirst().compactMap { block in
        block.components(separatedBy: "-----END").first
            .flatMap { Data(base64Encoded: $0, options: .ignoreUnknownCharacters) }.map { Array($0) }
    }
}

/// The servers in the output of `pinctl show --json`.
struct ShownServers: Decodable {
    struct Staple: Decodable {
        let status: String
        let problem: String?
    }
    struct Server: Decodable {
        let address: String?
        let key: String?
        let tls: String?
        let verdict: String
        let staple: Staple?
    }
    let results: [Server]

    init(_ text: String) throws { self = try JSONDecoder().decode(Self.self, from: Data(text.utf8)) }
}

/// Runs a command of pinctl inside this process.
func pinctl(_ words: String...) async -> (ExitCode, text: String) {
    let bytes = Locked<[UInt8]>([])
    let status = await Pinctl.run(
        words, in: CommandEnvironment(variables: { [:] }, now: { Date() }),
        output: OutputBuffer { chunk in bytes.withLock { $0 += chunk } },
        diagnostics: OutputBuffer { chunk in bytes.withLock { $0 += chunk } })
    return (status, bytes.withLock { String(decoding: $0, as: UTF8.self) })
}
