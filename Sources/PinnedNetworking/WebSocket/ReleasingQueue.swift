/// A first-in, first-out queue that releases each element when it is taken. An `ArraySlice` keeps those that were taken
/// until its storage grows.
struct ReleasingQueue<Element> {
    private var slots: [Element?] = []
    /// The number of empty slots at the start.
    private var taken = 0

    /// The number of empty slots that are kept, so that they needn't be removed after every element.
    private static var slack: Int { 32 }

    var count: Int { slots.count - taken }

    /// The oldest element.
    var first: Element? { taken < slots.count ? slots[taken] : nil }

    mutating func append(_ element: Element) { slots.append(element) }

    /// Removes and returns the oldest element.
    mutating func popFirst() -> Element? {
        guard taken < slots.count else { return nil }
        let element = exchange(&slots[taken], with: nil)
        taken += 1
        if taken == slots.count {
            self = Self()
        } else if taken >= Self.slack, taken >= count {
            // As many elements were taken as are moved now.
            slots.removeFirst(taken)
            taken = 0
        }
        return element
    }

    /// Removes and returns the first element for which `condition` is true.
    mutating func remove(where condition: (Element) -> Bool) -> Element? {
        guard let index = slots.firstIndex(where: { $0.map(condition) ?? false }) else { return nil }
        return slots.remove(at: index)
    }

    /// Removes and returns all elements, the oldest first.
    mutating func takeAll() -> [Element] {
        defer { self = Self() }
        return slots.compactMap(\.self)
    }
}

extension ReleasingQueue: Sendable where Element: Sendable {}
