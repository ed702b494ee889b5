import CertificateTrust

@testable import PinctlTLSTransport
@testable import PinnedNetworking

extension FuzzTarget {
    static let socks5 = socks("socks5", .socks5)
    static let socks4a = socks("socks4a", .socks4a)

    /// A proxy's replies, a byte at a time.
    private static func socks(_ name: String, _ version: SOCKSHandshake.Version) -> FuzzTarget {
        FuzzTarget(name: name) { bytes in
            let login = SOCKSHandshake.Login(user: "user", password: "password")
            guard var handshake = try? SOCKSHandshake(version, to: .name("a.test"), port: 443, login: login) else {
                preconditionFailure("a name and a login that fit were refused")
            }
            var rest = bytes[...]
            while let action = try? handshake.next(), action != .done {
                guard action == .wantsInput else { continue }
                guard let byte = rest.popFirst() else { return }
                handshake.receive([byte])
            }
            // Two bytes for the method, two for the login, and a reply with the longest name.
            precondition(bytes.count - rest.count <= 2 + 2 + 262, "it read on behind the longest reply")
        }
    }

    /// What a server says up to TLS, in every protocol. A byte at a time nothing comes before its question; in lines or
    /// other pieces something may, which ends it, and never leads anywhere else.
    static let startTLS = FuzzTarget(name: "starttls") { bytes in
        guard let name = try? ServerName("a.test") else { preconditionFailure("a name was refused") }
        let bytes = Array(bytes.prefix(StartTLSInput.limit + 1))
        let single = bytes.map { [$0] }
        for spoken in StartTLSProtocol.allCases {
            let way = wayToTLS(spoken, name, single)
            for cut in [lines(of: bytes), pieces(of: bytes)] {
                guard let other = wayToTLS(spoken, name, cut) else { continue }
                precondition(way.map { $0 == other } ?? false, "another way to TLS when the bytes are cut otherwise")
            }
        }
    }

    /// Where TLS begins, and what was said before; nil where it does not.
    private static func wayToTLS(
        _ spoken: StartTLSProtocol, _ name: ServerName, _ pieces: [[UInt8]]
    ) -> (byteCount: Int, said: [[UInt8]])? {
        var negotiation = StartTLSNegotiation(spoken, to: name)
        var byteCount = 0
        var said: [[UInt8]] = []
        for piece in pieces {
            byteCount += piece.count
            switch try? negotiation.receive(piece) {
            case nil: return nil
            case .needMore: continue
            case .send(let bytes): said.append(bytes)
            case .upgrade: return (byteCount, said)
            case .sendAndUpgrade(let bytes): return (byteCount, said + [bytes])
            }
            precondition(said.count <= 3, "it has more to say than any protocol")
        }
        return nil
    }

    /// The replies of an FTP server, whole and in pieces.
    static let ftp = FuzzTarget(name: "ftp") { bytes in
        for isProtected in [false, true] {
            let cut = download(pieces(of: bytes), isProtected: isProtected)
            guard bytes.count <= StartTLSInput.limit else { continue }
            precondition(cut == download([bytes], isProtected: isProtected), "how the bytes were cut made a difference")
        }
    }

    /// What the client does about them.
    private static func download(_ pieces: [[UInt8]], isProtected: Bool) -> [FTPExchange.Action] {
        var exchange = FTPExchange(path: "a b", isProtected: isProtected, isGreeted: false)
        var input = StartTLSInput()
        var reader = NumberedReply.Reader(isLoose: true)
        var rest = pieces[...]
        func reply() -> NumberedReply? {
            while true {
                do {
                    if let reply = try reader.next(&input) { return reply }
                    guard let piece = rest.popFirst() else { return nil }
                    try input.append(piece)
                } catch {
                    return nil
                }
            }
        }
        var actions = [exchange.begin()]
        var hasFile = false
        while let action = actions.last {
            switch action {
            case .send(let command):
                precondition(command.suffix(2) == [0x0D, 0x0A], "a command without an end")
                precondition(command.dropLast(2).allSatisfy { $0 >= 0x20 }, "more than one command")
                fallthrough
            case .wait:
                guard let reply = reply(), let next = try? exchange.received(reply) else { return actions }
                precondition(reply.lines.count <= StartTLSInput.lineCountLimit && (0...999).contains(reply.code))
                actions.append(next)
            case .needLogin: actions.append(exchange.logIn(user: "user", password: "pass word"))
            case .connect(let port, _):
                precondition(port > 0)
                actions.append(exchange.connected())
            case .readFile(let size):
                precondition(size ?? 0 >= 0)
                let isAsked = actions.contains(.send(Array("PROT P\r\n".utf8)))
                precondition(isAsked == isProtected, "the file comes in the clear")
                hasFile = true
                actions.append(exchange.fileEnded())
            case .done:
                precondition(hasFile, "done before it began")
                return actions
            }
        }
        return actions
    }
}
