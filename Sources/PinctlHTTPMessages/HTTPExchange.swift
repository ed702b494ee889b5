/// One request and its response on a connection. It decides when to send the request body, returns the response as
/// events, and reports whether the connection can serve another request. A pure state machine: the caller owns the
/// socket and the timers.
///
/// After sending the request head, send the body while ``wantsRequestBody`` is true, and report its end with
/// ``requestBodyWasSent()``. Pass received bytes to ``receive(_:)`` and call ``next()`` until it returns nil.
package struct HTTPExchange: Sendable {
    /// The events of a response, in order: at most one go-ahead, one head, any number of body parts, one end.
    package enum Event: Sendable, Hashable {
        /// The server asks for the request body that waited for its go-ahead.
        case goAhead
        case head(HTTPResponseHead)
        /// A part of the body, at least one byte.
        case body(ArraySlice<UInt8>)
        /// The response is complete. Close the connection if it isn't reusable.
        case end(isReusable: Bool)
    }

    private enum RequestBody: Sendable {
        case waiting
        case sending
        case sent
        /// The server answered before it received the whole body, and doesn't want the rest.
        case abandoned
    }

    private var parser: HTTPResponseParser
    private var requestBody: RequestBody
    private var head: HTTPResponseHead?

    /// Creates the exchange for a request with this head.
    package init(_ request: HTTPRequestHead) {
        parser = HTTPResponseParser(requestMethod: request.method, allowsUpgrade: request.requestsUpgrade)
        requestBody = request.body == .none ? .sent : request.expectsContinue ? .waiting : .sending
    }

    /// Whether the request body, or the rest of it, is to be sent now.
    package var wantsRequestBody: Bool { requestBody == .sending }

    /// Whether the request body waits for the server's 100 response. A server may never send it: after a while send the
    /// body anyway (RFC 9110, section 10.1.1).
    package var awaitsGoAhead: Bool { requestBody == .waiting }

    /// Ends the wait for the server's 100 response.
    package mutating func stopWaiting() {
        if requestBody == .waiting { requestBody = .sending }
    }

    /// Records that the whole body has been sent.
    package mutating func requestBodyWasSent() {
        if requestBody == .sending { requestBody = .sent }
    }

    /// Takes the bytes after a 101 response, which belong to the other protocol.
    package mutating func takeRest() -> [UInt8] { parser.takeRest() }

    /// Adds bytes received on the connection. Nil means that it ended cleanly.
    package mutating func receive(_ bytes: [UInt8]?) {
        parser.receive(bytes)
    }

    /// Returns the next event, or nil if more bytes are needed.
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
                // A 2xx response may arrive while the body is still being sent. Any other response is final. A
                // connection whose announced body is never completed can't be reused.
                if requestBody == .waiting || requestBody == .sending && head.statusCode >= 300 {
                    requestBody = .abandoned
                }
                return .head(head)
            case .body(let part):
                return .body(part)
            case .end:
                // mutant reuse-unsent: true for `requestBody == .sent` by HTTPExchangeTests
                return .end(isReusable: requestBody == .sent && head?.isPersistent == true)
            }
        }
        return nil
    }
}
