import CertificateTrust
import Glibc
import PinctlBasics
import PinctlHTTPMessages
import PinctlTLSTransport
import PinctlTestPKI
import Testing

/// Tests of the check on a kept connection that waits for its next request.
@Suite struct KeptConnectionTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let isPlain: Bool
        /// The server's action after its answer.
        let act: @Sendable (LoopbackServer.Connection) throws -> Void

        init(
            _ name: String, isPlain: Bool = false, _ act: @escaping @Sendable (LoopbackServer.Connection) throws -> Void
        ) {
            testDescription = name
            self.isPlain = isPlain
            self.act = act
        }
    }

    /// Returns the result of ``RequestConnection/idleState()`` when the server has acted and the event loop
    /// hasn't looked since.
    private func idleState(
        _ row: Row, then body: (RequestConnection, LoopbackServer) async throws -> Void = { _, _ in }
    ) async throws -> IdleState {
        let site = try TestSite()
        let (isAsked, isDone) = (Locked(false), Locked(false))
        let script = LoopbackServer.Script.handle { connection in
            _ = try connection.read()
            // This makes the client wait for the answer, so that it knows that nothing follows.
            connection.pause(.milliseconds(20))
            try connection.write([1])
            while !isAsked.withLock({ $0 }) { connection.pause(.milliseconds(1)) }
            try row.act(connection)
            isDone.withLock { $0 = true }
            while try connection.read() != nil {}
        }
        let server =
            try row.isPlain
            ? LoopbackServer(plain: script)
            : LoopbackServer(chain: site.chain, script) { $0.protocolVersions = .tls13 ... .tls13 }
        return try await server.run { server in
            let connection: RequestConnection
            if row.isPlain {
                let bare = try await Transport.shared.connect(
                    to: try ServerName(server.address), port: server.port, options: .patient)
                connection = bare.cleartext()
            } else {
                connection = try await site.connect(to: server)
            }
            try await connection.send([1])
            #expect(try await connection.receive() == [1])
            let found = await Task { @TransportActor in
                isAsked.withLock { $0 = true }
                // This blocks the loop's thread, which can't look at the socket meanwhile.
                while !isDone.withLock({ $0 }) { usleep(1000) }
                return connection.idleState()
            }.value
            try await body(connection, server)
            await connection.close()
            return found
        }
    }

    @Test(
        "A kept connection is checked on the socket, not by what the event loop has seen (DS1)",
        arguments: [
            Row("a byte") { try $0.write([7]) },
            Row("close_notify") { $0.closeNotify() },
            Row("the end of TCP") { $0.endWriting() },
            Row("part of a record's header") { try $0.writeBelow([23, 3, 3]) },
            Row("a record's header") { try $0.writeBelow([23, 3, 3, 0, 100]) },
            Row("part of a record") { try $0.writeBelow([23, 3, 3, 0, 100] + [UInt8](repeating: 7, count: 50)) },
            Row("a ticket and part of a record") {
                try $0.sendTicket()
                try $0.writeBelow([23, 3, 3])
            },
            Row("33 key updates") { connection in for _ in 0..<33 { try connection.updateKeys() } },
            Row("33 tickets") { connection in for _ in 0..<33 { try connection.sendTicket() } },
            Row("1,000 key updates") { connection in for _ in 0..<1_000 { try connection.updateKeys() } },
            Row("a byte in the clear", isPlain: true) { try $0.write([7]) },
            Row("the end of TCP in the clear", isPlain: true) { $0.endWriting() },
        ])
    func surplus(row: Row) async throws {
        #expect(try await idleState(row) != .quiet)
    }

    /// What a server sends before the first request.
    enum Early: CaseIterable, Sendable { case nothing, data, part, ticket, partOfTicket, end }

    @Test("DS1: bytes that a server sends before the first request aren't its answer", arguments: Early.allCases)
    func early(_ early: Early) async throws {
        let site = try TestSite()
        let (isDone, isAsked) = (Locked(false), Locked(false))
        let script = LoopbackServer.Script.handle { connection in
            var forge = try connection.forge()
            let ticket = RawTLS.message(4, [0, 0, 1, 0, 1, 2, 3, 4, 1, 7, 0, 1, 7, 0, 0])
            let bytes: [UInt8] =
                switch early {
                case .nothing, .end: []
                case .data, .part: try forge.record([65])
                case .ticket, .partOfTicket: try forge.record(ticket, type: 22)
                }
            let isWhole = early != .part && early != .partOfTicket
            try connection.writeBelow(isWhole ? bytes : Array(bytes.prefix(8)))
            if early == .end { connection.endWriting() }
            isDone.withLock { $0 = true }
            while !isAsked.withLock({ $0 }) { connection.pause(.milliseconds(1)) }
            if !isWhole { try connection.writeBelow(Array(bytes.dropFirst(8))) }
            try connection.writeBelow(try forge.record([66]))
            while try connection.read() != nil {}
        }
        let server = try LoopbackServer(chain: site.chain, script) {
            $0.protocolVersions = .tls13 ... .tls13
            $0.resumption = .none
        }
        try await server.run { server in
            let connection = try await site.connect(to: server)
            let state = await Task { @TransportActor in
                while !isDone.withLock({ $0 }) { usleep(1000) }
                return connection.idleState()
            }.value
            isAsked.withLock { $0 = true }
            switch early {
            case .nothing, .ticket:
                #expect(state == .quiet)
                #expect(try await connection.receive() == [66])
            case .partOfTicket:
                #expect(state == .part)
                #expect(try await connection.receive() == [66])
            case .part:
                #expect(state == .part)
                await expectFailure(\.isProtocolFailure) { _ = try await connection.receive() }
            case .data: #expect(state == .bytes)
            case .end: #expect(state == .ended)
            }
            await connection.close()
        }
    }

    /// The parts of a record that a server sends through a proxy with TLS, before and after the request.
    enum EarlyPart: CaseIterable, Sendable { case data, ticket }

    @Test(
        "DS1: Part of a record in a tunnel isn't the answer to a later request, whatever the proxy sends in between",
        arguments: EarlyPart.allCases)
    func earlyInTunnel(_ early: EarlyPart) async throws {
        let (site, house) = (try TestSite(), try TestSite("proxy.example.test"))
        let isAsked = Locked(false)
        let script = LoopbackServer.Script.handle { connection in
            var forge = try connection.forge()
            let ticket = RawTLS.message(4, [0, 0, 1, 0, 1, 2, 3, 4, 1, 7, 0, 1, 7, 0, 0])
            let bytes = early == .data ? try forge.record([65]) : try forge.record(ticket, type: 22)
            try connection.writeBelow(Array(bytes.prefix(8)))
            while !isAsked.withLock({ $0 }) { connection.pause(.milliseconds(1)) }
            try connection.writeBelow(Array(bytes.dropFirst(8)))
            try connection.writeBelow(try forge.record([66]))
            while try connection.read() != nil {}
        }
        let origin = try LoopbackServer(chain: site.chain, script) {
            $0.protocolVersions = .tls13 ... .tls13
            $0.resumption = .none
        }
        try await origin.run { origin in
            let script = LoopbackServer.Script.proxy(to: ["api.example.test:443": origin.port]) { _ in
                .tunnel(after: .established, withTickets: true)
            }
            try await LoopbackServer(chain: house.chain, script).run { proxy in
                let way = try await Transport.shared.connect(
                    to: try ServerName(proxy.address), port: proxy.port, options: .patient)
                let outer = try await way.secure(as: house.name, options: .patient)
                let path = try house.path(outer.presented)
                let bare = try await outer.acceptProxy(path)
                let head = try HTTPRequestHead(
                    method: "CONNECT", target: .authority,
                    origin: HTTPOrigin(scheme: .https, name: site.name, port: 443))
                _ = try await bare.requestTunnel(head, limit: .seconds(600))
                let inner = try await bare.secure(as: site.name, options: .patient)
                let innerPath = try site.path(inner.presented)
                let connection = try await inner.accept(innerPath)
                var state = IdleState.quiet
                while state == .quiet { state = await connection.idleState() }
                #expect(state == .part)
                isAsked.withLock { $0 = true }
                switch early {
                case .data: await expectFailure(\.isProtocolFailure) { _ = try await connection.receive() }
                case .ticket: #expect(try await connection.receive() == [66])
                }
                await connection.close()
            }
        }
    }

    @Test("A connection whose peer doesn't read isn't quiet", arguments: [true, false])
    func unread(isPlain: Bool) async throws {
        let site = try TestSite()
        let script = LoopbackServer.Script.handle { connection in
            try connection.write([1])
            connection.waitForInput()
            connection.pause(.seconds(600))
        }
        var settings = LoopbackServer.Settings()
        (settings.isPlain, settings.isNarrow, settings.script) = (isPlain, true, script)
        (settings.chain, settings.key) = (site.chain.map(\.derBytes), site.leaf.key)
        try await LoopbackServer(settings).run { server in
            let connection: RequestConnection
            if isPlain {
                let bare = try await Transport.shared.connect(
                    to: try ServerName(server.address), port: server.port, options: .patient)
                connection = bare.cleartext()
            } else {
                connection = try await site.connect(to: server)
            }
            #expect(try await connection.receive() == [1])
            #expect(await connection.hasSentAll)
            let permit = SendPermit(ApprovalNumber(), number: 0)
            #expect(try await connection.sendNow([UInt8](repeating: 7, count: 1_000_000), permit) != nil)
            #expect(await !connection.hasSentAll)
            #expect(await connection.idleState() == .busy)
            await connection.close()
        }
    }

    @Test(
        "A kept connection that received nothing, or only session tickets and key updates, can be reused",
        arguments: [
            Row("nothing") { _ in },
            Row("nothing in the clear", isPlain: true) { _ in },
            Row("a ticket") { try $0.sendTicket() },
            Row("30 key updates") { connection in for _ in 0..<30 { try connection.updateKeys() } },
            Row("a ticket, a key update and a ticket") {
                try $0.sendTicket()
                try $0.updateKeys()
                try $0.sendTicket()
            },
        ])
    func usable(row: Row) async throws {
        let found = try await idleState(row) { connection, server in
            try await connection.send([2])
            await connection.close()
            #expect(await server.ended()[0].applicationBytes == [1, 2])
        }
        #expect(found == .quiet)
    }
}
