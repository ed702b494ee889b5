import CertificateTrust
import FoundationEssentials
import Glibc
import OpenSSLBridge
import PinctlTLSTransport
import PinctlTestPKI
import Synchronization
import Testing

@Suite struct ResourceTests {
    @Test("All of 200 parallel dials succeed")
    func parallel() async throws {
        let site = try TestSite()
        try await LoopbackServer(chain: site.chain).run { server in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<200 {
                    group.addTask {
                        let connection = try await site.connect(to: server)
                        try await connection.send(request)
                        let response = try await connection.receiveAll()
                        #expect(response.suffix(5) == Array("hello".utf8)[...])
                        await connection.close()
                    }
                }
                try await group.waitForAll()
            }
            let records = await server.ended(200)
            #expect(records.count == 200 && records.allSatisfy { $0.applicationBytes == request })
        }
    }

    @Test("TC18: the number of descriptors is the same again after dials, failures and cancellations")
    func noLeaks() async {
        // This runs in a separate process, because other tests have descriptors too.
        await #expect(processExitsWith: .success) {
            let site = try TestSite()
            let refused = try DeadPort(.refusing)
            // The first connection starts the event loop, which stays.
            try await LoopbackServer(chain: site.chain).run { server in
                await (try site.connect(to: server)).close()
            }
            let base = try await descriptors { _ in true }

            try await LoopbackServer(chain: site.chain).run { server in
                await withTaskGroup { group in
                    for index in 0..<400 {
                        group.addTask { await use(server, refused, site, index) }
                    }
                }
                #expect(!server.records.isEmpty)
            }
            let after = try await descriptors { $0 == base }
            #expect(after == base)
        }
    }

    @Test("TC15: a flood of HelloRequests doesn't delay other connections, and its handshake fails")
    func flood() async throws {
        let site = try TestSite()
        let flood = Flood()
        try await LoopbackServer(plain: .handle(flood.pour)).run { flooding in
            let dial = Task { _ = try await Transport.shared.dial(try site.endpoint(on: flooding), options: .patient) }
            try await LoopbackServer(chain: site.chain).run { server in
                await (try site.connect(to: server)).close()
            }
            let isHandshakeFailure: (TransportError) -> Bool = { if case .handshakeFailed = $0 { true } else { false } }
            await expectFailure(isHandshakeFailure) { try await dial.value }
            #expect(flood.poured.load(ordering: .relaxed) < Flood.limit)
        }
    }

    @Test("A process can exit while connections are open and handshakes are pending")
    func exit() async {
        await #expect(processExitsWith: .success) {
            // This comes before the test PKI starts OpenSSL in its own way.
            try #require(OpenSSLLibrary.isStarted)
            let site = try TestSite()
            let server = try LoopbackServer(chain: site.chain, .stall)
            let open = try LoopbackServer(chain: site.chain, .handle { _ = try $0.read() })
            let connection = try await site.connect(to: open)
            for _ in 0..<8 { Task { _ = try await site.connect(to: server) } }
            while server.records.isEmpty { await Task.yield() }
            #expect(connection.path != nil)
            Glibc.exit(0)
        }
    }
}

/// A flood of HelloRequests, which a client skips without an answer (RFC 5246, section 7.4.1.1), until the client
/// disconnects.
private final class Flood: Sendable {
    /// The number of bytes after which the flood ends, so that a client without a limit finishes too.
    static let limit = 8 << 30

    let poured = Atomic(0)

    @Sendable func pour(_ connection: LoopbackServer.Connection) throws {
        let record = [22, 3, 3, 0x40, 0] + [UInt8](repeating: 0, count: 0x4000)
        while poured.load(ordering: .relaxed) < Self.limit {
            try connection.write(record)
            poured.add(record.count, ordering: .relaxed)
        }
    }
}

/// Uses a connection in one of the possible ways, some of which end it early.
private func use(_ server: LoopbackServer, _ refused: DeadPort, _ site: TestSite, _ index: Int) async {
    let task = Task {
        switch index % 5 {
        case 0:
            let connection = try await site.connect(to: server)
            try await connection.send(request)
            _ = try await connection.receiveAll()
        case 1: _ = try await Transport.shared.dial(try site.endpoint(on: server), options: .patient)
        case 2: await (try await Transport.shared.dial(try site.endpoint(on: server), options: .patient)).refuse()
        case 3: _ = try await Transport.shared.dial(Endpoint(name: try ServerName("127.0.0.1"), port: refused.port))
        default: _ = try await Transport.shared.dial(Endpoint(name: try ServerName("localhost"), port: refused.port))
        }
    }
    if index % 2 == 0 {
        try? await Task.sleep(for: .microseconds(Int.random(in: 0..<40_000)))
        task.cancel()
    }
    _ = await task.result
}

/// Returns the number of this process's descriptors once it is as expected, or after a minute.
private func descriptors(_ isExpected: (Int) -> Bool) async throws -> Int {
    var count = 0
    for _ in 0..<1_200 {
        try await Task.sleep(for: .milliseconds(50))
        count = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
        if isExpected(count) { break }
    }
    return count
}
