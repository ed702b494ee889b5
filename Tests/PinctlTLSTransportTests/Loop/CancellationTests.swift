import CertificateTrust
import Glibc
import PinctlTLSTransport
import PinctlTestPKI
import Synchronization
import Testing

@Suite struct CancellationTests {
    /// Runs `body` in a task, cancels it once `isReached`, and expects it to throw `.cancelled`.
    private func cancel(
        once isReached: () throws -> Bool, _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        let hasEnded = Flag()
        let task = Task {
            defer { hasEnded.set() }
            try await body()
        }
        while !(try isReached()), !hasEnded.isSet { try await Task.sleep(for: .milliseconds(2)) }
        #expect(!hasEnded.isSet)
        task.cancel()
        await expectFailure(\.isCancelled) { try await task.value }
    }

    @Test("A dial in a cancelled task does nothing")
    func cancelledBefore() async throws {
        let site = try TestSite()
        try await LoopbackServer(chain: site.chain).run { server in
            let task = Task {
                while !Task.isCancelled { await Task.yield() }
                _ = try await Transport.shared.dial(try site.endpoint(on: server), options: .patient)
            }
            task.cancel()
            await expectFailure(\.isCancelled) { try await task.value }
            try expectNoSockets(to: server.port)
        }
    }

    @Test("A send in a cancelled task sends nothing")
    func sendCancelledBefore() async throws {
        let site = try TestSite()
        try await LoopbackServer(chain: site.chain).run { server in
            let connection = try await site.connect(to: server)
            let task = Task {
                while !Task.isCancelled { await Task.yield() }
                try await connection.send(request)
            }
            task.cancel()
            await expectFailure(\.isCancelled) { try await task.value }
            #expect(await server.ended()[0].applicationBytes.isEmpty)
        }
    }

    @Test("A dial can be cancelled while it connects")
    func connecting() async throws {
        let dead = try DeadPort(.silent)
        let endpoint = Endpoint(name: try ServerName("127.0.0.1"), port: dead.port)
        let before = try openSockets(to: dead.port)
        let hasStarted = { try openSockets(to: dead.port) > before }
        try await cancel(once: hasStarted) { _ = try await Transport.shared.dial(endpoint, options: .patient) }
        #expect(try openSockets(to: dead.port) == before)
    }

    @Test("A dial can be cancelled while the server is silent in the handshake")
    func handshaking() async throws {
        let site = try TestSite()
        try await LoopbackServer(chain: site.chain, .stall).run { server in
            try await cancel(once: { !server.records.isEmpty }) { _ = try await site.connect(to: server) }
            try expectNoSockets(to: server.port)
        }
    }

    @Test("An accept can be cancelled while it waits for the rest of the handshake")
    func accepting() async throws {
        // Ed25519 signatures have a fixed length. In TLS 1.2 the server finishes last, so a relay that passes only the
        // bytes from before the decision withholds the rest of the handshake.
        let site = try TestSite(key: try TestKey(.ed25519))
        let server = try LoopbackServer(chain: site.chain) { $0.protocolVersions = .tls12 ... .tls12 }
        try await server.run { server in
            let asked = try await LoopbackRelay(to: server).run { relay in
                let endpoint = Endpoint(
                    name: try site.name, port: 443, route: Route(host: try ServerName(relay.address), port: relay.port))
                await (try await Transport.shared.dial(endpoint, options: .patient)).refuse()
                return relay.passedCount
            }
            try await LoopbackRelay(to: server, passing: asked).run { relay in
                let endpoint = Endpoint(
                    name: try site.name, port: 443, route: Route(host: try ServerName(relay.address), port: relay.port))
                try await cancel(once: { server.records.last?.handshakeCompleted == true }) {
                    let pending = try await Transport.shared.dial(endpoint, options: .patient)
                    let path = try site.path(pending.presented)
                    _ = try await pending.accept(path)
                }
                try expectNoSockets(to: relay.port)
            }
        }
    }

    @Test("Cancelling a receive that waits for a response closes the connection")
    func receiving() async throws {
        let site = try TestSite()
        let neverAnswers = LoopbackServer.Script.handle { while try $0.read() != nil {} }
        try await LoopbackServer(chain: site.chain, neverAnswers).run { server in
            let connection = try await site.connect(to: server)
            try await connection.send(request)
            try await cancel(once: { !server.applicationBytes.isEmpty }) { _ = try await connection.receive() }
            await expectFailure(\.isCancelled) { try await connection.send(request) }
            try expectNoSockets(to: server.port)
            #expect(await server.ended()[0].applicationBytes == request)
        }
    }

    @Test("A send can be cancelled while the server accepts no more bytes")
    func sending() async throws {
        let site = try TestSite()
        let isOver = Flag()
        let neverReads = LoopbackServer.Script.handle { _ in while !isOver.isSet { usleep(1000) } }
        try await LoopbackServer(chain: site.chain, neverReads).run { server in
            defer { isOver.set() }
            let connection = try await site.connect(to: server)
            let task = Task { try await connection.send([UInt8](repeating: 0, count: 64 << 20)) }
            try await Task.sleep(for: .milliseconds(50))
            task.cancel()
            await expectFailure(\.isCancelled) { try await task.value }
            try expectNoSockets(to: server.port)
        }
    }

    @Test("A cancellation that comes too late for a call leaves the connection usable")
    func late() async throws {
        let site = try TestSite()
        let echo = LoopbackServer.Script.handle { while let bytes = try $0.read() { try $0.write(bytes) } }
        try await LoopbackServer(chain: site.chain, echo).run { server in
            var connection = try await site.connect(to: server)
            for round in 0..<200 {
                let task = Task { [connection] in try await connection.send(request) }
                for _ in 0..<round % 20 { await Task.yield() }
                task.cancel()
                switch await task.result {
                case .success: #expect(try await connection.receive() == request)
                case .failure: connection = try await site.connect(to: server)
                }
            }
        }
    }
}

final class Flag: Sendable {
    private let value = Atomic(false)
    var isSet: Bool { value.load(ordering: .relaxed) }
    func set() { value.store(true, ordering: .relaxed) }
}
