import CertificatePinning
import PinctlBasics

/// A writer of the same document as `--json`, byte for byte, so that it can serve as a baseline.
enum JSONReport {
    static func text(_ report: Report) -> String {
        var text = Console.documentHead(schema: "pinctl.\(report.command)/1")
        for (index, element) in report.entries.lazy.compactMap(\.json).enumerated() {
            text += (index == 0 ? "\n" : ",\n") + element.text
        }
        text += "\n],\"summary\":\(JSON.object(report.summary).text)}\n"
        return text
    }
}
