import CertificatePinning
import CertificateTrust
import PinctlBasics

extension Conversion {
    mutating func convertPins(_ rule: inout CanonicalRule, among rules: RuleTable<CanonicalRule>) {
        let hadPins = !rule.pins.isEmpty
        rule.pins = rule.pins.filter { keeps($0, of: rule) }
        convertRequirement(&rule, among: rules)
        noteRoles(of: rule)
        rule.pins = rule.pins.flatMap { placed($0) }
        dropDuplicates(&rule)
        if rule.mode == .off, !traits.namesPinsAlways {
            // Pins of a rule that is off are never checked, so they can be left out.
            (rule.pins, rule.requirement, rule.expiry, rule.reports) = ([], .any, nil, [])
            return
        }
        if rule.pins.isEmpty, hadPins || rule.mode == .off {
            note(
                .splitLost, .impossible, "\(name) supports none of the pins of \(rule.title): add one that it supports",
                rule.location)
        } else if !hadPins, traits.matching != .everyPlace {
            note(
                .exclusionForm, .impossible,
                "\(rule.title) has no pins and refuses every server, which \(name) can't express: add pins, or set "
                    + "the mode to off",
                rule.location)
        } else if rule.mode == .enforce, rule.pins.count < traits.minimumPins, hadPins {
            note(
                .backupMissing, .impossible,
                "\(name) requires \(traits.minimumPins) pins for \(rule.title): add the pin of a backup key",
                rule.location
            )
        } else if traits.matching != .asRequired {
            noteBackups(of: rule)
        }
    }

    /// Rejects a rule that only backup pins could satisfy, since no server has a backup key.
    private mutating func noteBackups(of rule: CanonicalRule) {
        for role in rule.rolesOfBackupsOnly {
            let backups = rule.pins.filter { $0.role.overlaps(role) }.map(\.shownName)
            let what = role == .any ? "" : " as \(role.rawValue)"
            note(
                .backupsOnly, .impossible,
                "\(name) requires a match\(what) for \(rule.title), but only backups could match "
                    + "(\(backups.joined(separator: ", "))), so every server would be refused: also pin a key that is "
                    + "served\(what)" + (role == .any ? "" : ", or remove the backup pins of that role"),
                rule.location)
        }
    }

    mutating func convertDenied(_ policy: inout CanonicalPolicy) {
        let kept = policy.denied.filter { traits.denies && traits.canSay($0) }
        let count = policy.denied.count - kept.count
        if count > 0 {
            note(.denyLost, .weaker, "\(name) can't deny \(count) of the denied pins, so they are accepted", nil)
        }
        policy.denied = kept
    }

    /// Copies pins from the parent's rule to a rule that excludes its host, for dialects that require pins in every
    /// rule.
    func lendPins(to rule: inout CanonicalRule, from rules: RuleTable<CanonicalRule>) {
        guard rule.mode == .off, traits.namesPinsAlways else { return }
        guard !rule.pins.contains(where: traits.canSay), let pattern = rule.patterns.first else { return }
        let covering = rules.covering(pattern).filter { $0.mode != .off }
        rule.pins = covering.first { $0.pins.contains(where: traits.canSay) }?.pins ?? rule.pins
    }

    /// Returns whether the dialect supports this kind of pin. Notes the pin if it is left out.
    private mutating func keeps(_ pin: CanonicalPin, of rule: CanonicalRule) -> Bool {
        guard traits.contents.contains(pin.content) else {
            note(
                .certificatePin, .stricter,
                "\(pin.shownName) pins a certificate and is left out, because \(name) pins only keys: pin its key",
                rule.location)
            return false
        }
        guard traits.digests.contains(pin.digest) else {
            note(
                .digestLost, .stricter,
                "\(pin.shownName) is left out, because \(name) doesn't support \(pin.digest.rawValue): create the pin "
                    + "from the certificate",
                rule.location)
            return false
        }
        if let length = pin.digest.length, pin.value.count != length {
            note(
                .digestLost, .unchanged,
                "\(pin.shownName) has \(pin.value.count) bytes, so it matches no key and is left out: hash the key "
                    + "again",
                rule.location)
            return false
        }
        guard pin.trust == .chain || traits.holdsPinsAlone else {
            note(
                .roleLost, .stricter, "\(pin.shownName) counted without a trusted chain, and now requires one",
                rule.location
            )
            return true
        }
        return true
    }

    /// Returns whether the rule requires one role only, and all of its pins have it, so that one match of any is the
    /// same. Other rules that apply to its hosts must not require another role.
    private func needsOneMatch(_ rule: CanonicalRule, among rules: RuleTable<CanonicalRule>) -> Bool {
        guard case .eachOf(let roles) = rule.requirement, let role = roles.first, roles.count == 1,
            let pattern = rule.patterns.first
        else { return false }
        return rule.pins.allSatisfy { $0.role == role }
            && rules.around(pattern).allSatisfy { index in
                let other = rules.rules[index]
                let isMeant = other.patterns.contains { $0 == pattern || $0.covers(pattern) }
                return !isMeant || other.requirement == .any || other.requirement == rule.requirement
            }
    }

