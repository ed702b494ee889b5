/// The ready sockets that wait for their turn. Each is in line once, and new readiness is merged into its entry.
///
/// The kernel reports a socket for every segment that arrives. With an entry for each report, a peer that sends one
/// byte at a time would get as many turns.
struct ReadyLine {
    private var order: ArraySlice<EventLoop.Token> = []
    private var readiness: [EventLoop.Token: Readiness] = [:]

    var count: Int { readiness.count }
    var isEmpty: Bool { readiness.isEmpty }

    mutating func append(_ token: EventLoop.Token, _ ready: Readiness) {
        if readiness.updateValue(readiness[token]?.union(ready) ?? ready, forKey: token) == nil { order.append(token) }
    }

    /// Removes and returns the first entries, in the order in which they were added.
    mutating func take(_ count: Int) -> [(token: EventLoop.Token, readiness: Readiness)] {
        let first = order.prefix(count)
        order.removeFirst(first.count)
        return first.compactMap { token in readiness.removeValue(forKey: token).map { (token, $0) } }
    }
}
