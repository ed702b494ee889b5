import PinctlTestPKI
import PinnedNetworking
import Testing

/// Processes without a free descriptor: work that needs one fails with an error, and other work succeeds.
@Suite(.timeLimit(.minutes(10)))
struct DescriptorShortageTests {
    @Test("Without descriptors a new connection fails, and a reused one carries an upload that waits for a 100")
    func running() async {
        await #expect(processExitsWith: .success) {
            let site = try TestSite.shared.get()
            let server = try LoopbackServer(chain: site.chain) { $0.expectation = .ignored }
            try await server.run { server in
                let session = try site.session(server)
                #expect(try await session.get().body == "hello")
                let shortage = try DescriptorShortage()
                var request = URLRequest(url: try #require(URL(string: "https://pinned.test/")))
                request.httpMethod = "POST"
                let (body, _) = try await session.upload(for: request, from: Data(repeating: 1, count: 2_000_000))
                #expect(String(decoding: body, as: UTF8.self) == "hello")
                let error = try await session.failure("https://start.test/")
                #expect(error.code == .cannotConnectToHost)
                #expect(error.localizedDescription.contains("Too many open files"))
                shortage.end()
                #expect(try await session.get("https://start.test/").body == "hello")
                await session.flush()
                #expect(server.records.map(\.requests.count) == [2, 1])
            }
        }
    }

    @Test("Without descriptors for the event loop a request fails, and the next one succeeds once there are some")
    func starting() async {
        await #expect(processExitsWith: .success) {
            let site = try TestSite.shared.get()
            try await LoopbackServer(chain: site.chain).run { server in
                let session = try site.session(server)
                let shortage = try DescriptorShortage()
                let error = try await session.failure()
                #expect(error.code == .cannotConnectToHost)
                #expect(error.localizedDescription.contains("Too many open files"))
                shortage.end()
                #expect(try await session.get().body == "hello")
            }
        }
    }
}
