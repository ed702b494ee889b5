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
    /// The releases that couldn't be read.
    let unread: [String]
    /// The maximum width of the matrix.
    let columns: Int
    /// Whether every combination is listed, however many there are.
    let isVerbose: Bool

    /// The number of combinations above which those that survive are only counted.
    private static let listLimit = 100

    var lines: [String] {
        let rows = matrix
        let width = rows.map(\.width).max() ?? 0
        if width <= columns, rows.count <= Self.listLimit || isVerbose {
            let reasons = cells.filter { $0.needsReason || isVerbose && $0.standing != .unpinned }
            return rows + (reasons.isEmpty ? [] : [""]) + reasons.map(line)
        }
        let told = cells.filter { isVerbose || cells.count <= Self.listLimit || $0.needsReason }
        let omitted = cells.count - told.count
        return unread.map { "unread       \($0)" }
            + told.sorted { ($1.standing, $0.release, $0.host) < ($0.standing, $1.release, $1.host) }.map(line)
            + (omitted > 0 ? ["\(omitted) more survive or have no pins: list them with \(Flag.verbose.dashed)"] : [])
    }

    private var matrix: [String] {
        let words = Dictionary(grouping: cells, by: \.release).mapValues { row in
            Dictionary(row.map { ($0.host, word($0)) }) { first, _ in first }
        }
        let texts = releases.indices.map { release in
            [visibleText(releases[release].name)] + hosts.indices.map { words[release]?[$0] ?? "" }
        }
        let unread = unread.map { [visibleText($0)] + hosts.map { _ in "unread" } }
        let rows = [[""] + hosts.map { visibleText($0.title) }] + texts + unread
        let widths = (0...hosts.count).map { column in rows.map { $0[column].width }.max() ?? 0 }
        return rows.map { row in
            let line = zip(row, widths).map { padded($0, $1) }.joined(separator: "  ")
            return String(line[...].trimmingSpaces)
        }
    }

    /// Returns the verdict as it appears in the matrix.
    func word(_ cell: PlanCell) -> String {
        if let end = cell.end { return end.word }
        switch cell.standing {
        case .survives: return "survives"
        case .survivesOnly where cell.essential.count == 1:
            // A pin without a name is below the matrix, in full, since nobody could use a part of it.
            let (pin, label) = (cell.essential[0], names.label(cell.essential[0]))
            let beginning = label.beginning.map { " (\($0))" } ?? ""
            return label.name == pin.description ? "only one pin" : "only \(short(label.name))\(beginning)"
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
}
