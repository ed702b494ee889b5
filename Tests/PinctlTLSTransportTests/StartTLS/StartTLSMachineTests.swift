import CertificateTrust
import PinctlTestPKI
import Testing

@testable import PinctlTLSTransport

/// A conversation before TLS, with the server's messages and the requests that they answer.
struct StartTLSScript: Sendable, CustomTestStringConvertible {
    let spoken: StartTLSProtocol
    /// The server's messages, each after the client's message. The latter is empty where the server begins.
    let turns: [(client: String, server: [UInt8])]
    /// The client's last message, which TLS follows directly.
    var last = ""

    var testDescription: String { spoken.rawValue }

    init(_ spoken: StartTLSProtocol, _ turns: [(String, String)]) {
        self.spoken = spoken
        self.turns = turns.map { ($0, Array($1.utf8)) }
    }

    init(_ spoken: StartTLSProtocol, bytes turns: [(String, [UInt8])], last: String = "") {
        self.spoken = spoken
        self.turns = turns.map { ($0, $1) }
        self.last = last
    }
}

private let goodScripts: [StartTLSScript] = [
    StartTLSScript(
        .smtp,
        [
            ("", "220-mail.test ESMTP\r\n220 welcome\r\n"),
            ("EHLO pinctl.invalid\r\n", "250-mail.test\r\n250-SIZE 1000\r\n250-starttls\r\n250 HELP\r\n"),
            ("STARTTLS\r\n", "220 go ahead\r\n"),
        ]),
    StartTLSScript(
        .lmtp,
        [
            ("", "220 mail.test LMTP\r\n"), ("LHLO pinctl.invalid\r\n", "250-mail.test\r\n250 STARTTLS\r\n"),
            ("STARTTLS\r\n", "220 2.0.0 go\r\n"),
        ]),
    StartTLSScript(
        .imap,
        [
            ("", "* OK [CAPABILITY IMAP4rev1] ready\r\n"),
            ("a1 CAPABILITY\r\n", "* CAPABILITY IMAP4rev1 STARTTLS LOGINDISABLED\r\na1 OK done\r\n"),
            ("a2 STARTTLS\r\n", "* 1 EXISTS\r\na2 OK begin\r\n"),
        ]),
    StartTLSScript(
        .pop3,
        [
            ("", "+OK ready\r\n"), ("CAPA\r\n", "+OK\r\nUSER\r\nSTLS\r\n.\r\n"), ("STLS\r\n", "+OK begin\r\n"),
        ]),
    StartTLSScript(.pop3, [("", "+OK\r\n"), ("CAPA\r\n", "-ERR what?\r\n"), ("STLS\r\n", "+OK\r\n")]),
    StartTLSScript(
        .sieve,
        [
            ("", "\"IMPLEMENTATION\" \"x\"\r\n\"STARTTLS\"\r\nOK \"ready\"\r\n"), ("STARTTLS\r\n", "OK \"go\"\r\n"),
        ]),
    StartTLSScript(
        .nntp,
        [
            ("", "200 ready\r\n"), ("CAPABILITIES\r\n", "101 list\r\nVERSION 2\r\nSTARTTLS\r\n.\r\n"),
            ("STARTTLS\r\n", "382 go\r\n"),
        ]),
    StartTLSScript(
        .ftp,
        [
            ("", "120 soon\r\n220-hello\r\n 220 is not the end\r\nnor this\r\n220 ready\r\n"),
            ("AUTH TLS\r\n", "234 go\r\n"),
        ]),
    StartTLSScript(.ldap, bytes: [(ldapRequest, ldapAnswer(0))]),
    StartTLSScript(.ldap, bytes: [(ldapRequest, ldapAnswer(0, "fine", isLong: true))]),
    StartTLSScript(
        .xmpp,
        [
            (
                "<?xml version='1.0'?><stream:stream xmlns='jabber:client' "
                    + "xmlns:stream='http://etherx.jabber.org/streams' to='mail.test' version='1.0'>",
                "<?xml version='1.0'?>" + stream + " <stream:features><starttls xmlns='\(tls)'><required/>"
                    + "</starttls></stream:features>"
            ), ("<starttls xmlns='\(tls)'/>", "<proceed xmlns='\(tls)'/>"),
        ]),
    StartTLSScript(
        .xmppServer,
        [
            (
                "<?xml version='1.0'?><stream:stream xmlns='jabber:server' "
                    + "xmlns:stream='http://etherx.jabber.org/streams' to='mail.test' version='1.0'>",
                stream + "<stream:features><a b='!>'/><starttls xmlns=\"\(tls)\"/></stream:features>"
            ), ("<starttls xmlns='\(tls)'/>", "<proceed xmlns='\(tls)'></proceed>"),
        ]),
    StartTLSScript(.postgres, bytes: [("\0\0\0\u{8}", [0x53])]),
    StartTLSScript(.mysql, bytes: [("", mySQLGreeting())], last: " \0\0\u{1}"),
]

