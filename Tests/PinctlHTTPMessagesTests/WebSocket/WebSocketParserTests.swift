import CertificateTrust
import Testing

@testable import PinctlHTTPMessages

struct WebSocketParserTests {
    /// Returns what a client sends that echoes messages. The bytes arrive in portions of this size.
    private func echoes(_ row: WebSocketRow, portion: Int) -> [String] {
        let input = row.frames.flatMap(\.bytes)
        var parser = WebSocketParser(messageLimit: 4 << 20)
        var sent: [String] = []
        var start = 0
        do throws(WebSocketError) {
            while start < input.count {
                let end = min(start + portion, input.count)
                parser.receive(Array(input[start..<end]))
                start = end
                while let event = try parser.next() {
                    switch event {
                    case .message(let bytes, isText: true): sent.append("text " + show(bytes))
                    case .message(let bytes, isText: false): sent.append("binary \(bytes.count)")
                    case .ping(let payload): sent.append("pong " + show(payload))
                    case .pong: break
                    case .close(let closing):
                        let answer = WebSocketClosing(code: closing.code, reason: closing.reason)
                        #expect(answer == closing)
                        let reason = String(decoding: closing.reason, as: UTF8.self)
                        sent.append(
                            (["close"]
                                + [closing.code.map { "\($0)" }, reason.isEmpty ? nil : reason].compactMap(\.self))
                                .joined(separator: " "))
                    }
                }
            }
        } catch {
            sent.append("close \(error.closeCode)")
            var later = parser
            #expect(throws: error) { try later.next() }
        }
        return sent
    }

    private func show(_ bytes: [UInt8]) -> String {
        "\(bytes.count) \(String(decoding: bytes, as: UTF8.self).prefix(8))"
    }

    @Test("Frames are read as Autobahn's test suite requires, in portions of any size", arguments: WebSocketRow.all)
    func autobahn(_ row: WebSocketRow) {
        let size = row.frames.reduce(0) { $0 + $1.payload.count }
        for portion in size > 10_000 ? [997, Int.max / 2] : [1, 2, 3, 7, Int.max / 2] {
            #expect(echoes(row, portion: portion) == row.sent, "portions of \(portion)")
        }
    }

    @Test("The size of a message is checked when it is announced, before any of it arrives (WS5)")
    func announced() throws {
        var parser = WebSocketParser(messageLimit: 100)
        parser.receive([0x82, 127, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF])
        #expect(throws: WebSocketError.messageTooBig(limit: 100)) { try parser.next() }
        var signed = WebSocketParser(messageLimit: .max)
        signed.receive([0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0])
        #expect(throws: WebSocketError.malformedLength) { try signed.next() }
        var whole = WebSocketParser(messageLimit: 3)
        whole.receive([0x82, 3, 1, 2, 3])
        let message = try whole.next()
        #expect(message == .message([1, 2, 3], isText: false))
        var none = WebSocketParser(messageLimit: -5)
        none.receive([0x82, 1, 1])
        #expect(throws: WebSocketError.messageTooBig(limit: -5)) { try none.next() }
        var begun = WebSocketParser(messageLimit: 100)
        begun.receive([0x02, 1, 1])
        let nothing = try begun.next()
        #expect(nothing == nil)
        begun.messageLimit = .min
        begun.receive([0x80, 1, 1])
        #expect(throws: WebSocketError.messageTooBig(limit: .min)) { try begun.next() }
    }

    @Test(
        "A frame to send has the shortest length and its payload masked",
        arguments: [0, 1, 2, 3, 4, 5, 125, 126, 65535, 65536, 70001])
    func frames(_ count: Int) throws {
        let payload = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let mask = WebSocketMask(0x8967_4523)
        let frame = WebSocketFrame.encoded(.binary, payload, mask: mask)
        let header: [UInt8] =
            switch count {
            case ...125: [0x82, 0x80 | UInt8(count)]
            case ...65535: [0x82, 0xFE, UInt8(count >> 8), UInt8(count & 0xFF)]
            default: [0x82, 0xFF, 0, 0, 0, 0, 0, UInt8(count >> 16), UInt8(count >> 8 & 0xFF), UInt8(count & 0xFF)]
            }
        let key: [UInt8] = [0x23, 0x45, 0x67, 0x89]
        #expect(frame == header + key + payload.indices.map { payload[$0] ^ key[$0 & 3] })
        // In parts, as a long message is sent.
        for part in [1, 3, 64] {
            let parts = stride(from: 0, to: count, by: part).flatMap {
                mask.applied(to: payload[$0..<min($0 + part, count)], from: $0)
            }
            #expect(parts == Array(frame.dropFirst(header.count + 4)))
        }
    }

