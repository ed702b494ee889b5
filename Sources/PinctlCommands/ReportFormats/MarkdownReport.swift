import CertificatePinning
import CertificateTrust
import PinctlBasics
import PinctlFoundation

/// A writer of Markdown for GitHub and GitLab: the verdict, the failures by cause, then the details, folded.
///
/// All external text is in code spans and code blocks, the only places where neither site interprets markup, HTML,
/// links, mentions or references.
enum MarkdownReport {
    /// Returns the report with at most `limit` bytes. Only whole entries are left out, and the end says how many.
    static func text(_ report: Report, limit: Int = .max) -> String {
        guard limit >= 2 * Page.reserve else { return "" }
        var page = Page(limit: limit)
        page.add("## pinctl \(report.command): \(report.headline)\n\n")
        if !report.closing.isEmpty { page.add("\(span(report.closing))\n\n") }
        let policy = report.policy.map { " against \(span($0))" } ?? ""
        page.add("At \(report.time.rfc3339)\(policy).\n\n")
        if let matrix = report.matrix { add(matrix, to: &page) }
        let sections = report.sections
        for section in sections where section.outcome != .ok { table(of: section, in: report, on: &page) }
        for section in sections where section.outcome.isFailure { details(of: section, in: report, on: &page) }
        for section in sections where section.outcome == .ok {
            page.fold("\(grouped(section.entries.count)) ok") { page in rows(of: section, in: report, on: &page) }
        }
        certificates(of: report, on: &page)
        return page.text
    }

    /// Adds the verdicts on releases as a table, and what follows from them. Rows that don't fit are left out.
    private static func add(_ matrix: ReportMatrix, to page: inout Page) {
        page.add("| release | \(matrix.hosts.map(span).joined(separator: " | ")) |\n")
        page.add("|\(String(repeating: " --- |", count: matrix.hosts.count + 1))\n")
        for row in matrix.rows {
            page.addEntry("| \(span(row.release)) | \(row.verdicts.map { span($0.word) }.joined(separator: " | ")) |\n")
        }
        page.add("\n")
        for way in matrix.ways { page.add("\(span(way))\n\n") }
        guard !matrix.removals.isEmpty else { return }
        page.fold("When the key of each pin can be removed") { page in
            page.add("| pin | removal |\n| --- | --- |\n")
            for (pin, moment) in matrix.removals { page.addEntry("| \(span(pin)) | \(span(moment)) |\n") }
        }
    }

    /// Adds the certificates of all chains, those that several entries have only once.
    private static func certificates(of report: Report, on page: inout Page) {
        var seen: Set<[String]> = []
        var rows: [String] = []
        for entry in report.entries {
            for certificate in entry.chain {
                let columns = [
                    certificate.role, certificate.subject, certificate.issuer, certificate.key, certificate.pin,
                    certificate.notBefore.rfc3339, certificate.notAfter.rfc3339,
                    "\(certificate.lifetimeLeftPercent)%",
                ]
                guard seen.insert(columns).inserted else { continue }
                rows.append("| \(columns.map(span).joined(separator: " | ")) |\n")
            }
        }
        guard !rows.isEmpty else { return }
        page.fold("\(grouped(rows.count)) certificates") { page in
            page.add("| role | subject | issuer | key | pin | not before | not after | lifetime left |\n")
            page.add("| --- | --- | --- | --- | --- | --- | --- | --- |\n")
            for row in rows { page.addCertificate(row) }
        }
    }

    private static func table(of section: ReportSection, in report: Report, on page: inout Page) {
        let count = grouped(section.entries.count)
        guard let group = section.group else {
            page.add("### \(count) \(section.outcome.words)\n\n")
            return rows(of: section, in: report, on: &page)
        }
        page.add("### \(count) \(section.outcome.words) with one cause\n\n\(span(group.title))\n\n")
        if !group.remedy.isEmpty { page.add("To do: \(span(group.remedy))\n\n") }
        rows(of: section, in: report, on: &page)
    }

