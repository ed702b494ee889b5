import PinnedNetworking
import Testing

@Suite struct MessageTests {
    @Test("Header fields of a request are found, set, added and removed whatever the case of their names")
    func requestFields() throws {
        var request = URLRequest(url: try #require(URL(string: "https://a.test/")))
        #expect(request.httpMethod == "GET")
        #expect(request.timeoutInterval == 60)
        #expect(request.allHTTPHeaderFields == nil)
        request.setValue("1", forHTTPHeaderField: "X-A")
        request.addValue("2", forHTTPHeaderField: "x-a")
        request.addValue("3", forHTTPHeaderField: "X-B")
        #expect(request.value(forHTTPHeaderField: "X-a") == "1,2")
        #expect(request.allHTTPHeaderFields == ["x-a": "1,2", "X-B": "3"])
        request.setValue(nil, forHTTPHeaderField: "X-A")
        #expect(request.allHTTPHeaderFields == ["X-B": "3"])
        request.allHTTPHeaderFields = ["Y": "1", "y": "2"]
        #expect(request.allHTTPHeaderFields == ["y": "2"])
    }

    @Test("A response made by hand reads its media type and length, or none")
    func response() throws {
        let url = try #require(URL(string: "https://a.test/"))
        let response = try #require(
            HTTPURLResponse(
                url: url, statusCode: 404, httpVersion: "HTTP/1.1",
                headerFields: ["content-type": " Application/JSON ; x=y", "Content-Length": "12"]))
        #expect(response.mimeType == "application/json")
        #expect(response.expectedContentLength == 12)
        #expect(response.value(forHTTPHeaderField: "Content-Type") == " Application/JSON ; x=y")
        #expect(
            response.allHeaderFields as? [String: String] == [
                "content-type": " Application/JSON ; x=y", "Content-Length": "12",
            ])
        let bare = try #require(HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: nil))
        #expect(bare.mimeType == nil)
        #expect(bare.expectedContentLength == -1)
    }

    @Test("A request keeps its header, query and user out of descriptions and dumps (CS2)")
    func requestDescription() throws {
        var request = URLRequest(url: try #require(URL(string: "https://me:secret@a.test/b?key=secret")))
        request.setValue("Basic secret", forHTTPHeaderField: "Authorization")
        var dumped = ""
        dump(request, to: &dumped)
        #expect(!"\(request) \(String(reflecting: request)) \(dumped)".contains("secret"))
        #expect(request.description == "GET https://a.test/b")
    }
}
