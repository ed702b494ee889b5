import CertificateTrust

@testable import PinctlHTTPMessages

extension FuzzTarget {
    /// A server's response, whole and in pieces: it comes to the same.
    static let http = FuzzTarget(name: "http") { bytes in
        let cut = pieces(of: bytes)
        for method in ["GET", "HEAD", "CONNECT"] {
            let whole = HTTPOutcome([bytes], to: method)
            precondition(whole == HTTPOutcome(cut, to: method), "how the bytes were cut made a difference")
            whole.check(byteCount: bytes.count)
        }
        exchange(bytes)
    }

    /// The response to a request whose body waits for the server's 100.
    private static func exchange(_ bytes: [UInt8]) {
        guard let name = try? ServerName("a.test"),
            let request = try? HTTPRequestHead(
                method: "POST", target: .origin("/"), origin: HTTPOrigin(scheme: .https, name: name, port: 443),
                body: .length(3), expectsContinue: true)
        else { preconditionFailure("a request that is in order was refused") }
        var exchange = HTTPExchange(request)
        var head: HTTPResponseHead?
        var bodyCount = 0
        for piece in pieces(of: bytes) + [nil] {
            exchange.receive(piece)
            while let event = try? exchange.next() {
                switch event {
                case .goAhead:
                    precondition(head == nil && exchange.wantsRequestBody)
                    exchange.requestBodyWasSent()
                case .head(let new):
                    precondition(head == nil && !exchange.awaitsGoAhead, "a second head")
                    head = new
                    for field in new.fields { _ = HTTPParameters(field.value) }
                case .body(let part): bodyCount += part.count
                case .end(let isReusable):
                    precondition(!isReusable || head?.isPersistent == true, "reusable, against the server's word")
                }
            }
        }
        precondition(bodyCount <= bytes.count)
    }
}

/// What a parser makes of a stream that ends cleanly.
private struct HTTPOutcome: Equatable {
    private var interim: [Int] = []
    private var head: HTTPResponseHead?
    private var body: [UInt8] = []
    private var isComplete = false
    private var error: HTTPResponseError?

    init(_ pieces: [[UInt8]], to method: String) {
        var parser = HTTPResponseParser(requestMethod: method)
        do throws(HTTPResponseError) {
            for piece in pieces + [nil] {
                parser.receive(piece)
                while let event = try parser.next() { take(event) }
            }
        } catch {
            self.error = error
            // A piece may end where the response does; whether more comes shows with the next.
            if error == .bytesAfterResponse { isComplete = true }
            do throws(HTTPResponseError) {
                _ = try parser.next()
                preconditionFailure("it reads on after an error")
            } catch let second {
                precondition(second == error)
            }
        }
    }

    private mutating func take(_ event: HTTPResponseParser.Event) {
        precondition(!isComplete, "something after the end")
        switch event {
        case .interim(let status):
            precondition(head == nil && (100..<200).contains(status))
            interim.append(status)
        case .head(let new):
            precondition(head == nil && new.statusCode >= 200)
            head = new
        case .body(let part):
            precondition(head != nil && !part.isEmpty)
            body += part
        case .end:
            precondition(head != nil)
            isComplete = true
        }
    }

    func check(byteCount: Int) {
        precondition(interim.count <= HTTPResponseParser.interimLimit)
        precondition(isComplete || error != nil, "the stream ended, and the response did not")
        guard let head else { return }
        precondition(head.fields.count <= HTTPResponseParser.fieldLimit)
        // ISO 8859-1 takes twice as many bytes in UTF-8.
        let headCount = head.fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
        precondition(headCount <= 2 * min(HTTPResponseParser.headLimit, byteCount))
        for field in head.fields {
            precondition(HTTPGrammar.isToken(field.name.utf8) && HTTPGrammar.isFieldContent(field.value.utf8))
        }
        switch head.framing {
        case .none: precondition(body.isEmpty)
        case .length(let count):
            precondition(count <= HTTPBodyFraming.lengthLimit)
            precondition(isComplete ? body.count == count : body.count < count)
        // "5", CR LF, CR LF for a chunk at the least, and five bytes for the last.
        case .chunked: precondition(body.count + (isComplete ? 5 : 0) < byteCount)
        case .untilClose: precondition(isComplete)
        }
    }
}
