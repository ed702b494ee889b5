import PinctlTLSTransport
import PinctlTestPKI
import Testing

@testable import PinnedNetworking

/// The FTP state machine without a network.
@Suite struct FTPExchangeTests {
    /// The commands and actions of the state machine for these replies, one line each.
    private func run(
        _ replies: [String], isProtected: Bool = false, isGreeted: Bool = false, path: String = "a/b"
    ) throws -> [String] {
        var exchange = FTPExchange(path: path, isProtected: isProtected, isGreeted: isGreeted)
        var replies = replies[...]
        var action = exchange.begin()
        var said: [String] = []
        while true {
            switch action {
            case .send(let bytes):
                said.append(String(decoding: bytes, as: UTF8.self).replacing("\r\n", with: "|"))
                guard let reply = replies.popFirst() else { return said }
                action = try exchange.received(try Self.reply(reply))
            case .wait:
                guard let reply = replies.popFirst() else { return said }
                action = try exchange.received(try Self.reply(reply))
            case .needLogin:
                guard !said.contains("LOGIN") else { return said + ["LOGIN"] }
                said.append("LOGIN")
                action = exchange.logIn(user: "me", password: "word")
            case .connect(let port, let address):
                said.append("CONNECT \(port)\(address.map { " at \($0)" } ?? "")")
                action = exchange.connected()
            case .readFile(let size):
                said.append("READ \(size.map { String($0) } ?? "-")")
                action = exchange.fileEnded()
            case .done: return said + ["DONE"]
            }
        }
    }

    private static func reply(_ text: String) throws -> NumberedReply {
        var input = StartTLSInput()
        try input.append(Array((text + "\r\n").utf8))
        var reader = NumberedReply.Reader(isLoose: true)
        return try #require(try reader.next(&input))
    }

