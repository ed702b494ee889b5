package import CertificateTrust

/// A pinning policy that doesn't depend on any system. It can represent everything that a dialect can express, so that
/// reading a file loses nothing.
public struct CanonicalPolicy: Sendable, Hashable {
    /// The rules, in the order of the file.
    package var rules: [CanonicalRule]
    /// The way in which several rules that reach a host combine.
    package var combination: RuleCombination
    /// The denied pins. A path that contains one is rejected before anything else is checked.
    package var denied: [CanonicalPin]
    /// The treatment of a host that no rule reaches.
    package var unlisted: UnlistedHosts
    /// The trust in hosts that no rule reaches. Only Android's base-config sets it.
    package var unlistedTrust = UnlistedTrust()

    /// Creates a policy without checking it.
    package init(
        rules: [CanonicalRule], combination: RuleCombination, denied: [CanonicalPin] = [],
        unlisted: UnlistedHosts = .trust
    ) {
        self.rules = rules
        self.combination = combination
        self.denied = denied
        self.unlisted = unlisted
    }
}

extension CanonicalPolicy {
    /// The rules whose pins apply, in a table by names as they are written.
    package var pinningRules: RuleTable<CanonicalRule> { RuleTable(rules.filter { $0.mode != .off }) }

    /// Returns the rules without those that exclude hosts that no other rule pins, which have no effect.
    ///
    /// `where` selects which of these are removed.
    package func rulesInEffect(where goes: (CanonicalRule) -> Bool = { _ in true }) -> [CanonicalRule] {
        guard unlisted == .trust, rules.contains(where: { $0.mode == .off }) else { return rules }
        let pinning = pinningRules
        return rules.filter { rule in
            rule.mode != .off || !goes(rule) || rule.patterns.contains { !pinning.covering($0).isEmpty }
        }
    }
}

/// The conditions for trust in the chains of hosts that no rule reaches.
package struct UnlistedTrust: Sendable, Hashable {
    /// The roots that chains may end at, or `nil` for the system's default.
    package var anchors: [AnchorSet]?
    /// The extent to which Certificate Transparency is checked, or `nil` for the client's default.
    package var certificateTransparency: CertificateTransparencyMode?

    /// Creates the conditions.
    package init(anchors: [AnchorSet]? = nil, certificateTransparency: CertificateTransparencyMode? = nil) {
        self.anchors = anchors
        self.certificateTransparency = certificateTransparency
    }
}

/// A rule that maps hosts to the pins they must match.
package struct CanonicalRule: Sendable, Hashable {
    /// The hosts, at least one.
    package var patterns: [HostPattern]
    /// The ports that the rule covers, or `nil` for all.
    package var ports: Set<Int>?
    /// The pins. An enforced rule without pins rejects every server.
    package var pins: [CanonicalPin]
    /// The matches that are required.
    package var requirement: PinRequirement
    /// The treatment of a mismatch.
    package var mode: PinningMode
    /// The expiry of the rule, or `nil` if it never expires.
    package var expiry: RuleExpiry?
    /// The roots that chains may end at, or `nil` for the system's default.
    package var anchors: [AnchorSet]?
    /// The extent to which Certificate Transparency is checked, or `nil` for the client's default.
    package var certificateTransparency: CertificateTransparencyMode?
    /// The absolute URLs that failures are reported to.
    package var reports: [String]
    /// Whether failures are also reported to the default address of the system's vendor.
    package var usesDefaultReport: Bool
    /// A remark for people.
    package var note: String?
    /// Whether the policy's author owns the private public suffix among the hosts. Only policies of this project can
    /// state this.
    package var ownsPublicSuffix = false
    /// The trust stores of the rule. Only policies of this project have any.
    package var stores = RuleStores()
    /// The position of the rule in its file.
    package var location: PolicyLocation?

    /// Creates a rule without checking it.
    package init(
        patterns: [HostPattern], ports: Set<Int>? = nil, pins: [CanonicalPin], requirement: PinRequirement = .any,
        mode: PinningMode = .enforce, expiry: RuleExpiry? = nil, anchors: [AnchorSet]? = nil,
        certificateTransparency: CertificateTransparencyMode? = nil, reports: [String] = [],
        usesDefaultReport: Bool = false, note: String? = nil, location: PolicyLocation? = nil
    ) {
        self.patterns = patterns
        self.ports = ports
        self.pins = pins
        self.requirement = requirement
        self.mode = mode
        self.expiry = expiry
        self.anchors = anchors
        self.certificateTransparency = certificateTransparency
        self.reports = reports
        self.usesDefaultReport = usesDefaultReport
        self.note = note
        self.location = location
    }
}

