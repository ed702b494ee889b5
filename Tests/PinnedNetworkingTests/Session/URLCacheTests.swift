import PinctlTestPKI
import PinnedNetworking
import Testing

@Suite struct URLCacheTests {
    private let cache = URLCache(memoryCapacity: 4_000, diskCapacity: 2, diskPath: "/nonexistent")

    private func request(_ text: String, method: String = "GET") throws -> URLRequest {
        var request = URLRequest(url: try #require(URL(string: text)))
        request.httpMethod = method
        return request
    }

    private func response(_ body: Data, policy: URLCache.StoragePolicy = .allowed) throws -> CachedURLResponse {
        let url = try #require(URL(string: "https://a.test/"))
        let head = URLResponse(url: url, mimeType: nil, expectedContentLength: body.count, textEncodingName: nil)
        return CachedURLResponse(response: head, data: body, storagePolicy: policy)
    }

    @Test("A cache returns what the program stored for the same URL and method, and nothing for others")
    func lookup() throws {
        var stored = try request("https://a.test/x?y#z")
        cache.storeCachedResponse(try response(Data([1])), for: stored)
        stored.setValue("1", forHTTPHeaderField: "X-A")
        #expect(cache.cachedResponse(for: stored)?.data == Data([1]))
        #expect(cache.cachedResponse(for: try request("https://a.test/x?y"))?.data == Data([1]))
        for other in ["https://a.test/x", "https://a.test/x?Y", "http://a.test/x?y", "https://b.test/x?y"] {
            #expect(cache.cachedResponse(for: try request(other)) == nil)
        }
        #expect(cache.cachedResponse(for: try request("https://a.test/x?y", method: "POST")) == nil)
        cache.storeCachedResponse(try response(Data([2])), for: stored)
        #expect(cache.cachedResponse(for: stored)?.data == Data([2]))
        #expect(cache.currentMemoryUsage == 513 && cache.currentDiskUsage == 0)
    }

    @Test("A task stands for its current request")
    func tasks() async throws {
        let stored = try request("https://a.test/")
        let task = URLSession(configuration: .default).dataTask(with: stored)
        func found() async -> Data? {
            await withCheckedContinuation { continuation in
                cache.getCachedResponse(for: task) { continuation.resume(returning: $0?.data) }
            }
        }
        #expect(await found() == nil)
        cache.storeCachedResponse(try response(Data([1])), for: task)
        #expect(await found() == Data([1]))
        #expect(cache.cachedResponse(for: stored)?.data == Data([1]))
        cache.removeCachedResponse(for: task)
        #expect(await found() == nil)
    }

    @Test("The responses that were stored first make room for others")
    func capacity() throws {
        let requests = try (1...4).map { try request("https://a.test/\($0)") }
        for request in requests.prefix(3) { cache.storeCachedResponse(try response(Data(count: 700)), for: request) }
        // The first becomes the last one stored.
        cache.storeCachedResponse(try response(Data(count: 700)), for: requests[0])
        cache.storeCachedResponse(try response(Data(count: 700)), for: requests[3])
        #expect(requests.map { cache.cachedResponse(for: $0) != nil } == [true, false, true, true])
        #expect(cache.currentMemoryUsage == 3 * 1_212)
        cache.memoryCapacity = 1_300
        #expect(requests.map { cache.cachedResponse(for: $0) != nil } == [false, false, false, true])
        cache.memoryCapacity = -1
        #expect(cache.currentMemoryUsage == 0)
        #expect(cache.memoryCapacity == -1 && cache.diskCapacity == 2)
    }

    @Test("A response that is larger than the capacity, or must not be stored, leaves the cache as it is")
    func refused() throws {
        let stored = try request("https://a.test/")
        cache.storeCachedResponse(try response(Data(count: 4_000 - 511)), for: stored)
        cache.storeCachedResponse(try response(Data([1]), policy: .notAllowed), for: stored)
        #expect(cache.cachedResponse(for: stored) == nil)
        cache.storeCachedResponse(try response(Data(count: 4_000 - 512)), for: stored)
        #expect(cache.cachedResponse(for: stored) != nil)
        cache.storeCachedResponse(try response(Data(), policy: .allowedInMemoryOnly), for: stored)
        #expect(cache.cachedResponse(for: stored)?.data == Data())
    }

    @Test("Responses are removed one by one, since a date, or all")
    func removal() throws {
        let requests = try (1...3).map { try request("https://a.test/\($0)") }
        for request in requests { cache.storeCachedResponse(try response(Data()), for: request) }
        cache.removeCachedResponse(for: requests[1])
        #expect(requests.map { cache.cachedResponse(for: $0) != nil } == [true, false, true])
        cache.removeCachedResponses(since: Date().addingTimeInterval(3_600))
        #expect(requests.map { cache.cachedResponse(for: $0) != nil } == [true, false, true])
        cache.removeCachedResponses(since: Date().addingTimeInterval(-3_600))
        #expect(requests.allSatisfy { cache.cachedResponse(for: $0) == nil })
        cache.storeCachedResponse(try response(Data()), for: requests[0])
        cache.removeAllCachedResponses()
        #expect(cache.cachedResponse(for: requests[0]) == nil && cache.currentMemoryUsage == 0)
    }

    struct Policies: Sendable {
        var own: URLRequest.CachePolicy
        var ofSession = URLRequest.CachePolicy.useProtocolCachePolicy
        var isStored: Bool
    }

    @Test(
        "A stored response answers only requests whose policy asks for it, and a session stores none",
        arguments: [
            Policies(own: .returnCacheDataElseLoad, isStored: true),
            Policies(own: .returnCacheDataDontLoad, isStored: true),
            Policies(own: .useProtocolCachePolicy, ofSession: .returnCacheDataElseLoad, isStored: true),
            Policies(own: .useProtocolCachePolicy, ofSession: .returnCacheDataDontLoad, isStored: true),
            Policies(own: .useProtocolCachePolicy, isStored: false),
            Policies(own: .reloadIgnoringLocalCacheData, ofSession: .returnCacheDataElseLoad, isStored: false),
            Policies(own: .reloadRevalidatingCacheData, ofSession: .returnCacheDataDontLoad, isStored: false),
        ])
    func answers(row: Policies) async throws {
        let site = try TestSite.shared.get()
        try await LoopbackServer(chain: site.chain, .respond(.init(body: "sent"))).run { server in
            let session = try site.session(server) {
                $0.requestCachePolicy = row.ofSession
                $0.urlCache = cache
            }
            var request = try request("https://pinned.test/x")
            let url = try #require(request.url)
            let head = HTTPURLResponse(url: url, statusCode: 203, httpVersion: nil, headerFields: ["X-A": "1"])
            let stored = CachedURLResponse(response: try #require(head), data: Data("stored".utf8))
            cache.storeCachedResponse(stored, for: request)
            request.cachePolicy = row.own
            let (body, response) = try await session.data(for: request)
            #expect(String(decoding: body, as: UTF8.self) == (row.isStored ? "stored" : "sent"))
            #expect((response as? HTTPURLResponse)?.statusCode == (row.isStored ? 203 : 200))
            #expect(server.records.isEmpty == row.isStored)
            let (file, _) = try await session.download(for: request)
            #expect(try String(contentsOf: file, encoding: .utf8) == (row.isStored ? "stored" : "sent"))
            #expect(cache.cachedResponse(for: request) === stored)
            #expect(cache.currentMemoryUsage == 518)
        }
    }
}
