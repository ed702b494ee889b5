import CertificateTrust
package import PinctlBasics

/// A problem in a policy file.
public struct PolicyProblem: Sendable, Hashable {
    /// The location. Line and column are 0 if the problem concerns the whole file.
    public let location: PolicyLocation
    /// The problem and the remedy.
    public let message: String
    /// The lint rule for the problem, or `nil` if lint has no rule for it.
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

/// The error for a file that isn't a valid policy, with all its problems.
public struct PolicyFileError: Error, Sendable, Hashable {
    /// The problems in the order of the file. At least one.
    public let problems: [PolicyProblem]
    /// The rules that could be read beside the problems, to be shown with them. They may lack pins.
    package var known: [CanonicalRule] = []
    /// The other files of a project whose constants these rules have.
    package var knownFiles: Set<String> = []

    package init(problems: [PolicyProblem], known: [CanonicalRule] = [], files: Set<String> = []) {
        (self.problems, self.known, knownFiles) = (problems, known, files)
    }
}

extension PolicyFileError: CustomStringConvertible {
    /// One line per problem.
    public var description: String { problems.map(\.description).joined(separator: "\n") }
}

/// A collection of the problems of one file.
package struct PolicyProblems {
    /// The maximum number of problems that are reported one by one, so that a file with an error at every byte uses
    /// limited memory.
    package static let limit = 1000

    private let path: String
    private var problems: [PolicyProblem] = []
    private var omitted = 0
    /// The problems of included files, file by file.
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

    /// Adds the problems of a JSON text. If it is empty, that is the only problem, and the remedy names these keys.
    mutating func add(_ document: JSONCReader.Document, of bytes: [UInt8], keys: String) {
        let blanks: Set<UInt8> = [0x09, 0x0A, 0x0D, 0x20]
        guard !bytes.allSatisfy(blanks.contains) else {
            return add("the file is empty: write an object with \(keys)", at: SourcePosition(line: 1, column: 1))
        }
        for problem in document.problems {
            // If the reader didn't stop, the problem is a duplicate key.
            add(problem.message, at: problem.position, rule: document.root == nil ? nil : .duplicate)
        }
    }

    /// Adds the problems of an included file.
    mutating func add(included problems: PolicyProblems) {
        included += problems.sorted.prefix(Self.limit - included.count)
    }

    package var isEmpty: Bool { problems.isEmpty && included.isEmpty }

    /// The problems in the order of the file, then the number of omitted problems, then the problems of included files.
    package var sorted: [PolicyProblem] {
        var sorted = problems.sorted { ($0.location.line, $0.location.column) < ($1.location.line, $1.location.column) }
        if omitted > 0 {
            sorted.append(
                PolicyProblem(
                    location: PolicyLocation(path: path), message: "\(omitted) more problems: fix those above first"))
        }
        return sorted + included
    }
}
