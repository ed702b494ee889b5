import PinctlHTTPMessages

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

    private enum Phase {
        case waiting, leased, readingHead, readingBody, ended, failed
    }

    /// A request on its connection, until the end of the response.
    private struct Exchange {
        let login: (any ConnectionLogin)?
        var messages: HTTPExchange
        var isReading = false
        /// Whether any byte of a response has arrived.
        var hasReceived = false
        var bodyError: (any Error)?
    }

    // The values of the phases are properties of their own, since those of an enum would be copied at each change.

    private var phase = Phase.waiting
    /// The connection that is open, if any. In the phases `waiting` and `ended`, it is held in the middle of a login.
    private(set) var open: Lease?
    /// The request that is being sent or answered, in the phases `readingHead` and `readingBody`. The body of the
    /// request may still be sent in the latter.
    private var exchange: Exchange?
    /// The header of the response, once it has arrived.
    private(set) var head: HTTPResponseHead?
    /// The parts of the response's body that were read in advance.
    private var parts: ArraySlice<ArraySlice<UInt8>> = []

    // MARK: Connections

    /// Takes the connection that was held for the next message of its login, if any.
    mutating func takeHeld() -> Lease? { phase == .waiting ? open.take() : nil }

    /// Gives the request a connection.
    mutating func lease(_ lease: Lease) throws(TransferStateError) {
        guard phase == .waiting, open == nil else { throw .leasedTwice }
        (phase, open) = (.leased, lease)
    }

    /// Takes the connection from a request of which nothing was sent.
    mutating func endLease() -> Lease? {
        guard phase == .leased else { return nil }
        phase = .waiting
        return open.take()
    }

    /// Drops the response, so that another request can follow. Returns the connection to close, unless the response was
    /// read to its end.
    mutating func discardResponse() -> Lease? {
        switch phase {
        case .waiting, .leased, .failed: return nil
        case .readingHead, .readingBody:
            reset(.waiting)
            return open.take()
        case .ended:
            reset(.waiting)
            return nil
        }
    }

    /// Takes the connection of a request that the server answered with 101, and the bytes of the other protocol that
    /// have arrived. The transfer ends.
    mutating func takeUpgraded() -> (Lease, rest: [UInt8])? {
        guard phase == .readingBody, head?.statusCode == 101, let rest = exchange?.messages.takeRest() else {
            return nil
        }
        reset(.failed)
        return open.take().map { ($0, rest) }
    }

    /// Ends the transfer. Returns the connection to close, if any.
    mutating func fail() -> Lease? {
        reset(.failed)
        return open.take()
    }

    /// Changes the phase and drops the request and its response.
    private mutating func reset(_ phase: Phase) {
        self.phase = phase
        exchange = nil
        head = nil
        parts = []
    }

    // MARK: Request

    /// Starts the request on its connection. Nothing can be sent before. `login` is the one that the request is sent
    /// with, if any.
    mutating func send(_ head: HTTPRequestHead, _ login: (any ConnectionLogin)?) throws(TransferStateError) {
        guard phase == .leased else { throw .notLeased }
        phase = .readingHead
        exchange = Exchange(login: login, messages: HTTPExchange(head))
    }

    /// Whether the next part of the request's body is to be sent now.
    var wantsRequestBody: Bool { exchange?.messages.wantsRequestBody ?? false }

    /// Whether the request's body waits for the server's 100 response.
    var awaitsGoAhead: Bool { exchange?.messages.awaitsGoAhead ?? false }

    /// Ends the wait for the server's 100 response.
    mutating func stopWaiting() { exchange?.messages.stopWaiting() }

    /// Records that the request's whole body was sent.
    mutating func requestBodyWasSent() { exchange?.messages.requestBodyWasSent() }

    /// Records that the request's body couldn't be read to its end, or must not be sent to its end.
    mutating func requestBodyFailed(_ error: any Error) { exchange?.bodyError = error }

    /// The reason why the request's body wasn't sent to its end, if any.
    var requestBodyError: (any Error)? { exchange?.bodyError }

    /// Whether the request is on a connection and no byte of a response has arrived.
    var isUnanswered: Bool { phase == .readingHead && exchange?.hasReceived == false }

    // MARK: Response

    /// Whether more of the response's body can be read from the connection.
    var isReadingBody: Bool { phase == .readingBody }

    /// The number of bytes of the body that were read in advance.
    var bufferedCount: Int { parts.reduce(0) { $0 + $1.count } }

    /// Returns the connection to read from. Only one read at a time, since a second one would wait for bytes of the
    /// next request.
    mutating func beginRead() throws -> Lease {
        guard let open, let isReading = exchange?.isReading else { throw HTTPResponseError.truncated }
        guard !isReading else { throw TransferStateError.concurrentRead }
        exchange?.isReading = true
        return open
    }

    /// Ends the read with its bytes. `nil` means that the connection ended cleanly.
    mutating func received(_ bytes: [UInt8]?) {
        exchange?.isReading = false
        if bytes != nil { exchange?.hasReceived = true }
        exchange?.messages.receive(bytes)
    }

    /// Returns the next event, or `nil` if more bytes are needed. Parts of the body are kept for ``nextPart()``.
    mutating func next() throws(HTTPResponseError) -> Event? {
        while let event = try exchange?.messages.next() {
            switch event {
            case .goAhead: return .goAhead
            case .head(let head):
                (phase, self.head) = (.readingBody, head)
                return .head
            case .body(let part): parts.append(part)
            case .end(let isReusable): return end(isReusable: isReusable)
            }
        }
        return nil
    }

    /// Takes the next part of the body.
    mutating func nextPart() -> Part {
        if let part = parts.popFirst() { return .bytes(part) }
        return phase == .ended ? .end : .unread
    }

    private mutating func end(isReusable: Bool) -> Event? {
        guard phase == .readingBody, let lease = open, let head else { return nil }
        let disposition = isReusable ? exchange?.login?.disposition(after: head) ?? .keep : .close
        phase = .ended
        exchange = nil
        if disposition == .hold { return .hold }
        open = nil
        return disposition == .keep ? .keep(lease) : .close(lease)
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
