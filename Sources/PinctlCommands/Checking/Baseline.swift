import CertificatePinning
import CertificateTrust
import PinctlBasics
import PinctlTLSTransport

/// The failures of an earlier run, read from its JSON output.
struct Baseline: Sendable {
    /// The subject of a check: a target, and its key if several keys were requested.
    private struct Place: Hashable {
        let target: String
        let key: String

        init(_ target: String, key: String?) {
            self.target = target
            // mutant baseline-key-kind: "" by BaselineTests
            self.key = key ?? ""
        }
    }

    /// The cause of a failure and the key that failed.
    private struct Failure: Hashable {
        let text: String
        let key: String?
    }

    /// The failures that one run found for a subject, over all of its addresses.
    private struct Finding {
        var run: Int
        var failures: Set<Failure> = []
    }

    private var known: [Place: Finding] = [:]
    /// The number of summaries read. The results of a later run for a subject replace those of an earlier one.
    private var runs = 0

    /// Reads the document of `--json`, or the lines of `--ndjson` from any number of runs.
    init(file: String) throws(UsageError) {
        do throws(BaselineProblem) {
            var lines = try BaselineLines(path: file)
            let first = try lines.next() ?? []
            // A document begins with its schema, on a line that doesn't close it.
            if first.last == UInt8(ascii: "}"), !first.starts(with: #"{"schema":"#.utf8) {
                try read(first, then: &lines)
            } else {
                try read(document: first + [UInt8(ascii: "\n")] + lines.rest(limit: JSONCReader.maximumSize))
            }
        } catch {
            throw .invalidValue(.baseline, reason: "\(file): \(error.reason)")
        }
    }

    private mutating func read(document bytes: [UInt8]) throws(BaselineProblem) {
        let root = try Self.parse(bytes, line: nil)
        guard root["schema"]?.string == Self.schema, let results = root["results"]?.elements else {
            throw BaselineProblem("not a document of pinctl check: \(Self.origin)")
        }
        for result in results { try note(result, line: Int(result.position.line)) }
    }

    private mutating func read(_ first: [UInt8], then lines: inout BaselineLines) throws(BaselineProblem) {
        var line: [UInt8]? = first
        var number = 1
        var hasEnd = false
        while let bytes = line {
            let result = try Self.parse(bytes, line: number)
            hasEnd = result["type"]?.string == "summary"
            if hasEnd {
                guard result["schema"]?.string == Self.schema else {
                    throw BaselineProblem("not the lines of pinctl check: \(Self.origin)")
                }
                runs += 1
            } else {
                try note(result, line: number)
            }
            line = try lines.next()
            number += 1
        }
        // mutant baseline-truncated: true by GateTests PassedOverTests
        guard hasEnd else { throw BaselineProblem("has no summary at its end and may be truncated: \(Self.origin)") }
    }

    private static func parse(_ bytes: [UInt8], line: Int?) throws(BaselineProblem) -> JSONValue {
        let document = JSONCReader.read(bytes, dialect: .json)
        if let problem = document.problems.first {
            let line = line ?? Int(problem.position.line)
            throw BaselineProblem("invalid JSON (line \(line): \(problem.message)): \(origin)")
        }
        guard let root = document.root else { throw BaselineProblem("invalid JSON: \(origin)") }
        return root
    }

    /// Adds a result. A failure must include its cause.
    private mutating func note(_ result: JSONValue, line: Int) throws(BaselineProblem) {
        // A line of a target list that wasn't a target.
        if result["error"] != nil { return }
        guard let target = result["target"]?.string, let word = result["verdict"]?.string.map(VerdictWord.init),
            let word
        else { throw BaselineProblem("line \(line) isn't a result of this version: \(Self.origin)") }
        let place = Place(target, key: result["key"]?.string)
        if let earlier = known[place], earlier.run < runs { known[place] = nil }
        guard word.row.severity != .ok else { return }
        guard let failure = result["failure"]?.string else {
            throw BaselineProblem("line \(line) doesn't name the failure: \(Self.origin)")
        }
        known[place, default: Finding(run: runs)].failures.insert(
            Failure(text: failure, key: result["failing_key"]?.string))
    }

    private static let schema = "pinctl.check/1"
    private static let origin = "give the output of check --json or --ndjson"

    /// Returns whether the baseline contains this failure.
    func knows(_ result: CheckResult) -> Bool {
        guard let text = result.failure else { return false }
        let failure = Failure(text: text, key: result.failingKey)
        // mutant baseline-failure: known[Place(result.subject, key: result.key?.rawValue)] != nil by GateTests
        //   PassedOverTests
        return known[Place(result.subject, key: result.key?.rawValue)]?.failures.contains(failure) == true
    }

    /// Returns whether the same subject failed in the earlier run and doesn't fail now.
    func isFixed(_ result: CheckResult) -> Bool {
        result.failure == nil && known[Place(result.subject, key: result.key?.rawValue)] != nil
    }
}

/// The reason why a file isn't a baseline.
struct BaselineProblem: Error {
    let reason: String

    init(_ reason: String) { self.reason = reason }
}
