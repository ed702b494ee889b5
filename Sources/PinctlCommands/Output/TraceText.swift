import CertificatePinning
import CertificateTrust
import PinctlBasics
import PinctlFoundation

/// The paths that an evaluation tried, in order, with the outcome of each, for `--verbose`.
struct TraceText {
    private let attempts: [TrustAttempt]

    /// Evaluates the claim again with all paths, including those after the accepted one.
    init(of trust: ServerTrust, at time: Date) {
        var attempts: [TrustAttempt] = []
        _ = try? trust.evaluate(at: time, accepting: { _ in false }, tracing: { attempts.append($0) })
        self.attempts = attempts
    }

    var lines: [String] {
        attempts.map { attempt in
            "  tried  \(Self.path(attempt).joined(separator: " < "))  \(Self.outcome(attempt))"
        }
    }

    var json: JSON {
        .array(
            attempts.map { attempt in
                var members: [(String, JSON)] = [("path", .array(Self.path(attempt).map { .string($0) }))]
                if case .untrusted(let finding) = attempt.outcome {
                    members += finding.members + [("reason", .string(finding.description))]
                }
                return .object([("valid", .bool(attempt.isValid))] + members)
            })
    }

    private static func path(_ attempt: TrustAttempt) -> [String] {
        attempt.certificates.map { $0.subject.commonName ?? $0.subject.description }
    }

    private static func outcome(_ attempt: TrustAttempt) -> String {
        if case .untrusted(let finding) = attempt.outcome { "\(finding.rule.rawValue): \(finding)" } else { "valid" }
    }
}
