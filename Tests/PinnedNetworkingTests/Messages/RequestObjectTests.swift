import PinnedNetworking
import Testing

@Suite("Requests as objects, cached responses and the cache")
struct RequestObjectTests {
    private let url = URL(string: "https://a.test/b?c=d") ?? URL(filePath: "/")

    private func value(_ object: NSURLRequest) -> URLRequest { object as URLRequest }

    @Test("A new object has the defaults of a request")
    func defaults() {
        let objects = [NSURLRequest(url: url), NSMutableURLRequest(url: url)]
        for object in objects {
            #expect(object.url == url)
            #expect(object.httpMethod == "GET")
            #expect(object.httpBody == nil && object.httpBodyStream == nil)
            #expect(object.allHTTPHeaderFields == nil)
            #expect(object.timeoutInterval == 60)
            #expect(object.cachePolicy == .useProtocolCachePolicy)
            #expect(value(object) == URLRequest(url: url))
        }
        let object = NSURLRequest(url: url, cachePolicy: .reloadIgnoringLocalCacheData, timeoutInterval: 3)
        #expect(object.cachePolicy == .reloadIgnoringLocalCacheData)
        #expect(
            value(object) == URLRequest(url: url, cachePolicy: .reloadIgnoringLocalCacheData, timeoutInterval: 3))
    }

    @Test("Every change of an object is in the request that it becomes, and in copies, which don't change")
    func changes() throws {
        let object = NSMutableURLRequest(url: url)
        object.httpMethod = "post"
        object.httpBody = Data([1, 2])
        object.timeoutInterval = 7
        object.cachePolicy = .returnCacheDataDontLoad
        object.allHTTPHeaderFields = ["X-A": "1"]
        object.addValue("2", forHTTPHeaderField: "x-a")
        object.setValue("3", forHTTPHeaderField: "X-B")
        let other = try #require(URL(string: "https://other.test/"))
        object.url = other
        object.mainDocumentURL = other
        object.httpShouldHandleCookies = false
        object.networkServiceType = .video
        object.allowsCellularAccess = false
        var expected = URLRequest(url: other, cachePolicy: .returnCacheDataDontLoad, timeoutInterval: 7)
        expected.mainDocumentURL = other
        expected.httpShouldHandleCookies = false
        expected.networkServiceType = .video
        expected.allowsCellularAccess = false
        expected.httpMethod = "POST"
        expected.httpBody = Data([1, 2])
        expected.allHTTPHeaderFields = ["X-A": "1"]
        expected.addValue("2", forHTTPHeaderField: "x-a")
        expected.setValue("3", forHTTPHeaderField: "X-B")
        let copy = try #require(object.copy() as? NSURLRequest)
        let mutable = try #require(object.mutableCopy() as? NSMutableURLRequest)
        object.httpBodyStream = InputStream(data: Data([3]))
        object.url = url
        for copy in [copy, mutable] {
            #expect(value(copy) == expected)
            #expect(copy.cachePolicy == .returnCacheDataDontLoad)
            #expect(copy.value(forHTTPHeaderField: "x-A") == "1,2")
            #expect(copy.allHTTPHeaderFields == expected.allHTTPHeaderFields)
            #expect(copy.httpBody == Data([1, 2]) && copy.httpMethod == "POST" && copy.url == other)
        }
        #expect(!(copy is NSMutableURLRequest))
        #expect((copy.copy() as? NSURLRequest) === copy)
        #expect(object.httpBody == nil && object.httpBodyStream != nil)
        mutable.setValue(nil, forHTTPHeaderField: "X-B")
        #expect(copy.value(forHTTPHeaderField: "X-B") == "3")
        #expect(mutable.value(forHTTPHeaderField: "X-B") == nil)
    }

    @Test("Requests and objects convert with as, also from Any")
    func conversions() {
        var request = URLRequest(url: url)
        request.httpMethod = "PUT"
        let object = request as NSURLRequest
        #expect(object.httpMethod == "PUT")
        #expect((object.mutableCopy() as? NSMutableURLRequest)?.httpMethod == "PUT")
        let some: Any = request
        #expect((some as? NSURLRequest)?.httpMethod == "PUT")
        let other: Any = object
        #expect(other as? URLRequest == request)
        #expect(value(NSURLRequest(request)) == request)
    }

    @Test("Objects are equal if their requests are, with the same hash")
    func equality() throws {
        let one = NSURLRequest(url: url)
        let same = NSMutableURLRequest(url: url)
        #expect(one == same)
        #expect(one.hashValue == same.hashValue)
        #expect(Set([one, same]).count == 1)
        for change: (NSMutableURLRequest) -> Void in [
            { $0.url = nil }, { $0.httpMethod = "HEAD" }, { $0.httpBody = Data() },
            { $0.setValue("1", forHTTPHeaderField: "A") }, { $0.httpBodyStream = InputStream(data: Data()) },
        ] {
            let changed = try #require(one.mutableCopy() as? NSMutableURLRequest)
            change(changed)
            #expect(one != changed)
        }
        #expect(!one.isEqual(url) && !one.isEqual(nil))
    }

    @Test("CS2: Descriptions and dumps of an object show no query, field or body")
    func descriptions() {
        let object = NSMutableURLRequest(url: url)
        object.setValue("hidden1", forHTTPHeaderField: "Authorization")
        object.httpBody = Data("hidden2".utf8)
        URLProtocol.setProperty("hidden3", forKey: "a", in: object)
        var text = "\(object) \(String(reflecting: object)) \(object as URLRequest)"
        dump(object, to: &text)
        dump(object as URLRequest, to: &text)
        #expect(text.contains("GET https://a.test/b"))
        #expect(!text.contains("hidden") && !text.contains("c=d"))
    }

    @Test("Cache policies have Apple's numbers")
    func cachePolicies() {
        let policies: [NSURLRequest.CachePolicy] = [
            .useProtocolCachePolicy, .reloadIgnoringLocalCacheData, .returnCacheDataElseLoad, .returnCacheDataDontLoad,
            .reloadIgnoringLocalAndRemoteCacheData, .reloadRevalidatingCacheData,
        ]
        #expect(policies.map(\.rawValue) == [0, 1, 2, 3, 4, 5])
        #expect(NSURLRequest.CachePolicy.reloadIgnoringCacheData == .reloadIgnoringLocalCacheData)
        #expect([URLCache.StoragePolicy.allowed, .allowedInMemoryOnly, .notAllowed].map(\.rawValue) == [0, 1, 2])
    }

    @Test("The default configuration has the shared cache, and an ephemeral one has its own")
    func defaultCaches() {
        #expect(URLSessionConfiguration.default.urlCache === URLCache.shared)
        let caches = [URLSessionConfiguration.ephemeral, .ephemeral].map(\.urlCache)
        #expect(caches[0] != nil && caches[0] !== caches[1] && caches[0] !== URLCache.shared)
        #expect(caches[0]?.diskCapacity == 0)
    }

    @Test("A cached response has what it was created with")
    func cachedResponse() {
        let response = URLResponse(url: url, mimeType: nil, expectedContentLength: 1, textEncodingName: nil)
        let plain = CachedURLResponse(response: response, data: Data([1]))
        #expect(plain.storagePolicy == .allowed && plain.userInfo == nil && plain.data == Data([1]))
        let other = CachedURLResponse(
            response: response, data: Data([1]), userInfo: ["a": 1], storagePolicy: .notAllowed)
        #expect(other.userInfo?["a"] as? Int == 1 && other.storagePolicy == .notAllowed)
        #expect(plain != other)
        #expect(plain == CachedURLResponse(response: response, data: Data([1])))
        #expect(plain != CachedURLResponse(response: response, data: Data([2])))
        let another = URLResponse(url: url, mimeType: "a/b", expectedContentLength: 1, textEncodingName: nil)
        #expect(plain != CachedURLResponse(response: another, data: Data([1])))
        #expect((plain.copy() as? CachedURLResponse) == plain)
    }
}
