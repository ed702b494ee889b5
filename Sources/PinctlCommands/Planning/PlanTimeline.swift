import CertificatePinning
import CertificateTrust
import PinDialects
import PinctlBasics
import PinctlFoundation

/// A timeline with every pin of the releases, what depends on its key, and when the key can be removed.
///
/// A shipped app keeps its pins. A pinned key that isn't in use is a way to recover, so it is kept until the release is
/// retired, whether the new chain needs it or not.
struct PlanTimeline {
    /// A pinned object and its uses.
    struct Entry {
        let pin: CanonicalPin
        let title: String
        /// The shipped releases that pin it or survive the new chain because of it.
        var releases: [Int] = []
        /// The releases that break and would be saved by another chain with this key.
        var wayBack: [Int] = []
        var hosts: Set<Int> = []
        /// Whether it matches the new chain.
        var isMatched = false
        /// Whether it matches the new chain in a rule whose other pins match too.
        var isShared = false
        /// Whether the chain that is served today has it.
        var isServedToday = false
        /// Whether the new chain has it.
        var isServedNext = false
        /// The latest end of the rules that need it and expire, if any.
        var end: Date?
        /// Whether a release that needs it never expires.
        var hasNoEnd = false
        /// The use of the pin in the working tree's file, which can still be changed, or `nil` if the file doesn't have
        /// it.
        var place: Place?
    }

    /// The use of a pin in the file that ships next, in order of importance.
    enum Place: Int {
        case unneeded
        case backup
        case needed
    }

    private(set) var entries: [Entry] = []
    private let releases: [Release]
    private let hosts: [PlannedHost]
    /// Whether every release could be read.
    private let isComplete: Bool
    /// Whether the chain served today was given.
    private let knowsToday: Bool
    /// The hosts for which the new chain isn't trusted, so that the effect of pins isn't known.
    private let untrusted: [Int]

    /// Creates the timeline of a plan. `today` is the plan for the chain that is served today, if it was given.
    init(_ cells: [PlanCell], of plan: Plan, today: Plan?, isComplete: Bool) {
        self.isComplete = isComplete
        releases = plan.releases
        hosts = plan.hosts
        knowsToday = today != nil
        untrusted = Set(cells.filter { $0.standing == .notTrusted }.map(\.host)).sorted()
        var places: [Key: Int] = [:]
        for cell in cells {
            let rule = releases[cell.release].rule(for: hosts[cell.host].name, port: hosts[cell.host].port)
            let (essential, matched) = (Set(cell.essential.map(Key.init)), Set(cell.matched.map(Key.init)))
            for pin in rule.pins {
                let key = Key(pin)
                let place = places[key] ?? entries.count
                if place == entries.count {
                    places[key] = place
                    entries.append(Entry(pin: pin, title: plan.names.title(pin)))
                    entries[place].isServedNext = plan.serves(pin)
                    // If several of the keys match, any of them could be removed but not all, so none is.
                    entries[place].isServedToday = today?.serves(pin) ?? false
                }
                let isEssential = essential.contains(key)
                // A key that the release denies is of no use to it, whatever its rules pin.
                let isDenied = releases[cell.release].denies(pin)
                if matched.contains(key) {
                    entries[place].isMatched = true
                    if !isEssential { entries[place].isShared = true }
                }
                // Pins of expired rules are never checked.
                let counts = cell.countsPins && !isDenied
                if releases[cell.release].isCurrent {
                    // The needs of a host that the new certificate lacks are known only once it is covered.
                    let isNeeded =
                        !isDenied && (isEssential || cell.standing == .depends || cell.isUncovered)
                    let now = isNeeded ? Place.needed : counts && pin.isBackup ? .backup : .unneeded
                    entries[place].place = max(entries[place].place ?? now, now)
                    guard now != .unneeded || cell.standing == .breaks else { continue }
                }
                if counts { entries[place].hold(cell, rule) }
            }
        }
    }

    private struct Key: Hashable {
        let content: CanonicalPin.Content
        let digest: CanonicalPin.Digest
        let value: [UInt8]

        init(_ pin: CanonicalPin) {
            content = pin.content
            digest = pin.digest
            value = pin.value
        }
    }

    /// Returns a line that says when the key of a pin can be removed. A release that is unread may need any key.
    func moment(_ entry: Entry) -> String {
        let moment = readMoment(entry)
        let isKept = ["keep", "not yet", "unknown"].contains { moment.hasPrefix($0) }
        guard !isComplete, !isKept else { return moment }
        return moment.hasPrefix("now") ? "unknown: a release is unread" : moment + ", unless an unread release needs it"
    }

