import PinctlTestPKI
import Testing

/// Tests of what the loopback server can do to clients, with `openssl s_client` as the client.
@Suite("Loopback peers", .enabled(if: TestCommand.isPresent("openssl", "version"), "no openssl command in PATH"))
struct LoopbackPeerTests {
    let files: TestDirectory
    let root: TestCertificate
    let leaf: TestCertificate

    init() throws {
        files = try TestDirectory()
        root = try TestCertificate.root("Test Root")
        leaf = try root.leaf("api.example.test")
    }

    static let last = "GET /last HTTP/1.1\r\nConnection: close\r\n\r\n"

    func client(_ port: UInt16, _ options: String..., input: String = Self.last) throws -> String {
        let common = ["openssl", "s_client", "-quiet", "-connect", "127.0.0.1:\(port)"]
        return try TestCommand.run(common + options, input: input).text
    }

    @Test("The server requests a client's chain, verifies it and records it", arguments: ["-tls1_2", "-tls1_3"])
    func clientChain(version: String) async throws {
        let authority = try TestCertificate.root("Client Root")
        let intermediate = try authority.intermediate("Client CA")
        let alice = try intermediate.issue(.client("alice"))
        let unrelated = try TestCertificate.root("Unrelated").issue(.client("bob"))
        let identity = try files.add(alice.pemText + alice.key.privateKeyPEM)
        let rest = try files.add(intermediate.pemText)
        let other = try files.add(unrelated.pemText + unrelated.key.privateKeyPEM)
        let server = try LoopbackServer(chain: [leaf]) {
            $0.clientAuthentication = .init(issuers: [authority], roots: [authority], isRequired: true)
        }
        try await server.run { server in
            let said = try TestCommand.run(
                ["openssl", "s_client", version, "-connect", "127.0.0.1:\(server.port)"]).text
            #expect(
                said.replacing(" = ", with: "=").contains("Acceptable client certificate CA names\nCN=Client Root\n"),
                "\(said)")
            #expect(try client(server.port, version, "-cert", identity, "-cert_chain", rest).contains("hello"))
            _ = try client(server.port, version, "-cert", other)
            let records = await server.ended(3)
            #expect(records.map(\.clientChain) == [[], [alice.derBytes, intermediate.derBytes], []])
            #expect(records.map(\.handshakeCompleted) == [false, true, false])
        }
    }

    @Test(
        "Sessions are resumed or not, as configured, when the chain changes",
        arguments: [LoopbackServer.Resumption.tickets, .identifiers, .refused], ["-tls1_2", "-tls1_3"])
    func resumption(kind: LoopbackServer.Resumption, version: String) async throws {
        let session = try files.add("")
        let other = try root.leaf("other.example.test")
        let server = try LoopbackServer(chain: [leaf]) {
            $0.resumption = kind
            $0.laterChain = [other]
            $0.earlyDataLimit = 100
        }
        try await server.run { server in
            _ = try client(server.port, version, "-sess_out", session)
            let isResumed = kind != .refused
            let second = try client(server.port, version, "-sess_in", session)
            #expect(await server.ended(2).map(\.sessionResumed) == [false, isResumed])
            #expect(
                second.replacing(" = ", with: "=").contains("CN=other.example.test") == !isResumed, "\(second)")
        }
    }

    @Test("Bodies are read in every framing and answered in every framing")
    func messages() async throws {
        let chunks =
            "POST /1 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nT: t\r\n\r\n"
        let expecting = "POST /2 HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nf"
        let script = LoopbackServer.Script.answer { request in
            request.target == "/1" ? .chunked(["gh", "i"], trailers: ["U: u"]).after("103 Early Hints") : .init()
        }
        try await LoopbackServer(chain: [leaf], script).run { server in
            let said = try client(server.port, input: chunks + expecting + Self.last)
            let expected =
                "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "2\r\ngh\r\n1\r\ni\r\n0\r\nU: u\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"
            #expect(said.contains(expected), "\(said)")
            let requests = await server.ended()[0].requests
            #expect(requests.map(\.body) == [Array("abcde".utf8), Array("f".utf8), []])
            #expect(requests.map(\.connection) == [0, 0, 0])
        }
    }

    @Test(
        "A proxy can require authentication, and it opens a tunnel and counts the bytes in it",
        arguments: [false, true])
    func proxy(isAngry: Bool) async throws {
        try await LoopbackServer(chain: [leaf]).run { server in
            let script = LoopbackServer.Script.proxy(to: ["api.example.test:443": server.port]) { _ in
                isAngry ? .respond(.init("407 Proxy Authentication Required", closes: true)) : .serve
            }
            try await LoopbackServer(plain: script).run { proxy in
                let said = try TestCommand.run(
                    [
                        "openssl", "s_client", "-quiet", "-connect", "api.example.test:443", "-proxy",
                        "127.0.0.1:\(proxy.port)",
                    ], input: Self.last
                ).text
                let record = await proxy.ended()[0]
                #expect(record.requests.map(\.method) == ["CONNECT"])
                #expect(said.contains(isAngry ? "407 Proxy Authentication Required" : "hello"), "\(said)")
                #expect(record.tunnelled.toTarget > 0 && record.tunnelled.toClient > 500 || isAngry)
            }
        }
    }
}
