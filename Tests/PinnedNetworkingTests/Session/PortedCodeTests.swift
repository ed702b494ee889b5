import PinctlTestPKI
import Testing

@testable import PinnedNetworking

/// The parts of URLSession's interface, beside requests, that ported code relies on: equality, copies, settings without
/// effect.
@Suite(.timeLimit(.minutes(10)))
struct PortedCodeTests {
    private let site: TestSite
    private let url: URL
    init() throws {
        site = try TestSite.shared.get()
        url = try #require(URL(string: "https://pinned.test/a?secret"))
    }

    @Test("Tasks, sessions, configurations and storages are equal only to themselves, and can be keys")
    func identity() throws {
        let session = URLSession(configuration: .ephemeral)
        let (one, other) = (session.dataTask(with: url), session.dataTask(with: url))
        #expect(Set([one, other, one]).count == 2)
        #expect(one.copy() as? URLSessionTask == one)
        #expect(one != other)
        #expect(session != URLSession.shared && session == session)
        let configuration = URLSessionConfiguration.default
        #expect(configuration != URLSessionConfiguration.default)
        #expect(URLCredentialStorage.shared != URLCredentialStorage())
        #expect("\(one)" == "<URLSessionDataTask>: {1} GET https://pinned.test/a")
        #expect(one.debugDescription == "\(one)")
        #expect("\(configuration)" == "URLSessionConfiguration")
    }

    @Test("A copied configuration has the same settings, and changes separately")
    func copy() throws {
        let configuration = URLSessionConfiguration.default
        configuration.timeoutIntervalForRequest = 7
        configuration.httpAdditionalHeaders = ["X": "1"]
        configuration.networkServiceType = .video
        let copy = try #require(configuration.copy() as? URLSessionConfiguration)
        #expect(copy.timeoutIntervalForRequest == 7)
        #expect(copy.httpAdditionalHeaders as? [String: String] == ["X": "1"])
        #expect(copy.networkServiceType == .video)
        copy.timeoutIntervalForRequest = 8
        #expect(configuration.timeoutIntervalForRequest == 7)
    }

    @Test("flush and reset call their handlers on the delegates' queue when they are done")
    func handlers() async throws {
        try await LoopbackServer(chain: site.chain, .respond(.init(body: "ok"))).run { server in
            let session = try site.session(server)
            for (isReset, count) in [(false, 2), (true, 3)] {
                _ = try await session.data(from: url)
                let queue = await withCheckedContinuation { (done: CheckedContinuation<OperationQueue?, Never>) in
                    let handler: @Sendable () -> Void = { done.resume(returning: OperationQueue.current) }
                    if isReset {
                        session.reset(completionHandler: handler)
                    } else {
                        session.flush(completionHandler: handler)
                    }
                }
                #expect(queue == session.delegateQueue)
                // The connection was dropped.
                _ = try await session.data(from: url)
                #expect(server.records.count == count)
            }
        }
    }

    @Test("Settings without effect keep their values and have Apple's defaults")
    func unused() throws {
        let configuration = URLSessionConfiguration.default
        #expect(configuration.allowsCellularAccess && configuration.allowsExpensiveNetworkAccess)
        #expect(configuration.allowsConstrainedNetworkAccess)
        #expect(!configuration.waitsForConnectivity && !configuration.isDiscretionary)
        #expect(!configuration.httpShouldUsePipelining && !configuration.shouldUseExtendedBackgroundIdleMode)
        #expect(configuration.identifier == nil && configuration.sharedContainerIdentifier == nil)
        configuration.waitsForConnectivity = true
        configuration.isDiscretionary = true
        configuration.shouldUseExtendedBackgroundIdleMode = true
        configuration.httpShouldUsePipelining = true
        configuration.allowsCellularAccess = false
        let session = URLSession(configuration: configuration)
        #expect(session.configuration.waitsForConnectivity && session.configuration.isDiscretionary)
        #expect(session.configuration.shouldUseExtendedBackgroundIdleMode)
        #expect(session.configuration.httpShouldUsePipelining && !session.configuration.allowsCellularAccess)
        var request = URLRequest(url: url)
        let plain = request
        request.networkServiceType = .background
        request.allowsCellularAccess = false
        #expect(request != plain)
        #expect(request.networkServiceType == .background && plain.networkServiceType == .default)
        #expect(NSURLSessionTransferSizeUnknown == -1)
        let object = NSMutableURLRequest(url: url)
        object.httpShouldUsePipelining = true
        #expect((object as URLRequest).httpShouldUsePipelining && !plain.httpShouldUsePipelining)
        let task = session.dataTask(with: url)
        #expect(task.earliestBeginDate == nil && task.countOfBytesClientExpectsToSend == -1)
        (task.earliestBeginDate, task.countOfBytesClientExpectsToReceive) = (.distantFuture, 9)
        #expect(task.earliestBeginDate == .distantFuture && task.countOfBytesClientExpectsToReceive == 9)
        #expect(URLSessionConfiguration().timeoutIntervalForRequest == 60)
        #expect(URLSessionConfiguration.ephemeral.timeoutIntervalForResource == 7 * 24 * 60 * 60)
    }

