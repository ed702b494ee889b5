import HTTPMessages

/// The connection and the response of a transfer's current request, as a state machine. The transfer executes what it
/// returns: it owns the sockets, the timers and the delegates. `Lease` is a connection that the pool counts.
///
/// Every request takes the same way:
///
/// | state | ends with |
/// |---|---|
/// | `waiting` | ``lease(_:)``: a connection that was approved for the request |
/// | `leased` | ``send(_:_:)``, or ``endLease()`` if the request has to start again |
/// | `readingHead` | the header of the final response, in ``next()`` |
/// | `readingBody` | the end of the response, in ``next()`` |
/// | `ended` | ``discardResponse()``, before another request |
/// | `readingBody` after 101 | ``takeUpgraded()``, which ends the transfer |
/// | `failed` | nothing |
///
/// While the response is read, ``HTTPExchange`` decides about the request's body. At most one connection is open at any
/// time, so ``fail()`` always returns everything that must be closed. An event that the state doesn't allow changes
/// nothing.
struct TransferState<Lease: Sendable>: Sendable {
    /// An event of a response.
    enum Event {
        /// The server asks for the body that waits for it.
        case goAhead
        /// The header of the final response has arrived. See ``TransferState/head``.
        case head
        /// The response is complete. The connection can be reused.
        case keep(Lease)
        /// The response is complete. The connection can't be reused.
        case close(Lease)
        /// The response is complete. The connection stays with the transfer for the next message of its login.
        case hold
    }

    /// The next part of a response's body.
    enum Part {
        case bytes(ArraySlice<UInt8>)
        case end
        /// More bytes have to be read from the connection.
        case unread
    }

    /// A request on its connection, until the end of the response.
    private struct Exchange {
        let lease: Lease
        let login: (any ConnectionLogin)?
        var messages: HTTPExchange
        var isReading = false
        /// Whether any byte of a response has arrived.
        var hasReceived = false
        var bodyError: RequestBodyError?
    }

    private struct Response {
        let head: HTTPResponseHead
        /// The parts of the body that were read in advance.
        var parts: ArraySlice<ArraySlice<UInt8>> = []
    }

    private enum State {
        /// There is no request on a connection. A connection in the middle of a login is held for the next request.
        case waiting(held: Lease?)
        /// The request has a connection, and nothing of it has been sent.
        case leased(Lease)
        /// The request is being sent or has been sent.
        case readingHead(Exchange)
        /// The response is being read. The body of the request may still be sent.
        case readingBody(Exchange, Response)
        case ended(Response, held: Lease?)
        case failed
    }

    private var state = State.waiting(held: nil)

    // MARK: Connections

    /// Takes the connection that was held for the next message of its login, if any.
    mutating func takeHeld() -> Lease? {
        guard case .waiting(let held) = state else { return nil }
        state = .waiting(held: nil)
        return held
    }

    /// Gives the request a connection.
    mutating func lease(_ lease: Lease) throws(TransferStateError) {
        guard case .waiting(held: nil) = state else { throw .leasedTwice }
        state = .leased(lease)
    }

    /// Takes the connection from a request of which nothing was sent.
    mutating func endLease() -> Lease? {
        guard case .leased(let lease) = state else { return nil }
        state = .waiting(held: nil)
        return lease
    }

    /// Drops the response, so that another request can follow. Returns the connection to close, unless the response was
    /// read to its end.
    mutating func discardResponse() -> Lease? {
        switch state {
        case .waiting, .leased, .failed: return nil
        case .readingHead(let exchange), .readingBody(let exchange, _):
            state = .waiting(held: nil)
            return exchange.lease
        case .ended(_, let held):
            state = .waiting(held: held)
            return nil
        }
    }

    /// Takes the connection of a request that the server answered with 101, and the bytes of the other protocol that
    /// have arrived. The transfer ends.
    mutating func takeUpgraded() -> (Lease, rest: [UInt8])? {
        guard case .readingBody(var exchange, let response) = state, response.head.statusCode == 101 else { return nil }
        state = .failed
        return (exchange.lease, exchange.messages.takeRest())
    }

    /// Ends the transfer. Returns the connection to close, if any.
    mutating func fail() -> Lease? {
        defer { state = .failed }
        return open
    }

    /// The connection that is open, if any.
    var open: Lease? {
        switch state {
        case .waiting(let held), .ended(_, let held): held
        case .leased(let lease): lease
        case .readingHead(let exchange), .readingBody(let exchange, _): exchange.lease
        case .failed: nil
        }
    }

    // MARK: Request

    /// Starts the request on its connection. Nothing can be sent before. `login` is the one that the request is sent
    /// with, if any.
    mutating func send(_ head: HTTPRequestHead, _ login: (any ConnectionLogin)?) throws(TransferStateError) {
        guard case .leased(let lease) = state else { throw .notLeased }
        state = .readingHead(Exchange(lease: lease, login: login, messages: HTTPExchange(head)))
    }

    /// Whether the next part of the request's body is to be sent now.
    var wantsRequestBody: Bool { exchange?.messages.wantsRequestBody ?? false }

    /// Whether the request's body waits for the server's 100 response.
    var awaitsGoAhead: Bool { exchange?.messages.awaitsGoAhead ?? false }

