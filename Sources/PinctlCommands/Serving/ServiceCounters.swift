import CertificateTrust
import PinctlBasics
import PinctlTLSTransport

/// The counters of a verdict service for Prometheus.
struct ServiceCounters: Sendable {
    private var accepted = 0
    private var reported = 0
    private var refused = 0
    private var malformed = 0
    private var connections = 0
    private var unguarded = 0

    mutating func note(_ event: VerdictService.Event) {
        switch event {
        case .judged(_, let answer):
            if !answer.isAccepted { refused += 1 } else if answer.isReported { reported += 1 } else { accepted += 1 }
        case .malformed: malformed += 1
        case .connected: connections += 1
        case .unguarded: unguarded += 1
        case .started, .unused: break
        }
    }

    /// The counters in the text exposition format, with those of a judge.
    func text(of judge: VerdictJudge) -> String {
        let loads = judge.loads
        return PrometheusReport.text(counters: [
            (
                "serve_verdicts", "Verdicts on servers; reported ones were accepted, and their pins aren't enforced.",
                "verdict", [("accepted", accepted), ("reported", reported), ("refused", refused)]
            ),
            (
                "serve_messages", "Other messages of clients.", "kind",
                [("malformed", malformed), ("connection", connections), ("unguarded", unguarded)]
            ),
            (
                "serve_policy_loads", "Times that the policy was read again.", "outcome",
                [("ok", loads.succeeded), ("failed", loads.failed)]
            ),
        ])
    }
}

/// The file of a service's counters.
struct CounterFile {
    let path: String
    private var next = TransportTime.now
    /// The last failure, which is printed once.
    private var failure: String?

    private static let interval = Duration.seconds(10)

    init(_ path: String) { self.path = path }

    /// Writes the counters if that is due.
    mutating func writeIfDue(_ console: inout Console, _ text: () -> String) {
        guard TransportTime.now >= next else { return }
        next = TransportTime.now + Self.interval
        write(text(), &console)
    }

    /// Writes the counters. The service goes on if that fails, as on a full disk.
    mutating func write(_ text: String, _ console: inout Console) {
        do throws(NewFileError) {
            try overwriteFile(path, Array(text.utf8))
            failure = nil
        } catch {
            let message = "\(path): \(error)"
            if message != failure { console.note(message) }
            failure = message
        }
    }
}

extension Arguments {
    /// Returns the file of `--report prometheus=FILE`, if given.
    func counterFile() throws(UsageError) -> CounterFile? {
        guard let text = self[.counters] else { return nil }
        let file = try ReportFile(text)
        guard file.format == .prometheus, let path = file.path else {
            throw .invalidValue(.counters, reason: "serve writes only counters: give prometheus=FILE")
        }
        do throws(NewFileError) {
            try checkOverwritable(path)
        } catch {
            throw .invalidValue(.counters, reason: "\(text): \(error)")
        }
        return CounterFile(path)
    }
}
