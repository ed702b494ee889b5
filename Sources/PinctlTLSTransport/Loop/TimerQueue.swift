/// Calls to be made at certain times, ordered by deadline.
struct TimerQueue {
    /// The identifier of one entry.
    struct Identifier: Hashable, Sendable, Comparable {
        let deadline: TransportTime
        /// A number that distinguishes entries with the same deadline.
        let number: UInt64

        static func < (left: Identifier, right: Identifier) -> Bool {
            (left.deadline, left.number) < (right.deadline, right.number)
        }
    }

    typealias Action = @Sendable () -> Void

    private struct Entry {
        let identifier: Identifier
        let action: Action
    }

    /// The entries, latest first, so that due entries are removed from the end.
    private var entries: [Entry] = []
    private var count: UInt64 = 0

    /// The next deadline, or nil if there is none.
    var next: TransportTime? { entries.last?.identifier.deadline }

    mutating func add(at deadline: TransportTime, _ action: @escaping Action) -> Identifier {
        count += 1
        let identifier = Identifier(deadline: deadline, number: count)
        entries.insert(Entry(identifier: identifier, action: action), at: position(of: identifier))
        return identifier
    }

    /// Removes an entry, if it hasn't been taken already.
    mutating func remove(_ identifier: Identifier) {
        let position = position(of: identifier)
        guard position < entries.count, entries[position].identifier == identifier else { return }
        entries.remove(at: position)
    }

    /// Removes and returns the due actions, earliest first.
    mutating func takeDue(at now: TransportTime) -> [Action] {
        var due: [Action] = []
        while let next, next <= now { due.append(entries.removeLast().action) }
        return due
    }

    /// Returns the index of `identifier`, or the index to insert it at, after all later entries.
    private func position(of identifier: Identifier) -> Int {
        var range = 0..<entries.count
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            range = entries[middle].identifier > identifier ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return range.lowerBound
    }
}

/// An action that runs on the event loop at a given time, unless it is cancelled first.
package struct TransportTimer: Sendable {
    private let identifier: TimerQueue.Identifier

    /// Calls `action` on the event loop's thread. It must not block.
    package init(at instant: TransportTime, _ action: @escaping @Sendable () -> Void) {
        identifier = EventLoop.shared.schedule(at: instant, action)
    }

    /// Cancels the timer. A timer that is already due may still run.
    package func cancel() {
        EventLoop.shared.cancel(identifier)
    }
}

/// A point in time and the error for reaching it.
struct Deadline: Sendable {
    let instant: TransportTime
    private let phase: TransportError.Phase
    private let peer: String
    private let limit: Duration

    /// The error of a call that the deadline ends.
    var error: TransportError { .timedOut(phase, peer: peer, limit: limit) }

    /// Creates a deadline `limit` after `start`. A limit over one year is reduced to a year, so that adding it can't
    /// overflow.
    init(for phase: TransportError.Phase, peer: String, limit: Duration, since start: TransportTime = .now) {
        instant = start + min(limit, .seconds(365 * 86_400))
        (self.phase, self.peer, self.limit) = (phase, peer, limit)
    }

    private init(_ deadline: Deadline, _ phase: TransportError.Phase, peer: String) {
        (instant, limit) = (deadline.instant, deadline.limit)
        (self.phase, self.peer) = (phase, peer)
    }

    /// Returns the same deadline with an error that names the phase that it ends, so that no error names a phase that
    /// is done.
    func during(_ phase: TransportError.Phase, peer: String) -> Deadline { Deadline(self, phase, peer: peer) }

    /// Returns the deadline of a phase with a limit of its own, which this deadline may end before.
    func during(_ phase: TransportError.Phase, peer: String, limit: Duration) -> Deadline {
        .earlier(Deadline(for: phase, peer: peer, limit: limit), during(phase, peer: peer))
    }

    /// Returns the earlier of two deadlines.
    static func earlier(_ left: Deadline, _ right: Deadline) -> Deadline {
        left.instant <= right.instant ? left : right
    }
}