/// Tests of the negotiation before TLS in each protocol, without a socket.
@Suite struct StartTLSMachineTests {
    /// Plays the server's messages in pieces of `size` bytes, and returns the resulting actions.
    private func play(_ script: StartTLSScript, pieces size: Int) throws -> [StartTLSAction] {
        var negotiation = StartTLSNegotiation(script.spoken, to: try ServerName("mail.test"))
        var actions = [negotiation.opening]
        for turn in script.turns {
            var rest = turn.server[...]
            while !rest.isEmpty {
                actions.append(try negotiation.receive(Array(rest.prefix(size))))
                rest = rest.dropFirst(size)
            }
        }
        return actions.filter { $0 != .needMore }
    }

    @Test("TLS is negotiated however the bytes arrive", arguments: goodScripts, [1, 2, 3, 7, 100_000])
    func good(script: StartTLSScript, size: Int) throws {
        let actions = try play(script, pieces: size)
        var asked = script.turns.map(\.client).filter { !$0.isEmpty }
        if !script.last.isEmpty { asked.append(script.last) }
        let sent = actions.compactMap { action -> [UInt8]? in
            switch action {
            case .send(let bytes), .sendAndUpgrade(let bytes): bytes
            default: nil
            }
        }
        #expect(sent.count == asked.count)
        for (sent, asked) in zip(sent, asked) { #expect(sent.starts(with: asked.utf8)) }
        let isLast =
            script.last.isEmpty ? actions.last == .upgrade : actions.last == sent.last.map { .sendAndUpgrade($0) }
        #expect(isLast && actions.count == asked.count + (script.last.isEmpty ? 1 : 0))
    }

    // CVE-2021-22947: these bytes would be taken for data that TLS protects.
    @Test("Bytes after the go-ahead are rejected", arguments: goodScripts, ["x", "\r\n", "\u{16}\u{3}\u{1}"])
    func injection(script: StartTLSScript, more: String) {
        var script = script
        var turns = script.turns
        let last = turns.removeLast()
        script = StartTLSScript(script.spoken, bytes: turns + [(last.client, last.server + Array(more.utf8))])
        #expect(throws: StartTLSFailure.self) { _ = try play(script, pieces: 100_000) }
    }

    @Test("An answer that arrives before its request is rejected", arguments: goodScripts.filter { $0.turns.count > 1 })
    func early(script: StartTLSScript) throws {
        let all = StartTLSScript(script.spoken, bytes: [("", script.turns.flatMap(\.server))])
        #expect(throws: StartTLSFailure.self) { _ = try play(all, pieces: 100_000) }
    }

    @Test("No changed byte in a conversation causes a trap or a hang", arguments: goodScripts)
    func mutations(script: StartTLSScript) throws {
        for index in script.turns.indices {
            for position in script.turns[index].server.indices {
                for byte: UInt8 in [0, 0x20, 0x0A, 0x3E, 0x80, 0xFF] {
                    var turns = script.turns
                    turns[index].server[position] = byte
                    // Every change is accepted or rejected. No byte causes a trap or a hang.
                    let changed = StartTLSScript(script.spoken, bytes: turns.map { ($0.client, $0.server) })
                    do { _ = try play(changed, pieces: 100_000) } catch { #expect(error is StartTLSFailure) }
                }
            }
        }
    }

    @Test("A server that sends without end is rejected", arguments: StartTLSProtocol.allCases)
    func endless(spoken: StartTLSProtocol) throws {
        let streams = [
            "220-more\r\n", "* more\r\n", "+OK ", "\"more\"\r\n", "x", "\0", "<a>", "<a b='", " ", "\r\n",
            "E\0\0\0\u{9}",
            "0\u{84}\u{0}\u{0}\u{F}\u{FF}",
        ]
        for text in streams {
            var negotiation = StartTLSNegotiation(spoken, to: try ServerName("mail.test"))
            let piece = Array(String(repeating: text, count: 16).utf8)
            #expect(throws: StartTLSFailure.self) {
                for _ in 0..<5000 { _ = try negotiation.receive(piece) }
            }
        }
    }

    struct Refusal: Sendable, CustomTestStringConvertible {
        let script: StartTLSScript
        let failure: StartTLSFailure
        var testDescription: String { "\(script.spoken.rawValue): \(failure)" }

        init(_ spoken: StartTLSProtocol, _ server: String..., failure: StartTLSFailure) {
            script = StartTLSScript(spoken, server.map { ("", $0) })
            self.failure = failure
        }

        init(_ spoken: StartTLSProtocol, bytes: [UInt8], failure: StartTLSFailure) {
            script = StartTLSScript(spoken, bytes: [("", bytes)])
            self.failure = failure
        }
    }

    @Test(
        "A server that declines TLS is reported with its reason",
        arguments: [
            Refusal(.smtp, "554 5.7.1 no\r\n", failure: .refused("554 5.7.1 no")),
            Refusal(.smtp, "220 x\r\n", "250-STARTTLS\r\n250 HELP\r\n", failure: .notOffered),
            Refusal(.smtp, "220 x\r\n", "250-x\r\n250 XSTARTTLS\r\n", failure: .notOffered),
            Refusal(
                .smtp, "220 x\r\n", "250-x\r\n250 STARTTLS\r\n", "454 4.7.0 no certificate\r\n",
                failure: .refused("454 4.7.0 no certificate")),
            Refusal(.lmtp, "220 x\r\n", "500 what?\r\n", failure: .refused("500 what?")),
            Refusal(.imap, "* PREAUTH hello\r\n", failure: .refused("* PREAUTH hello")),
            Refusal(.imap, "* BYE full\r\n", failure: .refused("* BYE full")),
            Refusal(.imap, "* OK\r\n", "* CAPABILITY IMAP4rev1\r\na1 OK\r\n", failure: .notOffered),
            Refusal(
                .imap, "* OK\r\n", "* CAPABILITY STARTTLS\r\na1 OK\r\n", "a2 NO no\r\n", failure: .refused("a2 NO no")),
            Refusal(.pop3, "+OK\r\n", "+OK\r\nUSER\r\n.\r\n", failure: .notOffered),
            Refusal(.pop3, "-ERR busy\r\n", failure: .refused("-ERR busy")),
            Refusal(.sieve, "\"SIEVE\" \"x\"\r\nOK\r\n", failure: .notOffered),
            Refusal(.sieve, "BYE \"busy\"\r\n", failure: .refused("BYE \"busy\"")),
            Refusal(.nntp, "201 x\r\n", "101 x\r\nREADER\r\n.\r\n", failure: .notOffered),
            Refusal(.nntp, "502 no\r\n", failure: .refused("502 no")),
            Refusal(.ftp, "220 x\r\n", "500 what?\r\n", failure: .notOffered),
            Refusal(.ftp, "220 x\r\n", "534 no\r\n", failure: .refused("534 no")),
            Refusal(.ldap, bytes: ldapAnswer(2, "unsupported"), failure: .notOffered),
            Refusal(.ldap, bytes: ldapAnswer(52, "busy"), failure: .refused("result code 52: busy")),
            Refusal(.ldap, bytes: ldapAnswer(0, identifier: 0), failure: .refused("result code 0")),
            Refusal(.xmpp, stream + "<stream:features><a/></stream:features>", failure: .notOffered),
            // An attribute or an element in a foreign namespace isn't an offer.
            Refusal(
                .xmpp, stream + "<stream:features><a b=\"><starttls xmlns='\(tls)'/>\"/></stream:features>",
                failure: .notOffered),
            Refusal(
                .xmpp, stream + "<stream:features><starttls xmlns='other'/></stream:features>", failure: .notOffered),
            Refusal(
                .xmpp, stream + "<stream:features><m><starttls xmlns='\(tls)'/></m></stream:features>",
                failure: .notOffered),
            Refusal(
                .xmpp, stream + "<stream:error><host-unknown xmlns='y'/></stream:error>",
                failure: .refused("stream error host-unknown")),
            Refusal(
                .xmpp, stream + "<stream:features><starttls xmlns='\(tls)'/></stream:features>",
                "<failure xmlns='\(tls)'/>", failure: .refused("failure")),
            Refusal(.postgres, bytes: [0x4E], failure: .notOffered),
            Refusal(
                .postgres, bytes: [0x45, 0, 0, 0, 18] + Array("SFATAL\0Mbusy\0\0".utf8),
                failure: .refused("busy")),
            Refusal(.mysql, bytes: mySQLGreeting(capabilities: [0xFF, 0xF7]), failure: .notOffered),
            Refusal(
                .mysql, bytes: [10, 0, 0, 0, 0xFF, 0x10, 4] + Array("too many".utf8).prefix(7),
                failure: .refused("too man")),
        ])
    func refusals(row: Refusal) throws {
        for size in [1, 100_000] { #expect(throws: row.failure) { try play(row.script, pieces: size) } }
    }

    @Test(
        "A reply that isn't in the expected protocol is reported as unreadable",
        arguments: [
            (.smtp, "SSH-2.0-OpenSSH_9.2\r\n"), (.smtp, "220-x\r\n221 x\r\n"), (.imap, "220 x\r\n"), (.pop3, "OK\r\n"),
            (.sieve, "220 x\r\n"), (.nntp, "HTTP/1.1 400 Bad\r\n"), (.ftp, "\u{16}\u{3}\u{1}\r\n"),
            (.ldap, "220 x\r\n"),
            (.ldap, "0\u{5}\u{2}\u{1}\u{1}x\u{9}"), (.ldap, "0\u{80}"), (.xmpp, "HTTP/1.1 400\r\n<html>"),
            (.xmpp, "<html>"), (.xmpp, stream + "<!--"), (.xmpp, stream + "<![CDATA[<x>"),
            (.xmpp, stream + "<stream:features></stream:feature>"), (.xmpp, "<!DOCTYPE x>"),
            (.xmpp, stream + "<message/>"), (.postgres, "X"), (.postgres, "E\u{7F}\u{7F}\u{7F}\u{7F}"),
            (.mysql, "\u{5}\0\0\0\u{9}8.0\0"), (.mysql, "220 mail.test\r\n"), (.mysql, "\u{3}\0\0\0\u{A}88"),
        ] as [(StartTLSProtocol, String)])
    func unexpected(spoken: StartTLSProtocol, text: String) throws {
        let script = StartTLSScript(spoken, [("", text)])
        let error = #expect(throws: StartTLSFailure.self) { _ = try play(script, pieces: 100_000) }
        if case .unreadable = error { return }
        Issue.record("\(error as Any)")
    }
}

private let tls = "urn:ietf:params:xml:ns:xmpp-tls"
private let ldapRequest = "0\u{1D}\u{2}\u{1}\u{1}w\u{18}"
private let stream = "<stream:stream from='a>b' xmlns:stream='x' id=\"it's\">"

/// Returns MySQL's first packet.
private func mySQLGreeting(capabilities: [UInt8] = [0xFF, 0xFF]) -> [UInt8] {
    let payload = [10] + Array("8.0.36".utf8) + [0] + [UInt8](repeating: 7, count: 12) + [0] + capabilities + [45]
    return [UInt8(payload.count), 0, 0, 0] + payload
}

/// Returns LDAP's answer. If `isLong`, the outer length has more bytes than it needs.
private func ldapAnswer(_ code: UInt8, _ words: String = "", identifier: UInt8 = 1, isLong: Bool = false) -> [UInt8] {
    let response = [0x0A, 1, code, 4, 0, 4, UInt8(words.utf8.count)] + Array(words.utf8)
    let content = [2, 1, identifier, 0x78, UInt8(response.count)] + response
    return (isLong ? [0x30, 0x84, 0, 0, 0, UInt8(content.count)] : [0x30, UInt8(content.count)]) + content
}
