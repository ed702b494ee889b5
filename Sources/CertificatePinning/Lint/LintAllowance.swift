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

    static let marker = Array("pinctl-allow".utf8)

    /// Those of a file in any dialect, one a line: the marker at the beginning of a comment, or of a line in one.
    package static func all(in bytes: [UInt8]) -> [LintAllowance] {
        var all: [LintAllowance] = []
        var comments = CommentReader(bytes)
        var line = 1
        var lineStart = 0
        var counted = 0
        while let comment = comments.next() {
            // Comments of several lines are taken line by line, from left to right.
            for part in bytes[comment].split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
                guard let index = part.firstRange(of: marker)?.lowerBound, isBeginning(part[..<index]) else { continue }
                while let end = bytes[counted..<index].firstIndex(of: UInt8(ascii: "\n")) {
                    (line, lineStart, counted) = (line + 1, end + 1, end + 1)
                }
                counted = index
                guard all.last?.line != line else { continue }
                let rest = part[(index + marker.count)...]
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
        let reason = parts.count > 1 ? parts[1][...] : ""
        self.reason = reason.contains { !$0.isWhitespace } ? String(reason) : ""
    }

    /// Whether nothing but the marks of a comment is in front of the marker.
    private static func isBeginning(_ before: ArraySlice<UInt8>) -> Bool {
        before.allSatisfy { $0 <= 0x20 || "/*#;!".utf8.contains($0) }
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
