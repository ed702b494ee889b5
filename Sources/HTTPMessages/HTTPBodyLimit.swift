/// A limit on a body held in memory, because the server decides how much it sends.
package struct HTTPBodyLimit: Sendable {
    /// The largest allowed body, in bytes.
    package let limit: Int
    package private(set) var count = 0

    /// Creates a limit, 1 GiB by default.
    package init(_ limit: Int = 1 << 30) {
        self.limit = limit
    }

    /// Rejects a body that is announced as too large, before any of it arrives.
    package func check(_ head: HTTPResponseHead) throws(HTTPResponseError) {
        if case .length(let count) = head.framing, count > limit { throw .bodyTooLarge(limit: limit) }
    }

    /// Counts a part of the body. Throws if the body exceeds the limit.
    package mutating func add(_ part: ArraySlice<UInt8>) throws(HTTPResponseError) {
        guard part.count <= limit - count else { throw .bodyTooLarge(limit: limit) }
        count += part.count
    }
}
