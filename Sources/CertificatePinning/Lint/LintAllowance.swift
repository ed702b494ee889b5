import CertificateTrust

/// A comment that allows findings: `pinctl-allow P011, P016: reason`, on their line or the one above.
package struct LintAllowance: Sendable, Hashable {
    /// From 1.
    package let line: Int
    /// The column of the comment's first word, from 1.
    package let column: Int
    /// What it names, rules or not.
    package let names: [String]
    /// Without one nothing is allowed.
    package let reason: String

    private static let marker = Array("pinctl-allow".utf8)

    /// Those of a file in any dialect, one a line: the marker behind the beginning of a comment, or alone on a line of one.
    package static func all(in bytes: [UInt8]) -> [LintAllowance] {
        var all: [LintAllowance] = []
        var line = 1
        var lineStart = 0
        var isSearched = true
        for (index, byte) in bytes.enumerated() {
            if byte == UInt8(ascii: "\n") {
                line += 1
                lineStart = index + 1
                isSearched = true
            } else if isSearched, byte == marker[0], bytes[index...].starts(with: marker) {
                // However often a line has it, the rest is read once.
                isSearched = false
                guard isComment(bytes[lineStart..<index]) else { continue }
                let rest = bytes[(index + marker.count)...].prefix { $0 != UInt8(ascii: "\n") }
                all.append(LintAllowance(String(decoding: rest, as: UTF8.self), line, column: index - lineStart + 1))
            }
        }
        return all
    }

    private init(_ text: String, _ line: Int, column: Int) {
        self.line = line
        self.column = column
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        names = parts[0].split { $0 == "," || $0.isWhitespace }.map(String.init)
        var reason = parts.count > 1 ? parts[1][...] : ""
        for end in ["*/", "-->"] {
            if let range = reason.firstRange(of: end) { reason = reason[..<range.lowerBound] }
        }
        self.reason = reason.contains { !$0.isWhitespace } ? String(reason) : ""
    }

    private static func isComment(_ before: ArraySlice<UInt8>) -> Bool {
        let text = String(decoding: before, as: UTF8.self).filter { !$0.isWhitespace }
        return text.isEmpty || ["//", "*", "<!--", "#", ";"].contains { text.hasSuffix($0) }
    }

    /// Whether findings of a rule are allowed where it reaches.
    func allows(_ rule: LintRule) -> Bool { !reason.isEmpty && names.contains(rule.rawValue) }

    /// What is wrong with the comment itself.
    func finding(in path: String) -> LintFinding? {
        let location = PolicyLocation(path: path, line: line, column: column)
        if let stranger = names.first(where: { LintRule(rawValue: $0) == nil }) {
            return LintFinding(
                .unreasonedAllowance, at: location,
                "\(quoted(stranger)) is no rule: write pinctl-allow, rules such as P011, a colon and the reason")
        }
        guard names.isEmpty || reason.isEmpty else { return nil }
        return LintFinding(
            .unreasonedAllowance, at: location,
            names.isEmpty
                ? "pinctl-allow names no rule: write pinctl-allow P011: and the reason"
                : "pinctl-allow \(names.joined(separator: ", ")) gives no reason and allows nothing: "
                    + "add a colon and the reason")
    }
}
