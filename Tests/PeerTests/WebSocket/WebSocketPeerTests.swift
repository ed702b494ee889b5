import PinctlTestPKI
import PinnedNetworking
import Testing

/// WebSockets with third-party servers.
@Suite(.timeLimit(.minutes(10)))
struct WebSocketPeerTests {
    private typealias Library = WebSocketServerPeer.Library

    let site: PeerSite

    init() throws { site = try PeerSite() }

    private func text(_ task: URLSessionWebSocketTask) async throws -> String {
        guard case .string(let text) = try await task.receive() else { return "no text" }
        return text
    }

    /// Exchanges messages of every kind, and closes the WebSocket.
    private func exchange(_ library: WebSocketServerPeer.Library, isSecure: Bool) async throws {
        let peer = try await WebSocketServerPeer(library, site, isSecure: isSecure)
        let session = try site.session(to: peer.port) {
            if isSecure { $0.pinning = try .pinning(site.origin.leaf.key.pin, host: "pinned.test") }
        }
        let url = try #require(URL(string: (isSecure ? "wss" : "ws") + "://pinned.test/"))
        let task = session.webSocketTask(with: url, protocols: ["other", "chat"])
        task.maximumMessageSize = 4 << 20
        task.resume()
        let long = Data((0..<(1 << 20)).map { UInt8(truncatingIfNeeded: $0) })
        for size in [0, 1, 125, 126, 65_535, 65_536, 1 << 20] {
            try await task.send(.data(long.prefix(size)))
            guard case .data(let data) = try await task.receive() else {
                Issue.record("no data")
                continue
            }
            #expect(data == long.prefix(size))
        }
        let (response, selected) = (task.response as? HTTPURLResponse, "Sec-WebSocket-Protocol")
        #expect(response?.statusCode == 101)
        #expect(response?.value(forHTTPHeaderField: selected) == "chat")
        #expect(response?.value(forHTTPHeaderField: "Sec-WebSocket-Extensions") == nil)
        try await task.send(.string("grüße"))
        #expect(try await text(task) == "grüße")
        try await task.send(.string("fragments"))
        #expect(try await text(task) == "one two three")
        try await task.send(.string("ping"))
        #expect(try await text(task) == "ponged")
        await withCheckedContinuation { continuation in
            task.sendPing { error in
                #expect(error == nil)
                continuation.resume()
            }
        }
        task.cancel(with: .goingAway, reason: Data("later".utf8))
        let lines = try await peer.lines(2)
        #expect(lines == ["open", "close 1001 later"])

        let other = session.webSocketTask(with: url)
        other.resume()
        try await other.send(.string("close"))
        await #expect(throws: (any Error).self) { try await other.receive() }
        #expect(other.closeCode == .other(4001))
        #expect(other.closeReason == Data("bye".utf8))
    }

    /// Checks that a server whose pin doesn't match sees no handshake.
    private func mismatch(_ library: WebSocketServerPeer.Library) async throws {
        let peer = try await WebSocketServerPeer(library, site, isSecure: true)
        let session = try site.session(to: peer.port) { $0.pinning = try .pinning(unknownPin, host: "pinned.test") }
        let task = session.webSocketTask(with: try #require(URL(string: "wss://pinned.test/")))
        task.resume()
        let error = await #expect(throws: URLError.self) { try await task.receive() }
        #expect(error?.code == .serverCertificateUntrusted)
        // A later WebSocket is the first that the server sees.
        session.pinning = try .pinning(site.origin.leaf.key.pin, host: "pinned.test")
        let good = session.webSocketTask(with: try #require(URL(string: "wss://pinned.test/")))
        good.resume()
        try await good.send(.string("hello"))
        #expect(try await text(good) == "hello")
        #expect(try peer.lines == ["open"])
        good.cancel(with: .normalClosure, reason: nil)
    }

    @Test(
        "websockets exchanges messages of every kind and size", PeerProgram.websockets.isNeeded,
        arguments: [false, true])
    func websockets(isSecure: Bool) async throws { try await exchange(.websockets, isSecure: isSecure) }

    @Test(
        "Autobahn exchanges messages of every kind and size", PeerProgram.autobahn.isNeeded, arguments: [false, true])
    func autobahn(isSecure: Bool) async throws { try await exchange(.autobahn, isSecure: isSecure) }

    @Test("websockets gets no handshake from a client whose pins don't match", PeerProgram.websockets.isNeeded)
    func websocketsMismatch() async throws { try await mismatch(.websockets) }

    @Test("Autobahn gets no handshake from a client whose pins don't match", PeerProgram.autobahn.isNeeded)
    func autobahnMismatch() async throws { try await mismatch(.autobahn) }
}
