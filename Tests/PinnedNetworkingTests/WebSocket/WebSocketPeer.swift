import CertificateTrust
import PinctlHTTPMessages
import PinctlTestPKI
import Testing

@testable import PinnedNetworking

/// The server's side of a WebSocket in a test: it checks the client's frames, which must be masked and whole.
final class WebSocketPeer {
    /// A frame of the client.
    struct Frame: Equatable {
        let opcode: UInt8
        let payload: [UInt8]

        var text: String { String(decoding: payload, as: UTF8.self) }
        /// The code of a close frame.
        var code: Int? { opcode == 8 && payload.count >= 2 ? Int(payload[0]) << 8 | Int(payload[1]) : nil }
    }

    let request: LoopbackServer.Request
    private let connection: LoopbackServer.Connection
    private var unread: [UInt8] = []

    /// Reads the handshake and answers it, unless the client ends before. `fields` are added to the response.
    init?(_ connection: LoopbackServer.Connection, fields: [String] = [], rest: [UInt8] = []) throws {
        guard let request = try connection.readRequest() else { return nil }
        self.request = request
        self.connection = connection
        try connection.write(Self.answer(to: request, fields) + rest)
    }

    /// Returns the response that accepts a handshake.
    static func answer(to request: LoopbackServer.Request, _ fields: [String] = []) throws -> [UInt8] {
        let key = try #require(request.values(of: "Sec-WebSocket-Key").first) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        let accept = Data(try #require(digest("SHA1", of: Array(key.utf8)))).base64EncodedString()
        return LoopbackServer.Response.head(
            "101 Switching Protocols",
            ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Accept: \(accept)"] + fields)
    }

    static func frame(_ opcode: UInt8, _ payload: [UInt8]) -> [UInt8] {
        let length: [UInt8] =
            switch payload.count {
            case ...125: [UInt8(payload.count)]
            case ...0xFFFF: [126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
            default: [127] + (0..<8).reversed().map { UInt8(truncatingIfNeeded: payload.count >> ($0 * 8)) }
            }
        return [0x80 | opcode] + length + payload
    }

    static func frame(_ text: String) -> [UInt8] { frame(1, Array(text.utf8)) }

    static func close(_ code: Int, _ reason: String = "") -> [UInt8] {
        frame(8, [UInt8(code >> 8), UInt8(code & 0xFF)] + Array(reason.utf8))
    }

    func write(_ bytes: [UInt8]) throws { try connection.write(bytes) }

    /// Returns the next frame, or nil if the client ends.
    func next() throws -> Frame? {
        guard let header = try take(2) else { return nil }
        try #require(header[0] & 0xF0 == 0x80 && header[1] & 0x80 != 0, "the client's frame isn't whole and masked")
        var length = Int(header[1] & 0x7F)
        if length > 125 {
            guard let long = try take(length == 126 ? 2 : 8) else { return nil }
            length = long.reduce(0) { $0 << 8 | Int($1) }
        }
        guard let mask = try take(4), let payload = try take(length) else { return nil }
        return Frame(opcode: header[0] & 0x0F, payload: payload.indices.map { payload[$0] ^ mask[$0 & 3] })
    }

    /// Sends every message back, answers a close frame, and returns.
    func echo() throws {
        while let frame = try next() {
            switch frame.opcode {
            case 8: return try write(Self.frame(8, frame.payload))
            case 9: try write(Self.frame(10, frame.payload))
            default: try write(Self.frame(frame.opcode, frame.payload))
            }
        }
    }

    /// Closes, and waits for the client to confirm it. Returns the code of its close frame.
    @discardableResult
    func close(_ code: Int = 1000, _ reason: String = "") throws -> Int? {
        try write(Self.close(code, reason))
        while let frame = try next() { if frame.opcode == 8 { return frame.code } }
        return nil
    }

    private func take(_ count: Int) throws -> [UInt8]? {
        while unread.count < count {
            guard let bytes = try connection.read() else { return nil }
            unread += bytes
        }
        defer { unread.removeFirst(count) }
        return Array(unread.prefix(count))
    }
}

extension LoopbackServer.Script {
    /// Accepts every WebSocket, and then runs this.
    static func webSocket(
        fields: [String] = [], rest: [UInt8] = [], _ body: @escaping @Sendable (WebSocketPeer) throws -> Void
    ) -> Self {
        .handle { connection in
            guard let peer = try WebSocketPeer(connection, fields: fields, rest: rest) else { return }
            try body(peer)
        }
    }

    /// Sends every message back.
    static let echo = webSocket { try $0.echo() }
}

/// A delegate that records the calls for WebSocket tasks, and accepts redirects and challenges by default.
final class WebSocketWitness: NSObject, URLSessionWebSocketDelegate {
    let events = Collected<String>()
    private let ended = OnceOnlyAnswer<(any Error)?>()

    func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask, didOpenWithProtocol protocol: String?
    ) {
        events.append("open \(`protocol` ?? "none")")
    }

    func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
        didCloseWith closeCode: URLSessionWebSocketTask.CloseCode, reason: Data?
    ) {
        events.append("close \(closeCode.rawValue) \(reason.map { String(decoding: $0, as: UTF8.self) } ?? "none")")
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        events.append("end \(error.map { "\(($0 as? URLError)?.code.rawValue ?? 0)" } ?? "none")")
        ended.answer(error)
    }

    /// The error that the task ended with. Waits for it. May be called once.
    var end: (any Error)? { get async { await ended.value ?? CancellationError() } }
}

extension URLSessionWebSocketTask {
    /// The next message, as text: `data:` precedes the number of bytes of data.
    func text() async throws -> String {
        switch try await receive() {
        case .string(let text): text
        case .data(let data): "data:\(data.count)"
        }
    }
}
