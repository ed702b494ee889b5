extension LoopbackServer {
    /// An HTTP/1.1 request as received.
    package struct Request: Sendable {
        /// The request line and the fields, up to the empty line.
        package let head: String
        /// The body without the framing of chunks.
        package let body: [UInt8]
        /// The position of its connection's record.
        package let connection: Int

        /// The request line, such as `GET /path HTTP/1.1`.
        package var line: String { lines.first ?? "" }
        package var method: String { line.split(separator: " ").first.map(String.init) ?? "" }
        package var target: String { line.split(separator: " ").dropFirst().first.map(String.init) ?? "" }
        package var fields: [String] { Array(lines.dropFirst()) }

        /// Returns all values of a field, in order.
        package func values(of name: String) -> [String] {
            fields.compactMap { line in
                guard let colon = line.firstIndex(of: ":"), line[..<colon].lowercased() == name.lowercased() else {
                    return nil
                }
                return String(line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" })
            }
        }

        func says(_ name: String, _ value: String) -> Bool { values(of: name).contains { $0.lowercased() == value } }

        private var lines: [String] { head.split(separator: "\r\n").map(String.init) }
    }

    package struct Response: Sendable {
        package var bytes: [UInt8]
        /// Whether the connection ends after the response.
        package var closes: Bool
        /// The pause before each byte, which is then sent alone.
        package var pause: Duration?
        /// Bytes that are repeated after the response until the client disconnects.
        package var endless: [UInt8] = []

        /// Creates a response with a Content-Length. An example of `status` is `200 OK`. A field is a whole line, for
        /// example `Allow: GET`.
        package init(_ status: String = "200 OK", fields: [String] = [], body: String = "", closes: Bool = false) {
            bytes = Self.head(status, ["Content-Length: \(body.utf8.count)"] + fields) + body.utf8
            self.closes = closes
        }

        /// Returns arbitrary bytes in place of a response.
        package static func raw(_ bytes: [UInt8], closes: Bool = true) -> Response {
            var response = Response(closes: closes)
            response.bytes = bytes
            return response
        }

        /// Returns only a status line and fields, as for HEAD, 204 and 304.
        package static func headOnly(_ status: String, fields: [String] = []) -> Response {
            raw(head(status, fields), closes: false)
        }

        /// Returns a response in chunks, none of which may be empty (RFC 9112, section 7.1).
        package static func chunked(
            _ chunks: [String], status: String = "200 OK", fields: [String] = [], trailers: [String] = []
        ) -> Response {
            let body = chunks.map { String($0.utf8.count, radix: 16) + "\r\n\($0)\r\n" }.joined()
            let end = (["0"] + trailers).joined(separator: "\r\n") + "\r\n\r\n"
            return raw(head(status, ["Transfer-Encoding: chunked"] + fields) + (body + end).utf8, closes: false)
        }

        /// Returns the response after an interim response, such as `103 Early Hints`.
        package func after(_ status: String, fields: [String] = []) -> Response {
            var response = self
            response.bytes = Self.head(status, fields) + bytes
            return response
        }

        /// Returns the first `count` bytes of the response, after which the connection ends.
        package func cut(at count: Int) -> Response { .raw(Array(bytes.prefix(count))) }

        package static func head(_ status: String, _ fields: [String]) -> [UInt8] {
            Array(((["HTTP/1.1 \(status)"] + fields).joined(separator: "\r\n") + "\r\n\r\n").utf8)
        }
    }
}

extension LoopbackServer.Connection {
    /// Returns the next request with its body, or `nil` if the client ended instead.
    package func readRequest() throws(TestPKIError) -> LoopbackServer.Request? {
        guard let bytes = try take(through: "\r\n\r\n") else { return nil }
        let head = String(decoding: bytes.dropLast(4), as: UTF8.self)
        var request = LoopbackServer.Request(head: head, body: [], connection: identifier)
        var isAnswered = false
        if request.says("Expect", "100-continue") {
            switch expectation {
            case .met: try write(LoopbackServer.Response.head("100 Continue", []))
            case .ignored: break
            case .answered(let response):
                try write(response)
                isAnswered = true
            }
        }
        if !isAnswered {
            let isChunked = request.says("Transfer-Encoding", "chunked")
            let length = request.values(of: "Content-Length").first.flatMap { Int($0) }
            guard let body = try isChunked ? takeChunks() : take(max(0, length ?? 0)) else { return nil }
            request = LoopbackServer.Request(head: head, body: body, connection: identifier)
        }
        log.update(identifier) { [request] in $0.requests.append(request) }
        return isAnswered ? nil : request
    }

    /// Answers requests until the client ends, the client asks to close, or the response closes.
    package func answer(_ response: (LoopbackServer.Request) -> LoopbackServer.Response) throws(TestPKIError) {
        while let request = try readRequest() {
            let response = response(request)
            try write(response)
            if response.closes || request.says("Connection", "close") { return }
        }
    }

    package func write(_ response: LoopbackServer.Response) throws(TestPKIError) {
        if let duration = response.pause {
            for byte in response.bytes {
                pause(duration)
                try write([byte])
            }
        } else {
            try write(response.bytes)
        }
        while !response.endless.isEmpty { try write(response.endless) }
    }

    private func takeChunks() throws(TestPKIError) -> [UInt8]? {
        var body: [UInt8] = []
        while let line = try take(through: "\r\n") {
            let digits = String(decoding: line.prefix { $0 != UInt8(ascii: ";") && $0 != 13 }, as: UTF8.self)
            guard let count = Int(digits, radix: 16), count >= 0 else { return nil }
            if count == 0 {
                while let line = try take(through: "\r\n") { if line.count == 2 { return body } }
                return nil
            }
            guard let chunk = try take(count + 2) else { return nil }
            body += chunk.dropLast(2)
        }
        return nil
    }

    /// Returns this number of bytes, or `nil` if the client ends before.
    private func take(_ count: Int) throws(TestPKIError) -> [UInt8]? {
        while unread.count < count { guard try fill() else { return nil } }
        defer { unread.removeFirst(count) }
        return Array(unread.prefix(count))
    }

    private func take(through end: String) throws(TestPKIError) -> [UInt8]? {
        let end = Array(end.utf8)
        while true {
            if let start = unread.indices.first(where: { unread[$0...].starts(with: end) }) {
                return try take(start + end.count)
            }
            guard try fill() else { return nil }
        }
    }
}
