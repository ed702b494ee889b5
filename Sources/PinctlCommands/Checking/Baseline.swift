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

    /// The failures of each place; its addresses may differ.
    private var known: [Place: Set<Failure>] = [:]

    /// Reads a document; a failure in it must say what is behind it.
    init(file: String) throws(UsageError) {
        func refuse(_ reason: String) -> UsageError { .invalidValue(.baseline, reason: "\(file): \(reason)") }
        let bytes: [UInt8]
        do throws(InputFileError) {
            bytes = try InputFile.contents(ofFile: file, limit: JSONCReader.maximumSize)
        } catch {
            throw refuse("\(error)")
        }
        let document = JSONCReader.read(bytes, dialect: .json)
        if let problem = document.problems.first {
            throw refuse("no JSON document (line \(problem.position.line): \(problem.message)): \(Self.origin)")
        }
        guard document.root?["schema"]?.string == "pinctl.check/1",
            let results = document.root?["results"]?.elements
        else { throw refuse("no document of pinctl check: \(Self.origin)") }
        for result in results {
            // A line that was no target.
            if result["error"] != nil { continue }
            guard let target = result["target"]?.string, let word = result["verdict"]?.string.map(VerdictWord.init),
                let word
            else { throw refuse("line \(result.position.line) is no result of this version: \(Self.origin)") }
            guard word.status != .good else { continue }
            guard let failure = result["failure"]?.string else {
                throw refuse("line \(result.position.line) does not say what failed: \(Self.origin)")
            }
            known[Place(target, key: result["key"]?.string), default: []].insert(
                Failure(text: failure, key: result["failing_key"]?.string))
        }
    }

    private static let origin = "give what check --json printed"

    /// Whether this failure is known.
    func knows(_ result: CheckResult) -> Bool {
        guard let text = result.failure else { return false }
        let failure = Failure(text: text, key: result.failingKey)
        return known[Place(result.text.subject, key: result.key?.rawValue)]?.contains(failure) == true
    }

    /// Whether something failed here in the earlier run, and nothing does now.
    func isMended(_ result: CheckResult) -> Bool {
        result.failure == nil && known[Place(result.text.subject, key: result.key?.rawValue)] != nil
    }
}
