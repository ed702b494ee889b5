import PinctlTestPKI
import PinnedNetworking
import Testing

@Suite(.timeLimit(.minutes(10)))
struct RequestFailureTests {
    struct ServerRow: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let script: LoopbackServer.Script
        var sendsCloseNotify = true
        let code: URLError.Code
        /// Text that the error's description contains.
        var text = ""
    }

    static let serverRows = [
        ServerRow(testDescription: "closes at once", script: .closeAfterAccept, code: .secureConnectionFailed),
        ServerRow(
            testDescription: "never shakes hands", script: .stall, code: .timedOut,
            text: "waiting for the server's certificate"),
        ServerRow(
            testDescription: "never answers", script: .handle { while try $0.read() != nil {} }, code: .timedOut,
            text: "waiting for the response"),
        ServerRow(
            testDescription: "closes without an answer", script: .handle { _ = try $0.readRequest() },
            code: .networkConnectionLost),
        ServerRow(
            testDescription: "stops in the middle",
            script: .respond(.raw(Array("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhel".utf8))),
            code: .networkConnectionLost),
        ServerRow(
            testDescription: "stalls in the middle",
            script: .handle {
                _ = try $0.readRequest()
                try $0.write(Array("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhel".utf8))
                while try $0.read() != nil {}
            },
            code: .timedOut, text: "waiting for the response"),
        // TC16: without a length, only a close_notify shows that the body is complete.
        ServerRow(
            testDescription: "has neither length nor close_notify",
            script: .respond(.raw(Array("HTTP/1.1 200 OK\r\n\r\nhello".utf8))), sendsCloseNotify: false,
            code: .networkConnectionLost),
        ServerRow(
            testDescription: "speaks something else", script: .respond(.raw(Array("SSH-2.0-x\r\n".utf8))),
            code: .cannotParseResponse),
        ServerRow(
            testDescription: "smuggles",
            script: .respond(
                .raw(Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nhi".utf8))),
            code: .cannotParseResponse),
        ServerRow(
            testDescription: "announces too much",
            script: .respond(.raw(Array("HTTP/1.1 200 OK\r\nContent-Length: 1073741825\r\n\r\n".utf8))),
            code: .dataLengthExceedsMaximum),
    ]

    @Test("A server failure gives the matching URLError", arguments: serverRows)
    func serverFailure(row: ServerRow) async throws {
        let site = try TestSite.pinned()
        let server = try LoopbackServer(chain: site.chain, row.script) { $0.sendsCloseNotify = row.sendsCloseNotify }
        try await server.run { server in
            var text = ""
            // On a busy machine a short timeout can expire before the server does what the row is about.
            for timeout: TimeInterval in row.code == .timedOut ? [0.3, 2, 8, 32] : [600] {
                let session = try site.session(server) { $0.timeoutIntervalForRequest = timeout }
                let error = try await session.failure()
                #expect(error.code == row.code)
                text = error.localizedDescription
                if text.contains(row.text) { break }
            }
            #expect(row.text.isEmpty || text.contains(row.text), "\(text)")
        }
    }

    @Test("Without a length the body ends at a close_notify, and chunks are joined")
    func otherFramings() async throws {
        let site = try TestSite.pinned()
        for response in [
            "HTTP/1.1 200 OK\r\n\r\nhello", "HTTP/1.0 200 OK\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;a\r\nllo\r\n0\r\nX: y\r\n\r\n",
        ] {
            try await LoopbackServer(chain: site.chain, .respond(.raw(Array(response.utf8)))).run { server in
                let (body, response) = try await site.session(server).get()
                #expect(body == "hello")
                #expect(response.expectedContentLength == -1)
            }
        }
    }

    @Test("The resource timeout ends a response that doesn't end")
    func resourceTimeout() async throws {
        let site = try TestSite.pinned()
        let drip = LoopbackServer.Script.handle { connection in
            _ = try connection.readRequest()
            try connection.write(Array("HTTP/1.1 200 OK\r\n\r\n".utf8))
            while true {
                try connection.write([UInt8(ascii: ".")])
                Thread.sleep(forTimeInterval: 0.01)
            }
        }
        try await LoopbackServer(chain: site.chain, drip).run { server in
            let session = try site.session(server) { $0.timeoutIntervalForResource = 0.5 }
            let error = try await session.failure()
            #expect(error.code == .timedOut)
            #expect(error.localizedDescription.contains("timeoutIntervalForResource"))
        }
    }

    @Test("A request's own timeout overrides the session's")
    func ownTimeout() async throws {
        let site = try TestSite.pinned()
        try await LoopbackServer(chain: site.chain, .stall).run { server in
            let session = try site.session(server)
            let url = try #require(URL(string: "https://pinned.test/"))
            let error = await #expect(throws: URLError.self) {
                try await session.data(for: URLRequest(url: url, timeoutInterval: 0.2))
            }
            #expect(error?.code == .timedOut)
        }
    }

    @Test(
        "A zero, negative or NaN timeout ends a request at once, and a huge or infinite one never does",
        arguments: [-1, 0, .nan, .infinity, 1e300])
    func oddTimeouts(seconds: TimeInterval) async throws {
        let site = try TestSite.pinned()
        try await LoopbackServer(chain: site.chain).run { server in
            let session = try site.session(server) {
                $0.timeoutIntervalForRequest = seconds
                $0.timeoutIntervalForResource = seconds
            }
            if seconds > 0 {
                #expect(try await session.get().body == "hello")
            } else {
                #expect(try await session.failure().code == .timedOut)
            }
        }
    }

    @Test(
        "Cancelling the caller's task ends the request",
        arguments: [LoopbackServer.Script.stall, .handle { while try $0.read() != nil {} }])
    func cancel(script: LoopbackServer.Script) async throws {
        let site = try TestSite.pinned()
        try await LoopbackServer(chain: site.chain, script).run { server in
            let session = try site.session(server)
            let request = Task { try await session.failure() }
            while server.records.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
            request.cancel()
            #expect(try await request.value.code == .cancelled)
            _ = await server.ended()
        }
    }

    @Test("A request in a cancelled task is not sent")
    func cancelledBefore() async throws {
        let site = try TestSite.pinned()
        try await LoopbackServer(chain: site.chain).run { server in
            let session = try site.session(server)
            let request = Task {
                while !Task.isCancelled { await Task.yield() }
                return try await session.failure()
            }
            request.cancel()
            #expect(try await request.value.code == .cancelled)
            #expect(server.applicationBytes.isEmpty)
        }
    }

    @Test(
        "A server whose TLS version is below the configuration's minimum is rejected, and the default is TLS 1.2",
        arguments: [
            (LoopbackServer.TLSVersion.tls11, nil, false), (.tls12, nil, true), (.tls12, .TLSv12, true),
            (.tls12, .TLSv13, false), (.tls13, .TLSv13, true),
        ] as [(LoopbackServer.TLSVersion, tls_protocol_version_t?, Bool)])
    func minimumVersion(
        version: LoopbackServer.TLSVersion, minimum: tls_protocol_version_t?, isServed: Bool
    ) async throws {
        let site = try TestSite.pinned()
        let server = try LoopbackServer(chain: site.chain) { $0.protocolVersions = version...version }
        try await server.run { server in
            let session = try site.session(server) {
                if let minimum { $0.tlsMinimumSupportedProtocolVersion = minimum }
            }
            if isServed {
                #expect(try await session.get().body == "hello")
            } else {
                #expect(try await session.failure().code == .secureConnectionFailed)
                #expect(server.applicationBytes.isEmpty)
            }
        }
    }

    @Test("A refused connection and an unknown host give different errors")
    func unreachable() async throws {
        let site = try TestSite.pinned()
        let server = try LoopbackServer(chain: site.chain)
        server.stop()
        #expect(try await site.session(server).failure().code == .cannotConnectToHost)
        let unrouted = try site.session(server) { $0.route = nil }
        #expect(try await unrouted.failure("https://name.invalid/").code == .cannotFindHost)
    }

    @Test("An error contains its URL without the password (CS2)")
    func failingURL() async throws {
        let session = URLSession(configuration: .ephemeral)
        let error = try await session.failure("http://me:secret@pinned.test/a?b")
        #expect(!"\(error) \(error.userInfo)".contains("secret"))
        let url = error.userInfo[NSURLErrorFailingURLErrorKey] as? URL
        #expect(error.userInfo["NSErrorFailingURLStringKey"] as? String == url?.absoluteString)
        #expect(url?.absoluteString == "http://pinned.test/a?b")
    }
}