    @Test("Two masks differ")
    func masks() {
        #expect(Set((0..<8).map { _ in WebSocketMask().bytes }).count == 8)
    }

    @Test("Only codes and reasons that a frame can have are sent")
    func closings() {
        func payload(_ code: UInt16?, _ reason: [UInt8] = []) -> [UInt8] {
            WebSocketClosing(code: code, reason: reason).payload
        }
        #expect(payload(1000) == [0x03, 0xE8])
        #expect(payload(4321, Array("bye".utf8)) == [0x10, 0xE1] + Array("bye".utf8))
        for code: UInt16 in [0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000] {
            #expect(payload(code, Array("bye".utf8)) == [])
        }
        #expect(payload(nil, Array("bye".utf8)) == [])
        #expect(payload(1000, [0xFF]) == [0x03, 0xE8])
        #expect(payload(1000, [0xC3]) == [0x03, 0xE8])
        let long = payload(1000, Array(String(repeating: "ä", count: 100).utf8))
        #expect(long.count == 2 + 122)
        #expect(String(validating: long.dropFirst(2), as: UTF8.self) == String(repeating: "ä", count: 61))
    }
}

struct WebSocketHandshakeTests {
    private func handshake(_ protocols: String...) throws -> WebSocketHandshake {
        try WebSocketHandshake(protocols.map { HTTPField(name: "sec-websocket-protocol", value: $0) })
    }

    private func response(
        _ handshake: WebSocketHandshake, status: Int = 101, minorVersion: Int = 1, without name: String? = nil,
        adding added: [(String, String)] = []
    ) throws -> HTTPResponseHead {
        let accept = try #require(WebSocketHandshake.answer(to: handshake.key))
        let fields =
            [
                ("Upgrade", "WebSocket"), ("Connection", "keep-alive, Upgrade"), ("Sec-WebSocket-Accept", accept),
            ].filter { $0.0 != name } + added
        return HTTPResponseHead(
            minorVersion: minorVersion, statusCode: status,
            fields: fields.map { HTTPField(name: $0.0, value: $0.1) }, framing: .none)
    }

    @Test("The accept value is that of the RFC's example")
    func example() {
        #expect(WebSocketHandshake.answer(to: "dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    }

    @Test("Each handshake has a new key of 16 bytes")
    func keys() throws {
        let keys = try (0..<8).map { _ in try handshake().key }
        #expect(Set(keys).count == 8)
        #expect(keys.allSatisfy { $0.utf8.count == 24 && $0.hasSuffix("==") })
    }

    @Test("A response that switches to the requested WebSocket is accepted")
    func accepted() throws {
        let plain = try handshake()
        #expect(try plain.check(response(plain)) == nil)
        #expect(try plain.check(response(plain, adding: [("Sec-WebSocket-Extensions", "")])) == nil)
        let offering = try handshake("chat, superchat", "mqtt")
        #expect(offering.protocols == ["chat", "superchat", "mqtt"])
        #expect(try offering.check(response(offering)) == nil)
        for name in offering.protocols {
            #expect(try offering.check(response(offering, adding: [("Sec-WebSocket-Protocol", name)])) == name)
        }
    }

    @Test("Any other response is rejected (WS1)")
    func rejected() throws {
        let plain = try handshake()
        let offering = try handshake("chat")
        let refused: [(WebSocketHandshakeError, HTTPResponseHead)] = [
            (.refused(statusCode: 200), try response(plain, status: 200)),
            (.refused(statusCode: 404), try response(plain, status: 404)),
            (.otherUpgrade, try response(plain, minorVersion: 0)),
            (.otherUpgrade, try response(plain, without: "Upgrade")),
            (.otherUpgrade, try response(plain, without: "Upgrade", adding: [("Upgrade", "h2c")])),
            (.otherUpgrade, try response(plain, without: "Connection")),
            (.otherUpgrade, try response(plain, without: "Connection", adding: [("Connection", "close")])),
            (.wrongAccept, try response(plain, without: "Sec-WebSocket-Accept")),
            (.wrongAccept, try response(offering)),
            (.wrongAccept, try response(plain, adding: [("Sec-WebSocket-Accept", "x")])),
            (.unrequestedExtension, try response(plain, adding: [("Sec-WebSocket-Extensions", "permessage-deflate")])),
            (
                .unrequestedProtocol(HTTPExcerpt("chat")),
                try response(plain, adding: [("Sec-WebSocket-Protocol", "chat")])
            ),
        ]
        for (error, head) in refused { #expect(throws: error) { try plain.check(head) } }
        let others: [[String]] = [["Chat"], ["other"], ["chat, chat"], ["chat", "chat"], [""]]
        for names in others {
            let head = try response(offering, adding: names.map { ("Sec-WebSocket-Protocol", $0) })
            #expect(throws: WebSocketHandshakeError.unrequestedProtocol(HTTPExcerpt(names.joined(separator: ", ")))) {
                try offering.check(head)
            }
        }
        // The Kelvin sign is equal to K as a character.
        let other = "\u{212A}1"
        let letter = try handshake("K1")
        #expect(throws: WebSocketHandshakeError.unrequestedProtocol(HTTPExcerpt(other))) {
            try letter.check(try response(letter, adding: [("Sec-WebSocket-Protocol", other)]))
        }
    }

