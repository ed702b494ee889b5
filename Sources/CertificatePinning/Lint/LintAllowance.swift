import CertificateTrust
import PinctlBasics

/// A comment that allows findings on its own line or the next: `pinctl-allow P011, P016: reason`.
package struct LintAllowance: Sendable, Hashable {
    /// The line of the comment, from 1.
    package let line: Int
    /// The column of the comment's first word, from 1.
    package let column: Int
    /// The names in the comment. They need not be names of rules.
    package let names: [String]
    /// The reason. A comment without a reason allows nothing.
    package let reason: String

    static let marker = Array("pinctl-allow".utf8)

    /// Returns the allowances in a file of any dialect, at most one for each line. The marker must be at the beginning
    /// of a comment, or of a line in one.
    package static func all(in bytes: [UInt8]) -> [LintAllowance] {
        var all: [LintAllowance] = []
        var comments = CommentReader(bytes)
        var line = 1
        var lineStart = 0
        var counted = 0
        while let comment = comments.next() {
            // Comments of several lines are read line by line, from left to right.
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

    /// Returns whether only comment delimiters precede the marker.
    private static func isBeginning(_ before: ArraySlice<UInt8>) -> Bool {
        before.allSatisfy { $0 <= 0x20 || "/*#;!".utf8.contains($0) }
    }

    /// Returns whether this allows findings of a rule.
    func allows(_ rule: LintRule) -> Bool { !reason.isEmpty && names.contains(rule.rawValue) }

    /// The name by which a comment allows code that pins in a way that `pinctl find` can't read.
    package static let unreadPins = "unread-pins"

    /// Whether the comment allows such code.
    package var allowsUnreadPins: Bool { !reason.isEmpty && names.contains(Self.unreadPins) }

    /// Returns a finding about the comment itself, if it is malformed.
    func finding(in path: String) -> LintFinding? {
        let location = PolicyLocation(path: path, line: line, column: column)
        if let unrelated = names.first(where: { LintRule(rawValue: $0) == nil && $0 != Self.unreadPins }) {
            return LintFinding(
                .unreasonedAllowance, at: location,
                "\(quoted(unrelated)) isn't a lint rule: write pinctl-allow, rules such as P011, a colon and the reason"
            )
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

extension [LintFinding] {
    /// Returns the findings that no comment on their own line or the one before allows.
    package func without(_ allowances: [LintAllowance]) -> Self {
        guard !allowances.isEmpty else { return self }
        let allowed = Dictionary(grouping: allowances, by: \.line)
        return filter { finding in
            let line = finding.location.line
            return ![line, line - 1].contains { allowed[$0]?.contains { $0.allows(finding.rule) } ?? false }
        }
    }
}
