import CertificatePinning
import CertificateTrust
import PinDialects
import PinctlBasics
import PinctlFoundation

/// The text output of a plan: a matrix if it fits, then the reasons, then the remedies.
struct PlanText {
    let releases: [Release]
    let hosts: [PlannedHost]
    let cells: [PlanCell]
    let names: KnownNames
    /// The maximum width of the matrix.
    let columns: Int
    /// Whether every combination is listed, however many there are.
    let isVerbose: Bool

    /// The number of combinations above which those that survive are only counted.
    private static let listLimit = 100

    var lines: [String] {
        let rows = matrix
        let width = rows.map(\.count).max() ?? 0
        if width <= columns, rows.count <= Self.listLimit || isVerbose {
            let reasons = cells.filter { $0.needsReason || isVerbose && $0.standing != .unpinned }
            return rows + (reasons.isEmpty ? [] : [""]) + reasons.map(line)
        }
        let told = cells.filter { isVerbose || cells.count <= Self.listLimit || $0.needsReason }
        let omitted = cells.count - told.count
        return told.sorted { ($1.standing, $0.release, $0.host) < ($0.standing, $1.release, $1.host) }.map(line)
            + (omitted > 0 ? ["\(omitted) more survive or have no pins: list them with \(Flag.verbose.dashed)"] : [])
    }

    private var matrix: [String] {
        let words = Dictionary(grouping: cells, by: \.release).mapValues { row in
            Dictionary(row.map { ($0.host, word($0)) }) { first, _ in first }
        }
        let texts = releases.indices.map { release in
            [visibleText(releases[release].name)] + hosts.indices.map { words[release]?[$0] ?? "" }
        }
        let rows = [[""] + hosts.map { visibleText($0.title) }] + texts
        let widths = (0...hosts.count).map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            var line = zip(row, widths).map { padded($0, $1) }.joined(separator: "  ")
            while line.last == " " { line.removeLast() }
            return line
        }
    }

    /// Returns the verdict as it appears in the matrix.
    func word(_ cell: PlanCell) -> String {
        if let end = cell.end { return end.word }
        switch cell.standing {
        case .survives: return "survives"
        case .survivesOnly where cell.essential.count == 1:
            // A pin without a name is below the matrix, in full, since nobody could use a part of it.
            let (pin, title) = (cell.essential[0], names.title(cell.essential[0]))
            return title == pin.description ? "only one pin" : "only \(short(title))"
        case .survivesOnly: return "survives only"
        case .breaks: return "BREAKS"
        case .depends: return "depends"
        case .off: return "pinning off"
        case .unpinned: return "no pins"
        case .notTrusted: return "not trusted"
        }
    }

    private func short(_ title: String) -> String {
        let text = visibleText(title)
        return text.count > 20 ? text.prefix(19) + "…" : text
    }

    private func line(_ cell: PlanCell) -> String {
        let lead =
            switch cell.standing {
            case .breaks: "BREAKS       "
            case .notTrusted: "not trusted  "
            case .depends: "depends      "
            case .off: "pinning off  "
            case .unpinned: "no pins      "
            case .survives, .survivesOnly: "survives     "
            }
        return "\(lead)\(releases[cell.release].name)  \(hosts[cell.host].title)  \(cell.finding)"
            + (cell.end?.text ?? "")
    }
}

extension PlanCell {
    /// Whether the word in the matrix isn't enough.
    fileprivate var needsReason: Bool {
        standing != .survives && standing != .unpinned || end != nil || hasRemarks
    }

    /// The exit code that the standing leads to.
    var status: ExitCode {
        switch standing {
        case .breaks: .finding
        case .notTrusted: .notTrusted
        default: end == nil ? .good : .finding
        }
    }
}

/// The remedies for the breaks of a plan.
struct PlanRemedy {
    let releases: [Release]
    let hosts: [PlannedHost]
    let cells: [PlanCell]
    let names: KnownNames
    let leaf: [SPKIFingerprint]

    /// A line for each remedy, empty if nothing breaks.
    var lines: [String] { keyLines + nameLines }

    /// The remedies for hosts that no new certificate is valid for.
    private var nameLines: [String] {
        let hosts = Set(cells.filter(\.isUncovered).map(\.host)).sorted().map { self.hosts[$0].title }
        guard !hosts.isEmpty else { return [] }
        let more = hosts.count > 5 ? " and \(hosts.count - 5) more" : ""
        return [
            "the new certificate lacks \(hosts.prefix(5).joined(separator: ", "))\(more): have it issued for "
                + "\(hosts.count == 1 ? "that name" : "those names") too; if another certificate is served there, give it with "
                + "another \(Flag.newInput.dashed), or choose hosts with \(Flag.plannedHost.dashed)"
        ]
    }

    private var keyLines: [String] {
        let broken = cells.filter { $0.standing == .breaks && !$0.isUncovered }
        guard !broken.isEmpty else { return [] }
        var ways: [String] = []
        let shipped = Set(broken.map(\.release)).sorted().filter { !releases[$0].isCurrent }
        if !shipped.isEmpty {
            let titles = shipped.prefix(8).map { releases[$0].name }
            let more = shipped.count > titles.count ? " and \(shipped.count - titles.count) more" : ""
            ways.append(
                "when \(titles.joined(separator: ", "))\(more) \(shipped.count == 1 ? "is" : "are") retired")
        }
        let keys = keys(for: broken)
        if !keys.isEmpty {
            ways.append("if the leaf uses key \(keys.map { names.title($0) }.joined(separator: " or "))")
        }
        var lines = ways.isEmpty ? [] : ["the change is safe " + ways.joined(separator: ", or ")]
        for release in Set(broken.map(\.release)).sorted() where releases[release].isCurrent {
            lines.append(
                "\(releases[release].name) hasn't shipped: pin \(leaf.map(\.description).joined(separator: " and "))"
                    + " in it, or the root above, before it does")
        }
        return lines
    }

    /// Returns the keys that every broken combination accepts and no other one rejects for the leaf.
    private func keys(for broken: [PlanCell]) -> [CanonicalPin] {
        guard let first = broken.first else { return [] }
        let common = broken.dropFirst().reduce(into: first.rescues) { common, cell in
            common.removeAll { pin in !cell.rescues.contains { $0.value == pin.value } }
        }
        return common.filter { pin in
            guard !cells.contains(where: { releases[$0.release].denies(pin, at: [0]) }) else { return false }
            return cells.filter(\.standing.isSurvival).allSatisfy { cell in
                cell.standsWithoutLeaf
                    || cell.pins.contains { $0.value == pin.value && $0.role.covers(index: 0, of: 3) }
            }
        }
    }
}