    /// Records that a task waits for a network.
    private final class Waiting: URLSessionTaskDelegate {
        let waits = Collected<Void>()
        func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) { waits.append(()) }
    }

    @Test("Settings without effect change no request, and one that can't connect fails at once")
    func unusedInRequests() async throws {
        let adjust: (URLSessionConfiguration) -> Void = { configuration in
            configuration.waitsForConnectivity = true
            configuration.isDiscretionary = true
            configuration.networkServiceType = .background
            configuration.allowsCellularAccess = false
            configuration.httpShouldUsePipelining = true
        }
        var request = URLRequest(url: url)
        request.networkServiceType = .background
        request.allowsCellularAccess = false
        request.httpShouldUsePipelining = true
        try await LoopbackServer(chain: site.chain).run { server in
            _ = try await site.session(server).data(from: url)
            let statuses = Collected<Int?>()
            let task = try site.session(server, adjust).dataTask(with: request) { _, response, _ in
                statuses.append((response as? HTTPURLResponse)?.statusCode)
            }
            task.earliestBeginDate = .distantFuture
            task.resume()
            while statuses.values.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
            #expect(statuses.values == [200])
            let sent = server.records.flatMap(\.requests).map(\.head)
            #expect(sent.count == 2 && Set(sent).count == 1)
        }
        let stopped = try LoopbackServer(chain: site.chain)
        stopped.stop()
        let delegate = Waiting()
        let session = try site.session(stopped, delegate: delegate, adjust)
        #expect(try await session.failure().code == .cannotConnectToHost)
        #expect(delegate.waits.values.isEmpty)
    }

    @Test("If no response is stored, only the policy that forbids loading has an effect, of the request or the session")
    func cachePolicies() async throws {
        #expect(URLRequest(url: url, cachePolicy: .useProtocolCachePolicy) == URLRequest(url: url))
        let request = URLRequest(url: url, cachePolicy: .reloadIgnoringCacheData, timeoutInterval: 9)
        #expect(request.timeoutInterval == 9 && request.cachePolicy.rawValue == 1)
        let rows: [(URLRequest.CachePolicy, URLRequest.CachePolicy, Bool)] = [
            (.useProtocolCachePolicy, .useProtocolCachePolicy, true),
            (.returnCacheDataElseLoad, .useProtocolCachePolicy, true),
            (.reloadRevalidatingCacheData, .returnCacheDataDontLoad, true),
            (.reloadIgnoringLocalAndRemoteCacheData, .returnCacheDataDontLoad, true),
            (.returnCacheDataDontLoad, .useProtocolCachePolicy, false),
            (.useProtocolCachePolicy, .returnCacheDataDontLoad, false),
        ]
        for (own, ofConfiguration, isSent) in rows {
            try await LoopbackServer(chain: site.chain, .respond(.init(body: "ok"))).run { server in
                let session = try site.session(server) { $0.requestCachePolicy = ofConfiguration }
                let result: Result<(Data, URLResponse), any Error>
                do {
                    result = .success(try await session.data(for: URLRequest(url: url, cachePolicy: own)))
                } catch {
                    result = .failure(error)
                }
                switch result {
                case .success: #expect(isSent, "\(own)")
                case .failure(let error): #expect(!isSent && (error as? URLError)?.code == .resourceUnavailable)
                }
                #expect(server.records.isEmpty == !isSent)
            }
        }
    }

    /// Answers responses with `becomeDownload`.
    private final class Turning: URLSessionDataDelegate, URLSessionDownloadDelegate {
        let events = Collected<String>()
        let downloads = Collected<URLSessionDownloadTask>()
        private let cancels: Bool

        init(cancels: Bool) { self.cancels = cancels }

        func urlSession(
            _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse
        ) async -> URLSession.ResponseDisposition { .becomeDownload }

        func urlSession(
            _ session: URLSession, dataTask: URLSessionDataTask, didBecome downloadTask: URLSessionDownloadTask
        ) {
            downloads.append(downloadTask)
            events.append("became \(downloadTask.taskIdentifier)")
            if cancels { downloadTask.cancel() }
        }

        func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
            events.append("data")
        }

        func urlSession(
            _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
        ) {
            events.append("file \((try? String(contentsOf: location, encoding: .utf8)) ?? "missing")")
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            events.append("end of \(task.taskIdentifier) \((error as? URLError)?.code.rawValue ?? 0)")
        }
    }

    @Test("A download that was a data task outlives the invalidation of its session, and has the request's timeout")
    func becomesDownloadLate() async throws {
        let delegate = Turning(cancels: false)
        try await LoopbackServer(chain: site.chain, .respond(.init(body: "hello"))).run { server in
            let session = try site.session(server, delegate: delegate)
            session.dataTask(with: url).resume()
            session.finishTasksAndInvalidate()
            while !delegate.events.values.contains(where: { $0.hasPrefix("end") }) {
                try await Task.sleep(for: .milliseconds(2))
            }
            #expect(delegate.events.values == ["became 2", "file hello", "end of 2 0"])
        }
        let script = LoopbackServer.Script.handle {
            _ = try $0.readRequest()
            try $0.write(Array("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhel".utf8))
            while try $0.read() != nil {}
        }
        try await LoopbackServer(chain: site.chain, script).run { server in
            var events: [String] = []
            // On a busy machine a short timeout can expire before the response arrives.
            for timeout: TimeInterval in [0.3, 2, 8, 32] where !events.contains("became 2") {
                let stalled = Turning(cancels: false)
                let session = try site.session(server, delegate: stalled) { $0.timeoutIntervalForRequest = timeout }
                session.dataTask(with: url).resume()
                while !stalled.events.values.contains(where: { $0.hasPrefix("end") }) {
                    try await Task.sleep(for: .milliseconds(2))
                }
                events = stalled.events.values
            }
            #expect(events == ["became 2", "end of 2 \(URLError.Code.timedOut.rawValue)"])
        }
    }

    @Test("A data task becomes a download, which can be cancelled, and receives no further calls")
    func becomesDownload() async throws {
        for cancels in [false, true] {
            let delegate = Turning(cancels: cancels)
            try await LoopbackServer(chain: site.chain, .respond(.init(body: "hello"))).run { server in
                let session = try site.session(server, delegate: delegate)
                let task = session.dataTask(with: url)
                task.resume()
                while !delegate.events.values.contains(where: { $0.hasPrefix("end") }) {
                    try await Task.sleep(for: .milliseconds(2))
                }
                let download = try #require(delegate.downloads.values.first)
                #expect(
                    delegate.events.values
                        == (cancels ? ["became 2", "end of 2 -999"] : ["became 2", "file hello", "end of 2 0"]))
                #expect(task.state == .completed && download.state == .completed)
                if !cancels {
                    #expect(download.countOfBytesReceived == 5)
                    #expect((download.response as? HTTPURLResponse)?.statusCode == 200)
                    #expect(download.progress.fractionCompleted == 1)
                }
                #expect(await session.allTasks.isEmpty)
            }
        }
    }
}
