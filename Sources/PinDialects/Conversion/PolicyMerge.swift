package import CertificatePinning
import CertificateTrust
import PinctlBasics

/// A merge of several policies into one, such as those of an app for each of its platforms.
///
/// Rules for the same host become one rule, which accepts the pins of all of them. Each source is then compared with
/// the result: where the result accepts or rejects more than the source did, a note says so. Hosts that a source
/// doesn't pin at all get the rules of the other sources without a note.
///
/// Where two rules differ in scope or expiry, the stricter setting is used. The other settings have no order, or the
/// stricter one would cut off clients that only report mismatches, so a difference makes the merge impossible.
package struct PolicyMerge: Sendable {
    /// The merged policy.
    package internal(set) var policy = CanonicalPolicy(rules: [], combination: .closest)
    /// Notes on the changes that the merge makes to its sources.
    package private(set) var notes: [ConversionNote] = []

    /// A rule of the merged policy, with the rules that it was made from.
    struct Merged {
        var rule: CanonicalRule
        var sources: [CanonicalRule]
    }

    private(set) var merged: [Merged] = []
    private var indices: [String: [Int]] = [:]

    /// Merges policies that were converted to policy files, in this order. A single one stays as it is.
    package init(_ sources: [CanonicalPolicy]) {
        for source in sources {
            for rule in source.rules { add(rule) }
            policy.denied += source.denied.without(policy.denied)
        }
        policy.unlisted = sources.first?.unlisted ?? .trust
        if sources.contains(where: { $0.unlisted != policy.unlisted }) {
            note(
                .splitLost, .impossible,
                "the sources differ in \"unlisted\": set it to the same value in each, or import them separately", nil)
        }
        policy.rules = merged.map(\.rule)
        guard sources.count > 1, notes.isEmpty else { return }
        for source in sources {
            noteEffects(on: source)
            let denied = policy.denied.without(source.denied)
            if !denied.isEmpty {
                note(
                    .combinationChanged, .stricter, "\(denied.count) keys that another source denies are also denied",
                    source.rules.first?.location)
            }
        }
    }

    /// Adds the rules of a policy to another one that has none for their hosts. Nothing but rules is added.
    package init(adding new: CanonicalPolicy, to old: CanonicalPolicy) {
        var rules = new
        (rules.denied, rules.unlisted) = (old.denied, old.unlisted)
        self.init([old, rules])
        if !new.denied.isEmpty {
            note(
                .denyLost, .weaker, "\(new.denied.count) denied pins aren't added to the policy: add them to \"deny\"",
                nil)
        }
        if new.unlisted == .refuse, old.unlisted != .refuse {
            note(
                .unlistedLost, .weaker, "the policy accepts hosts without a rule, which the imported one refuses", nil)
        }
    }

    private mutating func note(
        _ change: ConversionChange, _ direction: SecurityDirection, _ message: String, _ location: PolicyLocation?
    ) {
        notes.append(ConversionNote(change, direction, message, at: location))
    }
}

// MARK: - Rules for the same host

extension CanonicalPolicy {
    /// Returns the rules of this policy and of another one that cover the same host and port, in pairs. Each rule of
    /// both has one pattern.
    package func duplicates(of other: CanonicalPolicy) -> [(old: CanonicalRule, new: CanonicalRule)] {
        let byHost = Dictionary(grouping: rules) { $0.patterns[0].host }
        return other.rules.compactMap { new in
            byHost[new.patterns[0].host]?.first { $0.sharesPorts(with: new) }.map { ($0, new) }
        }
    }
}

extension PolicyMerge {
    private mutating func add(_ rule: CanonicalRule) {
        let host = rule.patterns[0].host
        let existing = indices[host]?.first { merged[$0].rule.sharesPorts(with: rule) }
        guard let existing else {
            indices[host, default: []].append(merged.count)
            merged.append(Merged(rule: rule, sources: [rule]))
            return
        }
        let conflicts = Self.conflicts(merged[existing].rule, rule)
        guard conflicts.isEmpty else {
            let other = merged[existing].rule.location.map { " at \($0)" } ?? ""
            note(
                .splitLost, .impossible,
                "this rule for \(rule.title) and the one\(other) differ in \(conflicts.joined(separator: ", ")), and a "
                    + "policy has one rule for each host: give them the same settings", rule.location)
            return
        }
        merged[existing].sources.append(rule)
        merged[existing].rule.take(rule)
    }

