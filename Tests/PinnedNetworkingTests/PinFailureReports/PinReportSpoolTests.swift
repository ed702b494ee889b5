import PinctlTestPKI
import Testing

@testable import PinnedNetworking

/// RP1 to RP4: reports of pin failures, and that they cause nothing but a report.
@Suite(.timeLimit(.minutes(10)))
struct PinReportSpoolTests {
    private let site: TestSite
    private let directory: TestDirectory

    init() throws {
        site = try TestSite.pinned([.dns("pinned.test"), .dns("collector.test")])
        directory = try TestDirectory()
    }

    private func policy(_ collector: String, mode: PinningMode = .enforce) throws -> PinningPolicy {
        let rule = PinningRule(
            host: try ServerName("pinned.test"), pins: [try Pin(unknownPin)], mode: mode,
            reports: [try #require(URL(string: collector))])
        return try PinningPolicy(rules: [rule])
    }

    private func spool(
        _ collector: LoopbackServer, format: PinReportSpool.Format = .rfc7469, _ name: String = "spool"
    ) throws -> PinReportSpool {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.route = (try ServerName(collector.address), collector.port)
        configuration.trustStore = try site.store
        // These settings would reject the collector, or log in to it, if they applied.
        configuration.pinning = try .pinning(unknownPin, host: "collector.test")
        configuration.httpAdditionalHeaders = ["Authorization": "Bearer canary"]
        return try PinReportSpool(
            directory: URL(filePath: directory.path + "/" + name), format: format, configuration: configuration)
    }

    private func received(_ server: LoopbackServer, _ count: Int) async throws -> [LoopbackServer.Request] {
        while server.records.flatMap(\.requests).count < count { try await Task.sleep(for: .milliseconds(5)) }
        return server.records.flatMap(\.requests)
    }

    private func report(_ host: String = "pinned.test", collector: String, at time: Date = Date()) throws
        -> PinFailureReport
    {
        let trust = ServerTrust(
            presented: try PresentedChain(derCertificates: site.chain.map(\.derBytes)),
            name: try ServerName("pinned.test"),
            store: try site.store)
        // A different presented chain next to the verified one, so that reports differ.
        let served = site.chain.map(\.derBytes) + [Array(host.utf8)]
        let error = #expect(throws: PinningError.self) {
            try policy(collector).evaluate(trust, port: 443, at: Date())
        }
        let mismatch = try #require(error?.mismatch)
        return PinFailureReport(mismatch, served: served, at: time)
    }

    @Test(
        "RP2: A failure is reported once a day over verified TLS, without anything of the request",
        arguments: [false, true])
    func once(isForgiven: Bool) async throws {
        let collector = try LoopbackServer(chain: site.chain)
        try await LoopbackServer(chain: site.chain).run { server in
            try await collector.run { collector in
                let spool = try spool(collector)
                let policy = try policy("https://collector.test/pins?a=b", mode: isForgiven ? .report : .enforce)
                for _ in 0..<3 {
                    let session = try site.session(server, policy: policy) { $0.pinReportSink = spool }
                    var request = URLRequest(
                        url: try #require(URL(string: "https://me:secret@pinned.test/canary?canary")))
                    request.httpBody = Data("canary".utf8)
                    request.httpMethod = "POST"
                    _ = try? await session.data(for: request)
                }
                let requests = try await received(collector, 1)
                #expect(requests[0].line == "POST /pins?a=b HTTP/1.1")
                #expect(requests[0].values(of: "Content-Type") == ["application/json"])
                let body = String(decoding: requests[0].body, as: UTF8.self)
                #expect(body.contains("\"hostname\":\"pinned.test\""))
                #expect(body.contains("BEGIN CERTIFICATE"))
                #expect(!(requests[0].head + body).contains("canary"))
                // A spool of the next run doesn't report it again either.
                let later = try self.spool(collector)
                later.take(try report("", collector: "https://collector.test/"))
                try await Task.sleep(for: .milliseconds(200))
                #expect(collector.records.flatMap(\.requests).count <= 2)
            }
        }
    }

    @Test("RP2: A collector with an untrusted chain gets nothing, and the report waits for the next run")
    func untrusted() async throws {
        let unrelated = try TestSite.pinned([.dns("collector.test")])
        let report = try report(collector: "https://collector.test/")
        try await LoopbackServer(chain: unrelated.chain).run { collector in
            let spool = try spool(collector)
            spool.take(report)
            while collector.records.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
            _ = await collector.ended()
            #expect(collector.applicationBytes.isEmpty)
            let directory = try ReportDirectory(self.directory.path + "/spool")
            while directory.waiting(limit: 9).first?.attempts != 1 { try await Task.sleep(for: .milliseconds(5)) }
            #expect(directory.waiting(limit: 9).count == 1)
            #expect(directory.waiting(limit: 9)[0].due > Date().addingTimeInterval(30))
        }
    }

    @Test(
        "RP1: Reports go only to https and a public hostname, and never to the host that failed",
        arguments: [
            ("https://collector.test/", true), ("https://collector.test:8443/a?b", true),
            ("http://collector.test/", false), ("file:///etc/passwd", false), ("https://169.254.169.254/", false),
            ("https://[::1]/", false), ("https://127.0.0.1/", false), ("https://localhost/", false),
            ("https://a.localhost/", false), ("https://intranet/", false), ("https://printer.local/", false),
            ("https://pinned.test/", false), ("https://pinned.test:8443/", false), ("https://PINNED.test./", false),
            ("https://u:p@collector.test/", false), ("https://u@collector.test/", false),
            ("ftp://collector.test/", false),
            ("https:///a", false),
        ])
    func destinations(collector: String, isTaken: Bool) throws {
        let url = try #require(URL(string: collector))
        #expect(PinReportSpool.isReportable(url, try report(collector: "https://collector.test/")) == isTaken)
    }

    @Test(
        "RP1, RP3: A collector that redirects, fails, hangs or never ends doesn't affect requests",
        arguments: ["302", "500", "hangs", "endless"])
    func badCollectors(kind: String) async throws {
        let script: LoopbackServer.Script
        switch kind {
        case "302": script = .answer { _ in .init("302 Found", fields: ["Location: https://pinned.test/again"]) }
        case "500": script = .answer { _ in .init("500 Internal Server Error") }
        case "hangs": script = .stall
        default:
            script = .answer { _ in
                var response = LoopbackServer.Response.headOnly("200 OK", fields: ["Content-Length: 10000000000"])
                response.endless = [UInt8](repeating: 0x78, count: 65_536)
                return response
            }
        }
        let collector = try LoopbackServer(chain: site.chain, script)
        try await LoopbackServer(chain: site.chain).run { server in
            try await collector.run { collector in
                let spool = try spool(collector)
                let session = try site.session(server, policy: policy("https://collector.test/", mode: .report)) {
                    $0.pinReportSink = spool
                }
                #expect(try await session.get().body == "hello")
                while collector.records.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
                for _ in 0..<20 { #expect(try await session.get().body == "hello") }
                if kind != "hangs" {
                    let directory = try ReportDirectory(self.directory.path + "/spool")
                    let waits = kind == "endless" ? 0 : 1
                    while directory.waiting(limit: 9).filter({ $0.attempts == 1 }).count != waits
                        || collector.records.flatMap(\.requests).isEmpty
                    { try await Task.sleep(for: .milliseconds(5)) }
                    // Nothing was sent to the target of the redirect.
                    #expect(server.records.flatMap(\.requests).allSatisfy { $0.target == "/" })
                }
            }
        }
    }

    @Test("RP4: 1,000 equal failures of a host, chain and day give one report, and different ones at most 100")
    func flood() async throws {
        try await LoopbackServer(chain: site.chain).run { collector in
            let spool = try spool(collector)
            let one = try report(collector: "https://collector.test/")
            for _ in 0..<1_000 { spool.take(one) }
            _ = try await received(collector, 1)
            for index in 0..<1_000 { spool.take(try report("\(index)", collector: "https://collector.test/")) }
            _ = try await received(collector, 2)
            try await Task.sleep(for: .milliseconds(300))
            let directory = try ReportDirectory(self.directory.path + "/spool")
            #expect(directory.names.count <= 1 + 10 * PinReportSpool.limit)
            // Read once, because more of them arrive meanwhile.
            let bodies = collector.records.flatMap(\.requests).map(\.body)
            #expect(Set(bodies).count == bodies.count)
        }
    }

    @Test("A failed report is tried at most five times over a day")
    func attempts() throws {
        let start = Date(timeIntervalSince1970: 0)
        var report = QueuedReport(
            name: "x", collector: try #require(URL(string: "https://c.test")), body: [], due: start)
        var waits: [TimeInterval] = []
        while let next = report.postponed(at: start) {
            waits.append(next.due.timeIntervalSince1970)
            report = next
        }
        #expect(waits == [60, 480, 3_840, 30_720])
    }

    @Test(
        "RP1: A rule with subdomains reports to none of them, but to a hostname that only ends with the same text",
        arguments: [
            ("https://collector.pinned.test/", false), ("https://a.b.PINNED.test/", false),
            ("https://notpinned.test/", true), ("https://pinned.test.example/", true),
            ("https://collector.test/", true),
        ])
    func subdomains(collector: String, isTaken: Bool) throws {
        let url = try #require(URL(string: collector))
        let host = try ServerName("www.pinned.test")
        let noted = try ServerName("pinned.test")
        for includesSubdomains in [true, false] {
            #expect(
                PinReportSpool.isReportable(url, host: host, noted: noted, includesSubdomains: includesSubdomains)
                    == (isTaken || !includesSubdomains))
        }
    }

    @Test("RP1: A report isn't sent to the host that failed, whatever host its rule names")
    func failedHost() throws {
        let url = try #require(URL(string: "https://www.pinned.test/"))
        let host = try ServerName("www.pinned.test")
        let noted = try ServerName("other.test")
        #expect(!PinReportSpool.isReportable(url, host: host, noted: noted, includesSubdomains: false))
    }

    @Test(
        "RP1: A report that is read back is checked like a new one, and removed if it must not be sent",
        arguments: [
            ("https://collector.test/", nil, true), ("https://notpinned.test/", nil, true),
            ("http://collector.test/", nil, false), ("https://127.0.0.1/", nil, false),
            ("https://169.254.169.254/latest", nil, false), ("https://localhost/", nil, false),
            ("https://printer.local/", nil, false), ("https://me:pw@collector.test/", nil, false),
            ("file:///etc/passwd", nil, false), ("https://www.pinned.test/", nil, false),
            ("https://pinned.test/", nil, false), ("https://sub.pinned.test/", nil, false),
            ("https://collector.test/", "", false), ("https://collector.test/", "{}", false),
            ("https://collector.test/", #"{"hostname": "x"}"#, false),
            (
                "https://collector.test/",
                #"{"hostname": "a b", "noted-hostname": "pinned.test", "include-subdomains": true}"#, false
            ),
            (
                "https://collector.test/",
                #"{"hostname": "a.test", "noted-hostname": "b.test", "include-subdomains": true, "x": ""#
                    + String(repeating: "x", count: PinFailureReport.bodyLimit) + #""}"#, false
            ),
        ] as [(String, String?, Bool)])
    func readBack(collector: String, body: String?, isKept: Bool) throws {
        let path = directory.path + "/spool"
        let directory = try ReportDirectory(path)
        let own = #"{"hostname": "www.pinned.test", "noted-hostname": "pinned.test", "include-subdomains": true}"#
        let report = QueuedReport(
            name: "2026-11-20-" + String(repeating: "a", count: 64),
            collector: try #require(URL(string: collector)), body: Array((body ?? own).utf8), due: Date())
        // A new report is written without this check.
        directory.add([report], limit: 9, today: "2026-11-20")
        #expect(directory.names == [report.name])
        #expect(directory.waiting(limit: 9).map(\.collector) == (isKept ? [report.collector] : []))
        #expect(directory.names == (isKept ? [report.name] : []))
    }

    @Test("Invalid reports are removed, other files are ignored, and a directory open to other users is rejected")
    func unrelated() throws {
        let path = directory.path + "/spool"
        let directory = try ReportDirectory(path)
        let name = "2026-11-20-" + String(repeating: "a", count: 64)
        for (file, contents) in [(name, "{\"version\":2}"), ("other", "x")] {
            let place = URL(filePath: path + "/" + file)
            try Data(contents.utf8).write(to: place)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: place.path)
        }
        #expect(directory.waiting(limit: 9).isEmpty)
        #expect(directory.names.isEmpty)
        #expect(FileManager.default.fileExists(atPath: path + "/other"))
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        #expect(throws: CredentialStorageError.self) { try PinReportSpool(directory: URL(filePath: path)) }
    }
}

extension PinningError {
    fileprivate var mismatch: PinMismatch? { if case .mismatch(let mismatch) = self { mismatch } else { nil } }
}
