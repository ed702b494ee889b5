import CertificatePinning
import PinctlBasics

/// A reader of acme.sh's configuration of a certificate, which is a part of a shell script.
///
/// acme.sh keeps the key unless the file has `Le_ForceNewDomainKey='1'`, which `--always-force-new-domain-key` saves
/// there (acme.sh's wiki, "Options and Params").
struct AcmeShReader {
    let path: String

    func read(_ bytes: [UInt8]) throws(PolicyFileError) -> [KeyRenewal] {
        var values: [String: (text: String, line: Int)] = [:]
        for line in IssuanceText.lines(bytes) {
            // As for acme.sh, which runs the file, the last line with a name counts.
            var text = line.text.trimmed[...]
            if text.hasPrefix("export ") { text = text.dropFirst("export ".count).trimmed[...] }
            for key in ["Le_Domain", "Le_Alt", "Le_ForceNewDomainKey"] where text.hasPrefix(key + "=") {
                values[key] = (try value(text.dropFirst(key.count + 1), line.number), line.number)
            }
        }
        let domains = ["Le_Domain", "Le_Alt"].compactMap { values[$0] }
        var names: [String] = []
        for domain in domains {
            names += try IssuanceText.names(
                domain.text, at: PolicyLocation(path: path, line: domain.line, column: 1))
        }
        names.removeAll { $0 == "no" }
        let force = values["Le_ForceNewDomainKey"]
        let line = force?.line ?? domains.first?.line ?? 1
        return [
            KeyRenewal(
                names: names, force?.text == "1" ? .changesKey : .keepsKey,
                at: PolicyLocation(path: path, line: line, column: 1), program: "acme.sh",
                setting: force.map { "Le_ForceNewDomainKey='\($0.text)'" } ?? "no Le_ForceNewDomainKey",
                remedy: "delete that line while the pinned key is still in place")
        ]
    }

    private func value(_ text: Substring, _ line: Int) throws(PolicyFileError) -> String {
        let text = text.trimmed
        let inner: Substring
        if text.count >= 2, let quote = text.first, quote == "'" || quote == "\"", text.last == quote {
            inner = text.dropFirst().dropLast()
        } else {
            inner = text[...]
        }
        guard !inner.contains(where: { "'\"$`\\ ;#".contains($0) }) else {
            throw IssuanceText.problem(
                "unsupported value: write it in single quotes", at: PolicyLocation(path: path, line: line, column: 1))
        }
        return String(inner)
    }
}
