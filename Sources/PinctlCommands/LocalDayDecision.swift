import CertificateTrust
import FoundationEssentials
import PinDialects

extension RuleExpiry {
    /// The largest offset of devices from UTC that is considered, in seconds. A local day begins at most this much
    /// before or after the day in UTC.
    static let zoneMargin = 12 * 3_600
}

extension [CanonicalRule] {
    /// The dialect's name for the roots that a chain is verified with: the source that the rules name if there is only
    /// one, or the system's.
    private var anchorSource: String {
        let sources = compactMap(\.anchors).flatMap { $0 }.map(\.source)
        return sources.count == 1 ? sources[0] : "system"
    }

    /// Returns the circumstances in the time zones where a day begins first and last.
    func circumstances(at time: Date) -> [DecisionCircumstances] {
        [RuleExpiry.zoneMargin, -RuleExpiry.zoneMargin].map { offset in
            DecisionCircumstances(at: time, offset: offset, anchorSource: anchorSource)
        }
    }
}

extension CanonicalPolicy {
    /// Returns the decisions on a path by devices in all time zones. There is only one unless a rule expires with a
    /// local day around now.
    func decisions(on path: [X509Certificate], by rules: [CanonicalRule], at time: Date) -> [CanonicalDecision] {
        var decisions: [CanonicalDecision] = []
        for circumstances in rules.circumstances(at: time) {
            let decision = decide(path, by: rules, under: circumstances)
            if !decisions.contains(decision) { decisions.append(decision) }
        }
        return decisions
    }
}
