import CertificateTrust
import PinctlBasics
import PinctlTestPKI
import Testing

@testable import PinnedNetworking

/// WebSockets with the whole client, against servers on the loopback interface.
@Suite(.timeLimit(.minutes(10)))
struct WebSocketTests {
    private static let url = "wss://pinned.test/socket?a=1"

    /// Runs a server with this script, and a WebSocket task that was started. Returns what the server received.
    @discardableResult
    private func run(
        _ script: LoopbackServer.Script, witness: WebSocketWitness? = nil, protocols: [String] = [],
        cachePolicy: URLRequest.CachePolicy = .useProtocolCachePolicy,
        _ body: (URLSessionWebSocketTask) async throws -> Void
    ) async throws -> [LoopbackServer.Record] {
        let site = try TestSite.shared.get()
        return try await LoopbackServer(chain: site.chain, script).run { server in
            let session = try site.session(server, delegate: witness) { $0.requestCachePolicy = cachePolicy }
            let task = session.webSocketTask(with: try #require(URL(string: Self.url)), protocols: protocols)
            task.resume()
            try await body(task)
            session.invalidateAndCancel()
            return await server.ended()
        }
    }

    @Test("Messages of every size are sent and received in order")
    func messages() async throws {
        let records = try await run(.echo) { task in
            task.maximumMessageSize = 1 << 22
            let sizes = [0, 1, 125, 126, 65535, 65536, 200_000, 1 << 21]
            for size in sizes {
                let text = String(repeating: "ä", count: size / 2)
                try await task.send(.string(text))
                try await task.send(.data(Data(repeating: 7, count: size)))
                #expect(try await task.text() == text)
                guard case .data(let data) = try await task.receive() else {
                    Issue.record("the data came back as text")
                    continue
                }
                #expect(data == Data(repeating: 7, count: size))
            }
            #expect(task.countOfBytesReceived == task.countOfBytesSent)
            #expect(task.countOfBytesReceived > 1 << 22)
            #expect(task.closeCode == .invalid)
        }
        let request = try #require(records.first?.requests.first)
        #expect(request.line == "GET /socket?a=1 HTTP/1.1")
        #expect(request.values(of: "Host") == ["pinned.test"])
        #expect(request.values(of: "Sec-WebSocket-Version") == ["13"])
        #expect(request.values(of: "Sec-WebSocket-Protocol") == [])
    }

    @Test(
        "A WebSocket opens although the session asks for stored responses",
        arguments: [
            URLRequest.CachePolicy.returnCacheDataDontLoad, .returnCacheDataElseLoad,
        ])
    func cachePolicy(_ policy: URLRequest.CachePolicy) async throws {
        let records = try await run(.echo, cachePolicy: policy) { task in
            try await task.send(.string("a"))
            #expect(try await task.text() == "a")
        }
        #expect(records.count == 1)
    }

    @Test("Messages that were sent before the WebSocket is open wait for it, and keep their order")
    func early() async throws {
        let site = try TestSite.shared.get()
        try await LoopbackServer(chain: site.chain, .echo).run { server in
            let session = try site.session(server)
            let task = session.webSocketTask(with: try #require(URL(string: Self.url)))
            let sent = Collected<Int>()
            let received = Collected<String>()
            let done = OnceOnlyAnswer<Void>()
            for number in 0..<50 {
                task.send(.string("\(number)")) { error in if error == nil { sent.append(number) } }
                task.receive { result in
                    if case .success(.string(let text)) = result { received.append(text) }
                    if number == 49 { done.answer(()) }
                }
            }
            #expect(server.records.isEmpty)
            task.resume()
            await done.value
            #expect(sent.values == Array(0..<50))
            #expect(received.values == (0..<50).map { "\($0)" })
            session.invalidateAndCancel()
        }
    }

    @Test("The server selects one of the offered subprotocols, and the delegate learns it first")
    func subprotocol() async throws {
        let witness = WebSocketWitness()
        let records = try await run(
            .webSocket(fields: ["Sec-WebSocket-Protocol: superchat"], rest: WebSocketPeer.frame("early")) { peer in
                try peer.close(4001, "that's all")
            }, witness: witness, protocols: ["chat", "superchat"]
        ) { task in
            let first = try await task.text()
            #expect(first == "early")
            #expect(await witness.end == nil)
            #expect(witness.events.values == ["open superchat", "close 4001 that's all", "end none"])
            #expect(task.closeCode == .other(4001))
            #expect(task.closeReason == Data("that's all".utf8))
            #expect(task.state == .completed)
            #expect((task.response as? HTTPURLResponse)?.statusCode == 101)
        }
        #expect(records.first?.requests.first?.values(of: "Sec-WebSocket-Protocol") == ["chat, superchat"])
    }

    @Test("The client confirms a close frame with its code, and later calls fail")
    func closedByServer() async throws {
        let codes = Collected<Int?>()
        for (code, name) in [(1000, URLSessionWebSocketTask.CloseCode.normalClosure), (1011, .internalServerError)] {
            let witness = WebSocketWitness()
            try await run(.webSocket { codes.append(try $0.close(code)) }, witness: witness) { task in
                let error = await #expect(throws: URLError.self) { try await task.receive() }
                #expect(error?.code == .networkConnectionLost)
                #expect(error?.localizedDescription.contains("code \(code)") == true)
                await #expect(throws: URLError.self) { try await task.send(.string("late")) }
                let pong = OnceOnlyAnswer<Bool>()
                task.sendPing { pong.answer($0 is URLError) }
                #expect(await pong.value == true)
                await #expect(throws: URLError.self) { try await task.sendPing() }
                #expect(task.closeCode == name)
                #expect(task.closeReason == nil)
                #expect(await witness.end == nil)
            }
        }
        #expect(codes.values == [1000, 1011])
    }

    @Test("Messages that arrived before the end are received after it")
    func afterTheEnd() async throws {
        let witness = WebSocketWitness()
        let rest = ["a", "b", "c"].flatMap { WebSocketPeer.frame($0) }
        try await run(.webSocket(rest: rest) { try $0.close() }, witness: witness) { task in
            #expect(await witness.end == nil)
            for text in ["a", "b", "c"] {
                let next = try await task.text()
                #expect(next == text)
            }
            await #expect(throws: URLError.self) { try await task.receive() }
        }
    }

    @Test("Closing sends what waits, then the code and reason, and ends when the server confirms it")
    func closedByClient() async throws {
        let witness = WebSocketWitness()
        let received = Collected<String>()
        try await run(
            .webSocket { peer in
                while let frame = try peer.next() {
                    received.append(frame.code.map { "\($0) \(frame.text.dropFirst(2))" } ?? frame.text)
                    if frame.opcode == 8 { return try peer.write(WebSocketPeer.close(1000, "ok")) }
                }
            }, witness: witness
        ) { task in
            try await task.send(.string("one"))
            task.send(.string("two")) { _ in }
            task.cancel(with: .goingAway, reason: Data("bye".utf8))
            task.cancel(with: .protocolError, reason: nil)
            #expect(await witness.end == nil)
            #expect(witness.events.values == ["open none", "close 1000 ok", "end none"])
            #expect(task.closeCode == .goingAway)
            #expect(task.closeReason == Data("bye".utf8))
        }
        #expect(received.values.count == 3)
        #expect(received.values.first == "one")
        #expect(received.values.dropFirst().first == "two")
        #expect(received.values.last?.hasPrefix("1001") == true)
        #expect(received.values.last?.hasSuffix("bye") == true)
    }

    @Test("A connection that ends without a close frame is an error")
    func truncated() async throws {
        let witness = WebSocketWitness()
        try await run(.webSocket { _ in }, witness: witness) { task in
            await #expect(throws: URLError.self) { try await task.receive() }
            #expect((await witness.end as? URLError)?.code == .networkConnectionLost)
            #expect(task.closeCode == .abnormalClosure)
            #expect(witness.events.values == ["open none", "end -1005"])
        }
    }

    @Test(
        "A frame that breaks the rules closes the WebSocket with the RFC's code (WS6)",
        arguments: [
            ([0x81, 0x80, 0, 0, 0, 0], 1002, URLError.Code.cannotParseResponse),
            ([0x81, 0x01, 0xFF], 1007, .cannotParseResponse),
            ([0xC1, 0x01, 0x41], 1002, .cannotParseResponse),
            ([0x82, 0x7F, 0, 0, 0, 0, 0xFF, 0, 0, 0], 1009, .dataLengthExceedsMaximum),
        ] as [([UInt8], Int, URLError.Code)])
    func violations(_ bytes: [UInt8], _ closeCode: Int, _ errorCode: URLError.Code) async throws {
        let witness = WebSocketWitness()
        let closed = Collected<Int?>()
        try await run(
            .webSocket { peer in
                try peer.write(WebSocketPeer.frame("before") + bytes + WebSocketPeer.frame("after"))
                while let frame = try peer.next() { closed.append(frame.code) }
            }, witness: witness
        ) { task in
            let first = try await task.text()
            #expect(first == "before")
            let error = await #expect(throws: URLError.self) { try await task.receive() }
            #expect(error?.code == errorCode)
            #expect((await witness.end as? URLError)?.code == errorCode)
            #expect(task.closeCode.rawValue == closeCode)
        }
        #expect(closed.values == [closeCode])
    }

    @Test("Pings are answered on both sides, and without a receiver")
    func pings() async throws {
        let pongs = Collected<String>()
        try await run(
            .webSocket { peer in
                try peer.write(WebSocketPeer.frame(9, Array("are you there".utf8)))
                // The client's own pings may arrive before its pong.
                while let frame = try peer.next(), frame.opcode != 8 {
                    if frame.opcode == 10 { pongs.append(frame.text) }
                    if frame.opcode == 9 { try peer.write(WebSocketPeer.frame(10, frame.payload)) }
                }
            }
        ) { task in
            let answers = Collected<Bool>()
            let done = OnceOnlyAnswer<Void>()
            for number in 0..<3 {
                task.sendPing { error in
                    answers.append(error == nil)
                    if number == 2 { done.answer(()) }
                }
            }
            await done.value
            #expect(answers.values == [true, true, true])
            try await task.sendPing()
        }
        #expect(pongs.values == ["are you there"])
    }

    @Test("A receive that is cancelled loses no message")
    func cancelledReceive() async throws {
        try await run(.echo) { task in
            for round in 0..<20 {
                let waiting = Task { try await task.text() }
                if round.isMultiple(of: 2) { await Task.yield() }
                waiting.cancel()
                await #expect(throws: CancellationError.self) { try await waiting.value }
                try await task.send(.string("\(round)"))
                #expect(try await task.text() == "\(round)")
            }
        }
    }

    @Test("Cancelling ends the task at once, and every call that waits")
    func cancelled() async throws {
        let witness = WebSocketWitness()
        try await run(.webSocket { while try $0.next() != nil {} }, witness: witness) { task in
            try await task.send(.string("one"))
            let waiting = Task { try await task.receive() }
            task.cancel()
            let error = await #expect(throws: URLError.self) { _ = try await waiting.value }
            #expect(error?.code == .cancelled)
            #expect((await witness.end as? URLError)?.code == .cancelled)
            #expect(task.closeCode == .abnormalClosure)
        }
    }

    @Test("Closing before the WebSocket is open cancels it, and sends nothing")
    func closedEarly() async throws {
        let site = try TestSite.shared.get()
        let witness = WebSocketWitness()
        try await LoopbackServer(chain: site.chain, .echo).run { server in
            let task = try site.session(server, delegate: witness).webSocketTask(
                with: try #require(URL(string: Self.url)))
            task.cancel(with: .normalClosure, reason: nil)
            #expect((await witness.end as? URLError)?.code == .cancelled)
            #expect(task.closeCode == .normalClosure)
            #expect(server.records.allSatisfy { !$0.handshakeCompleted && $0.applicationBytes.isEmpty })
            await #expect(throws: URLError.self) { try await task.send(.string("late")) }
        }
    }

    @Test("A server whose messages aren't received has to wait, and they arrive when they are")
    func backpressure() async throws {
        let written = Collected<Int>()
        try await run(
            .webSocket { peer in
                for number in 0..<64 {
                    try peer.write(WebSocketPeer.frame(2, [UInt8](repeating: UInt8(number), count: 1 << 19)))
                    written.append(number)
                }
                try peer.echo()
            }
        ) { task in
            try await task.send(.string("now"))
            #expect(try await task.text() == "data:\(1 << 19)")
            // 32 MiB don't fit into the buffers of the sockets and of the client.
            #expect(written.values.count < 64)
            for _ in 1..<64 { #expect(try await task.text() == "data:\(1 << 19)") }
            #expect(try await task.text() == "now")
        }
    }

    @Test("A long message is received only if it isn't larger than the limit")
    func limit() async throws {
        for (size, isReceived) in [(1000, true), (1001, false)] {
            try await run(
                .webSocket { peer in
                    try peer.write(WebSocketPeer.frame(2, [UInt8](repeating: 0, count: size)))
                    try peer.echo()
                }
            ) { task in
                #expect(task.maximumMessageSize == 1_048_576)
                task.maximumMessageSize = 1000
                let text = try? await task.text()
                #expect(text == (isReceived ? "data:1000" : nil))
            }
        }
    }

    @Test("A limit that is set on an open WebSocket applies to the next message")
    func laterLimit() async throws {
        try await run(.echo) { task in
            try await task.send(.string("12345"))
            #expect(try await task.text() == "12345")
            task.maximumMessageSize = 4
            try await task.send(.string("12345"))
            let error = await #expect(throws: URLError.self) { try await task.receive() }
            #expect(error?.code == .dataLengthExceedsMaximum)
        }
    }
}
