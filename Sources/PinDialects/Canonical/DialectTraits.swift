import CertificatePinning

/// What a dialect can say: the table by which policies are converted.
struct DialectTraits {
    var scopes: Set<HostPattern.Scope>
    var combination: RuleCombination
    /// Whether it is told of one server only.
    var isForOneHost = false
    /// Whether one host may stand in several rules for the same port.
    var repeatsHosts = false
    var reachesPorts = false
    /// Where its pins count; with more than one place, `matching` says how the places combine.
    var roles: Set<PinRole>
    var matching = Matching.anyPin
    var contents: Set<CanonicalPin.Content> = [.publicKey]
    var digests: Set<CanonicalPin.Digest> = [.sha256]
    var holdsPinsAlone = false
    /// Whether it can take one host out of a rule above it, and cannot say `off` otherwise.
    var excludesHostsAlone = false
    /// Whether a rule that is off has pins all the same.
    var namesPinsAlways = false
    /// The fewest pins of an enforced rule.
    var minimumPins = 1
    var modes: Set<PinningMode>
    var expiry: Expiry = .none
    var effects: Set<PinningExpiry.Action> = []
    var reports = Reports.none
    /// Whether failures go to the makers of the system too, unless the rule says otherwise.
    var hasDefaultReport = false
    var anchors = Anchors.none
    var denies = false
    var refusesUnlisted = false

    /// How many pins of a rule must match.
    enum Matching {
        /// One, wherever it stands.
        case anyPin
        /// One in each place that has any.
        case everyPlace
        /// Whatever the rule says.
        case asRequired
    }

    /// How it says the end of a rule.
    enum Expiry { case none, instant, utcDay, localDay, age }
    enum Reports { case none, one, many }
    enum Anchors { case none, named, files }

    /// Whether it has this kind of pin.
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
                reports: .many, anchors: .files, denies: true, refusesUnlisted: true)
        case .android:
            DialectTraits(
                scopes: [.exact, .exactAndBelow], combination: .closest, roles: [.any], modes: [.enforce, .off],
                expiry: .localDay, effects: [.stopPinning], reports: .many, hasDefaultReport: true, anchors: .named)
        case .apple:
            DialectTraits(
                scopes: [.exact, .exactAndOneLabelBelow], combination: .union, roles: [.leaf, .ca],
                matching: .everyPlace, modes: [.enforce])
        case .trustkit:
            DialectTraits(
                scopes: [.exact, .exactAndBelow], combination: .closest, roles: [.any], excludesHostsAlone: true,
                minimumPins: 2,
                modes: Set(PinningMode.allCases), expiry: .utcDay, effects: [.stopPinning], reports: .many,
                hasDefaultReport: true)
        case .okhttp:
            DialectTraits(
                scopes: [.exact, .oneLabelBelow, .exactAndBelow], combination: .union, repeatsHosts: true,
                roles: [.any], digests: [.sha256, .sha1], modes: [.enforce])
        case .hpkp:
            DialectTraits(
                scopes: [.exact, .exactAndBelow], combination: .carveOut, isForOneHost: true, roles: [.any],
                minimumPins: 2, modes: [.enforce, .report], expiry: .age, effects: [.stopPinning], reports: .one)
        case .curl:
            DialectTraits(
                scopes: [.every], combination: .closest, isForOneHost: true, roles: [.leaf], modes: [.enforce])
        case .tlsa:
            DialectTraits(
                scopes: [.exact], combination: .union, repeatsHosts: true, reachesPorts: true, roles: [.leaf, .ca],
                contents: [.publicKey, .certificate], digests: [.sha256, .sha512, .full], holdsPinsAlone: true,
                modes: [.enforce])
        }
    }
}
