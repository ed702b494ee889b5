import FoundationEssentials
import PinctlCommands
import PinctlTestPKI
import Testing

/// Situations in which `check` gets no chain, each with a real server. The text names the step that failed and what to
/// do. It names no step that was done, and nothing else.
@Suite("Servers that don't present a chain")
struct SituationTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// The words that the first line contains.
        let words: [String]
        /// Words that must not appear anywhere, besides those for every row.
        var never: [String] = []
        /// The word for the reason in JSON.
        let reason: String
        var flags: [String] = []
        /// The target, in which `PORT` stands for the server's.
        var target = "api.test:PORT@127.0.0.1"
        let server: @Sendable (PinctlSite) throws -> LoopbackServer

        init(
            _ name: String, _ words: [String], never: [String] = [], reason: String, _ flags: [String] = [],
            target: String = "api.test:PORT@127.0.0.1",
            server: @escaping @Sendable (PinctlSite) throws -> LoopbackServer
        ) {
            testDescription = name
            (self.words, self.never, self.reason, self.flags) = (words, never, reason, flags)
            (self.target, self.server) = (target, server)
        }

        /// A server that sends these bytes at once, or after the client has spoken.
        static func bytes(
            _ name: String, _ bytes: [UInt8], afterClient: Bool = false, _ words: [String], never: [String] = [],
            reason: String = "not-tls", _ flags: [String] = [], target: String = "api.test:PORT@127.0.0.1"
        ) -> Row {
            Row(name, words, never: never, reason: reason, flags, target: target) { _ in
                try LoopbackServer(
                    plain: .handle { connection in
                        if afterClient { _ = try connection.read() }
                        try connection.write(bytes)
                        if !afterClient { while try connection.read() != nil {} }
                    })
            }
        }

        static func text(
            _ name: String, _ text: String, afterClient: Bool = false, _ words: [String], never: [String] = [],
            reason: String = "not-tls", _ flags: [String] = [], target: String = "api.test:PORT@127.0.0.1"
        ) -> Row {
            bytes(
                name, Array(text.utf8), afterClient: afterClient, words, never: never, reason: reason, flags,
                target: target)
        }

        /// A server that answers a ClientHello with an alert.
        static func alert(
            _ number: UInt8, _ name: String, _ words: [String], never: [String] = [], reason: String = "handshake"
        ) -> Row {
            bytes(
                "alert \(name)", [21, 3, 3, 0, 2, 2, number], afterClient: true, words,
                never: never + ["try "], reason: reason)
        }
    }

    /// Words about steps that were done in every row but those that name them.
    private static let done = [
        "resol", "DNS", "check the port and that the server is running", "check the hostname, the network",
    ]

    private static let rows: [Row] = [
        // Silence and ends
        Row(
            "accepts and never answers",
            ["127.0.0.1:PORT", "connected, no TLS answer within 0.4 s", "raise --timeout"],
            reason: "timed-out", ["--timeout", "0.4"]
        ) { try LoopbackServer(chain: $0.chain, .stall) },
        Row(
            "accepts and never answers at PostgreSQL's port",
            ["connected, no TLS answer within 0.4 s", ": try postgres://api.test:5432@127.0.0.1:PORT"],
            reason: "timed-out", ["--timeout", "0.4"], target: "api.test:5432@127.0.0.1:PORT"
        ) { try LoopbackServer(chain: $0.chain, .stall) },
        Row(
            "stops after its first record", ["connected, but the TLS handshake did not end within 0.4 s"],
            never: ["no TLS answer"], reason: "timed-out", ["--timeout", "0.4"]
        ) { _ in
            try LoopbackServer(
                plain: .handle { connection in
                    try connection.write([22, 3, 3, 0, 90, 2])
                    while try connection.read() != nil {}
                })
        },
        Row(
            "closes at once", ["connected, but no TLS answer", "check that the port speaks TLS from the first byte"],
            never: ["try "], reason: "closed"
        ) { try LoopbackServer(chain: $0.chain, .closeAfterAccept) },
        Row(
            "closes at once at LDAP's port",
            ["connected, but no TLS answer", ": try ldap://api.test:389@127.0.0.1:PORT"],
            reason: "closed", target: "api.test:389@127.0.0.1:PORT"
        ) { try LoopbackServer(chain: $0.chain, .closeAfterAccept) },
        Row(
            "closes at once at the port for mail submission", [": try smtp://api.test:587@127.0.0.1:PORT"],
            reason: "closed", target: "api.test:587@127.0.0.1:PORT"
        ) { try LoopbackServer(chain: $0.chain, .closeAfterAccept) },
        Row(
            "closes at once at XMPP's port", [": try xmpp://api.test:5222@127.0.0.1:PORT"],
            reason: "closed", target: "api.test:5222@127.0.0.1:PORT"
        ) { try LoopbackServer(chain: $0.chain, .closeAfterAccept) },
        Row(
            "resets the connection at RDP's port",
            ["no TLS answer", "--files, because port 3389 is usually RDP, which starts TLS in a way"], never: ["try "],
            reason: "closed", target: "api.test:3389@127.0.0.1:PORT"
        ) { try LoopbackServer(chain: $0.chain, .closeAfterAccept) },
        Row(
            "never answers at SQL Server's port", ["no TLS answer within 0.4 s", "port 1433 is usually SQL Server"],
            reason: "timed-out", ["--timeout", "0.4"], target: "api.test:1433@127.0.0.1:PORT"
        ) { try LoopbackServer(chain: $0.chain, .stall) },
        Row(
            "closes at once at MQTT's port",
            [": use the port with TLS, often 8883, because 1883 is usually MQTT without"],
            never: ["try "], reason: "closed", target: "api.test:1883@127.0.0.1:PORT"
        ) { try LoopbackServer(chain: $0.chain, .closeAfterAccept) },
        .bytes(
            "AMQP", Array("AMQP".utf8) + [0, 0, 9, 1],
            ["isn't TLS (it sent bytes 41 4d 51 50 00 00 09 01)", "often 5671, because 5672 is usually AMQP"],
            target: "api.test:5672@127.0.0.1:PORT"),
        // Other protocols
        .text(
            "SMTP", "220 mail.test ESMTP Postfix\r\n",
            ["speaks SMTP here, not TLS", "\"220 mail.test ESMTP Postfix\"", ": try smtp://api.test:PORT@127.0.0.1"]),
        .text("SMTP that refuses", "554 no service\r\n", ["speaks SMTP", ": try smtp://api.test:PORT@127.0.0.1"]),
        .text("LMTP", "220 mail.test LMTP ready\r\n", ["speaks LMTP", ": try lmtp://api.test:PORT@127.0.0.1"]),
        .text("FTP", "220 ProFTPD Server (FTP)\r\n", ["speaks FTP", ": try ftp://api.test:PORT@127.0.0.1"]),
        .text(
            "SMTP or FTP", "220 welcome\r\n",
            [
                "isn't TLS (it sent \"220 welcome\")",
                ": try smtp://api.test:PORT@127.0.0.1 or ftp://api.test:PORT@127.0.0.1",
            ],
            never: ["speaks"]),
        .text(
            "SMTP or FTP at FTP's port", "220 welcome\r\n",
            [": try ftp://api.test:21@127.0.0.1:PORT or smtp://api.test:21@127.0.0.1:PORT"],
            target: "api.test:21@127.0.0.1:PORT"),
        .text(
            "IMAP", "* OK [CAPABILITY IMAP4rev1] ready\r\n", ["speaks IMAP", ": try imap://api.test:PORT@127.0.0.1"]),
        .text("POP3", "+OK ready <1.2@mail.test>\r\n", ["speaks POP3", ": try pop3://api.test:PORT@127.0.0.1"]),
        .text("NNTP", "201 news.test ready\r\n", ["speaks NNTP", ": try nntp://api.test:PORT@127.0.0.1"]),
        .text(
            "ManageSieve", "\"IMPLEMENTATION\" \"Dovecot\"\r\n",
            ["speaks ManageSieve", ": try sieve://api.test:PORT@127.0.0.1"]),
        .bytes(
            "MySQL", [74, 0, 0, 0, 10] + Array("8.0.36".utf8) + [UInt8](repeating: 0, count: 67),
            ["speaks MySQL", ": try mysql://api.test:PORT@127.0.0.1"]),
        .bytes(
            "MariaDB that refuses the host", [17, 0, 0, 0, 0xFF, 0x6A, 0x04] + Array("not allowed...".utf8),
            ["speaks MySQL", ": try mysql://api.test:PORT@127.0.0.1"]),
        .text(
            "HTTP", "HTTP/1.1 400 Bad Request\r\n\r\n", afterClient: true, ["speaks HTTP", "use the port of HTTPS"],
            never: ["try "]),
        .text("SSH", "SSH-2.0-OpenSSH_9.2\r\n", ["speaks SSH", "not that of SSH"], never: ["try "]),
        .text(
            "an unknown protocol", "RFB 003.008\n", ["isn't TLS (it sent \"RFB 003.008\")"],
            never: ["try ", "speaks RFB"]),
        .text(
            "XMPP", "<?xml version='1.0'?><stream:stream xmlns='jabber:client'>",
            [
                "speaks XMPP here, not TLS",
                ": try xmpp://api.test:5222@127.0.0.1:PORT or xmpp-server://api.test:5222@127.0.0.1:PORT",
            ],
            target: "api.test:5222@127.0.0.1:PORT"),
        .bytes(
            "bytes that aren't text", [0xFF, 0xFD, 0x18, 0xFF, 0xFD, 0x20],
            ["isn't TLS (it sent bytes ff fd 18 ff fd 20)"]),
        .text("an answer that stops", "22", ["isn't TLS (it sent \"22\")"], ["--timeout", "0.4"]),
        // Alerts
        .alert(
            40, "handshake_failure", ["TLS handshake failed", "handshake failure", "enable ECDHE", "check its log"]),
        .alert(
            70, "protocol_version", ["offers only TLS 1.1 or older", "enable TLS 1.2 or TLS 1.3"], reason: "tls-version"
        ),
        .alert(80, "internal_error", ["internal error", "check the server's log"]),
        .alert(
            112, "unrecognized_name", ["unrecognized name", "no certificate for this name", "--sni"], never: ["TLS 1.2"]
        ),
        .alert(49, "access_denied", ["access denied", "access rules"]),
        .alert(120, "no_application_protocol", ["ALPN protocols"]),
        .alert(50, "decode_error", ["decode error", "check the server's log"]),
        // Versions
        Row(
            "TLS 1.0 only", ["the server offers TLS 1.0 alone: enable TLS 1.2 or TLS 1.3 on the server"],
            never: ["TLS 1.1", "alert"], reason: "tls-version"
        ) { site in try LoopbackServer(chain: site.chain) { $0.protocolVersions = .tls10 ... .tls10 } },
        Row(
            "TLS 1.1 at most", ["the server offers no newer version than TLS 1.1: enable TLS 1.2 or TLS 1.3"],
            never: ["alert"], reason: "tls-version"
        ) { site in try LoopbackServer(chain: site.chain) { $0.protocolVersions = .tls10 ... .tls11 } },
        Row(
            "TLS 1.2 at most with --min-tls 1.3", ["the server offers no TLS 1.3", "leave out --min-tls"],
            never: ["enable TLS 1.2"], reason: "tls-version", ["--min-tls=1.3"]
        ) { site in try LoopbackServer(chain: site.chain) { $0.protocolVersions = .tls12 ... .tls12 } },
        Row(
            "TLS 1.3 only with --max-tls 1.2", ["the server offers no TLS 1.2", "leave out --max-tls"],
            reason: "tls-version", ["--max-tls=1.2"]
        ) { site in try LoopbackServer(chain: site.chain) { $0.protocolVersions = .tls13 ... .tls13 } },
        // STARTTLS where it isn't wanted
        Row(
            "a prefix at a port with TLS from the first byte",
            ["no greeting before STARTTLS within 0.4 s", "write api.test:PORT@127.0.0.1"],
            reason: "timed-out", ["--timeout", "0.4"], target: "smtp://api.test:PORT@127.0.0.1"
        ) { try LoopbackServer(chain: $0.chain) },
        Row(
            "a prefix at the port of smtps",
            ["no greeting before STARTTLS", "write smtps://api.test:465@127.0.0.1:PORT"],
            reason: "timed-out", ["--timeout", "0.4"], target: "smtp://api.test:465@127.0.0.1:PORT"
        ) { try LoopbackServer(chain: $0.chain) },
        .bytes(
            "a prefix where the server answers in TLS", [21, 3, 3, 0, 2, 2, 70], afterClient: true,
            ["speaks TLS from the first byte, not ldap", "write ldaps://api.test:636@127.0.0.1:PORT"],
            reason: "starttls", target: "ldap://api.test:636@127.0.0.1:PORT"),
        // Proxies
        .text(
            "a proxy that requires a login", "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n",
            afterClient: true, ["response 407", "give USER:PASSWORD in a file with --proxy-login FILE"],
            never: ["try "], reason: "proxy", ["--proxy=http://127.0.0.1:PORT"], target: "api.test"),
        .text(
            "a proxy that forbids the host", "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n",
            afterClient: true, ["response 403", "contact the proxy's operator"],
            reason: "proxy", ["--proxy=http://127.0.0.1:PORT"], target: "api.test"),
        .text(
            "a proxy that doesn't reach the host", "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n",
            afterClient: true, ["response 503", "check the host and the port"],
            reason: "proxy", ["--proxy=http://127.0.0.1:PORT"], target: "api.test"),
        .text(
            "a proxy that isn't one", "SSH-2.0-OpenSSH_9.2\r\n",
            [
                "the proxy's answer was rejected (malformed status line \"SSH-2.0-OpenSSH_9.2\")",
                "check the proxy's address, port and kind",
            ],
            never: ["server's operator"], reason: "proxy", ["--proxy=http://127.0.0.1:PORT"], target: "api.test"),
        .bytes(
            "a proxy that speaks TLS", [21, 3, 3, 0, 2, 2, 10], afterClient: true,
            ["the proxy's answer was rejected", "check the proxy's address, port and kind"], reason: "proxy",
            ["--proxy=http://127.0.0.1:PORT"], target: "api.test"),
        Row(
            "a proxy that resets the connection",
            ["the connection was lost (Connection reset by peer): check the proxy's address, port and kind"],
            never: ["connect again"], reason: "proxy", ["--proxy=http://127.0.0.1:PORT"], target: "api.test"
        ) { _ in
            var settings = LoopbackServer.Settings()
            settings.isPlain = true
            settings.resetsAtEnd = true
            settings.script = .handle { _ = try $0.read() }
            return try LoopbackServer(settings)
        },
        Row(
            "a SOCKS proxy that resets the connection",
            ["the proxy closed the connection during its SOCKS reply: check its port and version"],
            never: ["CONNECT", "connect again"], reason: "proxy", ["--proxy=socks5://127.0.0.1:PORT"],
            target: "api.test"
        ) { _ in
            var settings = LoopbackServer.Settings()
            settings.isPlain = true
            settings.resetsAtEnd = true
            settings.script = .handle { _ = try $0.read() }
            return try LoopbackServer(settings)
        },
        Row(
            "a SOCKS proxy that didn't reach the host",
            ["could not connect (connection refused): check the host and the port, because the proxy did not reach"],
            reason: "proxy", ["--proxy=socks5://127.0.0.1:PORT"], target: "api.test"
        ) { _ in
            try LoopbackServer(
                plain: .handle { connection in
                    for answer: [UInt8] in [[5, 0], [5, 5, 0, 1, 0, 0, 0, 0, 0, 0]] {
                        _ = try connection.read()
                        try connection.write(answer)
                    }
                })
        },
        .bytes(
            "a SOCKS proxy that requires a login", [5, 0xFF], afterClient: true,
            ["requires a login", "give USER:PASSWORD in a file with --proxy-login FILE"],
            reason: "proxy", ["--proxy=socks5://127.0.0.1:PORT"], target: "api.test"),
    ]

    private struct Document: Decodable {
        struct Result: Decodable {
            let verdict: String
            let reason: String?
            let unreachable: String?
            let address: String?
        }
        let results: [Result]
    }

    @Test("The first line says where it failed, how and what to do", arguments: rows)
    func row(row: Row) async throws {
        let site = try PinctlSite()
        try await row.server(site).run { server in
            func filled(_ text: String) -> String { text.replacing("PORT", with: "\(server.port)") }
            let words =
                ["--ca-file", site.rootFile, "--pin", try site.leaf.key.pin] + row.flags.map(filled)
                + [filled(row.target)]
            let run = await pinctl(["check"] + words)
            #expect(run.status == 3)
            let first = try #require(run.lines.first)
            for wanted in row.words { #expect(first.contains(filled(wanted)), "\(wanted): \(first)") }
            for unwanted in row.never + Self.done { #expect(!first.contains(unwanted), "\(unwanted): \(first)") }
            #expect(run.lines.count == 2 && run.lines.last == "1 checked: 1 unreachable", "\(run.output)")

            let json = try await pinctl(["check", "--json"] + words).decoded(as: Document.self)
            let result = try #require(json.results.first)
            #expect(result.verdict == "unreachable" && result.unreachable == row.reason)
            #expect(result.reason.map { first.hasSuffix("unreachable: \($0)") } == true, "\(first)")
            if !row.flags.contains(where: { $0.hasPrefix("--proxy") }) {
                #expect(result.address == "127.0.0.1:\(server.port)")
            }
            // show says the same.
            let shown = await pinctl(
                ["show", "--ca-file", site.rootFile] + row.flags.map(filled) + [filled(row.target)])
            for wanted in row.words where !row.flags.contains("--timeout") {
                #expect(shown.output.contains(filled(wanted)), "\(shown.output)")
            }
        }
    }

    @Test("The summary gives hosts that fail alike one remedy, which names none of them, and others their own")
    func sharedRemedy() async throws {
        let site = try PinctlSite()
        try await LoopbackServer(chain: site.chain, .closeAfterAccept).run { server in
            let place = "127.0.0.1:\(server.port)"
            let mail = ["a.test:25@\(place)", "b.test:25@\(place)"]
            let words = ["check", "--ca-file", site.rootFile, "--pin", unknownPin, "--in-order"]
            let run = await pinctl(words + mail + ["c.test:587@\(place)", "d.test:8443@\(place)"])
            let title = "unreachable: connected, but no TLS answer ("
            #expect(run.status == 3 && run.lines.last == "4 checked: 4 unreachable")
            #expect(run.lines.count { $0.hasPrefix("2 hosts (") && $0.contains("): \(title)") } == 1, "\(run)")
            let remedies = run.lines.filter { $0.hasPrefix("  do: ") }
            #expect(remedies.count == 3)
            #expect(remedies.contains("  do: try smtp://HOST:25") && !remedies.contains { $0.contains("a.test") })
            #expect(remedies.contains("  do: try smtp://c.test:587@\(place)"))
            #expect(remedies.contains { $0.contains("check that the port speaks TLS from the first byte") })
            // Each host's own line has its own remedy.
            for target in mail { #expect(run.lines.contains { $0.hasSuffix(": try smtp://\(target)") }) }
        }
    }

    @Test(
        "The summary and the reports say the same as the screen about hosts that fail alike", arguments: [true, false])
    func shared(isOld: Bool) async throws {
        let site = try PinctlSite()
        let server = try LoopbackServer(chain: site.chain) {
            if isOld { $0.protocolVersions = .tls10 ... .tls10 } else { $0.script = .closeAfterAccept }
        }
        try await server.run { server in
            let report = site.directory.path + "/report.md"
            let run = await pinctl(
                "check", "--ca-file", site.rootFile, "--pin", unknownPin, "--report", "markdown=\(report)",
                server.target("a.test"), server.target("b.test"))
            let words = isOld ? "the server offers TLS 1.0 alone" : "connected, but no TLS answer"
            #expect(run.lines.count { $0.contains(words) } == 3, "\(run.output)")
            #expect(!run.output.contains("check the hostname, the network"))
            let markdown = try String(contentsOfFile: report, encoding: .utf8)
            #expect(markdown.contains(words) && !markdown.contains("check the hostname, the network"), "\(markdown)")
        }
    }
}
