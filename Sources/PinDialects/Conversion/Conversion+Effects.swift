import CertificatePinning
import CertificateTrust
import PinctlBasics
import PinctlFoundation

extension RuleExpiry {
    /// Two months in seconds, the longest time for which browsers kept pins (RFC 7469, section 4.1).
    package static let longestAge: Int64 = 5_184_000
}

extension Conversion {
    /// Converts the mode. Returns false if the rule is to be left out, as is possible for most rules that are off.
    mutating func keepsMode(_ rule: inout CanonicalRule, among rules: RuleTable<CanonicalRule>) -> Bool {
        let isKnown = traits.modes.contains(rule.mode)
        guard !isKnown || rule.mode == .off && traits.excludesHostsAlone else { return true }
        guard rule.mode == .off else {
            note(
                .modeLost, .stricter,
                "mismatches of \(rule.title) are refused, not only reported: \(name) always enforces pins",
                rule.location)
            rule.mode = .enforce
            return true
        }
        let patterns = rule.patterns
        let isCovered = patterns.contains { rules.covering($0).contains { $0.mode != .off } }
        if isCovered, isKnown {
            if patterns.contains(where: { $0.scope != .exact }) {
                note(
                    .exclusionForm, .stricter,
                    "names below \(rule.title) are pinned by the parent's rule: \(name) can exclude only the host "
                        + "itself",
                    rule.location)
                rule.patterns = patterns.map { HostPattern($0.host, .exact) }
            }
            return true
        }
        if isCovered {
            note(
                .exclusionForm, .stricter, "\(rule.title) is pinned by the parent's rule: \(name) can't exclude a host",
                rule.location)
        }
        var lost = rule
        // mutant off-roots: nil by ConversionTests/notes
        lost.anchors = rule.anchors?.map { AnchorSet($0.source) }
        convertAnchors(&lost)
        convertTransparency(&lost)
        return false
    }

    /// Removes the rules of hosts that no rule pins and that have no pins of their own, such as hosts of a network
    /// security config that have other settings.
    mutating func dropUnpinned(_ policy: inout CanonicalPolicy) {
        let kept = policy.rulesInEffect(where: \.pins.isEmpty)
        let dropped = Set(policy.rules).subtracting(kept)
        defer { policy.rules = kept }
        for rule in policy.rules where traits.connects && rule.decidesRoots && dropped.contains(rule) {
            let names = (rule.anchors ?? []).map { visibleText($0.source) }.joined(separator: ", ")
            note(
                .anchorsLost, .unchanged,
                "\(rule.title) isn't pinned, so its rule and its roots (\(names)) are left out",
                rule.location)
        }
    }

    mutating func convertExpiry(_ rule: inout CanonicalRule) {
        guard var expiry = rule.expiry else {
            if traits.expiry == .age, rule.mode == .enforce {
                note(
                    .expiryZone, .weaker,
                    "the pins of \(rule.title) expire 60 days after a client's last visit, because a header can't be "
                        + "without max-age, and the rule never expires", rule.location)
                rule.expiry = RuleExpiry(.age(RuleExpiry.longestAge), .stopPinning)
            }
            return
        }
        guard traits.expiry != .age || rule.mode != .report else {
            // In mode report, a server is rejected only after an expiry with the effect `fail`.
            note(
                .expiryLost, expiry.effect == .fail ? .weaker : .unchanged,
                "failures of \(rule.title) are reported forever, because a header that only reports never expires"
                    + (expiry.effect == .fail ? ", but the rule refuses every server once it has expired" : ""),
                rule.location)
            rule.expiry = nil
            return
        }
        guard traits.expiry != .none else {
            let isRefusal = expiry.effect == .fail
            note(
                .expiryLost, isRefusal ? .weaker : .stricter,
                isRefusal
                    ? "servers with a pinned key of \(rule.title) are accepted forever, but the rule refuses them "
                        + "once it has expired: \(name) has no expiry"
                    : "the pins of \(rule.title) never expire, because \(name) has no expiry: ship new ones in time",
                rule.location)
            rule.expiry = nil
            return
        }
        convertMoment(&expiry, rule)
        if !traits.effects.contains(expiry.effect) {
            note(
                .expiryEffect, .weaker, "once the rule has expired, \(rule.title) isn't pinned, and nothing reports it",
                rule.location)
            expiry.effect = .stopPinning
        }
        rule.expiry = expiry
    }

