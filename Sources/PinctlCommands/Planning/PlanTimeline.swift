import CertificatePinning
import CertificateTrust
import FoundationEssentials
import PinDialects

/// For every pin of the releases: what depends on it, and from when it can go.
struct PlanTimeline {
    /// One pin, by what it pins.
    struct Entry {
        let pin: CanonicalPin
        let title: String
        /// Releases that survive the new chain by this pin alone, or with it at least, and their hosts.
        var releases: [Int] = []
        var hosts: [Int] = []
        /// Whether it matches the new chain in a rule whose other pins match too.
        var isShared = false
        /// Whether it matches the chain that is served today, and the new one does not need it.
        var isNeededToday = false
        /// The last of the days on which rules that need it end; nil when one does not.
        var end: Date?
        /// Whether some release that needs it has no end.
        var hasNoEnd = false
        /// Whether the file of the work tree holds it.
        var isCurrent = false
    }

    private(set) var entries: [Entry] = []
    private let releases: [Release]
    private let hosts: [PlannedHost]
    /// Whether it was said what servers show today.
    private let knowsToday: Bool

    init(
        _ cells: [PlanCell], today: [PlanCell], releases: [Release], hosts: [PlannedHost], names: KnownNames
    ) {
        self.releases = releases
        self.hosts = hosts
        knowsToday = !today.isEmpty
        var places: [Key: Int] = [:]
        for cell in cells {
            let rule = releases[cell.release].rule(for: hosts[cell.host].name, port: hosts[cell.host].port)
            for pin in rule.pins {
                let place = places[Key(pin)] ?? entries.count
                if place == entries.count {
                    places[Key(pin)] = place
                    entries.append(Entry(pin: pin, title: names.title(pin)))
                }
                if releases[cell.release].isCurrent { entries[place].isCurrent = true }
                guard cell.essential.contains(where: { Key($0) == Key(pin) }) else {
                    if cell.matched.contains(where: { Key($0) == Key(pin) }) { entries[place].isShared = true }
                    continue
                }
                if !entries[place].releases.contains(cell.release) { entries[place].releases.append(cell.release) }
                if !entries[place].hosts.contains(cell.host) { entries[place].hosts.append(cell.host) }
                if let end = rule.ends.first, rule.endsQuietly {
                    entries[place].end = max(entries[place].end ?? end, end)
                } else {
                    entries[place].hasNoEnd = true
                }
            }
        }
        for cell in today {
            // Of several that match any one could go, and not all of them: none is called free.
            for pin in cell.matched {
                guard let place = places[Key(pin)], entries[place].releases.isEmpty else { continue }
                entries[place].isNeededToday = true
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

    /// From when a pin can go, in a line.
    func moment(_ entry: Entry) -> String {
        guard !entry.releases.isEmpty else {
            // Without the chain of today, nobody knows that it does not need the pin.
            let isFree = knowsToday && !entry.isNeededToday
            let when = isFree ? "now" : "when the new chain is served everywhere"
            if entry.isShared { return "\(when), while another pin that matches stays" }
            return isFree ? "now: nothing needs it" : when
        }
        let shipped = entry.releases.filter { !releases[$0].isCurrent }
        let shown = hosts(entry)
        guard !shipped.isEmpty else { return "not yet: \(shown) needs it in the file that ships next" }
        let titles =
            shipped.prefix(5).map { releases[$0].name } + (shipped.count > 5 ? ["\(shipped.count - 5) more"] : [])
        let retired = "when \(titles.joined(separator: ", ")) \(shipped.count == 1 ? "is" : "are") retired"
        let end = entry.hasNoEnd ? nil : entry.end.map { ", or after \($0.day): their rules end" }
        return "\(retired)\(end ?? "") (\(shown))"
    }

    private func hosts(_ entry: Entry) -> String {
        entry.hosts.prefix(3).map { hosts[$0].title }.joined(separator: ", ")
            + (entry.hosts.count > 3 ? " and \(entry.hosts.count - 3) more" : "")
    }

    var lines: [String] {
        guard !entries.isEmpty else { return [] }
        let width = entries.map { visibleText($0.title).count }.max() ?? 0
        return ["as far as these hosts go, when each pin and its key can go:"]
            + entries.map { "  \(padded(visibleText($0.title), width))  \(moment($0))" }
    }

    var json: JSON {
        .array(
            entries.map { entry in
                [
                    "pin": .string(entry.pin.description), "name": entry.pin.name.map { .string($0) } ?? .null,
                    "needed_by": .array(entry.releases.map { .string(releases[$0].name) }),
                    "hosts": .array(entry.hosts.map { .string(hosts[$0].title) }),
                    "needed_today": .bool(entry.isNeededToday),
                    "after": entry.hasNoEnd ? .null : entry.end.map { .string($0.rfc3339) } ?? .null,
                    "removable": .string(moment(entry)),
                ]
            })
    }
}

extension ReleaseRule {
    /// Whether its end lets every chain in.
    fileprivate var endsQuietly: Bool { rules.allSatisfy { $0.expiry?.effect == .stopPinning } }
}
