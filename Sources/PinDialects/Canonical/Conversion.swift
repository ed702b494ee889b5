import CertificatePinning
import CertificateTrust
public import FoundationEssentials

extension CanonicalPolicy {
    /// The policy as a dialect can say it, and everything that changes on the way there.
    ///
    /// Each of its rules has one pattern, and where the dialect wants that, each host one rule. A note whose direction is
    /// `impossible` means that nothing is to be written. `host` chooses the rules of one host,
    /// by this policy's own way of finding them; `time` is when a rule's end is reckoned from.
    public func converted(
        to dialect: PinDialect, host: String? = nil, at time: Date
    ) -> (policy: CanonicalPolicy, notes: [ConversionNote]) {
        var conversion = Conversion(traits: dialect.traits, name: dialect.title, time: time)
        return (conversion.convert(self, host: host), conversion.notes)
    }
}

/// One policy on its way to what a dialect can say. The steps take hosts first, then what a rule says of them.
struct Conversion {
    let traits: DialectTraits
    /// What messages call the dialect.
    let name: String
    let time: Date
    var notes: [ConversionNote] = []

    init(traits: DialectTraits, name: String, time: Date) {
        self.traits = traits
        self.name = name
        self.time = time
    }

    mutating func convert(_ policy: CanonicalPolicy, host: String?) -> CanonicalPolicy {
        var policy = policy
        if let host { choose(host, &policy) }
        // A network security config speaks of hosts whose pins it has nothing to say of.
        policy.rules = policy.rulesInEffect(where: \.pins.isEmpty)
        checkHosts(policy)
        policy = policy.split
        join(&policy)
        if traits.matching == .asRequired {
            policy.rules = policy.rules.compactMap { rule in
                var rule = rule
                return namesHosts(&rule) ? rule : nil
            }
        }
        let unscoped = RulesByName(policy.rules)
        policy.rules = policy.rules.flatMap { scoped($0, among: unscoped) }
        combine(&policy)
        if !traits.repeatsHosts { mergeTwins(&policy.rules) }
        let named = RulesByName(policy.rules)
        policy.rules = policy.rules.compactMap { rule in
            var rule = rule
            guard keepsMode(&rule, among: named) else { return nil }
            lendPins(to: &rule, from: named)
            convertPorts(&rule, among: named)
            convertPins(&rule)
            convertExpiry(&rule)
            convertReports(&rule)
            convertAnchors(&rule)
            return rule
        }
        convertDenied(&policy)
        if policy.unlisted == .refuse, !traits.refusesUnlisted {
            note(.unlistedLost, .weaker, "\(name) trusts hosts without a rule, which this policy refuses", nil)
            policy.unlisted = .trust
        }
        if policy.rules.allSatisfy({ $0.mode == .off }) {
            note(.splitLost, .impossible, "no rule is left that pins anything", nil)
        }
        return policy
    }

    mutating func note(
        _ change: ConversionChange, _ direction: SecurityDirection, _ message: String, _ location: PolicyLocation?
    ) {
        notes.append(ConversionNote(change, direction, message, at: location))
    }
}

extension CanonicalRule {
    /// What messages call it.
    var title: String {
        patterns.map { $0.scope == .every ? "the server" : visibleText($0.host) }.joined(separator: ", ")
    }
}

extension PinDialect {
    /// What messages call it.
    public var title: String {
        switch self {
        case .policy: "the policy file"
        case .android: "Android's network security config"
        case .apple: "NSPinnedDomains"
        case .trustkit: "TrustKit"
        case .okhttp: "OkHttp"
        case .hpkp: "Public-Key-Pins"
        case .curl: "curl"
        case .tlsa: "TLSA"
        case .swift: "Swift"
        }
    }
}
