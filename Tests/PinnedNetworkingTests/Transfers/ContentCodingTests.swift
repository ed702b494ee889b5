import PinctlBasics
import PinctlHTTPMessages
import PinctlTestPKI
import PinctlZlib
import Testing

@testable import PinnedNetworking

/// Responses with content codings, over connections. HA14 is the code of decompression bombs.
@Suite(.timeLimit(.minutes(10)))
struct ContentCodingTests {
    private let site: TestSite
    init() throws { site = try TestSite.shared.get() }

    private static let text = String((0..<200_000).map { Character(UnicodeScalar(UInt8(97 + $0 % 26))) })
    private static let url = "https://pinned.test/"

    /// The response to every request.
    private static func coded(
        _ body: [UInt8], _ coding: String = "gzip", status: String = "200 OK", fields: [String] = []
    ) -> LoopbackServer.Response {
        let own = ["Content-Encoding: \(coding)", "Content-Length: \(body.count)"]
        return .raw(LoopbackServer.Response.head(status, own + fields) + body, closes: false)
    }

    private func url(_ path: String = "") throws -> URL { try #require(URL(string: Self.url + path)) }

    /// The values of Accept-Encoding of all requests.
    private func accepted(_ server: LoopbackServer) -> [[String]] {
        server.records.flatMap(\.requests).map { $0.values(of: "Accept-Encoding") }
    }

    // MARK: Ways

    @Test("Every way to read a body gets it decoded, and counts the decoded bytes")
    func ways() async throws {
        let gzip = try TestCompression.gzip(Array(Self.text.utf8))
        let witness = Witness()
        try await LoopbackServer(chain: site.chain, .respond(Self.coded(gzip))).run { server in
            let session = try site.session(server, delegate: witness)
            let (body, response) = try await session.get()
            #expect(body == Self.text)
            #expect(response.expectedContentLength == -1)
            #expect(response.value(forHTTPHeaderField: "Content-Encoding") == "gzip")
            #expect(response.value(forHTTPHeaderField: "Content-Length") == "\(gzip.count)")

            var bytes: [UInt8] = []
            let (stream, _) = try await session.bytes(from: url())
            for try await byte in stream { bytes.append(byte) }
            #expect(bytes == Array(Self.text.utf8))
            #expect(stream.task.countOfBytesReceived == 200_000)
            #expect(stream.task.countOfBytesExpectedToReceive == -1)
            #expect(stream.task.progress.fractionCompleted == 1)

            var request = URLRequest(url: try url())
            request.httpMethod = "POST"
            let (answer, _) = try await session.upload(for: request, from: Data("hello".utf8))
            #expect(answer == Data(Self.text.utf8))

            let (file, _) = try await session.download(from: url())
            #expect(try Data(contentsOf: file) == Data(Self.text.utf8))
            try FileManager.default.removeItem(at: file)

            session.downloadTask(with: try url()).resume()
            while witness.contents.values.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
            #expect(witness.contents.values.first?.data == Data(Self.text.utf8))
            #expect(witness.written.values.last.map { Array($0.dropFirst()) } == [200_000, -1])

            let handled = Collected<Data?>()
            session.dataTask(with: try url()) { data, _, _ in handled.append(data) }.resume()
            while handled.values.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
            #expect(handled.values == [Data(Self.text.utf8)])

            let older = SilentConnectionDelegate()
            let configuration = try site.configuration(server)
            _ = NSURLConnection(
                request: URLRequest(url: try url()), delegate: older, configuration: configuration)
            #expect(await older.heard.end == "200 " + Self.text)
            #expect(accepted(server) == Array(repeating: ["gzip, deflate"], count: 7))
            while witness.metrics.values.count < 6 { try await Task.sleep(for: .milliseconds(2)) }
            for metrics in witness.metrics.values {
                let transaction = try #require(metrics.transactionMetrics.last)
                #expect(transaction.countOfResponseBodyBytesReceived == Int64(gzip.count))
                #expect(transaction.countOfResponseBodyBytesAfterDecoding == 200_000)
            }
        }
    }

    @Test("A delegate gets decoded parts of at most 64 KiB")
    func parts() async throws {
        final class Parts: URLSessionDataDelegate {
            let parts = Collected<Data>()
            let isOver = Collected<Bool>()
            func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
                parts.append(data)
            }
            func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
                isOver.append(error == nil)
            }
        }
        let zeros = [UInt8](repeating: 0, count: 10 << 20)
        let delegate = Parts()
        let response = Self.coded(try TestCompression.zlib(zeros), "deflate")
        try await LoopbackServer(chain: site.chain, .respond(response)).run { server in
            let session = try site.session(server, delegate: delegate)
            session.dataTask(with: try url()).resume()
            while delegate.isOver.values.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
            #expect(delegate.isOver.values == [true])
            #expect(delegate.parts.values.allSatisfy { !$0.isEmpty && $0.count <= 65_536 })
            #expect(delegate.parts.values.reduce(0) { $0 + $1.count } == zeros.count)
        }
    }

    @Test("A body in chunks, one until the end of the connection, and one byte at a time are decoded")
    func framing() async throws {
        let gzip = try TestCompression.gzip(Array("hello".utf8))
        let head = ["Content-Encoding: gzip"]
        let chunk = Array(String(gzip.count, radix: 16).utf8) + [13, 10] + gzip + Array("\r\n0\r\n\r\n".utf8)
        var slow = Self.coded(gzip)
        slow.pause = .milliseconds(1)
        let rows: [LoopbackServer.Response] = [
            .raw(LoopbackServer.Response.head("200 OK", head + ["Transfer-Encoding: chunked"]) + chunk),
            .raw(LoopbackServer.Response.head("200 OK", head) + gzip), slow, Self.coded(gzip).after("103 Early Hints"),
        ]
        for response in rows {
            try await LoopbackServer(chain: site.chain, .respond(response)).run { server in
                let (body, _) = try await site.session(server).get()
                #expect(body == "hello")
            }
        }
    }

    // MARK: Requests

    @Test("A request has the caller's own Accept-Encoding, else asks for gzip and deflate, or for identity for a range")
    func requests() async throws {
        let rows: [([String: String], [String: String], String)] = [
            ([:], [:], "gzip, deflate"), (["Accept-Encoding": "br;q=1, gzip"], [:], "br;q=1, gzip"),
            (["accept-encoding": "identity"], [:], "identity"), ([:], ["Accept-Encoding": "gzip"], "gzip"),
            (["Range": "bytes=0-4"], [:], "identity"), (["range": "bytes=0-4"], [:], "identity"),
            (["Range": "bytes=0-4", "Accept-Encoding": "gzip"], [:], "gzip"), ([:], ["Range": "bytes=0-"], "identity"),
        ]
        let gzip = try TestCompression.gzip(Array("hello".utf8))
        try await LoopbackServer(chain: site.chain, .respond(Self.coded(gzip))).run { server in
            for (fields, additional, expected) in rows {
                let session = try site.session(server) { $0.httpAdditionalHeaders = additional }
                var request = URLRequest(url: try url())
                request.allHTTPHeaderFields = fields
                // The server doesn't have to do what the field says.
                #expect(try await session.data(for: request).0 == Data("hello".utf8))
                #expect(accepted(server).last == [expected])
            }
        }
    }

    @Test("Without zlib, every request asks for identity, and an encoded body is passed on as received")
    func withoutLibrary() async throws {
        let gzip = try TestCompression.gzip(Array("hello".utf8))
        try await LoopbackServer(chain: site.chain, .respond(Self.coded(gzip))).run { server in
            let session = try site.session(server) {
                $0.zlib = nil
                $0.httpAdditionalHeaders = ["Accept-Encoding": "gzip"]
            }
            for fields in [[:], ["Accept-Encoding": "br"], ["accept-encoding": "gzip\r\n"]] {
                var request = URLRequest(url: try url())
                request.allHTTPHeaderFields = fields
                let (data, response) = try await session.data(for: request)
                #expect(data == Data(gzip))
                #expect(response.expectedContentLength == Int64(gzip.count))
            }
            #expect(accepted(server) == [["identity"], ["identity"], ["identity"]])
        }
    }

    @Test("A part of an encoded body, and a coding that the client doesn't know, are passed on as received")
    func asReceived() async throws {
        let gzip = try TestCompression.gzip(Array("hello".utf8))
        let rows = [
            Self.coded(gzip, "br"), Self.coded(gzip, "gzip, zstd"),
            Self.coded(gzip, status: "206 Partial Content", fields: ["Content-Range: bytes 0-24/50"]),
        ]
        for response in rows {
            try await LoopbackServer(chain: site.chain, .respond(response)).run { server in
                let (data, response) = try await site.session(server).data(from: url())
                #expect(data == Data(gzip))
                #expect(response.expectedContentLength == Int64(gzip.count))
            }
        }
    }

    // MARK: Responses

    @Test("A response without a body may have the field")
    func noBody() async throws {
        let rows: [(String, LoopbackServer.Response)] = [
            ("HEAD", .headOnly("200 OK", fields: ["Content-Encoding: gzip", "Content-Length: 50"])),
            ("GET", .headOnly("204 No Content", fields: ["Content-Encoding: gzip"])),
            ("GET", .headOnly("304 Not Modified", fields: ["Content-Encoding: gzip", "Content-Length: 50"])),
            ("GET", Self.coded([])), ("GET", .chunked([], fields: ["Content-Encoding: deflate"])),
        ]
        for (method, response) in rows {
            try await LoopbackServer(chain: site.chain, .respond(response)).run { server in
                var request = URLRequest(url: try url())
                request.httpMethod = method
                let (data, answer) = try await site.session(server).data(for: request)
                #expect(data.isEmpty)
                #expect(answer.expectedContentLength == -1)
            }
        }
    }

    @Test("Bodies of redirects and answered challenges aren't decoded, and those that the program gets are")
    func discarded() async throws {
        let broken: [UInt8] = [1, 2, 3]
        let gzip = try TestCompression.gzip(Array("hello".utf8))
        let script = LoopbackServer.Script.answer { request in
            switch (request.target, request.values(of: "Authorization").isEmpty) {
            case ("/", _): Self.coded(broken, status: "302 Found", fields: ["Location: /login"])
            case ("/login", true):
                Self.coded(broken, status: "401 Unauthorized", fields: ["WWW-Authenticate: Basic realm=\"r\""])
            case ("/refused", _):
                Self.coded(gzip, status: "401 Unauthorized", fields: ["WWW-Authenticate: Basic realm=\"r\""])
            case ("/stopped", _): Self.coded(gzip, status: "302 Found", fields: ["Location: /login"])
            default: Self.coded(gzip)
            }
        }
        final class Stopper: URLSessionTaskDelegate {
            func urlSession(
                _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
                newRequest request: URLRequest
            ) async -> URLRequest? { nil }
        }
        try await LoopbackServer(chain: site.chain, script).run { server in
            let login = TaskAsyncDelegate { challenge in
                challenge.protectionSpace.serverTrust == nil
                    ? (.useCredential, credential("u")) : (.performDefaultHandling, nil)
            }
            let (body, response) = try await site.session(server, delegate: login).get()
            #expect(body == "hello")
            #expect(response.statusCode == 200)
            let refused = try await site.session(server).get(Self.url + "refused")
            #expect(refused.body == "hello")
            #expect(refused.response.statusCode == 401)
            let stopped = try await site.session(server, delegate: Stopper()).get(Self.url + "stopped")
            #expect(stopped.body == "hello")
            #expect(stopped.response.statusCode == 302)
        }
    }

    @Test("A body that can't be decoded ends the task, and says what to do")
    func failures() async throws {
        let gzip = try TestCompression.gzip(Array(Self.text.utf8))
        let rows: [(LoopbackServer.Response, URLError.Code, String)] = [
            (Self.coded(Array("plain text".utf8)), .cannotDecodeRawData, "incorrect header check"),
            (Self.coded(gzip.dropLast()), .cannotDecodeRawData, "truncated"),
            (Self.coded(gzip + [0]), .cannotDecodeRawData, "bytes after the end"),
            (Self.coded(gzip, "gzip,gzip,gzip,gzip,gzip,gzip"), .cannotDecodeRawData, "6 content codings"),
            // A clean end of the connection doesn't make it complete.
            (
                .raw(LoopbackServer.Response.head("200 OK", ["Content-Encoding: gzip"]) + gzip.prefix(100)),
                .cannotDecodeRawData, "truncated"
            ),
            (Self.coded(gzip).cut(at: 150), .networkConnectionLost, "unexpected end"),
        ]
        for (response, code, text) in rows {
            try await LoopbackServer(chain: site.chain, .respond(response)).run { server in
                let session = try site.session(server)
                let error = try await session.failure()
                #expect(error.code == code)
                #expect(error.localizedDescription.contains(text), "\(error.localizedDescription)")
                let failed = await #expect(throws: URLError.self) { try await session.download(from: url()) }
                #expect(failed?.code == code)
                #expect(failed?.downloadTaskResumeData == nil)
            }
        }
    }

    @Test("A limit on a body in memory counts decoded bytes")
    func limit() async throws {
        let response = Self.coded(try TestCompression.gzip([UInt8](repeating: 0, count: 5_000)))
        try await LoopbackServer(chain: site.chain, .respond(response)).run { server in
            let session = try site.session(server)
            for (limit, isAllowed) in [(5_000, true), (4_999, false)] {
                let task = session.makeTask(URLSessionDataTask.init, URLRequest(url: try url()))
                let (transfer, _) = try await session.begin(task)
                let result = await Result { try await transfer.collect(limit: limit).0.count }
                #expect((try? result.get()) == (isAllowed ? 5_000 : nil))
                task.cancel()
            }
        }
    }

    // MARK: Downloads

    @Test("A download of an encoded body can't be resumed, since ranges count encoded bytes")
    func resumption() async throws {
        var random = SystemRandomNumberGenerator()
        let noise = (0..<200_000).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        let gzip = try TestCompression.gzip(noise)
        let tag = ["ETag: \"v1\""]
        let script = LoopbackServer.Script.answer { request in
            guard request.values(of: "Range").isEmpty else {
                return Self.coded(
                    gzip, status: "206 Partial Content", fields: tag + ["Content-Range: \(request.target.dropFirst())"])
            }
            let plain = LoopbackServer.Response.raw(
                LoopbackServer.Response.head("200 OK", tag + ["Content-Length: \(noise.count)"]) + noise)
            return (request.target == "/coded" ? Self.coded(gzip, fields: tag) : plain).cut(at: 100_000)
        }
        try await LoopbackServer(chain: site.chain, script).run { server in
            let session = try site.session(server)
            let failed = await #expect(throws: URLError.self) { try await session.download(from: url("coded")) }
            #expect(failed?.downloadTaskResumeData == nil)
            let cut = await #expect(throws: URLError.self) { try await session.download(from: url("plain")) }
            let data = try #require(cut?.downloadTaskResumeData)
            // The rest is asked for without coding. A server that encodes it anyway sends another thing than the rest.
            let error = await #expect(throws: URLError.self) { try await session.download(resumeFrom: data) }
            #expect(error?.code == .badServerResponse)
            #expect(accepted(server).last == ["identity"])
        }
    }

    @Test("An encoded part isn't the rest of a download")
    func encodedPart() throws {
        let text = """
            {"version":1,"url":"https://a.test/x","validator":"\\"v\\"","count":5,\
            "file":"1B4E28BA-2FA1-11D2-883F-0016D3CCA427"}
            """
        let data = try ResumeData(Data(text.utf8))
        for (coding, isRest) in [("identity", true), ("GZIP", false), ("deflate, gzip", false)] {
            let fields = ["Content-Range": "bytes 5-9/10", "Content-Encoding": coding]
            let response = try #require(
                HTTPURLResponse(url: data.url, statusCode: 206, httpVersion: nil, headerFields: fields))
            #expect((try? data.continues(with: response)) == (isRest ? true : nil))
        }
    }

    // MARK: Attacks

    @Test("HA14: A bomb ends the task, whichever way it is read")
    func bombs() async throws {
        let zeros = try TestCompression.gzip([UInt8](repeating: 0, count: 64 << 20))
        // 10 GiB.
        let members = zeros.repeated(160)
        let rows = [Self.coded(members), Self.coded(try TestCompression.gzip(members), "gzip, gzip")]
        for response in rows {
            try await LoopbackServer(chain: site.chain, .respond(response)).run { server in
                let session = try site.session(server)
                let error = try await session.failure()
                #expect(error.code == .dataLengthExceedsMaximum)
                #expect(error.localizedDescription.contains("decompression bomb"))

                let (bytes, _) = try await session.bytes(from: url())
                let iterator = bytes.makeAsyncIterator()
                let failed = await #expect(throws: URLError.self) {
                    while let part = try await iterator.read() { #expect(part.count <= BodyDecoder.stepLimit) }
                }
                #expect(failed?.code == .dataLengthExceedsMaximum)
                #expect(bytes.task.countOfBytesReceived <= Int64(BodyDecoder.allowance))

                let files = try DownloadDirectories()
                let cut = await #expect(throws: URLError.self) { try await session.download(from: url()) }
                #expect(cut?.code == .dataLengthExceedsMaximum)
                #expect(cut?.downloadTaskResumeData == nil)
                #expect(try await files.isUnchanged())
            }
        }
    }

    @Test("A slow reader holds back the server, and gets no more than it reads")
    func backPressure() async throws {
        let zeros = [UInt8](repeating: 0, count: 30 << 20)
        let response = Self.coded(try TestCompression.gzip(zeros))
        try await LoopbackServer(chain: site.chain, .respond(response)).run { server in
            let session = try site.session(server)
            let (bytes, _) = try await session.bytes(from: url())
            var iterator = bytes.makeAsyncIterator()
            #expect(try await iterator.next() == 0)
            try await Task.sleep(for: .milliseconds(50))
            #expect(bytes.task.countOfBytesReceived <= 65_536)
            bytes.task.cancel()
        }
    }

    @Test("A task is cancelled in the middle of an encoded body")
    func cancellation() async throws {
        // A stored block of deflate, which isn't the last (RFC 1951, section 3.2.4).
        let block: [UInt8] = [0, 0xE8, 3, 0x17, 0xFC] + [UInt8](repeating: 65, count: 1_000)
        let gzipHeader: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]
        var response = LoopbackServer.Response.raw(
            LoopbackServer.Response.head("200 OK", ["Content-Encoding: gzip"]) + gzipHeader)
        response.endless = block
        try await LoopbackServer(chain: site.chain, .respond(response)).run { server in
            let session = try site.session(server)
            let (bytes, _) = try await session.bytes(from: url())
            var iterator = bytes.makeAsyncIterator()
            #expect(try await iterator.next() == 65)
            bytes.task.cancel()
            let error = await #expect(throws: URLError.self) { while try await iterator.next() != nil {} }
            #expect(error?.code == .cancelled)

            let work = Task { try await session.data(from: url()) }
            try await Task.sleep(for: .milliseconds(20))
            work.cancel()
            let cancelled = await #expect(throws: URLError.self) { try await work.value }
            #expect(cancelled?.code == .cancelled)
        }
    }

    @Test("Other requests are served while a body expands")
    func fairness() async throws {
        let zeros = [UInt8](repeating: 0, count: 32 << 20)
        let large = Self.coded(try TestCompression.gzip(zeros))
        let script = LoopbackServer.Script.answer { $0.target == "/large" ? large : .init(body: "small") }
        try await LoopbackServer(chain: site.chain, script).run { server in
            let session = try site.session(server)
            // Beside other programs, the second request can be late. Without turns it always ends after the first.
            var wasServed = false
            for attempt in 1...5 where !wasServed {
                // One connection for each of the two.
                async let other = session.get()
                _ = try await (session.get(), other)
                let isOver = Collected<Bool>()
                let work = Task {
                    let (data, _) = try await session.data(from: url("large"))
                    isOver.append(true)
                    return data.count
                }
                while server.records.flatMap(\.requests).count(where: { $0.target == "/large" }) < attempt {
                    await Task.yield()
                }
                #expect(try await session.get().body == "small")
                wasServed = isOver.values.isEmpty
                #expect(try await work.value == zeros.count)
            }
            #expect(wasServed)
        }
    }
}

/// The directories of downloads in progress, to compare with those at another time.
private struct DownloadDirectories {
    private let before: Set<String>

    init() throws { before = try Self.names() }

    /// Whether no directory was added that stays. Tests in other processes add and remove theirs meanwhile.
    func isUnchanged() async throws -> Bool {
        let added = try Self.names().subtracting(before)
        for _ in 0..<3_000 {
            if try Self.names().isDisjoint(with: added) { return true }
            try await Task.sleep(for: .milliseconds(10))
        }
        return false
    }

    private static func names() throws -> Set<String> {
        let names = try FileManager.default.contentsOfDirectory(atPath: FileManager.default.temporaryDirectory.path)
        return Set(names.filter { $0.hasPrefix("PinnedNetworking-") })
    }
}

extension Result where Failure == any Error {
    /// Creates a result from asynchronous work.
    fileprivate init(_ work: () async throws -> Success) async {
        do { self = .success(try await work()) } catch { self = .failure(error) }
    }
}