    private mutating func convertMoment(_ expiry: inout RuleExpiry, _ rule: CanonicalRule) {
        let now = time.secondsSince1970()
        let instant: Int64
        switch expiry.moment {
        case .instant(let seconds): instant = seconds
        case .localDay(let day):
            if traits.expiry == .localDay { return }
            guard let seconds = CivilTime(day: day)?.secondsSince1970 else {
                note(
                    .expiryZone, .impossible, "\(visibleText(day)) isn't a day: write it like 2026-12-31", rule.location
                )
                return
            }
            note(
                .expiryZone, .either,
                "the rule for \(rule.title) expires at midnight in UTC, not in the device's time zone",
                rule.location)
            instant = seconds
        case .age(let age):
            if traits.expiry == .age { return }
            note(
                .expiryZone, .either,
                "the expiry of \(rule.title) is counted once from now: visits to the server no longer postpone it",
                rule.location
            )
            instant = now.addingReportingOverflow(age).overflow ? Int64.max : now + age
        }
        switch traits.expiry {
        case .none, .instant: expiry.moment = .instant(instant)
        case .age:
            let (difference, overflow) = instant.subtractingReportingOverflow(now)
            let rest = overflow ? 0 : max(0, min(difference, RuleExpiry.longestAge))
            if rest > 0 {
                note(
                    .expiryZone, .either,
                    "clients count the time of \(rule.title) from each visit, so they keep its pins after it has "
                        + "expired: "
                        + "stop sending the header \(rest) seconds before that", rule.location)
            }
            expiry.moment = .age(rest)
        case .utcDay:
            let start = CivilTime(secondsSince1970: instant)?.midnight ?? instant
            if start != instant {
                note(
                    .expiryZone, .weaker, "the rule for \(rule.title) expires up to a day earlier, at midnight in UTC",
                    rule.location)
            }
            expiry.moment = .instant(start)
        case .localDay:
            note(
                .expiryZone, .either, "the rule for \(rule.title) expires at midnight in the device's time zone",
                rule.location)
            expiry.moment = .localDay(CivilTime(secondsSince1970: instant)?.dayText ?? "9999-12-31")
        }
    }

    mutating func convertReports(_ rule: inout CanonicalRule) {
        if rule.usesDefaultReport, !traits.hasDefaultReport {
            note(
                .reportsLost, .unchanged,
                "failures of \(rule.title) are no longer reported to the vendor of its system",
                rule.location)
            rule.usesDefaultReport = false
        }
        if traits.matching == .asRequired { dropUnusableReports(&rule) }
        let count = rule.reports.count
        switch traits.reports {
        case .many: break
        case .one where count == 0 && rule.mode == .report:
            note(
                .reportsLost, .impossible,
                "\(name) would only report mismatches of \(rule.title), and has no address for them: add \"reports\" "
                    + "to the rule",
                rule.location)
        case .one where count <= 1: break
        case .one:
            note(
                .reportsLost, .unchanged, "failures of \(rule.title) are reported only to the first address",
                rule.location)
            rule.reports = Array(rule.reports.prefix(1))
        case .none:
            if count > 0 {
                note(.reportsLost, .unchanged, "failures of \(rule.title) are no longer reported", rule.location)
            }
            rule.reports = []
        }
    }