    @Test("A download without TLS uses the expected commands")
    func plain() throws {
        let replies = [
            "220 hello", "331 password", "230 in", "200 binary", "213 12", "229 go (|||4321|)", "150 coming",
            "226 done",
        ]
        #expect(
            try run(replies) == [
                "LOGIN", "USER me|", "PASS word|", "TYPE I|", "SIZE a/b|", "EPSV|", "CONNECT 4321", "RETR a/b|",
                "READ 12", "DONE",
            ])
    }

    @Test("A download over TLS protects the data connection before anything else")
    func protected() throws {
        let replies = [
            "230 in", "200 zero", "200 private", "200 binary", "500 what", "500 what", "227 ok (10,0,0,9,4,1)",
            "125 coming", "250 done",
        ]
        #expect(
            try run(replies, isProtected: true, isGreeted: true) == [
                "LOGIN", "USER me|", "PBSZ 0|", "PROT P|", "TYPE I|", "SIZE a/b|", "EPSV|", "PASV|",
                "CONNECT 1025 at 10.0.0.9", "RETR a/b|", "READ -", "DONE",
            ])
    }

    @Test(
        "A server that doesn't protect the data connection is rejected",
        arguments: [["536 no"], ["200 ok", "534 no"]])
    func unprotected(replies: [String]) {
        #expect(throws: FTPError.unprotectedData(replies.last ?? "")) {
            try run(["230 in"] + replies, isProtected: true, isGreeted: true)
        }
    }

    @Test(
        "A rejected login is requested again on the same connection",
        arguments: [["530 no"], ["331 and", "530 no"]])
    func refusedLogin(replies: [String]) throws {
        #expect(try run(["220 hello"] + replies).last == "LOGIN")
    }

    private static let inside = ["220 hello", "230 in", "200 binary"]

    @Test(
        "Each error reply gives its own error",
        arguments: [
            (["421 goodbye"], FTPError.unexpectedReply("421 goodbye")),
            (["530 not now"], .unexpectedReply("530 not now")),
            (inside + ["550 none"], .noFile("550 none")),
            (inside + ["213 1", "229 go (|||0|)"], .malformedReply("no port in the reply to EPSV")),
            (inside + ["213 1", "500 no", "227 (1,2,3)"], .malformedReply("no port in the reply to PASV")),
            (inside + ["213 1", "500 no", "500 no"], .unexpectedReply("500 no")),
            (inside + ["213 1", "229 (|||9|)", "550 no"], .noFile("550 no")),
            (inside + ["213 1", "229 (|||9|)", "226 done"], .unexpectedReply("226 done")),
            (inside + ["213 1", "229 (|||9|)", "150 ok", "426 broke"], .truncated("the FTP server replied 426 broke")),
        ])
    func refusals(row: (replies: [String], error: FTPError)) {
        #expect(throws: row.error) { try run(row.replies) }
    }

    @Test(
        "HA18: An address and a port are read only from well-formed replies (CVE-2020-8284)",
        arguments: [
            ("227 Entering Passive Mode (127,0,0,1,4,1)", "127.0.0.1:1025"),
            ("227 ok 10,009,8,7,255,255", "10.9.8.7:65535"),
            ("227 (1,2,3,4,5)", nil), ("227 (1,2,3,4,5,256)", nil), ("227 (1,2,3,4,0,0)", nil), ("227", nil),
            ("227 (1,2,3,4,-5,6)", nil), ("227 (1,2,3,4,5,6,7)", nil), ("227 (,,,,,)", nil),
            ("227 (1,2,3,4,5,0000006)", nil),
        ] as [(String, String?)])
    func passive(row: (words: String, place: String?)) {
        #expect(FTPExchange.place(row.words).map { "\($0.address):\($0.port)" } == row.place)
    }

    @Test(
        "A port is read only from a well-formed extended reply (RFC 2428)",
        arguments: [
            ("229 go (|||6446|)", 6446), ("229 (!!!1!)", 1), ("229 (|||65536|)", nil), ("229 (|||0|)", nil),
            ("229 (|||6446)", nil), ("229 |||6446|", nil), ("229 (|1|127.0.0.1|6446|)", nil), ("229 (||||)", nil),
            ("229 (11161)", nil), ("229 (|||+644|)", nil), ("229 (", nil),
        ] as [(String, UInt16?)])
    func extendedPassive(row: (words: String, port: UInt16?)) {
        #expect(FTPExchange.extendedPort(row.words) == row.port)
    }

    @Test(
        "A URL names a file, or is rejected before anything is sent (HA18: no line break in a path)",
        arguments: [
            ("ftp://h/a/b", "a/b", 21), ("ftp://h/%2Fetc/motd", "/etc/motd", 21), ("ftps://h/a%20b", "a b", 990),
            ("ftpes://h:2121/a;type=i", "a", 2121), ("ftp://h/a%0D%0ADELE%20b", nil, 0), ("ftp://h/a%00", nil, 0),
            ("ftp://h/", nil, 0), ("ftp://h/a/", nil, 0), ("ftp://h/a;type=a", nil, 0), ("ftp://h/a;type=d", nil, 0),
            ("ftp://h/%FF", nil, 0), ("ftp://u%0Ax:p@h/a", nil, 0), ("ftp://u:p%0D%0Ax@h/a", nil, 0),
        ] as [(String, String?, UInt16)])
    func urls(row: (url: String, path: String?, port: UInt16)) throws {
        let request = URLRequest(url: try #require(URL(string: row.url)))
        guard let path = row.path else {
            #expect(throws: RequestTargetError.self) { try FTPTarget(request) }
            return
        }
        let target = try #require(try FTPTarget(request))
        #expect((target.path, target.port) == (path, row.port))
    }

    @Test("A request with another method isn't supported over FTP")
    func otherMethods() throws {
        var request = URLRequest(url: try #require(URL(string: "ftp://h/a")))
        request.httpMethod = "PUT"
        #expect(throws: RequestTargetError.self) { try FTPTarget(request) }
        #expect(try FTPTarget(URLRequest(url: try #require(URL(string: "https://h/a")))) == nil)
    }
}
