import CertificatePinning

/// The severity of a result, the most severe first.
///
/// Words, marks, colors, exit codes and the levels of reports all follow from it. The raw values appear in reports.
enum Severity: String, Sendable, CaseIterable {
    case badInput = "bad_input"
    case failed
    case notTrusted = "not_trusted"
    case couldNotCheck = "could_not_check"
    /// A good result with a warning, or a finding that doesn't fail a run.
    case warning
    /// A failure that the baseline contains.
    case known
    case ok

    /// The rank, where 0 is the most severe.
    var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }

    /// Whether the result needs action.
    var isFailure: Bool { rank < Self.warning.rank }

    /// The exit code that the result leads to, unless flags change it.
    var exitCode: ExitCode {
        switch self {
        case .badInput: .badInput
        // mutant exit-mismatch: .good by GateTests CheckTests
        case .failed: .finding
        // mutant exit-untrusted: .good by GateTests CheckTests VerifyTests
        case .notTrusted: .notTrusted
        case .couldNotCheck: .couldNotCheck
        case .warning, .known, .ok: .good
        }
    }

    /// The words for people.
    var words: String {
        switch self {
        case .badInput: "bad input"
        case .failed: "failed"
        case .notTrusted: "not trusted"
        case .couldNotCheck: "could not check"
        case .warning: "warning"
        case .known: "known"
        case .ok: "ok"
        }
    }

    /// The word that a line of text output begins with.
    var mark: String {
        switch self {
        case .badInput, .failed, .notTrusted: "FAIL"
        case .couldNotCheck: "??"
        case .warning: "ok*"
        case .known: "old"
        case .ok: "ok"
        }
    }

    /// The level in SARIF, in annotations and in findings of lint.
    var level: String { self == .warning ? "warning" : "error" }

    /// The color of the mark or level in text, as a parameter of SGR (ECMA-48), or `nil` for none. Red is used with
    /// blue and yellow, but not with green.
    private var color: String? {
        switch self {
        case .badInput, .failed, .notTrusted: "1;31"
        case .couldNotCheck: "1;34"
        case .warning: "33"
        case .known, .ok: nil
        }
    }
}

extension Severity {
    /// Creates the severity of a finding of lint.
    init(_ severity: LintFinding.Severity) {
        self =
            switch severity {
            case .warning: .warning
            // mutant lint-level: .warning by PinctlTests.LintTests
            case .error: .failed
            }
    }

    /// Returns the line with its verdict colored if it begins with a mark or is a lint finding, such as
    /// `file:1:2: error[P003] …`. The words mean the same without colors.
    static func colored(_ line: String) -> String {
        for severity in allCases {
            guard let color = severity.color, line.hasPrefix(severity.mark + " ") else { continue }
            return "\u{1B}[\(color)m\(severity.mark)\u{1B}[0m\(line.dropFirst(severity.mark.count))"
        }
        for severity in [failed, warning] {
            guard let color = severity.color else { continue }
            for end in ["[", ":"] {
                guard let place = line.firstRange(of: ": \(severity.level)\(end)") else { continue }
                let start = line.index(place.lowerBound, offsetBy: 2)
                let rest = line[line.index(start, offsetBy: severity.level.count)...]
                return "\(line[..<start])\u{1B}[\(color)m\(severity.level)\u{1B}[0m\(rest)"
            }
        }
        return line
    }
}