    /// Returns the settings in which rules for one host differ and of which neither value can be used for both.
    private static func conflicts(_ rule: CanonicalRule, _ other: CanonicalRule) -> [String] {
        var conflicts: [String] = []
        func compare(_ name: String, _ value: String, _ other: String, _ isSame: Bool) {
            if !isSame { conflicts.append("\(name) (\(other), not \(value))") }
        }
        func text(_ ports: Set<Int>?) -> String {
            ports.map { $0.sorted().map(String.init).joined(separator: " ") } ?? "all"
        }
        func text(_ anchors: [AnchorSet]?) -> String {
            anchors.map { visibleText($0.map(\.source).joined(separator: " ")) } ?? "not set"
        }
        compare("ports", text(rule.ports), text(other.ports), rule.ports == other.ports)
        compare("mode", rule.mode.rawValue, other.mode.rawValue, rule.mode == other.mode)
        compare(
            "require", rule.effectiveRequirement.title, other.effectiveRequirement.title,
            rule.effectiveRequirement == other.effectiveRequirement)
        compare(
            "anchors", text(rule.anchors), text(other.anchors),
            rule.anchors.map(Set.init) == other.anchors.map(Set.init))
        compare(
            "certificateTransparency", rule.certificateTransparency?.rawValue ?? "not set",
            other.certificateTransparency?.rawValue ?? "not set",
            rule.certificateTransparency == other.certificateTransparency)
        // There is no stricter one of two expiries if only one of them stops pinning.
        if rule.expiry != other.expiry {
            let isOrdered = [rule.expiry, other.expiry].allSatisfy { $0.map { $0.effect == .stopPinning } ?? true }
            compare("expiry", rule.expiry?.title ?? "never", other.expiry?.title ?? "never", isOrdered)
        }
        return conflicts
    }
}

extension CanonicalRule {
    /// Adds the settings and pins of another rule for the same host.
    fileprivate mutating func take(_ other: CanonicalRule) {
        if requirement != other.requirement { requirement = effectiveRequirement }
        let indices = Dictionary(pins.indices.map { (pins[$0].bare, $0) }, uniquingKeysWith: { first, _ in first })
        for pin in other.pins {
            guard let existing = indices[pin.bare] else {
                pins.append(pin)
                continue
            }
            // A key that is served somewhere isn't a backup.
            pins[existing].isBackup = pins[existing].isBackup && pin.isBackup
            pins[existing].name = pins[existing].name ?? pin.name
        }
        if requirement == .any {
            // A pin that counts anywhere includes the same pin in one role.
            let anywhere = Set(pins.filter { $0.role == .any }.map(\.bare))
            pins.removeAll { $0.role != .any && anywhere.contains($0.anywhere) }
        }
        if patterns[0].scope == .exact { patterns = other.patterns }
        if expiry != other.expiry { expiry = expiry.flatMap { mine in other.expiry.map { mine.later(of: $0) } } }
        reports += other.reports.filter { !reports.contains($0) }
        ownsPublicSuffix = ownsPublicSuffix || other.ownsPublicSuffix
        note = note ?? other.note
    }

    /// The requirement, which is `any` if all pins have the only role that is required.
    fileprivate var effectiveRequirement: PinRequirement {
        guard case .eachOf(let roles) = requirement, roles.count == 1, let role = roles.first,
            pins.allSatisfy({ $0.role == role })
        else { return requirement }
        return .any
    }

    /// Returns the pins whose matches aren't always matches of another rule too.
    fileprivate func pins(besides other: CanonicalRule) -> [CanonicalPin] {
        let known = Set(other.pins.map(\.bare))
        return pins.filter { !known.contains($0.bare) && !known.contains($0.anywhere) }
    }
}

extension CanonicalPin {
    /// The same pin at any position, without the parts that are only for people.
    var anywhere: CanonicalPin {
        var pin = bare
        pin.role = .any
        return pin
    }

    /// The position of the pin, or that of its rule if the reader doesn't provide it.
    func origin(in rule: CanonicalRule) -> PolicyLocation? { location ?? rule.location }
}

