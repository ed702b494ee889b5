import Glibc

extension LoopbackServer {
    /// A proxy's reaction to a request.
    package enum ProxyAnswer: Sendable {
        /// Opens a tunnel for CONNECT, and forwards everything else.
        case serve
        /// Opens a tunnel after a response of any kind. A proxy with TLS can send a session ticket of its own before
        /// each piece that it forwards to the client.
        case tunnel(after: Response, withTickets: Bool = false)
        /// Answers in place of the target. The next request is then read, unless the response closes.
        case respond(Response)
        /// Runs any other code, after which the connection ends.
        case handle(@Sendable (Connection) throws -> Void)
    }
}

extension LoopbackServer.Script {
    /// Acts as an HTTP proxy, with or without TLS: `LoopbackServer(plain: .proxy(to: ["api.example.test:443": port]))`.
    ///
    /// A target is `host:port` as the client writes it. It is mapped to a port of 127.0.0.1.
    package static func proxy(
        to targets: [String: UInt16],
        _ answer: @escaping @Sendable (LoopbackServer.Request) -> LoopbackServer.ProxyAnswer = { _ in .serve }
    ) -> Self {
        .handle { connection in
            while let request = try connection.readRequest() {
                switch answer(request) {
                case .serve where request.method == "CONNECT":
                    guard let port = targets[request.target] else {
                        try connection.write(.unknownTarget)
                        continue
                    }
                    return try connection.tunnel(to: port, after: .established)
                case .serve:
                    guard try connection.forward(request, to: targets) else { return }
                case .tunnel(let response, let withTickets):
                    guard let port = targets[request.target] else { return }
                    return try connection.tunnel(to: port, after: response, withTickets: withTickets)
                case .respond(let response):
                    try connection.write(response)
                    if response.closes { return }
                case .handle(let handler):
                    return try handler(connection)
                }
            }
        }
    }
}

extension LoopbackServer.Response {
    /// The response that opens a tunnel.
    package static let established = headOnly("200 Connection established")

    fileprivate static let unknownTarget = Self(
        "502 Bad Gateway", fields: ["Content-Type: text/html"], body: "<h1>no such target</h1>")
}

extension LoopbackServer.Connection {
    fileprivate func tunnel(
        to port: UInt16, after response: LoopbackServer.Response, withTickets: Bool = false
    ) throws(TestPKIError) {
        let target = try connectOnLoopback(port: port)
        defer { close(target) }
        try write(response)
        copyBothWays(target, withTickets: withTickets)
    }

    /// Fetches `http://host:port/path` over a connection of its own. Returns whether the client's connection stays open
    /// after the response.
    fileprivate func forward(
        _ request: LoopbackServer.Request, to targets: [String: UInt16]
    ) throws(TestPKIError) -> Bool {
        let rest = request.target.dropFirst("http://".count)
        let authority = rest.prefix { $0 != "/" }
        let path = authority.endIndex == rest.endIndex ? "/" : rest[authority.endIndex...]
        guard request.target.hasPrefix("http://"),
            let port = targets[authority.contains(":") ? String(authority) : "\(authority):80"]
        else {
            try write(.unknownTarget)
            return true
        }
        let target = try connectOnLoopback(port: port)
        defer { close(target) }

        let own = ["proxy-", "connection:", "transfer-encoding:", "content-length:", "expect:"]
        var fields = request.fields.filter { field in !own.contains { field.lowercased().hasPrefix($0) } }
        fields += ["Connection: close"] + (request.body.isEmpty ? [] : ["Content-Length: \(request.body.count)"])
        let head = ["\(request.method) \(path) HTTP/1.1"] + fields
        let bytes = (head.joined(separator: "\r\n") + "\r\n\r\n").utf8 + request.body
        guard unsafe send(target, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
            throw .system("send")
        }
        var response: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while case let count = unsafe recv(target, &buffer, buffer.count, 0), count > 0 {
            response += buffer.prefix(count)
        }
        try write(response)
        let text = String(decoding: response, as: UTF8.self).lowercased()
        return text.contains("\r\ncontent-length:") || text.contains("\r\ntransfer-encoding: chunked")
    }
}
