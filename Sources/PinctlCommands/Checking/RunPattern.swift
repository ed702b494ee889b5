import CertificateTrust
import PinctlBasics
import PinctlFoundation

/// The traits that the results of a run have in common, which show a cause that no single result proves.
struct RunPattern {
    /// The number of servers below which a pattern may be a coincidence.
    private static let minimum = 3
    private static let exampleLimit = 10

    /// The first subjects by their positions in the run, in whatever order their results arrived.
    private var examples: [(item: Int, subject: String)] = []
    /// The number of items with a chain, and the last of them. An item may have several results, for its addresses and
    /// keys, which are added together.
    private var count = 0
    private var last: Int?
    /// The keys of the leaves, up to the minimum, since a certificate that several servers share is evidence only once.
    private var leaves: Set<SPKIFingerprint> = []
    private var kinds: Set<Kind> = []

    private enum Kind {
        case expired, notYetValid, mismatched, other
    }

    /// Adds a result of an item. Servers without a chain show nothing.
    mutating func add(_ result: CheckResult, of item: Int) {
        guard result.file == nil, let leaf = result.presented.first else { return }
        if leaves.count < Self.minimum { leaves.insert(leaf.spkiFingerprint) }
        if last != item {
            (count, last) = (count + 1, item)
            examples.append((item, result.subject))
            examples.sort { $0.item < $1.item }
            if examples.count > Self.exampleLimit { examples.removeLast() }
        }
        switch result.verdict.distrust?.rule {
        case .expired: kinds.insert(.expired)
        case .notYetValid: kinds.insert(.notYetValid)
        case .nameMismatch: kinds.insert(.mismatched)
        default: kinds.insert(.other)
        }
    }

    /// Returns the cause that all results suggest together, or `nil` if there is none. `isChosen` is true if the
    /// time was given, so that it isn't that of the clock.
    func group(at time: Date, isChosen: Bool) -> ReportGroup? {
        // mutant cause-pattern: true by RunPatternTests
        guard count >= Self.minimum else { return nil }
        let title: String
        let remedy: String
        switch kinds {
        case [.expired] where leaves.count >= Self.minimum, [.notYetValid] where leaves.count >= Self.minimum:
            let isAhead = kinds == [.expired]
            let state = "all \(count) certificates \(isAhead ? "have expired" : "are not yet valid")"
            title =
                isChosen
                ? "at \(time.rfc3339), the time of \(Flag.at.dashed), \(state)"
                : "at \(time.rfc3339), the time of this machine, \(state), so its clock is probably "
                    + (isAhead ? "ahead" : "behind")
            remedy =
                isChosen
                ? "give another time with \(Flag.at.dashed)"
                : "check this machine's clock and its NTP configuration before you renew a certificate"
        case [.mismatched] where leaves.count == 1:
            title = "all \(count) hosts present the same certificate, which is for none of them"
            remedy =
                "check whether a captive portal or a TLS-intercepting proxy answers for them, or whether they all "
                + "reach the same default server"
        default: return nil
        }
        return ReportGroup(
            outcome: .notTrusted, title: title, remedy: remedy, count: count,
            examples: examples.map(\.subject), shortRemedy: remedy)
    }
}
