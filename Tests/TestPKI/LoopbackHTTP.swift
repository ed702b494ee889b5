extension LoopbackServer {
    /// An HTTP/1.1 request as it arrived.
    package struct Request: Sendable {
        /// Request line and fields, up to the empty line.
        package let head: String
        package let body: [UInt8]

        /// `GET /path HTTP/1.1`.
        package var line: String { lines.first ?? "" }

        /// All values of a field, in order.
        package func values(of name: String) -> [String] {
            lines.dropFirst().compactMap { line in
                guard let colon = line.firstIndex(of: ":"), line[..<colon].lowercased() == name.lowercased() else {
                    return nil
                }
                return String(line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" })
            }
        }

        private var lines: [String] { head.split(separator: "\r\n").map(String.init) }
    }

    package struct Response: Sendable {
        package var bytes: [UInt8]
        /// Ends the connection behind the response.
        package var closes: Bool

        /// A response with a Content-Length. `status` is `200 OK`, a field is a whole line such as `Allow: GET`.
        package init(_ status: String = "200 OK", fields: [String] = [], body: String = "", closes: Bool = false) {
            let lines = ["HTTP/1.1 \(status)", "Content-Length: \(body.utf8.count)"] + fields
            bytes = Array((lines.joined(separator: "\r\n") + "\r\n\r\n" + body).utf8)
            self.closes = closes
        }

        /// Any bytes in place of a response.
        package static func raw(_ bytes: [UInt8], closes: Bool = true) -> Response {
            var response = Response(closes: closes)
            response.bytes = bytes
            return response
        }
    }
}

extension LoopbackServer.Connection {
    /// The next request with its body (Content-Length only), nil when the client ended instead.
    package func readRequest() throws(TestPKIError) -> LoopbackServer.Request? {
        let blank = Array("\r\n\r\n".utf8)
        var headEnd: Int?
        while true {
            headEnd = unread.indices.first { unread[$0...].starts(with: blank) }
            if headEnd != nil { break }
            guard try fill() else { return nil }
        }
        guard let headEnd else { return nil }
        let bodyStart = headEnd + blank.count
        let head = String(decoding: unread[..<headEnd], as: UTF8.self)
        let length = LoopbackServer.Request(head: head, body: []).values(of: "Content-Length").first.flatMap { Int($0) }
        let end = bodyStart + max(0, length ?? 0)
        while unread.count < end {
            guard try fill() else { return nil }
        }
        let request = LoopbackServer.Request(head: head, body: Array(unread[bodyStart..<end]))
        unread.removeFirst(end)
        log.update(identifier) { $0.requests.append(request) }
        return request
    }

    /// Answers requests until the client ends or asks to, or the response closes.
    package func answer(_ response: (LoopbackServer.Request) -> LoopbackServer.Response) throws(TestPKIError) {
        while let request = try readRequest() {
            let response = response(request)
            try write(response.bytes)
            let asked = request.values(of: "Connection").contains { $0.lowercased() == "close" }
            if response.closes || asked { return }
        }
    }
}
