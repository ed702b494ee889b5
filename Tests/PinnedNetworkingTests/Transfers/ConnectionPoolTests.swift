import CertificateTrust
import PinctlHTTPMessages
import PinctlTLSTransport
import PinctlTestPKI
import Testing

@testable import PinnedNetworking

/// The pool by itself, with connections to a real server.
@Suite(.timeLimit(.minutes(10)))
@TransportActor
struct ConnectionPoolTests {
    private func key(_ host: String) throws -> ConnectionPool.Key {
        ConnectionPool.Key(
            origin: HTTPOrigin(scheme: .http, name: try ServerName(host), port: 80), proxy: nil, isTunneled: false)
    }

    /// Opens a connection, as a transfer does after a lease.
    private func open(_ key: ConnectionPool.Key, of pool: ConnectionPool, to server: LoopbackServer) async throws
        -> PooledConnection
    {
        guard case .open = try await pool.lease(key, matching: { { _ in true } }) else { throw URLError(.unknown) }
        let bare = try await Transport.shared.connect(to: ServerName(server.address), port: server.port)
        return PooledConnection(
            bare.cleartext(), key, SendPermit(ApprovalNumber(), number: 0), origin: nil, proxy: nil,
            proxyCredential: nil, isProxied: false, taskIdentifier: 1,
            generation: pool.currentGeneration)
    }

    @Test("An idle connection can be used until its time is over, and is then closed, also while others are idle")
    func idle() async throws {
        try await LoopbackServer(plain: .respond(.init(body: "hello"))).run { @TransportActor server in
            let limit = Duration.milliseconds(300)
            let pool = ConnectionPool(limit: 2, idleLimit: limit)
            let (first, second) = (try key("a.test"), try key("b.test"))
            let connection = try await open(first, of: pool, to: server)
            pool.keep(connection, for: first)
            #expect(pool.takeIdle(first) { _ in true } === connection)
            #expect(pool.takeIdle(second) { _ in true } == nil)
            let start = ContinuousClock.now
            pool.keep(connection, for: first)
            #expect(pool.hasIdle)
            let other = try await open(second, of: pool, to: server)
            try await Task.sleep(for: limit * 0.7)
            pool.keep(other, for: second)
            #expect(await server.ended(1).first?.failure == nil)
            #expect(ContinuousClock.now - start >= limit)
            guard case .open = try await pool.lease(first, matching: { { _ in true } }) else {
                Issue.record("a connection was reused after its time")
                return
            }
            #expect(await server.ended(2).allSatisfy { $0.failure == nil })
            #expect(!pool.hasIdle)
        }
    }

    @Test("A connection whose server doesn't read what is sent isn't kept")
    func unread() async throws {
        var settings = LoopbackServer.Settings()
        (settings.isPlain, settings.isNarrow) = (true, true)
        settings.script = .handle { $0.pause(.seconds(600)) }
        try await LoopbackServer(settings).run { @TransportActor server in
            let pool = ConnectionPool(limit: 2)
            let key = try key("a.test")
            let connection = try await open(key, of: pool, to: server)
            #expect(
                try connection.connection.sendNow([UInt8](repeating: 7, count: 1_000_000), connection.permit) != nil)
            pool.keep(connection, for: key)
            #expect(!pool.hasIdle)
            #expect(pool.takeIdle(key) { _ in true } == nil)
        }
    }

    @Test("A host in use keeps its limit of connections, however many other hosts are in use")
    func manyKeys() async throws {
        let pool = ConnectionPool(limit: 1)
        let keys = try (0..<300).map { try key("h\($0).test") }
        for key in keys {
            guard case .open = try await pool.lease(key, matching: { { _ in true } }) else { throw URLError(.unknown) }
        }
        for key in [keys[0], keys[299]] {
            let isPermitted = Collected<Void>()
            let next = Task { @TransportActor in
                _ = try await pool.lease(key, matching: { { _ in true } })
                isPermitted.append(())
            }
            try await Task.sleep(for: .milliseconds(50))
            #expect(isPermitted.values.isEmpty)
            pool.close(nil, for: key)
            try await next.value
            #expect(isPermitted.values.count == 1)
        }
    }
}
