/// Sockets that are ready and wait for their turn, each once: what becomes ready meanwhile is added to where it stands.
///
/// The kernel reports a socket for every segment that comes; to line up each report would let a peer that sends bytes
/// one at a time have as many turns.
struct ReadyLine {
    private var order: ArraySlice<EventLoop.Token> = []
    private var readiness: [EventLoop.Token: Readiness] = [:]

    var count: Int { readiness.count }
    var isEmpty: Bool { readiness.isEmpty }

    mutating func append(_ token: EventLoop.Token, _ ready: Readiness) {
        if readiness.updateValue(readiness[token]?.union(ready) ?? ready, forKey: token) == nil { order.append(token) }
    }

    /// Takes the first out, in the order in which they came.
    mutating func take(_ count: Int) -> [(token: EventLoop.Token, readiness: Readiness)] {
        let first = order.prefix(count)
        order.removeFirst(first.count)
        return first.compactMap { token in readiness.removeValue(forKey: token).map { (token, $0) } }
    }
}
