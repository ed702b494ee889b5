import PinctlBasics
import PinctlTestPKI
import PinnedNetworking
import Testing

/// Provides streams with an `async` method.
/// Bodies from files and streams.
@Suite(.timeLimit(.minutes(10)))
struct UploadTests {
    private let site: TestSite
    private let directory: TestDirectory

    init() throws {
        site = try TestSite.shared.get()
        directory = try TestDirectory()
    }

    /// Answers with the size and the last byte of the body. `/login` requires a login, and `/on` redirects.
    private static let script = LoopbackServer.Script.answer { request in
        switch request.target {
        case "/login" where request.values(of: "Authorization").isEmpty:
            .init("401 Unauthorized", fields: ["WWW-Authenticate: Basic realm=\"r\""])
        case "/on": .init("307 Temporary Redirect", fields: ["Location: /there"])
        case "/see": .init("303 See Other", fields: ["Location: /there"])
        case "/away": .init("307 Temporary Redirect", fields: ["Location: https://start.test/"])
        default:
            .init(
                body: "\(request.method) \(request.body.count) \(request.body.last ?? 0) "
                    + "\(request.values(of: "Transfer-Encoding").first ?? "whole")")
        }
    }

    private static func request(_ path: String) throws -> URLRequest {
        var request = URLRequest(url: try #require(URL(string: "https://pinned.test\(path)")))
        request.httpMethod = "POST"
        return request
    }

    @Test("A file arrives complete, whatever its size", arguments: [0, 1, 65_536, 65_537, 3_000_000])
    func files(size: Int) async throws {
        let file = URL(filePath: try directory.add([UInt8](repeating: 7, count: size)))
        try await LoopbackServer(chain: site.chain, Self.script).run { server in
            let session = try site.session(server)
            let (data, _) = try await session.upload(for: Self.request("/"), fromFile: file)
            #expect(String(decoding: data, as: UTF8.self) == "POST \(size) \(size == 0 ? 0 : 7) whole")
            // Only bodies of other tasks are taken for a form's.
            #expect(server.records.flatMap(\.requests).map { $0.values(of: "Content-Type") } == [[]])
            let ends = Collected<Data?>()
            let task = session.uploadTask(with: try Self.request("/login"), fromFile: file) { data, _, _ in
                ends.append(data)
            }
            task.resume()
            while ends.values.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
            #expect((task.response as? HTTPURLResponse)?.statusCode == 401)
        }
    }

    @Test("A missing file, a directory or a pipe sends nothing")
    func noFile() async throws {
        #expect(try TestCommand.run(["mkfifo", directory.path + "/pipe"]).status == 0)
        try await LoopbackServer(chain: site.chain, Self.script).run { server in
            let session = try site.session(server)
            for (name, code) in [
                ("missing", URLError.Code.fileDoesNotExist), ("pipe", .cannotOpenFile), ("", .cannotOpenFile),
            ] {
                let file = URL(filePath: directory.path + "/" + name)
                let error = await #expect(throws: URLError.self) {
                    try await session.upload(for: Self.request("/"), fromFile: file)
                }
                #expect(error?.code == code, "\(name)")
            }
            #expect(server.applicationBytes.isEmpty)
        }
    }

    @Test(
        "A stream is sent in chunks, and requested again after a challenge and a redirect",
        arguments: [
            ("/", "POST", ["stream", "metrics", "end"]),
            ("/login", "POST", ["stream", "stream", "metrics", "end"]),
            ("/on", "POST", ["stream", "stream", "metrics", "end"]),
            ("/see", "GET", ["stream", "metrics", "end"]),
        ])
    func streams(path: String, method: String, events: [String]) async throws {
        let witness = Witness { InputStream(data: Data(repeating: 9, count: 200_000)) }
        try await LoopbackServer(chain: site.chain, Self.script).run { server in
            let session = try site.session(server, delegate: witness)
            let task = session.uploadTask(withStreamedRequest: try Self.request(path))
            #expect(task.countOfBytesExpectedToSend == -1)
            task.resume()
            try await witness.end()
            #expect(witness.events.values == events)
            #expect(witness.errors.values.compactMap(\.self).isEmpty)
            #expect(server.records.flatMap(\.requests).last?.body.count == (path == "/see" ? 0 : 200_000))
            let sent = try #require(witness.sent.values.last)
            #expect(Array(sent.dropFirst()) == [200_000, -1])
            #expect(server.records.flatMap(\.requests).last?.method == method)
        }
    }

    @Test("A request's own stream is sent once, and the delegate provides another one or the task fails")
    func ownStream() async throws {
        try await LoopbackServer(chain: site.chain, Self.script).run { server in
            var request = try Self.request("/")
            request.httpBodyStream = InputStream(data: Data("own".utf8))
            #expect(request.httpBody == nil)
            let session = try site.session(server)
            let (data, _) = try await session.data(for: request)
            #expect(String(decoding: data, as: UTF8.self) == "POST 3 110 chunked")
            // The stream has been read.
            let again = request
            let used = await #expect(throws: URLError.self) { try await session.data(for: again) }
            #expect(used?.code == .requestBodyStreamExhausted)
            let (other, _) = try await session.data(for: request, delegate: AsyncStreams())
            #expect(String(decoding: other, as: UTF8.self) == "POST 5 99 chunked")
        }
    }

    @Test("A part of a stream that comes after the server has refused the request isn't sent")
    func refusedStream() async throws {
        let pipe = directory.path + "/pipe"
        #expect(try TestCommand.run(["mkfifo", pipe]).status == 0)
        let isComplete = Locked(false)
        // The response begins after the first part, and is still read when the next part comes.
        let script = LoopbackServer.Script.handle { connection in
            var received: [UInt8] = []
            while received.firstRange(of: Array("first".utf8)) == nil, let bytes = try connection.read() {
                received += bytes
            }
            try connection.write(LoopbackServer.Response.head("413 Content Too Large", ["Content-Length: 4"]))
            while !isComplete.withLock({ $0 }) { connection.pause(.milliseconds(2)) }
            try connection.write(Array("no!\n".utf8))
        }
        try await LoopbackServer(chain: site.chain, script).run { server in
            let session = try site.session(server)
            var request = try Self.request("/")
            request.httpBodyStream = InputStream(fileAtPath: pipe)
            let sent = request
            let work = Task { try await session.bytes(for: sent) }
            let writer = try await BodyWriter.open(pipe)
            writer.write("first")
            let (bytes, response) = try await work.value
            #expect((response as? HTTPURLResponse)?.statusCode == 413)
            writer.write("second")
            // So that it would be sent by now, although the result doesn't depend on it.
            try await Task.sleep(for: .milliseconds(100))
            isComplete.withLock { $0 = true }
            var body: [UInt8] = []
            for try await byte in bytes { body.append(byte) }
            #expect(body == Array("no!\n".utf8))
            writer.close()
            await session.flush()
            let record = try #require(await server.ended().first)
            #expect(record.applicationBytes.firstRange(of: Array("first".utf8)) != nil)
            #expect(record.applicationBytes.firstRange(of: Array("second".utf8)) == nil)
        }
    }

    @Test("A stream is not sent to another origin after a redirect")
    func otherOrigin() async throws {
        try await LoopbackServer(chain: site.chain, Self.script).run { server in
            var request = try Self.request("/away")
            request.httpBodyStream = InputStream(data: Data("own".utf8))
            let session = try site.session(server)
            let sent = request
            let error = await #expect(throws: URLError.self) { try await session.data(for: sent) }
            #expect(error?.code == .redirectToNonExistentLocation)
        }
    }
}