    private static func rows(of section: ReportSection, in report: Report, on page: inout Page) {
        page.add("| item | verdict | finding | position |\n| --- | --- | --- | --- |\n")
        for index in section.entries {
            let entry = report.entries[index]
            let found = [entry.finding] + entry.warnings.map { "warning: \($0.text)" }
            page.addEntry(
                "| \(span(entry.title)) | \(span(entry.verdict)) | \(found.map(span).joined(separator: "<br>")) | "
                    + "\(entry.location.map { span($0.description) } ?? "") |\n")
        }
        page.add("\n")
    }

    private static func details(of section: ReportSection, in report: Report, on page: inout Page) {
        for index in section.entries {
            let entry = report.entries[index]
            guard !entry.details.isEmpty else { continue }
            let fence = fence(around: entry.details)
            page.addDetails(
                "<details><summary><code>\(markup(entry.title))</code></summary>\n\n\(fence)text\n"
                    + entry.details.map(visibleText).joined(separator: "\n") + "\n\(fence)\n\n</details>\n\n")
        }
    }

    /// Returns a code span. Characters that would end it, or the table cell around it, are escaped.
    private static func span(_ text: String) -> String {
        let visible = visibleText(text)
        guard !visible.isEmpty else { return "" }
        guard visible.utf8.contains(where: { $0 == UInt8(ascii: "`") || $0 == UInt8(ascii: "|") }) else {
            return "`\(visible)`"
        }
        var escaped = "`"
        for scalar in visible.unicodeScalars {
            switch scalar {
            case "`": escaped += "\\u{60}"
            case "|": escaped += "\\u{7C}"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped + "`"
    }

    /// Returns a fence with more backticks than any run of backticks in the lines.
    private static func fence(around lines: [String]) -> String {
        var longest = 2
        for line in lines {
            var run = 0
            for byte in line.utf8 {
                run = byte == UInt8(ascii: "`") ? run + 1 : 0
                longest = max(longest, run)
            }
        }
        return String(repeating: "`", count: longest + 1)
    }

    /// A text with a maximum size.
    private struct Page {
        private(set) var body = ""
        private var room: Int
        private var leftOut = 0
        private var detailsLeftOut = 0
        private var certificatesLeftOut = 0
        private var isFull = false

        /// The number of bytes reserved for the closing text and the end of an open fold.
        static let reserve = 512

        init(limit: Int) {
            room = limit == .max ? limit : max(0, limit - Self.reserve)
        }

        var text: String {
            var end: [String] = []
            if leftOut > 0 { end.append("\(grouped(leftOut)) entries") }
            if detailsLeftOut > 0 { end.append("the details of \(grouped(detailsLeftOut))") }
            if certificatesLeftOut > 0 { end.append("\(grouped(certificatesLeftOut)) certificates") }
            guard let last = end.popLast() else { return body }
            let all = end.isEmpty ? last : "\(end.joined(separator: ", ")) and \(last)"
            return body + "\nOmitted because of the size limit: \(all).\n"
        }

        /// Adds text other than entries, unless something was already left out.
        mutating func add(_ text: String) { if !isFull { _ = put(text) } }

        mutating func addEntry(_ text: String) { if isFull || !put(text) { leftOut += 1 } }

        mutating func addDetails(_ text: String) { if isFull || !put(text) { detailsLeftOut += 1 } }

        mutating func addCertificate(_ text: String) { if isFull || !put(text) { certificatesLeftOut += 1 } }

        /// Adds content folded under a summary. The reserve covers the closing tag.
        mutating func fold(_ summary: String, _ content: (inout Page) -> Void) {
            let isOpen = !isFull && put("<details><summary>\(summary)</summary>\n\n")
            content(&self)
            if isOpen { body += "\n</details>\n\n" }
        }

        private mutating func put(_ text: String) -> Bool {
            let size = text.utf8.count
            guard size <= room else {
                isFull = true
                return false
            }
            room -= size
            body += text
            return true
        }
    }
}
