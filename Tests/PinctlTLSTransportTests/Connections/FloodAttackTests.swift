import CertificateTrust
import Glibc
import PinctlBasics
import PinctlHTTPMessages
import PinctlTLSTransport
import PinctlTestPKI
import Testing

/// Tests of TC15: servers that send forever without delivering data.
@Suite struct FloodAttackTests {
    enum Kind: Sendable, CaseIterable {
        case keyUpdates, helloRequests

        var version: LoopbackServer.TLSVersion { self == .keyUpdates ? .tls13 : .tls12 }

        func pour(_ connection: LoopbackServer.Connection) throws {
            for _ in 0..<200_000 {
                switch self {
                case .keyUpdates: try connection.updateKeys()
                case .helloRequests: try connection.requestRenegotiation()
                }
            }
            while try connection.read() != nil {}
        }
    }

    // Fails without the limit on bytes that yield no plaintext.
    @Test("TC15: a flood of key updates or renegotiation requests ends the connection", arguments: Kind.allCases)
    func flood(kind: Kind) async throws {
        let site = try TestSite()
        let server = try LoopbackServer(chain: site.chain, .handle { try kind.pour($0) }) {
            $0.protocolVersions = kind.version...kind.version
        }
        try await server.run { server in
            let connection = try await site.connect(to: server)
            await expectFailure(\.isProtocolFailure) { _ = try await connection.receive() }
            try expectNoSockets(to: server.port)
        }
    }

    enum Message: Sendable, CaseIterable {
        case keyUpdate, ticket, helloRequest

        var version: LoopbackServer.TLSVersion { self == .helloRequest ? .tls12 : .tls13 }

        func send(_ connection: LoopbackServer.Connection) throws {
            switch self {
            case .keyUpdate: try connection.updateKeys()
            case .ticket: try connection.sendTicket()
            case .helloRequest: try connection.requestRenegotiation()
            }
        }
    }

    // Far below the limit on bytes without plaintext, which would end only the longer floods.
    @Test(
        "TC15: a connection has at most 1,000 messages without data, all at once or between the data",
        arguments: Message.allCases, [(950, true), (1_010, false)])
    func messages(_ message: Message, _ limit: (count: Int, isAllowed: Bool)) async throws {
        for isMixed in [false, true] {
            let site = try TestSite()
            let script = LoopbackServer.Script.handle { connection in
                for number in 0..<limit.count {
                    try message.send(connection)
                    if isMixed { try connection.write([UInt8(number % 100)]) }
                }
                try connection.write([200])
                while try connection.read() != nil {}
            }
            let server = try LoopbackServer(chain: site.chain, script) {
                $0.protocolVersions = message.version...message.version
            }
            try await server.run { server in
                let connection = try await site.connect(to: server)
                func receiveAll() async throws(TransportError) {
                    while try await connection.receive()?.last != 200 {}
                }
                if limit.isAllowed {
                    try await receiveAll()
                    await connection.close()
                } else {
                    await expectFailure(\.isProtocolFailure) { try await receiveAll() }
                    try expectNoSockets(to: server.port)
                }
            }
        }
    }

    @Test(
        "TC15: messages without data take turns with others, even if they arrive at once", arguments: Message.allCases)
    func turns(_ message: Message) async throws {
        let site = try TestSite()
        let isDone = Locked(false)
        let script = LoopbackServer.Script.handle { connection in
            for _ in 0..<900 { try message.send(connection) }
            try connection.write([1])
            isDone.withLock { $0 = true }
            while try connection.read() != nil {}
        }
        let server = try LoopbackServer(chain: site.chain, script) {
            $0.protocolVersions = message.version...message.version
        }
        try await server.run { server in
            let connection = try await site.connect(to: server)
            let isWhole = try await Task { @TransportActor in
                while !isDone.withLock({ $0 }) { usleep(1000) }
                return try connection.receiveNow() != nil
            }.value
            #expect(!isWhole)
            #expect(try await connection.receive() == [1])
            await connection.close()
        }
    }

    @Test(
        "TC15: a flood from an https proxy during the tunnel's handshake ends the connection", arguments: Kind.allCases)
    func flood(byProxy kind: Kind) async throws {
        let (site, house) = (try TestSite(), try TestSite("proxy.example.test"))
        let script = LoopbackServer.Script.proxy(to: [:]) { _ in
            .handle { connection in
                try connection.write(LoopbackServer.Response.established)
                try kind.pour(connection)
            }
        }
        let server = try LoopbackServer(chain: house.chain, script) {
            $0.protocolVersions = kind.version...kind.version
        }
        try await server.run { proxy in
            let request = try HTTPRequestHead(
                method: "CONNECT", target: .authority, origin: HTTPOrigin(scheme: .https, name: site.name, port: 443))
            await expectFailure(\.isHandshakeFailed) {
                let bare = try await Transport.shared.connect(
                    to: try ServerName(proxy.address), port: proxy.port, options: .patient)
                let pending = try await bare.secure(as: house.name, options: .patient)
                let path = try house.path(pending.presented)
                let way = try await pending.acceptProxy(path)
                _ = try await way.requestTunnel(request, limit: .seconds(600))
                _ = try await way.secure(as: site.name, options: .with { $0.handshakeTimeout = .seconds(30) })
            }
            try expectNoSockets(to: proxy.port)
        }
    }
}
