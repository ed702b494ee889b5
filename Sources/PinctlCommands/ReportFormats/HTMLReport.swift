import CertificatePinning
import CertificateTrust
import FoundationEssentials

/// A report as a single HTML page.
///
/// The page loads nothing, and its content security policy allows only the filter script contained in it. Without the
/// script, everything is still readable.
enum HTMLReport {
    static func text(_ report: Report) -> String {
        let sections = report.sections
        var page = head(report)
        page += "<body>\n<a class=\"skip\" href=\"#results\">Skip to the results</a>\n"
        header(report, sections, to: &page)
        filter(report, to: &page)
        page += "<main id=\"results\">\n"
        if report.entries.isEmpty { page += "<p>Nothing was looked at.</p>\n" }
        for (number, section) in sections.enumerated() { write(section, number, report, to: &page) }
        page += "</main>\n<footer><p>Made by pinctl \(Version.current). Times are UTC.</p></footer>\n"
        page += "<script>\(HTMLPage.script)</script>\n</body>\n</html>\n"
        return page
    }

    private static func head(_ report: Report) -> String {
        let policy =
            "default-src 'none'; style-src '\(HTMLPage.hash(HTMLPage.style))'; "
            + "script-src '\(HTMLPage.hash(HTMLPage.script))'; base-uri 'none'; form-action 'none'"
        return """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta http-equiv="Content-Security-Policy" content="\(policy)">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <meta name="referrer" content="no-referrer">
            <title>pinctl \(markup(report.command)): \(report.headline)</title>
            <style>\(HTMLPage.style)</style>
            </head>

            """
    }

    private static func header(_ report: Report, _ sections: [ReportSection], to page: inout String) {
        let worst = report.counts.first?.outcome ?? .ok
        page += "<header class=\"top \(tint(worst))\">\n<p class=\"tool\">pinctl \(markup(report.command))</p>\n"
        page += "<h1>\(mark(worst)) \(report.headline.prefix(1).uppercased())\(report.headline.dropFirst())</h1>\n"
        if !report.closing.isEmpty { page += "<p class=\"closing\">\(markup(report.closing))</p>\n" }
        page += "<p class=\"when\">\(time(report.time, whole: true))"
        if let policy = report.policy { page += ", against <code>\(markup(policy))</code>" }
        page += "</p>\n<ul class=\"counts\">\n"
        for (outcome, count) in report.counts {
            page += "<li class=\"\(tint(outcome))\">\(mark(outcome)) <b>\(grouped(count))</b> \(outcome.words)</li>\n"
        }
        page += "</ul>\n"
        let causes = sections.enumerated().filter { $0.element.group != nil }
        if causes.count > 1 {
            page += "<table class=\"causes\">\n<caption>Causes</caption>\n<thead><tr><th scope=\"col\">Outcome</th>"
            page += "<th scope=\"col\">Count</th><th scope=\"col\">Cause</th></tr></thead>\n<tbody>\n"
            for (number, section) in causes {
                page += "<tr><td>\(badge(section.outcome))</td><td class=\"n\">\(grouped(section.entries.count))</td>"
                page +=
                    "<th scope=\"row\"><a href=\"#s\(number)\">\(markup(section.group?.title ?? ""))</a></th></tr>\n"
            }
            page += "</tbody>\n</table>\n"
        }
        page += "</header>\n"
    }

    /// Writes the filter form, which is hidden until the script shows it.
    private static func filter(_ report: Report, to page: inout String) {
        page += "<form id=\"filter\" role=\"search\" hidden>\n<label for=\"text\">Show what has</label>\n"
        page += "<input id=\"text\" type=\"search\" placeholder=\"a host, a name, a pin\" autocomplete=\"off\">\n"
        page += "<fieldset><legend>and is</legend>\n"
        for (outcome, _) in report.counts {
            page += "<label class=\"\(tint(outcome))\"><input type=\"checkbox\" value=\"\(outcome.rawValue)\" checked> "
            page += "\(mark(outcome)) \(outcome.words)</label>\n"
        }
        page += "</fieldset>\n<output id=\"shown\" for=\"text\" aria-live=\"polite\"></output>\n</form>\n"
    }

