import CertificateTrust
import PinctlBasics
import PinctlFoundation

// Findings about pinned public roots that trust stores distrust, or whose CA moves to another root.

extension PolicyLinter {
    /// The notice for roots, in days: the time that an app's next version needs to reach its users.
    private static let notice = 180.0

    func calendarFindings(_ rule: CanonicalRule) -> [LintFinding] {
        guard rule.mode != .off, rule.trustsSystem, !calendar.isEmpty else { return [] }
        let pins = rule.pins + unitedPins(of: rule)
        let roots = pins.compactMap { calendar.root(of: $0) }
        // Another pin, such as that of a server's key, can match whatever trust stores do.
        let isAlone = roots.count == pins.count
        // The key of a backup isn't served, so its pin doesn't match when a path becomes shorter.
        let servesAlone = pins.allSatisfy { $0.isBackup || calendar.root(of: $0) != nil }
        let names = Set(roots.map(\.name))
        let limit = time.adding(days: Self.notice)
        let allLeave = isAlone && roots.allSatisfy { $0.leaves(before: limit) }
        return rule.pins.flatMap { pin -> [LintFinding] in
            guard let root = calendar.root(of: pin) else { return [] }
            let place = location(of: pin, in: rule)
            var findings: [LintFinding] = []
            if let departure = root.departure(before: limit, at: time) {
                findings.append(
                    LintFinding(
                        .leavingRoot, allLeave ? .error : .warning, at: place,
                        "\(pin.lintTitle) is a root that \(departure): pin the root that its CA issues under now"))
            }
            guard servesAlone, !pin.isBackup else { return findings }
            for next in calendar.successors(of: root, at: time) where !names.contains(next.name) {
                guard let arrival = next.arrival(at: time) else { continue }
                findings.append(
                    LintFinding(
                        .arrivingRoot, at: place,
                        "\(pin.lintTitle) has signed the root \(next.name), which \(arrival): clients that have it end "
                            + "their paths there, so if servers use certificates below it, pin \(next.name) too"))
            }
            return findings
        }
    }
}

extension RootCalendar.Root {
    /// Whether a store that trusts or has trusted the root stops doing so before `limit`. A store that never had the
    /// root isn't a change.
    fileprivate func leaves(before limit: Date) -> Bool {
        trust.values.contains { trust in
            [trust.removed, trust.issuedUntil].contains { day in day.map { $0 < limit } ?? false }
        }
    }

    /// Returns which stores don't have the root, and how others stop trusting it before `limit`, or `nil` if every
    /// store trusts it. The words follow "a root that".
    fileprivate func departure(before limit: Date, at time: Date) -> String? {
        var groups: [String: [RootCalendar.Store]] = [:]
        for store in RootCalendar.Store.allCases {
            guard let trust = trust[store] else { continue }
            if trust.isAbsent {
                groups["is absent from the store", default: []].append(store)
            } else if let removed = trust.removed, removed < limit {
                let verb = removed <= time ? "was" : "is"
                groups["\(verb) removed from the store on \(removed.day)", default: []].append(store)
            } else if let until = trust.issuedUntil, until < limit {
                groups["is trusted only for certificates issued until \(until.day)", default: []].append(store)
            }
        }
        guard !groups.isEmpty else { return nil }
        return groups.sorted { $0.key < $1.key }.map { "\($0.key) (\($0.value.names))" }.joined(separator: " and ")
    }

    /// Returns which stores the root enters after `time`, or `nil` if it enters none. The words follow "which".
    fileprivate func arrival(at time: Date) -> String? {
        let pending = RootCalendar.Store.allCases.filter { trust[$0]?.isPending == true }
        let dated = RootCalendar.Store.allCases.compactMap { store in
            trust[store]?.since.flatMap { $0 > time ? (store, $0) : nil }
        }
        let parts =
            dated.map { "enters the store \($0.rawValue) on \($1.day)" }
            + (pending.isEmpty ? [] : ["is about to enter stores (\(pending.names))"])
        return parts.isEmpty ? nil : parts.joined(separator: " and ")
    }
}

extension [RootCalendar.Store] {
    package var names: String { map(\.rawValue).joined(separator: ", ") }
}
