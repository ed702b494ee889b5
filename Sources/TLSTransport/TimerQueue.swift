/// What is to happen when: calls in the order of their deadlines.
struct TimerQueue {
    /// Names one entry.
    struct Identifier: Hashable, Sendable, Comparable {
        let deadline: ContinuousClock.Instant
        /// Tells entries of one deadline apart.
        let number: UInt64

        static func < (left: Identifier, right: Identifier) -> Bool {
            (left.deadline, left.number) < (right.deadline, right.number)
        }
    }

    typealias Action = @Sendable () -> Void

    /// Latest first, so that what is due comes off the end.
    private var entries: [(identifier: Identifier, action: Action)] = []
    private var count: UInt64 = 0

    /// The next deadline; nil when there is none.
    var next: ContinuousClock.Instant? { entries.last?.identifier.deadline }

    mutating func add(at deadline: ContinuousClock.Instant, _ action: @escaping Action) -> Identifier {
        count += 1
        let identifier = Identifier(deadline: deadline, number: count)
        entries.insert((identifier, action), at: position(of: identifier))
        return identifier
    }

    /// Forgets an entry; one that was due and taken is gone already.
    mutating func remove(_ identifier: Identifier) {
        let position = position(of: identifier)
        guard position < entries.count, entries[position].identifier == identifier else { return }
        entries.remove(at: position)
    }

    /// Takes what is due, earliest first.
    mutating func takeDue(at now: ContinuousClock.Instant) -> [Action] {
        var due: [Action] = []
        while let last = entries.last, last.identifier.deadline <= now {
            due.append(last.action)
            entries.removeLast()
        }
        return due
    }

    /// Where `identifier` is or belongs: behind all later ones.
    private func position(of identifier: Identifier) -> Int {
        var range = 0..<entries.count
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            range = entries[middle].identifier > identifier ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return range.lowerBound
    }
}