    @Test("Only different tokens can be offered as subprotocols")
    func offers() {
        for name in ["", "a b", "a\r\nX: y", "ä", "a/b", "a,"] {
            #expect(throws: WebSocketHandshakeError.self) { try handshake(name) }
        }
        #expect(throws: WebSocketHandshakeError.repeatedProtocol) { try handshake("a, b", "a") }
        #expect(throws: Never.self) { try handshake("a, A", "v1.b~2") }
    }

    @Test("A request for a WebSocket has the handshake's fields, and none of the program's own")
    func head() throws {
        let handshake = try handshake("chat")
        let origin = HTTPOrigin(scheme: .https, name: try ServerName("a.test"), port: 443)
        let own = [
            ("Sec-WebSocket-Key", "mine"), ("Connection", "x"), ("Upgrade", "y"), ("Sec-WebSocket-Protocol", "chat"),
        ]
        let head = try HTTPRequestHead(
            method: "GET", target: .origin("/s"), origin: origin, webSocket: handshake,
            fields: own.map { HTTPField(name: $0.0, value: $0.1) })
        let lines = String(decoding: head.bytes, as: UTF8.self).split(separator: "\r\n").map(String.init)
        #expect(
            lines == [
                "GET /s HTTP/1.1", "Host: a.test", "Connection: Upgrade", "Upgrade: websocket",
                "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: \(handshake.key)", "Accept: */*",
                "Accept-Encoding: identity", "User-Agent: PinnedNetworking", "Sec-WebSocket-Protocol: chat",
            ])
        #expect(head.requestsUpgrade)
        let plain = try HTTPRequestHead(method: "GET", target: .origin("/s"), origin: origin)
        #expect(!plain.requestsUpgrade)
    }

    @Test("A 101 response ends HTTP, and the bytes after it are the WebSocket's")
    func upgrade() throws {
        let answer = Array("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nContent-Length: 9\r\n\r\n".utf8)
        for portion in [1, 5, 1000] {
            var parser = HTTPResponseParser(requestMethod: "GET", allowsUpgrade: true)
            var head: HTTPResponseHead?
            let input = Array("HTTP/1.1 103 Hints\r\n\r\n".utf8) + answer + [0x81, 0x01, 0x41]
            for start in stride(from: 0, to: input.count, by: portion) {
                parser.receive(Array(input[start..<min(start + portion, input.count)]))
                while let event = try parser.next() {
                    if case .head(let received) = event { head = received }
                }
            }
            #expect(head?.statusCode == 101)
            #expect(head?.framing == HTTPBodyFraming.none)
            #expect(parser.takeRest() == [0x81, 0x01, 0x41])
            #expect(parser.takeRest() == [])
        }
        var plain = HTTPResponseParser(requestMethod: "GET")
        plain.receive(answer)
        #expect(throws: HTTPResponseError.switchedProtocols) { while try plain.next() != nil {} }
        #expect(plain.takeRest() == [])
    }
}
