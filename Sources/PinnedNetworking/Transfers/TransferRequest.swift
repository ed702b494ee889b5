import PinctlHTTPMessages

/// The current request of a transfer, and how it is sent. It changes with each redirect and with responses that ask
/// for another form. A pure value.
struct TransferRequest: Sendable {
    /// The form in which a request is sent with its body.
    enum Body: Sendable, Hashable {
        case none
        /// A body of this length, or one in chunks. It may wait for the server's approval (`Expect: 100-continue`).
        case sent(length: Int?, expectsContinue: Bool)
        /// A body that is sent later, because the server will refuse this request whatever its body is.
        case deferred
    }

    private(set) var request: URLRequest
    private(set) var target: RequestTarget
    /// The handshake of the WebSocket that the request opens, if it opens one. Each attempt to send it has its own.
    var webSocket: WebSocketHandshake?
    private(set) var redirectCount = 0
    private let decodesBodies: Bool
    private let isUpload: Bool
    private var mayExpectContinue = true
    private var mayDeferBody = true

    /// The size in bytes from which a body waits for the server's approval (RFC 9110, section 10.1.1).
    static let expectationSize = 1024 * 1024

    /// Creates a request. `decodesBodies` says whether the client can decode content codings, and `isUpload` whether
    /// the body is that of an upload task.
    init(_ request: URLRequest, to target: RequestTarget, decodesBodies: Bool, isUpload: Bool) {
        self.request = request
        self.target = target
        self.decodesBodies = decodesBodies
        self.isUpload = isUpload
    }

    /// Returns the form for sending a body, which is `nil` without one. A long body can be deferred during a login.
    func form(of body: RequestBodyReader?, canDefer: Bool) -> Body {
        guard let body else { return .none }
        // A stream can be sent only once, so a refusal must not consume it.
        let length = body.length ?? .max
        if canDefer, mayDeferBody, length > RequestBody.part { return .deferred }
        return .sent(length: body.length, expectsContinue: mayExpectContinue && length >= Self.expectationSize)
    }

    /// Returns the head of the request. A forwarding proxy gets an absolute target.
    func head(
        _ body: Body, isForwarded: Bool, credentials: [HTTPField] = []
    ) throws(HTTPRequestError) -> HTTPRequestHead {
        let (framing, expectsContinue): (HTTPRequestHead.Body, Bool) =
            switch body {
            case .none, .deferred: (.none, false)
            case .sent(let length, let expectsContinue): (length.map { .length($0) } ?? .chunked, expectsContinue)
            }
        return try HTTPRequestHead(
            method: target.method, target: isForwarded ? .absolute(target.path) : .origin(target.path),
            origin: target.origin, body: framing, expectsContinue: expectsContinue, isUpload: isUpload,
            webSocket: webSocket,
            fields: ContentCoding.fields(of: request, decodesBodies: decodesBodies),
            credentials: credentials)
    }

    /// Returns whether the request must be sent again without `Expect`, which the server doesn't support (RFC 9110,
    /// section 10.1.1).
    mutating func withdrawsExpectation(after statusCode: Int, to body: Body) -> Bool {
        guard statusCode == 417, case .sent(_, expectsContinue: true) = body else { return false }
        mayExpectContinue = false
        return true
    }

    /// Returns whether the request must be sent again with its deferred body. The server didn't require a login, so the
    /// response is that to a request without its body.
    mutating func requiresDeferredBody(after statusCode: Int, to body: Body) -> Bool {
        guard body == .deferred, statusCode != 401, statusCode != 407 else { return false }
        mayDeferBody = false
        return true
    }

    /// Changes to the request that a redirect leads to.
    mutating func follow(_ next: URLRequest) throws(RequestTargetError) {
        let next = target.isWebSocket ? next.asHandshake : next
        (request, target) = (next, try RequestTarget(next, isWebSocket: target.isWebSocket))
        redirectCount += 1
    }
}
