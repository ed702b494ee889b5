/// Counts a body that is held in memory, since it is the server who decides how much it sends.
package struct HTTPBodyLimit: Sendable {
    /// The most a body may have, in bytes.
    package let limit: Int
    package private(set) var count = 0

    /// 1 GiB unless told otherwise.
    package init(_ limit: Int = 1 << 30) {
        self.limit = limit
    }

    /// Refuses a body that is announced as too large, before any of it comes.
    package func check(_ head: HTTPResponseHead) throws(HTTPResponseError) {
        if case .length(let count) = head.framing, count > limit { throw .bodyTooLarge(limit: limit) }
    }

    /// Counts a part of the body.
    package mutating func add(_ part: ArraySlice<UInt8>) throws(HTTPResponseError) {
        guard part.count <= limit - count else { throw .bodyTooLarge(limit: limit) }
        count += part.count
    }
}
