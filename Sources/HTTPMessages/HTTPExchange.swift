/// The answer to one request, collected from the bytes of a connection: a pure state machine.
package struct HTTPExchange: Sendable {
    /// The most a body may have, in bytes: it is held in memory, and the server decides how much it sends.
    package static let bodyLimit = 1 << 30

    /// Nil until the header is complete.
    package private(set) var head: HTTPResponseHead?
    package private(set) var body: [UInt8] = []
    /// Whether the response has ended; nothing more is to be read then.
    package private(set) var isComplete = false

    private var parser: HTTPResponseParser
    private let bodyLimit: Int

    package init(requestMethod: String, bodyLimit: Int = Self.bodyLimit) {
        parser = HTTPResponseParser(requestMethod: requestMethod)
        self.bodyLimit = bodyLimit
    }

    /// Takes what the connection brought; nil for its clean end.
    package mutating func receive(_ bytes: [UInt8]?) throws(HTTPResponseError) {
        let events = if let bytes { try parser.receive(bytes) } else { try parser.receiveEnd() }
        for event in events {
            switch event {
            case .head(let head):
                if case .length(let count) = head.framing, count > bodyLimit { throw .bodyTooLarge(limit: bodyLimit) }
                self.head = head
            case .body(let bytes):
                guard bytes.count <= bodyLimit - body.count else { throw .bodyTooLarge(limit: bodyLimit) }
                body += bytes
            case .end:
                isComplete = true
            }
        }
    }
}