    /// Ends the wait for the server's 100 response.
    mutating func stopWaiting() { change { $0.messages.stopWaiting() } }

    /// Records that the request's whole body was sent.
    mutating func requestBodyWasSent() { change { $0.messages.requestBodyWasSent() } }

    /// Records that the request's body couldn't be read to its end.
    mutating func requestBodyFailed(_ error: RequestBodyError) { change { $0.bodyError = error } }

    /// The reason why the request's body couldn't be read to its end, if any.
    var requestBodyError: RequestBodyError? { exchange?.bodyError }

    /// Whether the request is on a connection and no byte of a response has arrived.
    var isUnanswered: Bool {
        if case .readingHead(let exchange) = state { !exchange.hasReceived } else { false }
    }

    // MARK: Response

    /// The header of the response, once it has arrived.
    var head: HTTPResponseHead? { response?.head }

    /// Whether more of the response's body can be read from the connection.
    var isReadingBody: Bool {
        if case .readingBody = state { true } else { false }
    }

    /// The number of bytes of the body that were read in advance.
    var bufferedCount: Int { response?.parts.reduce(0) { $0 + $1.count } ?? 0 }

    /// Returns the connection to read from. Only one read at a time, since a second one would wait for bytes of the
    /// next request.
    mutating func beginRead() throws -> Lease {
        let lease = try change { (exchange) throws(TransferStateError) in
            guard !exchange.isReading else { throw .concurrentRead }
            exchange.isReading = true
            return exchange.lease
        }
        guard let lease else { throw HTTPResponseError.truncated }
        return lease
    }

    /// Ends the read with its bytes. `nil` means that the connection ended cleanly.
    mutating func received(_ bytes: [UInt8]?) {
        change { exchange in
            exchange.isReading = false
            if bytes != nil { exchange.hasReceived = true }
            exchange.messages.receive(bytes)
        }
    }

    /// Returns the next event, or `nil` if more bytes are needed. Parts of the body are kept for ``nextPart()``.
    mutating func next() throws(HTTPResponseError) -> Event? {
        while true {
            let event = try change { (exchange) throws(HTTPResponseError) in try exchange.messages.next() }
            switch event ?? nil {
            case nil: return nil
            case .goAhead: return .goAhead
            case .head(let head):
                if case .readingHead(let exchange) = state { state = .readingBody(exchange, Response(head: head)) }
                return .head
            case .body(let part): append(part)
            case .end(let isReusable): return end(isReusable: isReusable)
            }
        }
    }

    /// Takes the next part of the body.
    mutating func nextPart() -> Part {
        switch Swift.exchange(&state, with: .failed) {
        case .readingBody(let exchange, var response):
            defer { state = .readingBody(exchange, response) }
            return response.parts.popFirst().map { .bytes($0) } ?? .unread
        case .ended(var response, let held):
            defer { state = .ended(response, held: held) }
            return response.parts.popFirst().map { .bytes($0) } ?? .end
        case let other:
            state = other
            return .unread
        }
    }

    private mutating func end(isReusable: Bool) -> Event? {
        guard case .readingBody(let exchange, let response) = state else { return nil }
        let disposition = isReusable ? exchange.login?.disposition(after: response.head) ?? .keep : .close
        state = .ended(response, held: disposition == .hold ? exchange.lease : nil)
        return switch disposition {
        case .keep: .keep(exchange.lease)
        case .hold: .hold
        case .close: .close(exchange.lease)
        }
    }

    // MARK: Data of the states

    private var exchange: Exchange? {
        switch state {
        case .readingHead(let exchange), .readingBody(let exchange, _): exchange
        case .waiting, .leased, .ended, .failed: nil
        }
    }

    private var response: Response? {
        switch state {
        case .readingBody(_, let response), .ended(let response, _): response
        case .waiting, .leased, .readingHead, .failed: nil
        }
    }

    /// Changes the exchange, if there is one. The state is taken out meanwhile, since a second reference would copy the
    /// buffers.
    @discardableResult
    private mutating func change<Value, Failure: Error>(
        _ body: (inout Exchange) throws(Failure) -> Value
    ) throws(Failure) -> Value? {
        switch Swift.exchange(&state, with: .failed) {
        case .readingHead(var exchange):
            defer { state = .readingHead(exchange) }
            return try body(&exchange)
        case .readingBody(var exchange, let response):
            defer { state = .readingBody(exchange, response) }
            return try body(&exchange)
        case let other:
            state = other
            return nil
        }
    }

    private mutating func append(_ part: ArraySlice<UInt8>) {
        guard case .readingBody(let exchange, var response) = Swift.exchange(&state, with: .failed) else { return }
        response.parts.append(part)
        state = .readingBody(exchange, response)
    }
}

/// An event that the state of a transfer doesn't allow.
enum TransferStateError: Error, Hashable {
    /// The request already has a connection.
    case leasedTwice
    /// The request has no connection.
    case notLeased
    /// Two iterators read the body.
    case concurrentRead
}

extension TransferStateError: CustomStringConvertible {
    var description: String {
        switch self {
        case .leasedTwice: "the request already has a connection: report this as a bug"
        case .notLeased: "the request has no connection: report this as a bug"
        case .concurrentRead: "two iterators read the same body at the same time: read it with one"
        }
    }
}
