import CertificatePinning
import CertificateTrust
import PinctlBasics

/// The sentences below a matrix that say what makes the change safe. Each of them follows from the matrix.
struct PlanRemedy {
    let releases: [Release]
    let hosts: [PlannedHost]
    let cells: [PlanCell]
    let names: KnownNames
    let candidates: [NewChain]
    /// Whether every release could be read, so that the matrix shows them all.
    let isComplete: Bool

    /// A line for each remedy, empty if nothing breaks.
    var lines: [String] { trustLines + keyLines + nameLines + issuerLines }

    /// The combinations that break at hosts that a new certificate is valid for.
    private var broken: [PlanCell] { cells.filter { $0.standing == .breaks && !$0.isUncovered } }

    /// The combinations that aren't trusted although the chain is trusted for other releases at the host, whose roots
    /// differ.
    private var distrusted: [PlanCell] {
        cells.filter { $0.standing == .notTrusted && !untrustedHosts.contains($0.host) }
    }

    /// The hosts at which no release trusts the chain.
    private var untrustedHosts: Set<Int> {
        Set(cells.map(\.host)).subtracting(cells.filter { $0.standing != .notTrusted }.map(\.host))
    }

    private var trustLines: [String] {
        let hosts = titles(untrustedHosts)
        guard !hosts.isEmpty else { return [] }
        return [
            "no release connects to \(hosts) with the new chain, because it isn't trusted: fix the chain before its "
                + "pins"
        ]
    }

    /// The remedies for hosts that no new certificate is valid for.
    private var nameLines: [String] {
        let uncovered = Set(cells.filter(\.isUncovered).map(\.host))
        guard !uncovered.isEmpty else { return [] }
        return [
            "the new certificate lacks \(titles(uncovered)): have it issued for "
                + "\(uncovered.count == 1 ? "that name" : "those names") too; if another certificate is served there, "
                + "give it with another \(Flag.newInput.dashed), or choose hosts with \(Flag.plannedHost.dashed)"
        ]
    }

    /// The remedy for keys that may belong to a CA or to servers.
    private var issuerLines: [String] {
        guard cells.contains(where: { $0.standing == .depends && $0.dependsOnUnknownKeys }) else { return [] }
        return [
            "the new key isn't pinned: issue the certificate for a pinned key, or if a CA that is pinned issues it, "
                + "give a chain of that CA with \(Flag.currentInput.dashed) or its root with \(Flag.caFile.dashed)"
        ]
    }

    private var keyLines: [String] {
        let failing = broken + distrusted
        guard !failing.isEmpty else { return [] }
        let shipped = Set(failing.map(\.release)).sorted().filter { !releases[$0].isCurrent }
        let current = Set(failing.map(\.release)).sorted().filter { releases[$0].isCurrent }
        var ways: [String] = []
        if !shipped.isEmpty {
            let titles = FirstNames(shipped.map { releases[$0].name }, limit: 8)
            let changed = current.map { " and \(releases[$0].name) is changed" }.joined()
            ways.append(
                "when \(titles) \(shipped.count == 1 ? "is" : "are") retired\(changed)")
        }
        if let keys = keyText { ways.append(keys) }
        return (ways.isEmpty ? [] : ["\(effect) " + ways.joined(separator: ", or ")]) + current.map(change)
    }

    /// The effect of the remedies. What they don't change is in the matrix, and keeps the change from being safe.
    private var effect: String {
        if !untrustedHosts.isEmpty || cells.contains(where: \.isUncovered) { return "the other breaks end" }
        let isSafe = isComplete && !cells.contains { $0.standing == .depends || $0.end != nil }
        return isSafe ? "the change is safe" : "the breaks end"
    }

    /// Returns why the file of the working tree can be changed. Without releases, an app may have shipped with it.
    private func unshipped(_ release: Int) -> String {
        let name = releases[release].name
        // mutant plan-no-release: false for `releases.allSatisfy(\.isCurrent)` by PlanTests/ownReleases
        return releases.allSatisfy(\.isCurrent)
            ? "no release was given: if \(name) hasn't shipped, " : "\(name) hasn't shipped: "
    }

    /// Returns how to change the file of the working tree.
    private func change(_ release: Int) -> String {
        let failing = (broken + distrusted).filter { $0.release == release }
        guard failing.allSatisfy({ !$0.sufficientPins.isEmpty || $0.acceptsLeafPins }) else {
            let hosts = titles(Set(failing.map(\.host)))
            return unshipped(release) + "change its rule for \(hosts) before it does"
        }
        let broken = Set(failing.flatMap(\.broken)).sorted().map { candidates[$0] }
        let other = broken.allSatisfy(\.isOfProvider) ? "" : ", or the root of the new chain,"
        return unshipped(release) + "pin \(enumeration(broken.map(\.acceptingPin))) in it\(other) before it does"
    }

    /// The clause that names the keys with which nothing breaks, if there are any.
    ///
    /// Servers have one leaf for each candidate. If several of them break, one key isn't enough.
    private var keyText: String? {
        let failing = Set(broken.flatMap(\.broken))
        // mutant plan-one-key: true for 2 by PlanSentenceTests
        guard distrusted.isEmpty, failing.count == 1, let candidate = failing.first,
            !candidates[candidate].isOfProvider
        else { return nil }
        let keys = keys(for: broken)
        guard !keys.isEmpty else { return nil }
        var titles: [String] = []
        for title in keys.map({ names.title($0) }) where !titles.contains(title) { titles.append(title) }
        let leaf = candidates.count > 1 ? "the leaf of \(candidates[candidate].title)" : "the leaf"
        return "if \(leaf) uses key \(titles.joined(separator: " or "))"
    }

    /// Returns the keys that every broken combination accepts and no other one rejects for the leaf.
    private func keys(for broken: [PlanCell]) -> [CanonicalPin] {
        guard let first = broken.first else { return [] }
        let common = broken.dropFirst().reduce(into: first.sufficientPins) { common, cell in
            common.removeAll { pin in !cell.sufficientPins.contains { $0.isSameKey(as: pin) } }
        }
        return common.filter { pin in
            guard !cells.contains(where: { releases[$0.release].denies(pin, at: [0]) }) else { return false }
            return cells.filter(\.standing.isSurvival).allSatisfy { cell in
                cell.standsWithoutLeaf
                    || cell.pins.contains { $0.isSameKey(as: pin) && $0.role.covers(index: 0, of: 3) }
            }
        }
    }

    private func titles(_ hosts: Set<Int>) -> String {
        "\(FirstNames(hosts.sorted().map { self.hosts[$0].title }, limit: 5))"
    }
}
