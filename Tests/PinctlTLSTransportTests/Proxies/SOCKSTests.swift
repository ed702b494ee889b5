import PinctlTLSTransport
import Testing

/// Tests of the messages to a SOCKS proxy, without a proxy.
@Suite struct SOCKSTests {
    /// Runs a handshake against replies, one for each message that is sent, and returns the sent messages.
    private func run(_ handshake: SOCKSHandshake, _ replies: [[UInt8]]) throws(SOCKSError) -> [[UInt8]] {
        var handshake = handshake
        var replies = replies[...]
        var sent: [[UInt8]] = []
        while true {
            switch try handshake.next() {
            case .send(let bytes): sent.append(bytes)
            case .done: return sent
            case .wantsInput:
                guard let reply = replies.popFirst() else { throw .truncatedReply }
                handshake.receive(reply)
            }
        }
    }

    private static let login = SOCKSHandshake.Login(user: "me", password: "word")
    private static let granted5: [UInt8] = [5, 0, 0, 1, 0, 0, 0, 0, 0, 0]
    private static let granted4: [UInt8] = [0, 90, 0, 0, 0, 0, 0, 0]

    @Test("Bytes after the proxy's reply are the greeting of a host that speaks first, and otherwise an error")
    func greeting() throws {
        for (version, replies) in [
            (SOCKSHandshake.Version.socks5, [[5, 0], Self.granted5 + [50, 50]]),
            (.socks4a, [Self.granted4 + [50, 50]]),
        ] as [(SOCKSHandshake.Version, [[UInt8]])] {
            for speaksFirst in [true, false] {
                var handshake = try SOCKSHandshake(version, to: .name("a.test"), port: 25, hostSpeaksFirst: speaksFirst)
                var rest = replies[...]
                func talk() throws {
                    while case let action = try handshake.next(), action != .done {
                        if action == .wantsInput, let reply = rest.popFirst() { handshake.receive(reply) }
                    }
                }
                if speaksFirst { try talk() } else { #expect(throws: SOCKSError.self) { try talk() } }
                #expect(handshake.greeting == (speaksFirst ? [50, 50] : []))
                if speaksFirst { #expect(try handshake.next() == .done) }
            }
        }
    }

    struct Row: Sendable {
        var version = SOCKSHandshake.Version.socks5
        var destination = SOCKSHandshake.Destination.name("a.test")
        var login: SOCKSHandshake.Login?
        let replies: [[UInt8]]
        let sent: [[UInt8]]
    }

    @Test(
        "The sent bytes are those that the SOCKS specifications require",
        arguments: [
            Row(
                replies: [[5, 0], granted5],
                sent: [[5, 1, 0], [5, 1, 0, 3, 6] + Array("a.test".utf8) + [1, 187]]),
            // curl's test 719: a name of 255 bytes is sent whole.
            Row(
                destination: .name(String(repeating: "A", count: 255)), replies: [[5, 0], granted5],
                sent: [[5, 1, 0], [5, 1, 0, 3, 255] + [UInt8](repeating: 65, count: 255) + [1, 187]]),
            Row(
                destination: .ipv4([127, 0, 0, 1]), replies: [[5, 0], granted5],
                sent: [[5, 1, 0], [5, 1, 0, 1, 127, 0, 0, 1, 1, 187]]),
            Row(
                destination: .ipv6([UInt8](repeating: 7, count: 16)),
                replies: [[5, 0], [5, 0, 0, 4] + [UInt8](repeating: 0, count: 18)],
                sent: [[5, 1, 0], [5, 1, 0, 4] + [UInt8](repeating: 7, count: 16) + [1, 187]]),
            Row(
                login: login, replies: [[5, 2], [1, 0], [5, 0, 0, 3, 1, 120, 0, 80]],
                sent: [
                    [5, 2, 0, 2], [1, 2] + Array("me".utf8) + [4] + Array("word".utf8),
                    [5, 1, 0, 3, 6] + Array("a.test".utf8) + [1, 187],
                ]),
            // A proxy that doesn't require a login doesn't receive one.
            Row(
                login: login, replies: [[5, 0], granted5],
                sent: [[5, 2, 0, 2], [5, 1, 0, 3, 6] + Array("a.test".utf8) + [1, 187]]),
            // Replies in pieces.
            Row(
                replies: [[5], [0], [5, 0, 0], [1, 0, 0, 0, 0, 0], [0]],
                sent: [[5, 1, 0], [5, 1, 0, 3, 6] + Array("a.test".utf8) + [1, 187]]),
            Row(
                version: .socks4a, replies: [granted4],
                sent: [[4, 1, 1, 187, 0, 0, 0, 1, 0] + Array("a.test".utf8) + [0]]),
            Row(
                version: .socks4a, login: login, replies: [granted4],
                sent: [[4, 1, 1, 187, 0, 0, 0, 1] + Array("me".utf8) + [0] + Array("a.test".utf8) + [0]]),
            Row(
                version: .socks4a, destination: .ipv4([10, 1, 2, 3]), replies: [granted4],
                sent: [[4, 1, 1, 187, 10, 1, 2, 3, 0]]),
        ])
    func words(row: Row) throws {
        let handshake = try SOCKSHandshake(row.version, to: row.destination, port: 443, login: row.login)
        #expect(try run(handshake, row.replies) == row.sent)
    }

    struct Refusal: Sendable {
        var version = SOCKSHandshake.Version.socks5
        var login: SOCKSHandshake.Login?
        let replies: [[UInt8]]
        let error: SOCKSError
    }

    @Test(
        "HA19: a proxy that refuses, closes early or sends a malformed reply is an error",
        arguments: [
            // A method that wasn't offered: a password without a login, GSSAPI.
            Refusal(replies: [[5, 2]], error: .foreignMethod(2)),
            Refusal(login: login, replies: [[5, 1]], error: .foreignMethod(1)),
            Refusal(replies: [[5, 255]], error: .noMethod(hadLogin: false)),
            Refusal(login: login, replies: [[5, 255]], error: .noMethod(hadLogin: true)),
            Refusal(login: login, replies: [[5, 2], [1, 1]], error: .refusedLogin),
            Refusal(login: login, replies: [[5, 2], [5, 0]], error: .malformedReply("version 5 of the login")),
            Refusal(replies: [[4, 0]], error: .malformedReply("version 4")),
            Refusal(replies: [Array("HTTP/1.1 400".utf8)], error: .malformedReply("12 bytes instead of 2")),
            Refusal(replies: [[5, 0], [5, 5]], error: .refused(SOCKSRefusal(rawValue: 5))),
            Refusal(replies: [[5, 0], [5, 77, 0, 1]], error: .refused(SOCKSRefusal(rawValue: 77))),
            Refusal(replies: [[5, 0], [4, 0]], error: .malformedReply("version 4")),
            Refusal(replies: [[5, 0], [5, 0, 0, 9, 0]], error: .malformedReply("address type 9")),
            Refusal(replies: [[5, 0], [5, 0, 1, 1, 0]], error: .malformedReply("reserved byte 1")),
            Refusal(replies: [[5, 0], Array(granted5.dropLast())], error: .truncatedReply),
            Refusal(replies: [[5]], error: .truncatedReply),
            Refusal(
                replies: [[5, 0], granted5 + [22, 3, 1]], error: .malformedReply("13 bytes instead of 10")),
            Refusal(version: .socks4a, replies: [[0, 91, 0, 0, 0, 0, 0, 0]], error: .refused(.general)),
            Refusal(version: .socks4a, replies: [[0, 93, 0, 0, 0, 0, 0, 0]], error: .refusedLogin),
            Refusal(
                version: .socks4a, replies: [[0, 94, 0, 0, 0, 0, 0, 0]], error: .malformedReply("reply code 94")),
            Refusal(
                version: .socks4a, replies: [[4, 90, 0, 0, 0, 0, 0, 0]], error: .malformedReply("first byte 4")),
            Refusal(version: .socks4a, replies: [[0, 90, 0, 0, 0, 0, 0]], error: .truncatedReply),
            Refusal(
                version: .socks4a, replies: [granted4 + [0]], error: .malformedReply("9 bytes instead of 8")),
        ])
    func refusals(row: Refusal) throws {
        let handshake = try SOCKSHandshake(row.version, to: .name("a.test"), port: 443, login: row.login)
        #expect(throws: row.error) { try run(handshake, row.replies) }
    }

    @Test(
        "HA19: a name that is empty or over 255 bytes is rejected before anything is sent (CVE-2023-38545)"
    )
    func longNames() {
        for version in [SOCKSHandshake.Version.socks5, .socks4a] {
            for count in [0, 256, 10_000] {
                #expect(throws: SOCKSError.unusableHost(byteCount: count)) {
                    try SOCKSHandshake(version, to: .name(String(repeating: "a", count: count)), port: 1)
                }
            }
        }
    }

    @Test("Logins and addresses that the protocol can't carry are rejected before anything is sent")
    func unusable() {
        let long = String(repeating: "x", count: 256)
        for login in [("", "p"), (long, "p"), ("u", long)] {
            #expect(throws: SOCKSError.unusableLogin) {
                try SOCKSHandshake(
                    .socks5, to: .name("a"), port: 1, login: .init(user: login.0, password: login.1))
            }
        }
        #expect(throws: SOCKSError.unusableLogin) {
            try SOCKSHandshake(.socks4a, to: .name("a"), port: 1, login: .init(user: "a\0b", password: ""))
        }
        for address in [SOCKSHandshake.Destination.ipv6([UInt8](repeating: 0, count: 16)), .ipv4([0, 0, 0, 9])] {
            #expect(throws: SOCKSError.unusableAddress) { try SOCKSHandshake(.socks4a, to: address, port: 1) }
        }
        for address in [SOCKSHandshake.Destination.ipv4([192, 0, 2]), .ipv6([1]), .ipv4([])] {
            for version in [SOCKSHandshake.Version.socks5, .socks4a] {
                #expect(throws: SOCKSError.unusableAddress) { try SOCKSHandshake(version, to: address, port: 1) }
            }
        }
    }

    @Test("A refusal is named by the word for its code (RFC 1928, section 6), and an unknown code by its number")
    func refusalText() {
        let words = [
            1: "general failure", 2: "not allowed by its rules", 3: "network unreachable", 4: "host unreachable",
            5: "connection refused", 6: "TTL expired", 7: "command not supported", 8: "address type not supported",
            9: "reply 9", 255: "reply 255",
        ]
        for (code, word) in words {
            #expect(
                SOCKSError.refused(SOCKSRefusal(rawValue: UInt8(code))).description
                    == "the SOCKS proxy could not connect (\(word)): "
                    + ((3...6).contains(code)
                        ? "check the host and the port, because the proxy did not reach them, or contact the proxy's "
                            + "operator"
                        : "contact the proxy's operator"))
        }
    }
}
