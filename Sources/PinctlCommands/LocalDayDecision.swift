import CertificateTrust
import FoundationEssentials
import PinDialects

extension RuleExpiry {
    /// How far from UTC devices may be, in seconds: a local day begins so much before and after that of UTC.
    static let zoneMargin = 12 * 3_600
}

extension [CanonicalRule] {
    /// What the dialect calls the roots under which a chain is verified: those that a rule names alone, else the system's.
    var anchorSource: String {
        let sources = compactMap(\.anchors).flatMap { $0 }.map(\.source)
        return sources.count == 1 ? sources[0] : "system"
    }
}

extension CanonicalPolicy {
    /// The decisions on a path of devices in all time zones: one, unless a rule ends with a local day about now.
    func decisions(on path: [X509Certificate], by rules: [CanonicalRule], at time: Date) -> [CanonicalDecision] {
        var decisions: [CanonicalDecision] = []
        for offset in [RuleExpiry.zoneMargin, -RuleExpiry.zoneMargin] {
            let circumstances = DecisionCircumstances(at: time, offset: offset, anchorSource: rules.anchorSource)
            let decision = decide(path, by: rules, under: circumstances)
            if !decisions.contains(decision) { decisions.append(decision) }
        }
        return decisions
    }
}
