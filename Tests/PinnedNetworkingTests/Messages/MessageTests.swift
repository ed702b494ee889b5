import PinnedNetworking
import Testing

@Suite struct MessageTests {
    @Test("Header fields of a request are found, set, added and removed without regard to case")
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

    @Test("Header fields that were set to an empty dictionary, or all removed, are an empty dictionary")
    func emptyRequestFields() throws {
        var request = URLRequest(url: try #require(URL(string: "https://a.test/")))
        request.allHTTPHeaderFields = [:]
        #expect(request.allHTTPHeaderFields == [:])
        request.allHTTPHeaderFields = nil
        #expect(request.allHTTPHeaderFields == nil)
        request.setValue("1", forHTTPHeaderField: "X-A")
        request.setValue(nil, forHTTPHeaderField: "X-A")
        #expect(request.allHTTPHeaderFields == [:])
        request.allHTTPHeaderFields = ["X-A": "1"]
        request.allHTTPHeaderFields = nil
        #expect(request.allHTTPHeaderFields == nil)
    }

    struct Change: Sendable, CustomTestStringConvertible {
        var name: String
        var isEqual: Bool
        var apply: @Sendable (inout URLRequest) -> Void
        var testDescription: String { name }
    }

    @Test(
        "Requests are equal if their properties have the same values, whether by default or set by the program",
        arguments: [
            Change(name: "no fields", isEqual: true) { $0.allHTTPHeaderFields = [:] },
            Change(name: "a field that is removed", isEqual: true) {
                $0.setValue("1", forHTTPHeaderField: "X-C")
                $0.setValue(nil, forHTTPHeaderField: "X-C")
            },
            Change(name: "GET", isEqual: true) { $0.httpMethod = "get" },
            Change(name: "60 seconds", isEqual: true) { $0.timeoutInterval = 60 },
            Change(name: "the policy of the protocol", isEqual: true) { $0.cachePolicy = .useProtocolCachePolicy },
            Change(name: "a property of a protocol class", isEqual: true) {
                let object = NSMutableURLRequest($0)
                URLProtocol.setProperty("1", forKey: "k", in: object)
                $0 = object as URLRequest
            },
            Change(name: "another URL", isEqual: false) { $0.url = URL(string: "https://b.test/") },
            Change(name: "another method", isEqual: false) { $0.httpMethod = "HEAD" },
            Change(name: "a field", isEqual: false) { $0.setValue("", forHTTPHeaderField: "X-C") },
            Change(name: "a body", isEqual: false) { $0.httpBody = Data([1]) },
            Change(name: "a stream", isEqual: false) { $0.httpBodyStream = InputStream(data: Data([1])) },
            Change(name: "5 seconds", isEqual: false) { $0.timeoutInterval = 5 },
            Change(name: "another policy", isEqual: false) { $0.cachePolicy = .returnCacheDataDontLoad },
            Change(name: "no cookies", isEqual: false) { $0.httpShouldHandleCookies = false },
            Change(name: "a document", isEqual: false) { $0.mainDocumentURL = URL(string: "https://b.test/") },
            Change(name: "the traffic of a call", isEqual: false) { $0.networkServiceType = .voip },
        ])
    func requestEquality(change: Change) throws {
        let request = URLRequest(url: try #require(URL(string: "https://a.test/")))
        var changed = request
        change.apply(&changed)
        #expect((request == changed) == change.isEqual)
        #expect((request as NSURLRequest == changed as NSURLRequest) == change.isEqual)
        if change.isEqual { #expect(Set([request, changed]).count == 1) }
    }

    @Test("Requests with the same header fields are equal in any order and case, and differ if one value differs")
    func requestFieldEquality() throws {
        let url = try #require(URL(string: "https://a.test/"))
        var one = URLRequest(url: url)
        one.setValue("1", forHTTPHeaderField: "X-A")
        one.setValue("2", forHTTPHeaderField: "X-B")
        var other = URLRequest(url: url)
        other.setValue("2", forHTTPHeaderField: "x-b")
        other.setValue("1", forHTTPHeaderField: "x-a")
        #expect(one == other)
        #expect(Set([one, other]).count == 1)
        other.setValue("3", forHTTPHeaderField: "X-A")
        #expect(one != other)
    }

    @Test("A response created by a program derives media type and length from its fields")
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
                "Content-Type": " Application/JSON ; x=y", "Content-Length": "12",
            ])
        for (lengths, expected) in [("12, 12", 12), ("12 ,12", 12), ("x", -1)] as [(String, Int64)] {
            let listed = try #require(
                HTTPURLResponse(
                    url: url, statusCode: 200, httpVersion: nil, headerFields: ["Content-Length": lengths]))
            #expect(listed.expectedContentLength == expected)
        }
        let bare = try #require(HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: nil))
        #expect(bare.mimeType == nil)
        #expect(bare.expectedContentLength == -1)
    }

    @Test(
        "The names of all header fields are spelled as in FoundationNetworking of Swift 6.3",
        arguments: [
            ("etag", "Etag"), ("ETag", "Etag"), ("content-type", "Content-Type"), ("CONTENT-MD5", "Content-Md5"),
            ("www-authenticate", "WWW-Authenticate"), ("WWW-AUTHENTICATE", "WWW-Authenticate"), ("p3p", "P3P"),
            ("x-foo-bar", "x-foo-bar"), ("X-Up", "X-Up"), ("a_b-c'd", "A_B-C'd"), ("set-cookie", "Set-Cookie"),
        ])
    func fieldNames(given: String, expected: String) throws {
        let url = try #require(URL(string: "https://a.test/"))
        let response = try #require(
            HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: [given: "1"]))
        #expect(response.allHeaderFields as? [String: String] == [expected: "1"])
        #expect(response.value(forHTTPHeaderField: given.uppercased()) == "1")
    }

    @Test("Responses are equal if the URL and everything that the server sent are")
    func equalResponses() throws {
        let url = try #require(URL(string: "https://a.test/"))
        func response(_ status: Int, _ value: String) -> HTTPURLResponse? {
            HTTPURLResponse(url: url, statusCode: status, httpVersion: nil, headerFields: ["X": value])
        }
        #expect(response(200, "1") == response(200, "1"))
        // Both exist at the same time, so that they differ as objects.
        #expect(Set([response(200, "1"), response(200, "1")]).count == 1)
        #expect(response(200, "1") != response(404, "1"))
        #expect(response(200, "1") != response(200, "2"))
        let plain = URLResponse(url: url, mimeType: nil, expectedContentLength: -1, textEncodingName: nil)
        let bare: URLResponse? = HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: nil)
        #expect(plain != bare)
        #expect(plain.copy() as? URLResponse === plain)
    }

    @Test("A URLResponse created by a program returns the values it was given")
    func handmade() throws {
        let url = try #require(URL(string: "https://a.test/b/name.ext?x=y"))
        let response = URLResponse(
            url: url, mimeType: "text/plain", expectedContentLength: 5, textEncodingName: "utf-8")
        #expect(response.url == url)
        #expect(response.mimeType == "text/plain")
        #expect(response.expectedContentLength == 5)
        #expect(response.textEncodingName == "utf-8")
        #expect(response.suggestedFilename == "name.ext")
    }

    @Test(
        "A suggested file name comes from Content-Disposition or else the path, and has no directory",
        arguments: [
            ("/name.ext", nil, "name.ext"), ("/a/name.ext?b=c", nil, "name.ext"), ("", nil, "Unknown"),
            ("/", nil, "Unknown"), ("/a%2Fb", nil, "a_b"), ("/a/%2e%2e", nil, "Unknown"),
            ("/a", "attachment; filename=\"fname.ext\"", "fname.ext"),
            ("/a", "inline; FileName=fname.ext; x=y", "fname.ext"),
            ("/a", "attachment; filename=\"a/b/name\"", "a_b_name"),
            ("/a", "attachment; filename=\"/etc/passwd\"", "etc_passwd"),
            ("/a", "attachment; filename=\"../x\"", ".._x"), ("/a", "attachment; filename=\"..\"", "a"),
            ("/a", "attachment; filename=\"\"", "a"), ("/a", "attachment", "a"),
            ("/a", "attachment; filename=\"x\u{1B}[y\"", "x[y"),
        ] as [(String, String?, String)])
    func suggestedFilename(path: String, disposition: String?, expected: String) throws {
        let url = try #require(URL(string: "https://a.test" + path))
        let fields = disposition.map { ["Content-Disposition": $0] }
        let response = try #require(
            HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: fields))
        #expect(response.suggestedFilename == expected)
    }

    @Test("The character set comes from Content-Type, and a status code has a description")
    func charset() throws {
        let url = try #require(URL(string: "https://a.test/"))
        let response = try #require(
            HTTPURLResponse(
                url: url, statusCode: 200, httpVersion: nil,
                headerFields: ["Content-Type": "Text/HTML; Charset=\"UTF-8\""]))
        #expect(response.mimeType == "text/html")
        #expect(response.textEncodingName == "utf-8")
        #expect(HTTPURLResponse.localizedString(forStatusCode: 200) == "no error")
        #expect(HTTPURLResponse.localizedString(forStatusCode: 404) == "not found")
        #expect(HTTPURLResponse.localizedString(forStatusCode: 299) == "success")
        #expect(HTTPURLResponse.localizedString(forStatusCode: 499) == "client error")
        #expect(HTTPURLResponse.localizedString(forStatusCode: 777) == "server error")
    }

    @Test(
        "Common methods are converted to capitals, others stay as they are, and nil is GET",
        arguments: [
            ("get", "GET"), ("Post", "POST"), ("delete", "DELETE"), ("patch", "patch"), ("M-SEARCH", "M-SEARCH"),
            (nil, "GET"),
        ] as [(String?, String)])
    func methods(given: String?, expected: String) throws {
        var request = URLRequest(url: try #require(URL(string: "https://a.test/")))
        request.httpMethod = given
        #expect(request.httpMethod == expected)
    }

    @Test("Descriptions and dumps of requests and responses contain no secrets (CS2)")
    func messageDescriptions() throws {
        let url = try #require(URL(string: "https://me:secret@a.test/b?key=secret"))
        var request = URLRequest(url: url)
        request.setValue("Basic secret", forHTTPHeaderField: "Authorization")
        request.httpBody = Data("secret".utf8)
        let response = try #require(
            HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: ["Set-Cookie": "secret"]))
        for message in [request, response] as [any CustomStringConvertible] {
            var dumped = ""
            dump(message, to: &dumped)
            #expect(!"\(message) \(String(reflecting: message)) \(dumped)".contains("secret"))
        }
        #expect(request.description == "GET https://a.test/b")
        #expect(response.description == "200 https://a.test/b")
    }
}
