import CertificateTrust
import FoundationEssentials
import PinDialects

extension RuleExpiry {
    /// How far from UTC devices may be, in seconds: a local day begins so much before and after that of UTC.
    static let zoneMargin = 12 * 3_600
}

extension [CanonicalRule] {
    /// What the dialect calls the roots under which a chain is verified: those that a rule names alone, else the system's.
    private var anchorSource: String {
        let sources = compactMap(\.anchors).flatMap { $0 }.map(\.source)
        return sources.count == 1 ? sources[0] : "system"
    }

    /// What decisions depend on where a day begins first, and where it begins last.
    func circumstances(at time: Date) -> [DecisionCircumstances] {
        [RuleExpiry.zoneMargin, -RuleExpiry.zoneMargin].map { offset in
            DecisionCircumstances(at: time, offset: offset, anchorSource: anchorSource)
        }
    }
}

extension CanonicalPolicy {
    /// The decisions on a path of devices in all time zones: one, unless a rule ends with a local day about now.
    func decisions(on path: [X509Certificate], by rules: [CanonicalRule], at time: Date) -> [CanonicalDecision] {
        var decisions: [CanonicalDecision] = []
        for circumstances in rules.circumstances(at: time) {
            let decision = decide(path, by: rules, under: circumstances)
            if !decisions.contains(decision) { decisions.append(decision) }
        }
        return decisions
    }
}
