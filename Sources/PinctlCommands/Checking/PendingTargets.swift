import PinctlTLSTransport

/// The targets of a run that have no result yet, by their positions.
struct PendingTargets: Sendable {
    private var targets: [Int: Target] = [:]
    private var added = 0

    /// Adds the next items of the run.
    mutating func add(_ items: [CheckItem]) {
        for item in items {
            if case .server(let target, _, _, _, _) = item { targets[added] = target }
            added += 1
        }
    }

    /// Removes an item that has a result.
    mutating func remove(_ item: Int) { targets[item] = nil }

    /// Returns the message of a run that was interrupted after `done` items. `total` isn't known for a list.
    func interruption(after done: Int, of total: Int?) -> String {
        let names = FirstNames(targets.sorted { $0.key < $1.key }.map { "\($0.value)" })
        let rest =
            total.map { "\($0 - done) of \($0) targets \($0 - done == 1 ? "was" : "were") checked (\(names))" }
            ?? "all targets of the list were checked" + (targets.isEmpty ? "" : " (pending: \(names))")
        return "interrupted before \(rest): run it again" + (done == 0 ? "" : " for those without a result")
    }
}