    private mutating func convertRequirement(_ rule: inout CanonicalRule, among rules: RuleTable<CanonicalRule>) {
        switch traits.matching {
        case .asRequired:
            guard case .eachOf(let roles) = rule.requirement else { return }
            let unmet = PinRole.allCases.first { role in
                roles.contains(role) && !rule.pins.contains { $0.role.overlaps(role) }
            }
            if let unmet { noteUnmet(unmet, of: rule) }
        case .anyPin:
            guard case .eachOf(let roles) = rule.requirement else { return }
            let isSame = needsOneMatch(rule, among: rules)
            rule.requirement = .any
            guard !isSame else { return }
            let what =
                roles.count == 1 ? "a match as \(roles.map(\.rawValue).joined())" : "a match in each of several roles"
            note(
                .requirementLost, .weaker, "one match is enough for \(rule.title), which required \(what)",
                rule.location)
        case .everyPlace:
            let places: Set<PinRole> = Set(rule.pins.map { $0.role == .leaf ? .leaf : .ca })
            if rule.requirement == .any, places.count > 1 {
                note(
                    .requirementAdded, .stricter,
                    "\(name) requires a match as leaf and another as ca for \(rule.title), where one was enough: "
                        + "remove one of the two kinds", rule.location)
            } else if case .eachOf(let roles) = rule.requirement, roles.contains(.root), roles.contains(.intermediate) {
                note(
                    .requirementLost, .weaker,
                    "\(name) doesn't distinguish roots from intermediates: one match is enough",
                    rule.location)
            }
            if case .eachOf(let roles) = rule.requirement,
                let role = roles.first(where: { $0 != .any && !places.contains($0 == .leaf ? .leaf : .ca) })
            {
                noteUnmet(role, of: rule)
            }
            rule.requirement = .eachOf(places)
        }
    }

    private mutating func noteUnmet(_ role: PinRole, of rule: CanonicalRule) {
        note(
            .requirementLost, .impossible,
            "\(rule.title) requires a match as \(role.rawValue), and \(name) supports none of its pins for that role: "
                + "add one that it supports",
            rule.location)
    }

    /// Returns the pin in each role that the dialect has for it, which may be none.
    private func placed(_ pin: CanonicalPin) -> [CanonicalPin] {
        places(for: pin.role).map { role in
            var pin = pin
            pin.role = role
            if !traits.holdsPinsAlone { pin.trust = .chain }
            return pin
        }
    }

    private func places(for role: PinRole) -> [PinRole] {
        let roles = traits.roles
        if roles.contains(role) { return [role] }
        if roles.contains(.any) { return [.any] }
        switch role {
        case .root, .intermediate: return roles.contains(.ca) ? [.ca] : []
        case .any: return traits.matching == .everyPlace ? [] : [.leaf, .ca].filter(roles.contains)
        default: return []
        }
    }

    /// Notes how the pins of each role change, with one note for all of them.
    private mutating func noteRoles(of rule: CanonicalRule) {
        for role in PinRole.allCases where !traits.roles.contains(role) {
            let pins = rule.pins.filter { $0.role == role }
            guard let first = pins.first else { continue }
            let title = pins.count == 1 ? first.shownName : "\(pins.count) pins of \(rule.title)"
            switch places(for: role) {
            case [.any]:
                note(
                    .roleLost, .weaker,
                    "\(title) counted only as \(role.rawValue), and will count anywhere in the path", rule.location)
            case [.ca]:
                note(
                    .roleLost, .weaker, "\(title) counted only as \(role.rawValue), and will count as any issuer",
                    rule.location)
            case [.leaf]:
                note(.roleLost, .stricter, "\(title) counted anywhere, and will count only as leaf", rule.location)
            case [] where role == .any:
                note(
                    .roleLost, .impossible,
                    "\(title) counted anywhere, and \(name) requires its role: set it to leaf or ca",
                    rule.location)
            case []:
                note(
                    .roleLost, .stricter,
                    "\(title) counted as \(role.rawValue), and won't be written, because \(name) doesn't check this "
                        + "role",
                    rule.location)
            default: break
            }
        }
    }

    /// Removes duplicates, since two pins may have become the same.
    private func dropDuplicates(_ rule: inout CanonicalRule) {
        var seen: Set<CanonicalPin> = []
        rule.pins = rule.pins.filter { pin in
            var bare = pin
            (bare.name, bare.isBackup) = (nil, false)
            return seen.insert(bare).inserted
        }
    }
}
