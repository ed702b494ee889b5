import Basics
import CertificatePinning
import CertificateTrust
import FoundationEssentials

extension Conversion {
    /// Converts the mode. Returns false if the rule is to be left out, as is possible for most rules that are off.
    mutating func keepsMode(_ rule: inout CanonicalRule, among rules: RulesByName) -> Bool {
        let isKnown = traits.modes.contains(rule.mode)
        guard !isKnown || rule.mode == .off && traits.excludesHostsAlone else { return true }
        guard rule.mode == .off else {
            note(
                .modeLost, .stricter,
                "\(rule.title) is refused from now on where it was only reported: \(name) enforces",
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
                    "names below \(rule.title) are pinned by the rule above it: \(name) takes out one host",
                    rule.location)
                rule.patterns = patterns.map { HostPattern($0.host, .exact) }
            }
            return true
        }
        if isCovered {
            note(
                .exclusionForm, .stricter, "\(rule.title) is pinned by the rule above it: \(name) can take no host out",
                rule.location)
        }
        return false
    }

    mutating func convertExpiry(_ rule: inout CanonicalRule) {
        guard var expiry = rule.expiry else {
            if traits.expiry == .age, rule.mode == .enforce {
                rule.expiry = RuleExpiry(.age(Self.usualAge), .stopPinning)
            }
            return
        }
        guard traits.expiry != .age || rule.mode != .report else {
            // In mode report, a server is rejected only after an expiry with the effect `fail`.
            note(
                .expiryLost, expiry.effect == .fail ? .weaker : .unchanged,
                "failures of \(rule.title) are reported for ever: a header that only reports has no end"
                    + (expiry.effect == .fail ? ", where the rule refuses every server from then on" : ""),
                rule.location)
            rule.expiry = nil
            return
        }
        guard traits.expiry != .none else {
            let isRefusal = expiry.effect == .fail
            note(
                .expiryLost, isRefusal ? .weaker : .stricter,
                isRefusal
                    ? "servers with a pinned key of \(rule.title) are accepted for ever, where the rule refuses them "
                        + "after its end: \(name) has no expiry"
                    : "the pins of \(rule.title) hold for ever: \(name) has no expiry, ship new ones in time",
                rule.location)
            rule.expiry = nil
            return
        }
        convertMoment(&expiry, rule)
        if !traits.effects.contains(expiry.effect) {
            note(
                .expiryEffect, .weaker, "behind its end \(rule.title) is not pinned at all, without a word",
                rule.location)
            expiry.effect = .stopPinning
        }
        rule.expiry = expiry
    }

    /// Two months, the longest time for which browsers kept pins (RFC 7469, section 4.1).
    private static let usualAge: Int64 = 5_184_000

    private mutating func convertMoment(_ expiry: inout RuleExpiry, _ rule: CanonicalRule) {
        let now = Int64(time.timeIntervalSince1970)
        let instant: Int64
        switch expiry.moment {
        case .instant(let seconds): instant = seconds
        case .localDay(let day):
            if traits.expiry == .localDay { return }
            guard let seconds = CivilTime(day: day)?.secondsSince1970 else {
                note(.expiryZone, .impossible, "\(visibleText(day)) is no day: write 2026-12-31", rule.location)
                return
            }
            note(
                .expiryZone, .either, "the end of \(rule.title) is that day's midnight in UTC, not where the device is",
                rule.location)
            instant = seconds
        case .age(let age):
            if traits.expiry == .age { return }
            note(
                .expiryZone, .either,
                "the end of \(rule.title) is reckoned from now, once: no visit to the server puts it off", rule.location
            )
            instant = now.addingReportingOverflow(age).overflow ? Int64.max : now + age
        }
        switch traits.expiry {
        case .none, .instant: expiry.moment = .instant(instant)
        case .age:
            let (rest, overflow) = instant.subtractingReportingOverflow(now)
            expiry.moment = .age(overflow ? 0 : max(0, rest))
        case .utcDay:
            let start = CivilTime(secondsSince1970: instant)?.midnight ?? instant
            if start != instant {
                note(.expiryZone, .weaker, "\(rule.title) ends up to a day earlier, at midnight in UTC", rule.location)
            }
            expiry.moment = .instant(start)
        case .localDay:
            note(
                .expiryZone, .either, "the end of \(rule.title) is a day's midnight where the device is", rule.location)
            expiry.moment = .localDay(CivilTime(secondsSince1970: instant)?.dayText ?? "9999-12-31")
        }
    }

    mutating func convertReports(_ rule: inout CanonicalRule) {
        if rule.usesDefaultReport, !traits.hasDefaultReport {
            note(
                .reportsLost, .unchanged,
                "failures of \(rule.title) are not reported to the makers of its dialect any more",
                rule.location)
            rule.usesDefaultReport = false
        }
        if traits.matching == .asRequired { dropUnusableReports(&rule) }
        let count = rule.reports.count
        switch traits.reports {
        case .many: break
        case .one where count == 0 && rule.mode == .report:
            note(
                .reportsLost, .impossible, "\(name) only reports \(rule.title), and to nobody: give the rule reports",
                rule.location)
        case .one where count <= 1: break
        case .one:
            note(
                .reportsLost, .unchanged, "failures of \(rule.title) are reported to the first address alone",
                rule.location)
            rule.reports = Array(rule.reports.prefix(1))
        case .none:
            if count > 0 {
                note(.reportsLost, .unchanged, "failures of \(rule.title) are reported to nobody", rule.location)
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
                URL(string: address).map { bare.problem(reportingTo: $0)?.description } ?? "it is no URL"
            guard let problem else { return true }
            note(
                .reportsLost, .unchanged, "reports to \(visibleText(address)) are left out: \(problem)", rule.location)
            return false
        }
    }

    mutating func convertAnchors(_ rule: inout CanonicalRule) {
        dropSystemBypass(&rule)
        guard let anchors = rule.anchors, anchors != [AnchorSet("system")] else {
            rule.anchors = nil
            return
        }
        if anchors.isEmpty, traits.anchors != .named {
            note(
                .anchorsLost, .weaker,
                "\(rule.title) trusts no root and refuses every server, and is verified against the system's roots "
                    + "from now on", rule.location)
            rule.anchors = nil
            return
        }
        let isKept =
            switch traits.anchors {
            case .none: false
            case .named: anchors.allSatisfy { ["system", "user"].contains($0.source) || $0.source.hasPrefix("@") }
            case .files: anchors.allSatisfy { $0.source != "user" && !$0.source.hasPrefix("@") }
            }
        guard !isKept else { return }
        let names = anchors.map { visibleText($0.source) }.joined(separator: ", ")
        note(
            .anchorsLost, .either, "\(rule.title) is verified against the system's roots, not \(names)", rule.location)
        rule.anchors = nil
    }

    /// Lets pins apply to the system's own roots again. Only Android can exempt those (`overridePins`).
    private mutating func dropSystemBypass(_ rule: inout CanonicalRule) {
        guard traits.anchors != .named, let anchors = rule.anchors,
            anchors.contains(AnchorSet("system", bypassesPins: true))
        else { return }
        note(
            .anchorsLost, .stricter,
            "the pins of \(rule.title) count for chains that end at the system's roots too, which overridePins exempted",
            rule.location)
        rule.anchors = anchors.map { $0.source == "system" ? AnchorSet("system") : $0 }
    }
}
