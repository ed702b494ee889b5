/// One request and its response on a connection: says when the body may be sent, what came back, and whether the
/// connection can serve another request. A pure state machine; whoever drives it has the socket and the timers.
///
/// After the request's head was sent, send the body while ``wantsRequestBody`` says so, and report its end with
/// ``requestBodyWasSent()``. Feed what comes with ``receive(_:)`` and take events with ``next()`` until there is none.
package struct HTTPExchange: Sendable {
    /// In order: at most one go-ahead, one head, any number of body parts, one end.
    package enum Event: Sendable, Hashable {
        /// The server asks for the body that waited for it.
        case goAhead
        case head(HTTPResponseHead)
        /// At least one byte.
        case body(ArraySlice<UInt8>)
        /// Nothing more is to be read. A connection that is not reusable is to be closed.
        case end(isReusable: Bool)
    }

    private enum RequestBody: Sendable {
        case waiting
        case sending
        case sent
        /// The server answered before it had the whole body, and does not want the rest.
        case abandoned
    }

    private var parser: HTTPResponseParser
    private var requestBody: RequestBody
    private var head: HTTPResponseHead?

    /// The exchange that begins with this head.
    package init(_ request: HTTPRequestHead) {
        parser = HTTPResponseParser(requestMethod: request.method)
        requestBody = request.body == .none ? .sent : request.expectsContinue ? .waiting : .sending
    }

    /// Whether the request's body is to be sent now, or the rest of it.
    package var wantsRequestBody: Bool { requestBody == .sending }

    /// Whether the body waits for the server's 100. A server may never say it: after a while send the body anyway
    /// (RFC 9110, section 10.1.1).
    package var awaitsGoAhead: Bool { requestBody == .waiting }

    /// Ends the wait for the server's 100.
    package mutating func stopWaiting() {
        if requestBody == .waiting { requestBody = .sending }
    }

    /// The whole body has been sent.
    package mutating func requestBodyWasSent() {
        if requestBody == .sending { requestBody = .sent }
    }

    /// Takes what the connection brought; nil for its clean end.
    package mutating func receive(_ bytes: [UInt8]?) {
        parser.receive(bytes)
    }

    /// The next event, or nil when it takes more bytes.
    package mutating func next() throws(HTTPResponseError) -> Event? {
        while let event = try parser.next() {
            switch event {
            case .interim(100) where requestBody == .waiting:
                requestBody = .sending
                return .goAhead
            case .interim:
                continue
            case .head(let head):
                self.head = head
                // A success may come while the body is still on its way; any other answer is final, and a body that
                // was announced and is not sent leaves the connection of no use.
                if requestBody == .waiting || requestBody == .sending && head.statusCode >= 300 {
                    requestBody = .abandoned
                }
                return .head(head)
            case .body(let part):
                return .body(part)
            case .end:
                return .end(isReusable: requestBody == .sent && head?.isPersistent == true)
            }
        }
        return nil
    }
}
