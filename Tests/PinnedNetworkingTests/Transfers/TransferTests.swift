import TestPKI
import Testing

@testable import PinnedNetworking

/// Implements every notification of a task's delegate, and provides streams.
final class Witness: URLSessionDataDelegate, URLSessionDownloadDelegate {
    let events = Collected<String>()
    let metrics = Collected<URLSessionTaskMetrics>()
    let sent = Collected<[Int64]>()
    let written = Collected<[Int64]>()
    let contents = Collected<(data: Data, mode: Int, url: URL)>()
    let errors = Collected<URLError?>()
    private let streams: @Sendable () -> InputStream?

    init(_ streams: @escaping @Sendable () -> InputStream? = { nil }) { self.streams = streams }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
        guard challenge.protectionSpace.serverTrust == nil else { return (.performDefaultHandling, nil) }
        return (.useCredential, URLCredential(user: "me", password: "secret", persistence: .none))
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        events.append("stream")
        completionHandler(streams())
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        sent.append([bytesSent, totalBytesSent, totalBytesExpectedToSend])
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        self.metrics.append(metrics)
        events.append("metrics")
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        events.append("file")
        let mode = try? FileManager.default.attributesOfItem(atPath: location.path)[.posixPermissions] as? Int
        contents.append(((try? Data(contentsOf: location)) ?? Data(), mode ?? 0, location))
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        written.append([bytesWritten, totalBytesWritten, totalBytesExpectedToWrite])
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        events.append("resumed at \(fileOffset) of \(expectedTotalBytes)")
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        events.append("end")
        errors.append(error as? URLError)
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) { events.append("invalid") }

    func end(_ event: String = "end") async throws {
        while !events.values.contains(event) { try await Task.sleep(for: .milliseconds(2)) }
    }
}

/// Provides streams with an `async` method.
private final class AsyncStreams: URLSessionTaskDelegate {
    func urlSession(_ session: URLSession, needNewBodyStreamForTask task: URLSessionTask) async -> InputStream? {
        InputStream(data: Data("async".utf8))
    }
}

/// Bodies from files and streams.
@Suite(.timeLimit(.minutes(2)))
struct UploadTests {
    private let site: TestSite
    private let folder: TestFolder

