import CertificatePinning
import CertificateTrust
import TLSTransport

/// What failed in an earlier run, from its JSON document.
struct Baseline: Sendable {
    /// What was looked at: a target, and its key where several were asked for.
    private struct Place: Hashable {
        let target: String
        let key: String

        init(_ target: String, key: String?) {
            self.target = target
            self.key = key ?? ""
        }
    }

    /// What was behind a failure, and the key that failed.
    private struct Failure: Hashable {
        let text: String
        let key: String?
    }

    /// What one run found of a place; its addresses may differ.
    private struct Finding {
        var run: Int
        var failures: Set<Failure> = []
    }

    private var known: [Place: Finding] = [:]
    /// Summaries that were read: what a later run says of a place takes the place of what an earlier one said.
    private var runs = 0

    /// Reads the document of `--json`, or the lines of `--ndjson`, of which there may be any number.
    init(file: String) throws(UsageError) {
        do throws(BaselineProblem) {
            var lines = try BaselineLines(path: file)
            let first = try lines.next() ?? []
            // A document begins with its schema on a line that does not close it.
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
            throw BaselineProblem("no document of pinctl check: \(Self.origin)")
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
                    throw BaselineProblem("no lines of pinctl check: \(Self.origin)")
                }
                runs += 1
            } else {
                try note(result, line: number)
            }
            line = try lines.next()
            number += 1
        }
        guard hasEnd else { throw BaselineProblem("has no summary at its end, and may be cut off: \(Self.origin)") }
    }

    private static func parse(_ bytes: [UInt8], line: Int?) throws(BaselineProblem) -> JSONValue {
        let document = JSONCReader.read(bytes, dialect: .json)
        if let problem = document.problems.first {
            throw BaselineProblem("no JSON (line \(line ?? Int(problem.position.line)): \(problem.message)): \(origin)")
        }
        guard let root = document.root else { throw BaselineProblem("no JSON: \(origin)") }
        return root
    }

    /// Takes a result; a failure must say what is behind it.
    private mutating func note(_ result: JSONValue, line: Int) throws(BaselineProblem) {
        // A line that was no target.
        if result["error"] != nil { return }
        guard let target = result["target"]?.string, let word = result["verdict"]?.string.map(VerdictWord.init),
            let word
        else { throw BaselineProblem("line \(line) is no result of this version: \(Self.origin)") }
        let place = Place(target, key: result["key"]?.string)
        if let earlier = known[place], earlier.run < runs { known[place] = nil }
        guard word.status != .good else { return }
        guard let failure = result["failure"]?.string else {
            throw BaselineProblem("line \(line) does not say what failed: \(Self.origin)")
        }
        known[place, default: Finding(run: runs)].failures.insert(
            Failure(text: failure, key: result["failing_key"]?.string))
    }

    private static let schema = "pinctl.check/1"
    private static let origin = "give what check --json or --ndjson printed"

    /// Whether this failure is known.
    func knows(_ result: CheckResult) -> Bool {
        guard let text = result.failure else { return false }
        let failure = Failure(text: text, key: result.failingKey)
        return known[Place(result.text.subject, key: result.key?.rawValue)]?.failures.contains(failure) == true
    }

    /// Whether something failed here in the earlier run, and nothing does now.
    func isMended(_ result: CheckResult) -> Bool {
        result.failure == nil && known[Place(result.text.subject, key: result.key?.rawValue)] != nil
    }
}

/// Why a file is no baseline.
struct BaselineProblem: Error {
    let reason: String

    init(_ reason: String) { self.reason = reason }
}
