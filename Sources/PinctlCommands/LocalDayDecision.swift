import CertificateTrust
import FoundationEssentials
import PinDialects

extension RuleExpiry {
    /// Seconds by which a local day begins before and after that of UTC, in most places.
    static let zoneMargin: TimeInterval = 12 * 3600
}

extension CanonicalPolicy {
    /// The decisions on a path of devices in all time zones: one, unless a rule ends with a local day about now.
    func decisions(on path: [X509Certificate], by rules: [CanonicalRule], at time: Date) -> [CanonicalDecision] {
        let hasLocalDay = rules.contains { rule in
            if case .localDay? = rule.expiry?.moment { true } else { false }
        }
        let margin = Int(RuleExpiry.zoneMargin)
        var decisions: [CanonicalDecision] = []
        for offset in hasLocalDay ? [0, margin, -margin] : [0] {
            let decision = decide(path, by: rules, under: DecisionCircumstances(at: time, offset: offset))
            if !decisions.contains(decision) { decisions.append(decision) }
        }
        return decisions
    }
}