extension CanonicalRule {
    /// The roles in which an enforced rule requires a match but has only backup pins, or only `any` if one match
    /// anywhere is enough.
    ///
    /// Such a rule rejects every server until a backup key is in use. The list is empty for a rule that a server can
    /// satisfy.
    package var rolesOfBackupsOnly: [PinRole] {
        guard mode == .enforce else { return [] }
        let required: [PinRole] =
            if case .eachOf(let roles) = requirement { PinRole.allCases.filter(roles.contains) } else { [.any] }
        return required.filter { role in
            let meant = pins.filter { $0.role.overlaps(role) }
            return !meant.isEmpty && meant.allSatisfy(\.isBackup)
        }
    }
}

extension CanonicalRule {
    /// The groups of pins that each need a match: all pins together, or those of each required role.
    var groups: [(role: PinRole?, pins: [CanonicalPin])] {
        guard case .eachOf(let roles) = requirement else { return [(nil, pins)] }
        return PinRole.allCases.filter(roles.contains).map { role in
            (role, pins.filter { $0.role.overlaps(role) })
        }
    }
}

/// The expiry of a rule and its effect.
package struct RuleExpiry: Sendable, Hashable {
    /// The moment at which the rule expires.
    package var moment: Moment
    /// The effect of the expiry.
    package var effect: PinningExpiry.Action

    /// A moment as dialects express it.
    package enum Moment: Sendable, Hashable {
        /// The number of seconds since 1970-01-01T00:00:00Z.
        case instant(Int64)
        /// The beginning of a day, such as `2026-12-01`, in the device's time zone. Used by Android.
        case localDay(String)
        /// The number of seconds after the client last saw the policy: the max-age of RFC 7469.
        case age(Int64)
    }

    /// Creates an expiry.
    package init(_ moment: Moment, _ effect: PinningExpiry.Action) {
        self.moment = moment
        self.effect = effect
    }
}

/// A set of roots that a rule names.
package struct AnchorSet: Sendable, Hashable {
    /// The source: `system`, `user`, or the dialect's name for a file, which is a path or `@raw/name`.
    package var source: String
    /// Whether a chain that ends at one of the roots needs no pin.
    package var bypassesPins: Bool

    /// Creates a set of roots.
    package init(_ source: String, bypassesPins: Bool = false) {
        self.source = source
        self.bypassesPins = bypassesPins
    }

    /// Creates the set of the roots in a file. A file that is named as a set of the system's, such as `user`, gets a
    /// path, because a dialect would trust that set instead.
    package init(file: String, bypassesPins: Bool = false) {
        self.init(Self.isName(file) ? "./" + file : file, bypassesPins: bypassesPins)
    }

    /// Whether a source is a set that Android knows by name (`src` of `certificates`), not a path.
    package static func isName(_ source: String) -> Bool {
        ["system", "user", "wfa"].contains(source) || source.hasPrefix("@")
    }
}

/// The trust stores that a rule of this project refers to.
package struct RuleStores: Sendable, Hashable {
    /// The trust anchors for the rule's hosts, or `nil` for those of the evaluator.
    package var anchors: TrustStore?
    /// The anchors under which the pins apply. A path that ends at any other anchor needs no match. `nil` means that
    /// the pins always apply.
    package var pinsApplyOnlyUnder: TrustStore?

    /// Compares the certificates of the stores.
    package static func == (left: RuleStores, right: RuleStores) -> Bool {
        left.anchors?.digest == right.anchors?.digest
            && left.pinsApplyOnlyUnder?.digest == right.pinsApplyOnlyUnder?.digest
    }

    /// Hashes which stores there are, since hashing their certificates is expensive.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(anchors == nil)
        hasher.combine(pinsApplyOnlyUnder == nil)
    }
}
