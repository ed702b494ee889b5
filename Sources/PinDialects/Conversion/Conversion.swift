public import CertificatePinning
public import CertificateTrust
import PinctlBasics
public import PinctlFoundation

extension CanonicalPolicy {
    /// Converts the policy to the form that a dialect can express, and returns notes on everything that changes.
    ///
    /// Each rule of the result has one pattern, and each host has one rule if the dialect requires that. A note with
    /// the direction `impossible` means that the policy must not be written. `host` selects the rules for one host,
    /// found the way this policy combines rules. `time` is the time from which relative expiries are calculated.
    /// `publicSuffixes` is the list in which TrustKit's hosts are looked up.
    public func converted(
        to dialect: PinDialect, host: String? = nil, at time: Date, publicSuffixes: PublicSuffixes = .system
    ) -> (policy: CanonicalPolicy, notes: [ConversionNote]) {
        var conversion = Conversion(
            traits: dialect.traits, name: dialect.title, time: time, publicSuffixes: publicSuffixes)
        return (conversion.convert(self, host: host), conversion.notes)
    }
}

/// The conversion of a policy to a dialect. The steps convert hosts first, then the rest of each rule.
struct Conversion {
    let traits: DialectTraits
    /// The name of the dialect in messages.
    let name: String
    let time: Date
    let publicSuffixes: PublicSuffixes
    var notes: [ConversionNote] = []

    init(traits: DialectTraits, name: String, time: Date, publicSuffixes: PublicSuffixes) {
        self.traits = traits
        self.name = name
        self.time = time
        self.publicSuffixes = publicSuffixes
    }

    mutating func convert(_ policy: CanonicalPolicy, host: String?) -> CanonicalPolicy {
        var policy = policy
        if let host { choose(host, &policy) }
        let isOff = !policy.rules.isEmpty && policy.rules.allSatisfy { $0.mode == .off }
        dropUnpinned(&policy)
        checkHosts(policy)
        policy = policy.split
        join(&policy)
        if traits.matching == .asRequired {
            policy.rules = policy.rules.compactMap { rule in
                var rule = rule
                return namesHosts(&rule) ? rule : nil
            }
        }
        let unscoped = RuleTable(policy.rules)
        policy.rules = policy.rules.flatMap { scoped($0, among: unscoped) }
        combine(&policy)
        if !traits.repeatsHosts { mergeDuplicates(&policy.rules) }
        let named = RuleTable(policy.rules)
        policy.rules = policy.rules.compactMap { rule in
            var rule = rule
            guard keepsMode(&rule, among: named) else { return nil }
            checkSuffix(of: rule)
            lendPins(to: &rule, from: named)
            convertPorts(&rule, among: named)
            convertPins(&rule, among: named)
            convertExpiry(&rule)
            convertReports(&rule)
            convertAnchors(&rule)
            convertTransparency(&rule)
            return rule
        }
        // A target with a usual port has a rule for each port.
        if traits.usualPort != nil { policy.rules = policy.rules.flatMap(\.splitByPort) }
        convertDenied(&policy)
        if policy.unlisted == .refuse, !traits.refusesUnlisted {
            note(.unlistedLost, .weaker, "\(name) accepts hosts without a rule, which this policy refuses", nil)
            policy.unlisted = .trust
        }
        if policy.rules.allSatisfy({ $0.mode == .off }) {
            note(
                .splitLost, .impossible,
                // mutant export-off: false for `isOff` by ConversionTests/off
                isOff
                    ? "the mode of every rule is off, so nothing would be pinned: set it to enforce or report, or "
                        + "remove the pins from the file yourself"
                    : "no rule that pins anything is left: pin a key that \(name) supports", nil)
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
    /// The rule once for each of its ports.
    fileprivate var splitByPort: [CanonicalRule] {
        guard let ports else { return [self] }
        return ports.sorted().map { port in
            var rule = self
            rule.ports = [port]
            return rule
        }
    }

    /// The name of the rule in messages.
    var title: String {
        patterns.map { $0.scope == .every ? "the server" : visibleText($0.host) }.joined(separator: ", ")
    }
}

extension CanonicalPin {
    /// The pin in messages: its own name, or else its digest.
    var shownName: String { name.map(visibleText) ?? description }
}

extension PinDialect {
    /// The name of the dialect in messages.
    package var title: String {
        switch self {
        case .policy: "the policy file"
        case .android: "Android's network security config"
        case .apple: "NSPinnedDomains"
        case .trustkit: "TrustKit"
        case .okhttp: "OkHttp"
        case .cronet: "Cronet"
        case .alamofire: "Alamofire"
        case .hpkp: "Public-Key-Pins"
        case .curl: "curl"
        case .git: "git"
        case .envoy: "Envoy"
        case .tlsa: "TLSA"
        case .certspotter: "Cert Spotter"
        case .map: "a map of hosts to pins"
        case .swift: "Swift"
        }
    }
}
