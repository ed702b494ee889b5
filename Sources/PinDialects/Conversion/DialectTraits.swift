package import CertificatePinning
import CertificateTrust

/// The capabilities of a dialect, which determine how policies are converted to it.
struct DialectTraits {
    /// The way in which the dialect's system compares hosts.
    var hosts = HostMatching(.parsed, .parsed)
    var scopes: Set<HostPattern.Scope>
    var combination: RuleCombination
    /// Whether the dialect only covers a single server.
    var isForOneHost = false
    /// Whether one host may appear in several rules for the same port.
    var repeatsHosts = false
    var reachesPorts = false
    /// The port of a rule that names none, if such a rule isn't for every port.
    var usualPort: Int?
    /// Whether every host must be below a suffix of the public suffix list.
    var needsPublicSuffix = false
    /// The roles that pins can have. If there are several, `matching` says how they combine.
    var roles: Set<PinRole>
    var matching = Matching.anyPin
    var contents: Set<CanonicalPin.Content> = [.publicKey]
    var digests: Set<CanonicalPin.Digest> = [.sha256]
    var holdsPinsAlone = false
    /// Whether `off` can only exclude a single host from the rule of a parent.
    var excludesHostsAlone = false
    /// Whether a rule that is off still needs pins.
    var namesPinsAlways = false
    /// The minimum number of pins in an enforced rule.
    var minimumPins = 1
    var modes: Set<PinningMode>
    var expiry: Expiry = .none
    var effects: Set<PinningExpiry.Action> = []
    var reports = Reports.none
    /// Whether failures are also reported to the system's vendor unless the rule says otherwise.
    var hasDefaultReport = false
    var anchors = Anchors.none
    /// Whether a rule can exempt chains that end at roots outside of the system's (`localAnchorsBypassPins`).
    var exemptsLocalRoots = false
    /// Whether the dialect's system connects to servers. If it doesn't, conditions on connections mean nothing to it.
    var connects = true
    /// The settings for Certificate Transparency that a rule can have.
    var transparency: Set<CertificateTransparencyMode> = []
    var denies = false
    var refusesUnlisted = false

    /// The number of pins of a rule that must match.
    enum Matching {
        /// One, at any position.
        case anyPin
        /// One in each role that has pins.
        case everyPlace
        /// The number that the rule requires.
        case asRequired
    }

    /// The form in which the dialect expresses an expiry.
    enum Expiry { case none, instant, utcDay, localDay, age }
    enum Reports { case none, one, many }
    enum Anchors { case none, named, files }

    /// Returns whether the dialect supports this kind of pin.
    func canSay(_ pin: CanonicalPin) -> Bool { contents.contains(pin.content) && digests.contains(pin.digest) }
}

extension PinDialect {
    var traits: DialectTraits {
        switch self {
        case .policy, .swift:
            DialectTraits(
                scopes: [.exact, .exactAndBelow], combination: .closest, reachesPorts: true,
                roles: Set(PinRole.allCases), matching: .asRequired, contents: [.publicKey, .certificate],
                namesPinsAlways: true, modes: Set(PinningMode.allCases), expiry: .instant,
                effects: Set(PinningExpiry.Action.allCases),
                reports: .many, anchors: .files, exemptsLocalRoots: true,
                transparency: Set(CertificateTransparencyMode.allCases), denies: true, refusesUnlisted: true)
        case .android:
            DialectTraits(
                hosts: HostMatching(.undotted, .lowercased, rejectsLeadingDot: true),
                scopes: [.exact, .exactAndBelow], combination: .closest, roles: [.any], modes: [.enforce, .off],
                expiry: .localDay, effects: [.stopPinning], reports: .many, hasDefaultReport: true, anchors: .named,
                transparency: [.require, .ignore])
        case .apple:
            DialectTraits(
                hosts: HostMatching(.undotted, .lowercased), scopes: [.exact, .exactAndOneLabelBelow],
                combination: .union, roles: [.leaf, .ca], matching: .everyPlace, modes: [.enforce])
        case .trustkit:
            DialectTraits(
                hosts: HostMatching(.written, .written), scopes: [.exact, .exactAndBelow], combination: .closest,
                needsPublicSuffix: true, roles: [.any], excludesHostsAlone: true, minimumPins: 2,
                modes: Set(PinningMode.allCases), expiry: .utcDay, effects: [.stopPinning], reports: .many,
                hasDefaultReport: true)
        case .okhttp:
            DialectTraits(
                hosts: HostMatching(.written, .aLabels), scopes: [.exact, .oneLabelBelow, .exactAndBelow],
                combination: .union, repeatsHosts: true, roles: [.any], digests: [.sha256, .sha1], modes: [.enforce])
        case .cronet:
            // An address never has pins (CronetEngineBuilderImpl).
            DialectTraits(
                hosts: HostMatching(.parsedName, .parsedName), scopes: [.exact, .exactAndBelow],
                combination: .carveOut, roles: [.any], modes: [.enforce], expiry: .instant, effects: [.stopPinning])
        case .alamofire:
            DialectTraits(
                hosts: HostMatching(.written, .written), scopes: [.exact], combination: .union, roles: [.any],
                contents: [.publicKey, .certificate], modes: [.enforce])
        case .hpkp:
            // IP addresses never have pins (RFC 7469, section 2.3.3).
            DialectTraits(
                hosts: HostMatching(.parsedName, .parsedName), scopes: [.exact, .exactAndBelow],
                combination: .carveOut, isForOneHost: true, roles: [.any], minimumPins: 2, modes: [.enforce, .report],
                expiry: .age, effects: [.stopPinning], reports: .one)
        case .curl:
            DialectTraits(
                scopes: [.every], combination: .closest, isForOneHost: true, roles: [.leaf], modes: [.enforce])
        case .git:
            DialectTraits(
                scopes: [.exact, .oneLabelBelow], combination: .closest, reachesPorts: true, usualPort: 443,
                roles: [.leaf], modes: [.enforce])
        case .certspotter:
            DialectTraits(
                scopes: [.exact, .exactAndBelow], combination: .union, repeatsHosts: true, roles: [.leaf],
                modes: [.enforce], connects: false)
        case .map:
            DialectTraits(
                scopes: [.exact, .exactAndBelow], combination: .union, roles: [.any], modes: [.enforce],
                expiry: .utcDay, effects: [.stopPinning])
        case .envoy:
            DialectTraits(
                scopes: [.exact], combination: .closest, roles: [.leaf], contents: [.publicKey, .certificate],
                modes: [.enforce])
        case .tlsa:
            DialectTraits(
                scopes: [.exact], combination: .union, repeatsHosts: true, reachesPorts: true, roles: [.leaf, .ca],
                contents: [.publicKey, .certificate], digests: [.sha256, .sha512, .full], holdsPinsAlone: true,
                modes: [.enforce])
        }
    }
}

extension PinDialect {
    /// Returns the rules that apply to a host as the user wrote it. To look up several hosts, create a ``RuleTable``.
    package func rules(for host: String, port: Int? = nil, in policy: CanonicalPolicy) -> [CanonicalRule] {
        RuleTable(policy, of: self).rules(for: host, port: port)
    }
}

extension RuleTable<CanonicalRule> {
    /// Creates the table of a policy's rules, which finds them the way a dialect's own system does.
    package init(_ policy: CanonicalPolicy, of dialect: PinDialect) {
        self.init(policy.rules, matching: dialect.traits.hosts, combination: policy.combination)
    }
}
