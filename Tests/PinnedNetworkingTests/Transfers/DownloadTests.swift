import PinctlTestPKI
import Testing

@testable import PinnedNetworking

/// Bodies that are saved to files.
@Suite(.timeLimit(.minutes(10)))
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

    @Test("A session removes only the file that it downloaded, not what the program puts beside it or in its place")
    func siblings() async throws {
        try await LoopbackServer(chain: site.chain, Self.script()).run { server in
            let session = try site.session(server)
            var directories: [URL] = []
            for isReplaced in [false, true] {
                let moved = Collected<URL>()
                session.downloadTask(with: try url("/whole")) { file, _, _ in
                    guard let file else { return }
                    let sibling = file.deletingLastPathComponent().appending(path: "sibling")
                    try? FileManager.default.moveItem(at: file, to: sibling)
                    if isReplaced { try? Data("mine".utf8).write(to: file) }
                    moved.append(sibling)
                }.resume()
                while moved.values.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
                directories.append(moved.values[0].deletingLastPathComponent())
            }
            defer { for directory in directories { try? FileManager.default.removeItem(at: directory) } }
            // The removal of this one, which is untouched, follows that of the others.
            let last = Collected<URL>()
            session.downloadTask(with: try url("/whole")) { file, _, _ in if let file { last.append(file) } }.resume()
            while last.values.isEmpty
                || FileManager.default.fileExists(atPath: last.values[0].deletingLastPathComponent().path)
            {
                try await Task.sleep(for: .milliseconds(2))
            }
            let names = try directories.map { try FileManager.default.contentsOfDirectory(atPath: $0.path).sorted() }
            #expect(names == [["sibling"], ["download", "sibling"]])
            for directory in directories {
                let sibling = try String(contentsOf: directory.appending(path: "sibling"), encoding: .utf8)
                #expect(sibling == Self.text)
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
        try Self.expectRejected("bytes 5-9223372036854775807/\(total)")
    }

    @Test(
        "A range that doesn't begin after the last byte is rejected, even if it is as long as its body",
        arguments: ["bytes 0-8/9", "bytes 4-8/9", "bytes 6-8/9"])
    func otherStart(range: String) throws { try Self.expectRejected(range) }

    /// The data of a download of which 5 bytes are there.
    private static func resumeData(validator: String = #"\"v\""#) throws -> ResumeData {
        let text = """
            {"version":1,"url":"https://a.test/x","validator":"\(validator)","count":5,\
            "file":"1B4E28BA-2FA1-11D2-883F-0016D3CCA427"}
            """
        return try ResumeData(Data(text.utf8))
    }

    private static func expectRejected(_ range: String) throws {
        let data = try resumeData()
        let response = try #require(
            HTTPURLResponse(url: data.url, statusCode: 206, httpVersion: nil, headerFields: ["Content-Range": range]))
        #expect(throws: DownloadError.otherPart) { try data.continues(with: response) }
    }

    @Test(
        "A part of another version is rejected, also from a server that ignores If-Range",
        arguments: [
            (#"\"v\""#, "\"v\"", true), (#"\"v\""#, "\"w\"", false), (#"\"v\""#, "W/\"v\"", false),
            (#"\"v\""#, nil, true),
            ("Tue, 01 Jan 2030 00:00:00 GMT", "\"w\"", true),
        ] as [(String, String?, Bool)])
    func otherVersion(validator: String, tag: String?, isAccepted: Bool) throws {
        let data = try Self.resumeData(validator: validator)
        var fields = ["Content-Range": "bytes 5-8/9"]
        fields["ETag"] = tag
        let response = try #require(
            HTTPURLResponse(url: data.url, statusCode: 206, httpVersion: nil, headerFields: fields))
        if isAccepted {
            #expect(try data.continues(with: response))
        } else {
            #expect(throws: DownloadError.otherPart) { try data.continues(with: response) }
        }
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

    @Test("A part that is shorter than the resume data says can't be resumed")
    func shortenedPart() throws {
        let file = try DownloadFile()
        try file.append(Array("hello".utf8)[...])
        for count: Int64 in [6, .max, -1, .min] {
            #expect(throws: DownloadError.nothingToResume) { try DownloadFile(resuming: file.name, count: count) }
        }
        #expect(try String(contentsOf: file.url, encoding: .utf8) == "hello")
        #expect(try DownloadFile(resuming: file.name, count: 5).count == 5)
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
