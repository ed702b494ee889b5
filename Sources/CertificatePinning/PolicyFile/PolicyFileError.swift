import CertificateTrust

/// One thing wrong with a policy file.
public struct PolicyProblem: Sendable, Hashable {
    /// Where; line and column are 0 when the whole file is meant.
    public let location: PolicyLocation
    /// What, and what to do.
    public let message: String
    /// What lint calls it; nil for what is only wrong here.
    public let rule: LintRule?

    package init(location: PolicyLocation, message: String, rule: LintRule? = nil) {
        self.location = location
        self.message = message
        self.rule = rule
    }
}

extension PolicyProblem: CustomStringConvertible {
    /// `pins/pins.jsonc:14:5: error: …`, one line.
    public var description: String { "\(location): error: \(visibleText(message))" }
}

/// Why a file is no policy: everything that is wrong with it.
public struct PolicyFileError: Error, Sendable, Hashable {
    /// At least one, in the order of the file.
    public let problems: [PolicyProblem]

    package init(problems: [PolicyProblem]) { self.problems = problems }
}

extension PolicyFileError: CustomStringConvertible {
    /// A line for each problem.
    public var description: String { problems.map(\.description).joined(separator: "\n") }
}

/// Collects what is wrong with one file.
package struct PolicyProblems {
    /// Problems that are told one by one: a file that breaks a rule at every byte stays bounded in memory.
    package static let limit = 1000

    private let path: String
    private var problems: [PolicyProblem] = []
    private var omitted = 0
    /// Those of included files, file by file.
    private var included: [PolicyProblem] = []

    package init(path: String) { self.path = path }

    package mutating func add(
        _ message: @autoclosure () -> String, at position: SourcePosition, rule: LintRule? = nil
    ) {
        guard problems.count < Self.limit else {
            omitted += 1
            return
        }
        problems.append(PolicyProblem(location: PolicyLocation(path: path, position), message: message(), rule: rule))
    }

    /// Adds the problems of an included file.
    mutating func add(included problems: PolicyProblems) {
        included += problems.sorted.prefix(Self.limit - included.count)
    }

    package var isEmpty: Bool { problems.isEmpty && included.isEmpty }

    /// In the order of the file; how many were left out stands last, then what is wrong with included files.
    package var sorted: [PolicyProblem] {
        var sorted = problems.sorted { ($0.location.line, $0.location.column) < ($1.location.line, $1.location.column) }
        if omitted > 0 {
            sorted.append(
                PolicyProblem(
                    location: PolicyLocation(path: path), message: "\(omitted) problems more: mend those above first"))
        }
        return sorted + included
    }
}