extension RuleExpiry {
    /// Returns the later one of two instants.
    fileprivate func later(of other: RuleExpiry) -> RuleExpiry {
        guard case .instant(let mine) = moment, case .instant(let theirs) = other.moment else { return self }
        return mine < theirs ? other : self
    }
}

extension PinRequirement {
    fileprivate var title: String {
        switch self {
        case .any: "any"
        case .eachOf(let roles): PinRole.allCases.filter(roles.contains).map(\.rawValue).joined(separator: " and ")
        }
    }
}

// MARK: - Effects on the sources

extension PolicyMerge {
    /// Notes where the merged policy decides differently from one of its sources, for hosts that the source pins.
    private mutating func noteEffects(on source: CanonicalPolicy) {
        let own = RuleTable(source.rules)
        for rule in policy.rules {
            var (before, parent): (CanonicalRule?, CanonicalRule?)
            own.walk(around: rule.patterns[0]) { depth, entries in
                let found = entries.lazy.filter { depth == 0 || $0.scope == .exactAndBelow }
                    .map { own.rules[$0.rule] }.first { $0.sharesPorts(with: rule) }
                if depth == 0 { before = found } else { parent = found }
                return parent == nil
            }
            if let before {
                noteDuplicate(before, rule, hasParent: parent != nil)
            } else if let parent {
                noteNested(parent, rule)
            }
        }
    }

    private mutating func noteDuplicate(_ before: CanonicalRule, _ rule: CanonicalRule, hasParent: Bool) {
        notePins(before, rule)
        if before.patterns[0].scope == .exact, rule.patterns[0].scope != .exact {
            note(
                .scopeWidened, hasParent ? .either : .stricter,
                "all names below \(rule.title) are also pinned"
                    + (hasParent ? ", and the parent's rule no longer applies to them" : ""), before.location)
        }
        if let old = before.expiry, old != rule.expiry {
            note(
                rule.expiry == nil ? .expiryLost : .expiryZone, .stricter,
                rule.expiry.map { "the rule for \(rule.title) expires \($0.title), not \(old.title)" }
                    ?? "the rule for \(rule.title) never expires, because another source gives it no expiry",
                before.location)
        }
        if Set(before.reports) != Set(rule.reports) {
            note(
                .reportsLost, .unchanged,
                "failures of \(rule.title) are reported to the addresses of all sources", before.location)
        }
    }

    /// Notes that a host which was covered by the rule of a parent now has a rule of its own from another source.
    private mutating func noteNested(_ parent: CanonicalRule, _ rule: CanonicalRule) {
        let missing = parent.pins(besides: rule)
        let extra = rule.pins(besides: parent)
        let isSame =
            Self.conflicts(parent, rule).filter { !$0.hasPrefix("ports ") }.isEmpty && parent.expiry == rule.expiry
        guard !isSame || !missing.isEmpty || !extra.isEmpty else { return }
        let direction: SecurityDirection =
            !isSame || !missing.isEmpty && !extra.isEmpty ? .either : extra.isEmpty ? .stricter : .weaker
        let place = rule.location.map { " at \($0)" } ?? " of another source"
        note(
            .combinationChanged, direction,
            "\(rule.title) was covered by this rule for \(parent.title), and now has the rule\(place) instead",
            parent.location)
    }

    private mutating func notePins(_ before: CanonicalRule, _ rule: CanonicalRule) {
        let extra = rule.pins(besides: before)
        guard !extra.isEmpty else { return }
        let known = Set(before.pins.map(\.anywhere))
        var texts = extra.prefix(Self.mostPins).map { pin in
            let place =
                pin.role != .any
                ? " as \(pin.role.rawValue)" : known.contains(pin.anywhere) ? " anywhere in the path" : ""
            return "\(pin)\(place)" + (pin.origin(in: rule).map { " of \($0)" } ?? "")
        }
        if extra.count > Self.mostPins { texts.append("\(extra.count - Self.mostPins) more") }
        let list = texts.joined(separator: ", ")
        note(.combinationChanged, .weaker, "\(rule.title) also accepts \(list)", before.location)
    }

    /// The maximum number of pins that a note lists.
    private static let mostPins = 3
}