    private static func write(_ section: ReportSection, _ number: Int, _ report: Report, to page: inout String) {
        page += "<section aria-labelledby=\"s\(number)\">\n<h2 id=\"s\(number)\">"
        page += "<span class=\"\(tint(section.outcome))\">\(mark(section.outcome)) \(grouped(section.entries.count)) "
        page += "\(section.outcome.words)</span>"
        if let group = section.group { page += " <span class=\"cause\">\(markup(group.title))</span>" }
        page += "</h2>\n"
        if let group = section.group, !group.remedy.isEmpty {
            page += "<p class=\"do\"><b>To do:</b> \(markup(group.remedy))</p>\n"
        }
        for (place, index) in section.entries.enumerated() {
            // The first failures are open, since they are the reason to look at the page.
            let isOpen = place == 0 && section.outcome.isFailure && number < openLimit
            write(report.entries[index], isOpen: isOpen, to: &page)
        }
        page += "</section>\n"
    }

    private static let openLimit = 3

    private static func write(_ entry: ReportEntry, isOpen: Bool, to page: inout String) {
        page += "<details class=\"entry \(tint(entry.outcome))\" data-outcome=\"\(entry.outcome.rawValue)\""
        page += "\(isOpen ? " open" : "")>\n<summary>\(badge(entry.outcome)) "
        page += "<span class=\"subject\">\(markup(entry.subject))</span>"
        if !entry.variant.isEmpty { page += " <span class=\"variant\">\(markup(entry.variant))</span>" }
        page += " <code class=\"verdict\">\(markup(entry.verdict))</code> "
        page += "<span class=\"finding\">\(markup(entry.finding))</span></summary>\n<div class=\"body\">\n"
        if !entry.causes.isEmpty {
            page += "<ul class=\"why\">\n"
            for cause in entry.causes {
                page += "<li><b>Cause:</b> \(markup(cause.finding)).<br><b>To do:</b> \(markup(cause.remedy)).</li>\n"
            }
            page += "</ul>\n"
        }
        if !entry.warnings.isEmpty {
            page += "<ul class=\"why\">\n"
            for warning in entry.warnings {
                page +=
                    "<li>\(badge(.warning)) \(markup(warning.text)) <code>\(markup(warning.identifier))</code></li>\n"
            }
            page += "</ul>\n"
        }
        HTMLChain.write(entry, to: &page)
        if let location = entry.location {
            page += "<p class=\"where\">Decided at <code>\(markup(location.description))</code></p>\n"
        }
        if entry.outcome != .ok, !entry.details.isEmpty {
            page += "<details class=\"text\"><summary>As text</summary><pre tabindex=\"0\">"
            page += "\(markup(lines: entry.details))</pre></details>\n"
        }
        page += "</div>\n</details>\n"
    }

    /// Returns a different shape for each outcome, so that none depends on color alone. The word is next to it.
    static func mark(_ outcome: Severity) -> String {
        let shape =
            switch outcome {
            case .ok: "✓"
            case .warning: "▲"
            case .failed: "✕"
            case .notTrusted: "◆"
            case .couldNotCheck: "?"
            case .badInput: "■"
            case .known: "○"
            }
        return "<span class=\"mark\" aria-hidden=\"true\">\(shape)</span>"
    }

    static func badge(_ outcome: Severity) -> String {
        "<span class=\"badge \(tint(outcome))\">\(mark(outcome)) \(outcome.words)</span>"
    }

    /// Returns the class that sets the color.
    static func tint(_ outcome: Severity) -> String {
        switch outcome {
        case .ok: "good"
        case .warning: "warn"
        case .failed, .badInput: "bad"
        case .notTrusted: "distrust"
        case .couldNotCheck: "unknown"
        case .known: "old"
        }
    }

    static func time(_ date: Date, whole: Bool = false) -> String {
        "<time datetime=\"\(date.rfc3339)\">\(whole ? date.rfc3339 : date.day)</time>"
    }
}
