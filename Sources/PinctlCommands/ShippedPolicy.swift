import CertificatePinning
import CertificateTrust
import PinDialects
import PinctlFoundation

/// The pins of one file, as the clients that have the file enforce them.
///
/// It judges policies of this project and files of every other system with the same function.
struct ShippedPolicy: Sendable {
    let dialect: PinDialect
    let policy: CanonicalPolicy
    /// The roots that rules name by source, such as `@raw/corp`, as far as they are known.
    var roots: [String: TrustStore] = [:]
    private let table: RuleTable<CanonicalRule>

    init(_ policy: CanonicalPolicy, of dialect: PinDialect) {
        self.dialect = dialect
        self.policy = policy
        table = RuleTable(policy, of: dialect)
    }

    /// Returns the rules that apply to a host as the user wrote it. Without a port, the ports of rules are ignored.
    func rules(for host: String, port: Int? = nil) -> [CanonicalRule] { table.rules(for: host, port: port) }

    /// Returns the decisions on a path by devices in the time zones where a day begins first and last. There is only
    /// one decision unless a rule expires with a local day around now.
    ///
    /// `anchorSource` is the source of the path's root among those that the rules name, if it is known, and
    /// `hasLocalAnchors` is false for clients without roots that a developer added.
    func decisions(
        on path: [X509Certificate], by rules: [CanonicalRule], at time: Date, anchorSource: String? = nil,
        hasLocalAnchors: Bool = true
    ) -> [CanonicalDecision] {
        decisions(by: rules, at: time, anchorSource, hasLocalAnchors: hasLocalAnchors) {
            policy.decide(path, by: rules, under: $0)
        }
    }

    /// Returns the decisions on a chain of which only the pins of its keys are known, leaf first.
    func decisions(on served: [CanonicalPin], by rules: [CanonicalRule], at time: Date) -> [CanonicalDecision] {
        decisions(by: rules, at: time, hasLocalAnchors: false) { circumstances in
            policy.decide(by: rules, under: circumstances, pathLength: served.count) { pin, index in
                pin.content == served[index].content && pin.digest == served[index].digest
                    && pin.value == served[index].value
            }
        }
    }

    private func decisions(
        by rules: [CanonicalRule], at time: Date, _ anchorSource: String? = nil, hasLocalAnchors: Bool,
        _ decide: (DecisionCircumstances) -> CanonicalDecision
    ) -> [CanonicalDecision] {
        // A chain is verified with the roots that the rules name if there is only one set, or the system's.
        let sources = rules.compactMap(\.anchors).flatMap { $0 }.map(\.source)
        var decisions: [CanonicalDecision] = []
        for offset in [RuleExpiry.zoneMargin, -RuleExpiry.zoneMargin] {
            let decision = decide(
                DecisionCircumstances(
                    at: time, offset: offset,
                    anchorSource: anchorSource ?? (sources.count == 1 ? sources[0] : "system"),
                    hasLocalAnchors: hasLocalAnchors))
            if !decisions.contains(decision) { decisions.append(decision) }
            guard rules.contains(where: { $0.expiry?.isLocalDay ?? false }) else { break }
        }
        return decisions
    }
}

extension RuleExpiry {
    /// The largest offset of devices from UTC that is considered, in seconds. A local day begins at most this much
    /// before or after the day in UTC.
    static let zoneMargin = 12 * 3_600

    fileprivate var isLocalDay: Bool { if case .localDay = moment { true } else { false } }
}
