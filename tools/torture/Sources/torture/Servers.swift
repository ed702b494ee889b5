import PinctlTestPKI

/// A server that asks for a password.
enum LoginServer {
    static let script = LoopbackServer.Script.answer { request in
        request.values(of: "Authorization") == ["Basic cmVhZGVyOnNlY3JldA=="]
            ? .init(body: "hello")
            : .init("401 Unauthorized", fields: ["WWW-Authenticate: Basic realm=\"reports\""])
    }
}

/// A WebSocket server that returns one short message and a close frame, unmasked.
enum WebSocketEcho {
    static let script = LoopbackServer.Script.handle { connection in
        guard let request = try connection.readRequest(), let key = request.values(of: "Sec-WebSocket-Key").first else {
            return
        }
        try connection.write(
            LoopbackServer.Response.head(
                "101 Switching Protocols",
                ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Accept: \(acceptValue(for: key))"]))
        var unread: [UInt8] = []
        while let bytes = try connection.read() {
            unread += bytes
            // A short frame of the client: two bytes, four of the mask, the payload.
            while unread.count >= 6, unread.count >= 6 + Int(unread[1] & 0x7F) {
                let count = Int(unread[1] & 0x7F)
                let payload = (0..<count).map { unread[6 + $0] ^ unread[2 + $0 & 3] }
                let opcode = unread[0] & 0x0F
                unread.removeFirst(6 + count)
                try connection.write([0x80 | opcode, UInt8(count)] + payload)
                if opcode == 8 { return }
            }
        }
    }
}