    /// Removes URLs that policies of this project don't allow.
    private mutating func dropUnusableReports(_ rule: inout CanonicalRule) {
        guard let pattern = rule.patterns.first, let host = try? ServerName(pattern.host) else { return }
        let bare = PinningRule(host: host, includesSubdomains: pattern.scope == .exactAndBelow, pins: [])
        rule.reports = rule.reports.filter { address in
            let problem =
                URL(string: address).map { bare.problem(reportingTo: $0)?.description } ?? "it isn't a URL"
            guard let problem else { return true }
            note(
                .reportsLost, .unchanged, "reports to \(visibleText(address)) are left out: \(problem)", rule.location)
            return false
        }
    }

    /// Lets pins apply to chains of local roots too, if the dialect can't exempt those.
    private mutating func dropLocalBypass(_ rule: inout CanonicalRule) {
        // mutant export-local-bypass: false for 1 by DialectDocumentTests/localBypass
        guard !traits.exemptsLocalRoots, rule.stores.pinsApplyOnlyUnder != nil else { return }
        rule.stores.pinsApplyOnlyUnder = nil
        guard traits.connects, rule.anchors == nil, rule.mode != .off else { return }
        note(
            .anchorsLost, .stricter,
            "the pins of \(rule.title) also apply to chains that end at local roots, which "
                + "localAnchorsBypassPins exempted",
            rule.location)
    }

    mutating func convertAnchors(_ rule: inout CanonicalRule) {
        dropLocalBypass(&rule)
        guard traits.connects else {
            rule.anchors = nil
            return
        }
        dropSystemBypass(&rule)
        guard let anchors = rule.anchors, anchors != [AnchorSet("system")] else {
            rule.anchors = nil
            return
        }
        if anchors.isEmpty, traits.anchors != .named {
            note(
                .anchorsLost, .weaker,
                "\(rule.title) trusts no root, so every server is refused: from now on it is verified with the "
                    + "system's roots", rule.location)
            rule.anchors = nil
            return
        }
        let isKept =
            switch traits.anchors {
            case .none: false
            case .named: anchors.allSatisfy { AnchorSet.isName($0.source) }
            case .files: anchors.allSatisfy { $0.source == "system" || !AnchorSet.isName($0.source) }
            }
        guard !isKept else { return }
        let names = anchors.map { visibleText($0.source) }.joined(separator: ", ")
        note(
            .anchorsLost, .either, "\(rule.title) is verified with the system's roots, not with \(names)", rule.location
        )
        rule.anchors = nil
    }

    /// Drops a setting for Certificate Transparency that the target can't express.
    private mutating func dropTransparency(
        _ rule: inout CanonicalRule, _ direction: SecurityDirection, _ effect: String
    ) {
        note(.transparencyLost, direction, "\(rule.title): \(effect)", rule.location)
        rule.certificateTransparency = nil
    }

    mutating func convertTransparency(_ rule: inout CanonicalRule) {
        guard let mode = rule.certificateTransparency, !traits.transparency.contains(mode) else { return }
        guard traits.connects else {
            rule.certificateTransparency = nil
            return
        }
        switch mode {
        case .require:
            dropTransparency(&rule, .weaker, "\(name) doesn't require Certificate Transparency, which the rule does")
        case .report:
            dropTransparency(
                &rule, .either, "\(name) can't only report missing Certificate Transparency: the system decides")
        case .ignore:
            dropTransparency(&rule, .either, "\(name) can't turn Certificate Transparency off: the system decides")
        }
    }

    /// Lets pins apply to the system's own roots again. Only Android can exempt those (`overridePins`).
    private mutating func dropSystemBypass(_ rule: inout CanonicalRule) {
        guard traits.anchors != .named, let anchors = rule.anchors,
            anchors.contains(AnchorSet("system", bypassesPins: true))
        else { return }
        note(
            .anchorsLost, .stricter,
            "the pins of \(rule.title) also apply to chains that end at the system's roots, which overridePins "
                + "exempted",
            rule.location)
        rule.anchors = anchors.map { $0.source == "system" ? AnchorSet("system") : $0 }
    }
}
