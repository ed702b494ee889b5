import Testing

@testable import PinnedNetworking

/// Inputs and results of FoundationNetworking's tests, of RFC 2397 and of the cases between them.
@Suite struct DataURLTests {
    struct Row: CustomTestStringConvertible, Sendable {
        let url: String
        let type: String
        let charset: String?
        let body: [UInt8]

        var testDescription: String { url }

        init(_ url: String, _ type: String, _ charset: String?, _ body: String) {
            self.init(url, type, charset, Array(body.utf8))
        }

        init(_ url: String, _ type: String, _ charset: String?, _ body: [UInt8]) {
            (self.url, self.type, self.charset, self.body) = (url, type, charset, body)
        }
    }

    static let rows = [
        Row("data:,123", "text/plain", nil, "123"),
        Row("DATA:,A%20brief%20note", "text/plain", nil, "A brief note"),
        Row("data:,", "text/plain", nil, ""),
        Row("data:text/plain;charset=UTF-8;base64,aGVsbG8=", "text/plain", "utf-8", "hello"),
        Row("data:;charset=utf-8;base64,w7w=", "text/plain", "utf-8", "\u{FC}"),
        Row("data:;charset=utf-16le;base64,Pdho3A==", "text/plain", "utf-16le", [0x3D, 0xD8, 0x68, 0xDC]),
        Row("data:text/plain;charset=utf-8,%f0%9F%91%a8", "text/plain", "utf-8", [0xF0, 0x9F, 0x91, 0xA8]),
        Row("data:application/json;charset=iso-8859-1;key=value,,123", "application/json", "iso-8859-1", ",123"),
        Row("data:;charset=utf-8;charset=utf-16;image/png,abc", "text/plain", "utf-8", "abc"),
        Row("data:a/b;key=value;charset=macroman,blahblah", "a/b", "macroman", "blahblah"),
        Row("data:IMAGE/PNG;BASE64,AAEC/w==", "image/png", nil, [0, 1, 2, 0xFF]),
        Row("data:image/png;base64,AAEC%2Fw%3D%3D", "image/png", nil, [0, 1, 2, 0xFF]),
        Row("data:application_json,x", "text/plain", nil, "x"), Row("data:a/b/c,x", "text/plain", nil, "x"),
        Row("data:/b,x", "text/plain", nil, "x"), Row("data:text/html,a#b", "text/html", nil, "a"),
        Row("data:text/html,%00%ff", "text/html", nil, [0, 0xFF]),
    ]

    @Test("A data URL gives its media type and its bytes", arguments: rows)
    func contents(row: Row) throws {
        let url = try #require(URL(string: row.url))
        let parsed = try DataURL(url)
        let contents = try #require(parsed)
        #expect(contents.mimeType == row.type)
        #expect(contents.charset == row.charset)
        #expect(contents.bytes == row.body)
    }

    @Test(
        "A malformed data URL is an error, and another scheme isn't a data URL",
        arguments: [
            ("data:%2c123", .noComma), ("data://blah", .noComma), ("data:text/html", .noComma),
            ("data:;base64,a", .malformedBase64), ("data:;base64,aGVsbG8", .malformedBase64),
            ("data:;base64,aG%20VsbG8=", .malformedBase64),
        ] as [(String, DataURLError)])
    func malformed(url: String, error: DataURLError) throws {
        let url = try #require(URL(string: url))
        #expect(throws: error) { try DataURL(url) }
        let other = try #require(URL(string: "https://data/,"))
        #expect(try DataURL(other) == nil)
    }

    @Test("A data task, an async call, a download and a delegate receive a data URL without any connection")
    func session() async throws {
        let configuration = URLSessionConfiguration.default
        let proxy = ProxyConfiguration(httpCONNECTProxy: try ServerName("proxy.invalid"), port: 1)
        configuration.proxyConfigurations = [proxy]
        let witness = Witness()
        let session = URLSession(configuration: configuration, delegate: witness, delegateQueue: nil)
        let url = try #require(URL(string: "data:text/html;charset=utf-8;base64,aGVsbG8="))
        let (data, response) = try await session.data(from: url)
        #expect(String(decoding: data, as: UTF8.self) == "hello")
        #expect(response.mimeType == "text/html")
        #expect(response.expectedContentLength == 5)
        #expect(response.textEncodingName == "utf-8")
        #expect(!(response is HTTPURLResponse))
        let (file, _) = try await session.download(from: url)
        #expect(try String(contentsOf: file, encoding: .utf8) == "hello")
        try FileManager.default.removeItem(at: file)
        var bytes: [UInt8] = []
        for try await byte in try await session.bytes(from: url).0 { bytes.append(byte) }
        #expect(bytes == Array("hello".utf8))
        let task = session.dataTask(with: url)
        task.resume()
        try await witness.end()
        #expect(task.countOfBytesReceived == 5)
        #expect((task.error as? URLError) == nil)
        let malformed = try #require(URL(string: "data:%2c123"))
        let error = await #expect(throws: URLError.self) { try await session.data(from: malformed) }
        #expect(error?.code == .badURL)
    }
}