    init() throws {
        site = try TestSite.shared.get()
        folder = try TestFolder()
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
        let file = URL(filePath: try folder.add([UInt8](repeating: 7, count: size)))
        try await LoopbackServer(chain: site.chain, Self.script).run { server in
            let session = try site.session(server)
            let (data, _) = try await session.upload(for: Self.request("/"), fromFile: file)
            #expect(String(decoding: data, as: UTF8.self) == "POST \(size) \(size == 0 ? 0 : 7) whole")
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
        #expect(try TestCommand.run(["mkfifo", folder.path + "/pipe"]).status == 0)
        try await LoopbackServer(chain: site.chain, Self.script).run { server in
            let session = try site.session(server)
            for (name, code) in [
                ("missing", URLError.Code.fileDoesNotExist), ("pipe", .cannotOpenFile), ("", .cannotOpenFile),
            ] {
                let file = URL(filePath: folder.path + "/" + name)
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

/// Bodies that are saved to files.
@Suite(.timeLimit(.minutes(2)))
struct DownloadTests {
    private let site: TestSite
    init() throws { site = try TestSite.shared.get() }

    private static let text = String((0..<300_000).map { Character(UnicodeScalar(UInt8(97 + $0 % 26))) })

    /// Serves the text, or the part of it that is requested. The first response is cut off in the middle.
    private static func script(
        etag: String? = "\"v1\"", later: String? = "\"v1\"", range: String? = nil,
        status: String = "206 Partial Content"
    ) -> LoopbackServer.Script {
        .answer { request in
            guard let start = request.values(of: "Range").first.flatMap({ Int($0.dropFirst(6).dropLast()) }) else {
                let fields = etag.map { ["ETag: \($0)"] } ?? []
                let response = LoopbackServer.Response(fields: fields, body: text)
                return request.target == "/whole" ? response : response.cut(at: 150_000)
            }
            guard request.values(of: "If-Range").first == later else { return .init(body: text) }
            let rest = String(text.dropFirst(start))
            let range = range ?? "bytes \(start)-\(text.count - 1)/\(text.count)"
            return .init(status, fields: ["Content-Range: \(range)", "ETag: \(later ?? "")"], body: rest)
        }
    }

    private func url(_ path: String) throws -> URL { try #require(URL(string: "https://me@pinned.test\(path)")) }

    @Test("A download is a file with mode 0600 that belongs to the caller")
    func file() async throws {
        try await LoopbackServer(chain: site.chain, Self.script()).run { server in
            let session = try site.session(server)
            let (file, response) = try await session.download(from: url("/whole"))
            defer { try? FileManager.default.removeItem(at: file) }
            #expect(try String(contentsOf: file, encoding: .utf8) == Self.text)
            #expect((response as? HTTPURLResponse)?.statusCode == 200)
            let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
        }
    }

    @Test("A download task passes its file to the delegate or the handler, and removes it afterwards")
    func task() async throws {
        let witness = Witness()
        try await LoopbackServer(chain: site.chain, Self.script()).run { server in
            let session = try site.session(server, delegate: witness)
            let task = session.downloadTask(with: try url("/whole"))
            task.resume()
            try await witness.end()
            #expect(witness.events.values == ["file", "metrics", "end"])
            let (data, mode, place) = try #require(witness.contents.values.first)
            #expect(data == Data(Self.text.utf8))
            #expect(mode == 0o600)
            let written = try #require(witness.written.values.last)
            #expect(Array(written.dropFirst()) == [300_000, 300_000])
            #expect(task.progress.fractionCompleted == 1)
            let places = Collected<URL>()
            session.downloadTask(with: try url("/whole")) { file, _, _ in
                if let file, (try? Data(contentsOf: file).count) == 300_000 { places.append(file) }
            }.resume()
            while places.values.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
            for place in [place, places.values[0]] {
                while FileManager.default.fileExists(atPath: place.deletingLastPathComponent().path) {
                    try await Task.sleep(for: .milliseconds(2))
                }
            }
        }
    }

    @Test("An interrupted download continues where it ended, but only with the same version of the file")
    func resumes() async throws {
        let rows: [(LoopbackServer.Script, Int)] = [
            (Self.script(), 1), (Self.script(later: "\"v2\""), 0),
        ]
        for (script, count) in rows {
            let witness = Witness()
            try await LoopbackServer(chain: site.chain, script).run { server in
                let session = try site.session(server, delegate: witness)
                let failed = await #expect(throws: URLError.self) { try await session.download(from: url("/")) }
                let data = try #require(failed?.downloadTaskResumeData)
                #expect(failed?.code == .networkConnectionLost)
                #expect(!String(decoding: data, as: UTF8.self).contains("me@"))
                let (file, _) = try await session.download(resumeFrom: data)
                #expect(try String(contentsOf: file, encoding: .utf8) == Self.text)
                try FileManager.default.removeItem(at: file)
                #expect(
                    witness.events.values.count { $0.hasPrefix("resumed at") && $0.hasSuffix("of 300000") } == count)
                let last = try #require(server.records.flatMap(\.requests).last)
                #expect(last.values(of: "If-Range") == ["\"v1\""])
                #expect(last.values(of: "Range").first?.hasSuffix("-") ?? false)
                // Resume data can be used only once.
                await #expect(throws: URLError.self) { try await session.download(resumeFrom: data) }
            }
        }
    }

    @Test(
        "A range other than the missing one is rejected, and the partial file is removed",
        arguments: ["bytes 0-299999/300000", "bytes 1-2/3", "items 5-6/7", "bytes */300000", "nonsense"])
    func otherParts(range: String) async throws {
        try await LoopbackServer(chain: site.chain, Self.script(range: range)).run { server in
            let session = try site.session(server)
            let failed = await #expect(throws: URLError.self) { try await session.download(from: url("/")) }
            let data = try #require(failed?.downloadTaskResumeData)
            let error = await #expect(throws: URLError.self) { try await session.download(resumeFrom: data) }
            #expect(error?.code == .badServerResponse)
            // Its tag would be that of the other range.
            #expect(error?.downloadTaskResumeData == nil)
            let file = try ResumeData(data)
            #expect(throws: DownloadError.nothingToResume) {
                try DownloadFile(resuming: file.file, count: file.count)
            }
        }
    }

    @Test(
        "A range that ends beyond any possible file size is rejected",
        arguments: ["*", "6", "9223372036854775807", "-9223372036854775808"])
    func endlessPart(total: String) throws {
        let text = """
            {"version":1,"url":"https://a.test/x","validator":"\\"v\\"","count":5,\
            "file":"1B4E28BA-2FA1-11D2-883F-0016D3CCA427"}
            """
        let data = try ResumeData(Data(text.utf8))
        let response = try #require(
            HTTPURLResponse(
                url: data.url, statusCode: 206, httpVersion: nil,
                headerFields: ["Content-Range": "bytes 5-9223372036854775807/\(total)"]))
        #expect(throws: DownloadError.otherPart) { try data.continues(with: response) }
    }

    @Test("A length that overflows together with the bytes sent is rejected")
    func endless() async throws {
        let script = LoopbackServer.Script.answer { _ in
            .headOnly("200 OK", fields: ["Content-Length: 9223372036854775807"]).cut(at: 1_000)
        }
        try await LoopbackServer(chain: site.chain, script).run { server in
            var request = URLRequest(url: try url("/"))
            request.httpMethod = "POST"
            request.httpBody = Data("x".utf8)
            let errors = Collected<URLError?>()
            let task = try site.session(server).downloadTask(with: request) { _, _, error in
                errors.append(error as? URLError)
            }
            #expect(task.progress.totalUnitCount >= -1)
            task.resume()
            while errors.values.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
            #expect(errors.values.map { $0?.code } == [.cannotParseResponse])
        }
    }

    @Test("Without a strong validator a download can't be resumed", arguments: [nil, "W/\"v1\""])
    func weak(etag: String?) async throws {
        try await LoopbackServer(chain: site.chain, Self.script(etag: etag)).run { server in
            let session = try site.session(server)
            let failed = await #expect(throws: URLError.self) { try await session.download(from: url("/")) }
            #expect(failed?.downloadTaskResumeData == nil)
        }
    }

    @Test("Cancelling a download returns resume data once")
    func cancel() async throws {
        let script = LoopbackServer.Script.answer { _ in
            var response = LoopbackServer.Response.headOnly(
                "200 OK", fields: ["Content-Length: 99999999", "ETag: \"v1\""])
            response.endless = Array("more".utf8)
            return response
        }
        try await LoopbackServer(chain: site.chain, script).run { server in
            let witness = Witness()
            let session = try site.session(server, delegate: witness)
            let task = session.downloadTask(with: try url("/"))
            task.resume()
            while witness.written.values.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
            let data = try #require(await task.cancelByProducingResumeData())
            let resumption = try ResumeData(data)
            #expect(resumption.count >= 4)
            #expect(await task.cancelByProducingResumeData() == nil)
            try await witness.end()
            #expect(witness.errors.values.first??.code == .cancelled)
            _ = try DownloadFile(resuming: resumption.file, count: resumption.count)
        }
    }

    @Test("Resume data that was changed is rejected")
    func malformed() async throws {
        let whole = """
            {"version":1,"url":"https://a.test/x","validator":"\\"v\\"","count":5,\
            "file":"1B4E28BA-2FA1-11D2-883F-0016D3CCA427"}
            """
        let data = try ResumeData(Data(whole.utf8))
        #expect(try ResumeData(data.encoded) == data)
        for (part, other) in [
            ("1,\"url", "2,\"url"), ("https://a.test", "file:///etc"), ("https://a.test", "https://u:p@a.test"),
            ("5", "-5"), ("5", "0"), ("5", "5.0"), ("1B4E28BA-", "../1B4E28BA-"), ("1B4E28BA", "1b4e28ba"),
            ("\\\"v\\\"", "a\\r\\nb: c"), ("\\\"v\\\"", ""), ("{\"version\":1,", "{"), ("}", ",\"more\":1}"),
            ("}", "}}"),
            ("{", "[{"),
        ] {
            let text = whole.replacingOccurrences(of: part, with: other)
            #expect(text != whole)
            #expect(throws: DownloadError.self, "\(other)") { try ResumeData(Data(text.utf8)) }
        }
        let session = URLSession(configuration: .ephemeral)
        let error = await #expect(throws: URLError.self) { try await session.download(resumeFrom: Data("x".utf8)) }
        #expect(error?.code == .cannotOpenFile)
    }
}

/// Metrics, and how a session ends.
@Suite(.timeLimit(.minutes(2)))
struct SessionLifetimeTests {
    private let site: TestSite
    init() throws { site = try TestSite.shared.get() }

    @Test("Metrics cover every request: new and reused connections, redirects, TLS and the time for trust")
    func metrics() async throws {
        let script = LoopbackServer.Script.answer { request in
            request.target == "/on" ? .init("302 Found", fields: ["Location: /"]) : .init(body: "hello")
        }
        try await LoopbackServer(chain: site.chain, script).run { server in
            let witness = Witness()
            let session = try site.session(server, policy: .pinning(site.leaf.pin), delegate: witness)
            _ = try await session.get("https://pinned.test/on")
            let metrics = try #require(witness.metrics.values.first)
            #expect(metrics.redirectCount == 1)
            #expect(metrics.transactionMetrics.count == 2)
            let (first, second) = (metrics.transactionMetrics[0], metrics.transactionMetrics[1])
            #expect(!first.isReusedConnection)
            #expect(second.isReusedConnection)
            #expect(first.negotiatedTLSProtocolVersion == .TLSv13)
            #expect(first.negotiatedTLSCipherSuiteName?.hasPrefix("TLS_") ?? false)
            #expect(first.remoteAddress == "127.0.0.1")
            #expect(first.remotePort == Int(server.port))
            #expect((first.trustEvaluationDuration ?? 0) > 0)
            #expect(second.trustEvaluationDuration == nil)
            #expect(!first.isProxyConnection)
            #expect(second.countOfResponseBodyBytesReceived == 5)
            #expect(first.countOfRequestHeaderBytesSent > 20)
            let dates = [
                metrics.taskInterval.start, first.fetchStartDate, first.connectStartDate,
                first.secureConnectionStartDate,
                first.connectEndDate, first.requestStartDate, first.requestEndDate, first.responseStartDate,
                second.fetchStartDate, second.requestStartDate, second.responseStartDate, second.responseEndDate,
                metrics.taskInterval.end,
            ]
            #expect(dates.compactMap(\.self).count == dates.count)
            #expect(dates.compactMap(\.self) == dates.compactMap(\.self).sorted())
            #expect(second.connectStartDate == nil)
        }
    }

    @Test("Metrics of a request that was never sent contain the phases that took place")
    func failedMetrics() async throws {
        try await LoopbackServer(chain: site.chain).run { server in
            let witness = Witness()
            let session = try site.session(server, policy: .pinning(strangePin), delegate: witness)
            _ = try await session.failure()
            let transaction = try #require(witness.metrics.values.first?.transactionMetrics.first)
            #expect(transaction.connectStartDate != nil)
            #expect(transaction.requestStartDate == nil)
            #expect(transaction.response == nil)
        }
    }

    @Test("A session that finishes its tasks accepts no more, and notifies its delegate at the end")
    func finishes() async throws {
        try await LoopbackServer(chain: site.chain).run { server in
            let witness = Witness()
            let session = try site.session(server, delegate: witness)
            let url = try #require(URL(string: "https://pinned.test/"))
            let running = session.dataTask(with: url)
            let idle = session.dataTask(with: url)
            running.resume()
            #expect(await session.allTasks.map(\.taskIdentifier) == [1, 2])
            session.finishTasksAndInvalidate()
            try await witness.end("invalid")
            #expect(witness.events.values.last == "invalid")
            #expect(witness.events.values.count { $0 == "end" } == 2)
            #expect(running.error == nil)
            #expect((idle.error as? URLError)?.code == .cancelled)
            #expect(session.delegate == nil)
            #expect(await session.allTasks.isEmpty)
            #expect(try await session.failure().code == .cancelled)
        }
    }

    @Test("A session that is cancelled ends all of its tasks")
    func cancels() async throws {
        try await LoopbackServer(chain: site.chain, .stall).run { server in
            let witness = Witness()
            let session = try site.session(server, delegate: witness)
            let url = try #require(URL(string: "https://pinned.test/"))
            session.dataTask(with: url).resume()
            session.downloadTask(with: url).resume()
            let (data, upload, download) = await session.tasks
            #expect(data.count == 1)
            #expect(upload.isEmpty)
            #expect(download.count == 1)
            session.invalidateAndCancel()
            try await witness.end("invalid")
            #expect(witness.errors.values.compactMap { $0?.code } == [.cancelled, .cancelled])
        }
    }

    @Test("A suspended task reads nothing until it is resumed")
    func suspend() async throws {
        let script = LoopbackServer.Script.answer { _ in .init(body: String(repeating: "x", count: 3_000_000)) }
        try await LoopbackServer(chain: site.chain, script).run { server in
            let session = try site.session(server)
            let (bytes, _) = try await session.bytes(from: try #require(URL(string: "https://pinned.test/")))
            bytes.task.suspend()
            #expect(bytes.task.state == .suspended)
            let count = Collected<Int>()
            let reading = Task {
                var total = 0
                for try await _ in bytes { total += 1 }
                count.append(total)
            }
            try await Task.sleep(for: .milliseconds(100))
            #expect(bytes.task.countOfBytesReceived == 0)
            bytes.task.resume()
            try await reading.value
            #expect(count.values == [3_000_000])
            #expect(bytes.task.state == .completed)
        }
    }

    @Test("Lines end where they do on Apple's platforms, and empty ones are skipped")
    func lines() async throws {
        let body = "one\ntwo\r\nthree\r\r\rfour\u{2028}five\u{85}six\u{B}\u{C}\n\nsev\u{E9}n"
        try await LoopbackServer(chain: site.chain, .answer { _ in .init(body: body) }).run { server in
            let session = try site.session(server)
            let (bytes, _) = try await session.bytes(from: try #require(URL(string: "https://pinned.test/")))
            var lines: [String] = []
            for try await line in bytes.lines { lines.append(line) }
            #expect(lines == ["one", "two", "three", "four", "five", "six", "sev\u{E9}n"])
        }
    }

    @Test("A priority is kept, and a task's descriptions contain nothing of its request")
    func priority() throws {
        let session = URLSession(configuration: .ephemeral)
        let task = session.dataTask(with: try #require(URL(string: "https://pinned.test/")))
        #expect(task.priority == URLSessionTask.defaultPriority)
        task.priority = URLSessionTask.highPriority
        #expect(task.priority == 0.75)
    }
}