    /// Returns when the key can be removed as far as the releases show that were read.
    private func readMoment(_ entry: Entry) -> String {
        guard untrusted.isEmpty else { return "unknown: the new chain isn't trusted" }
        guard entry.wayBack.isEmpty else {
            let others = entry.releases.filter { !entry.wayBack.contains($0) }
            let needs = others.isEmpty ? "" : "; \(names(others)) \(others.count == 1 ? "needs" : "need") it too"
            let object = entry.pin.content == .certificate ? "certificate" : "key"
            return "keep: a chain with this \(object) lets \(names(entry.wayBack)) connect again\(needs)"
        }
        let shipped = entry.releases.filter { !releases[$0].isCurrent }
        guard !shipped.isEmpty else { return momentInFile(entry) }
        let retired = "when \(names(shipped)) \(shipped.count == 1 ? "is" : "are") retired"
        let end = entry.hasNoEnd ? nil : entry.end.map { ", or after \($0.day), when their rules have expired" }
        let purpose = entry.isMatched ? "" : "a backup for "
        return "\(retired)\(end ?? "") (\(purpose)\(hosts(entry)))\(leave(entry))"
    }

    /// Returns the note that the pin can be removed from the file before its key.
    ///
    /// This doesn't apply while the pin is a way to recover, since the next release needs it too.
    private func leave(_ entry: Entry) -> String {
        entry.place == .unneeded ? "; remove it from the next file to ship \(momentOfPin(entry))" : ""
    }

    /// Returns when a key can be removed that no shipped release needs.
    private func momentInFile(_ entry: Entry) -> String {
        switch entry.place {
        case .needed: return "not yet: \(hosts(entry)) needs it in the next file to ship"
        case .backup: return "not yet: it is a backup in the next file to ship"
        case .unneeded, nil: break
        }
        let moment = momentOfPin(entry)
        if entry.isShared { return moment }
        if entry.isServedNext { return "not yet: the new chain has it" }
        return moment == "now" && entry.releases.isEmpty ? "now: nothing needs it" : moment
    }

    /// Returns when a pin that isn't needed can be removed from the working tree's file, which no app has yet. Its key
    /// may be needed for longer.
    private func momentOfPin(_ entry: Entry) -> String {
        // Without the current chain, it isn't known whether that chain needs the pin.
        // mutant plan-served: true for `!entry.isServedToday` by PlanSentenceTests PlanTests
        let isFree = knowsToday && !entry.isServedToday
        return (isFree ? "now" : "when the new chain is served everywhere")
            + (entry.isShared ? ", if another matching pin stays" : "")
    }

    private func names(_ places: [Int]) -> String {
        "\(FirstNames(places.map { releases[$0].name }, limit: 5))"
    }

    private func hosts(_ entry: Entry) -> String { hosts(entry.hosts.sorted()) }

    private func hosts(_ places: [Int]) -> String {
        "\(FirstNames(places.map { hosts[$0].title }))"
    }

    var lines: [String] {
        guard !entries.isEmpty else { return [] }
        guard untrusted.isEmpty else {
            return [
                "keep every key: a chain isn't trusted (\(hosts(untrusted))), so it is unknown which keys can be "
                    + "removed"
            ]
        }
        let width = entries.map { visibleText($0.title).width }.max() ?? 0
        let contents = Set(entries.map(\.pin.content))
        let object =
            contents.count > 1 ? "key or certificate" : contents.contains(.certificate) ? "certificate" : "key"
        return ["for these hosts, when the \(object) of each pin can be removed:"]
            + entries.map { "  \(padded(visibleText($0.title), width))  \(moment($0))" }
    }

    /// Each pin with the time when its key can be removed, or nothing if a chain isn't trusted.
    var removals: [(pin: String, moment: String)] {
        untrusted.isEmpty ? entries.map { ($0.title, moment($0)) } : []
    }

    var json: JSON {
        .array(
            entries.map { entry in
                [
                    "pin": .string(entry.pin.description), "name": entry.pin.name.map { .string($0) } ?? .null,
                    "needed_by": .array(entry.releases.map { .string(releases[$0].name) }),
                    "way_back_for": .array(entry.wayBack.map { .string(releases[$0].name) }),
                    "hosts": .array(entry.hosts.sorted().map { .string(hosts[$0].title) }),
                    "needed_today": .bool(entry.isServedToday),
                    "after": entry.hasNoEnd ? .null : entry.end.map { .string($0.rfc3339) } ?? .null,
                    "removable": .string(moment(entry)),
                ]
            })
    }
}

extension PlanTimeline.Place: Comparable {
    static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

extension PlanTimeline.Entry {
    /// Adds a release that depends on the pin. The cells of one release must be added consecutively.
    fileprivate mutating func hold(_ cell: PlanCell, _ rule: ReleaseRule) {
        if releases.last != cell.release { releases.append(cell.release) }
        if wayBack.last != cell.release, cell.wayBack.contains(where: { $0.isSameKey(as: pin) }) {
            wayBack.append(cell.release)
        }
        hosts.insert(cell.host)
        if let end = rule.lastEnds.first, rule.endsQuietly {
            self.end = max(self.end ?? end, end)
        } else {
            hasNoEnd = true
        }
    }
}

extension ReleaseRule {
    /// Whether all of the rules stop pinning when they expire.
    fileprivate var endsQuietly: Bool { rules.allSatisfy { $0.expiry?.effect == .stopPinning } }
}
