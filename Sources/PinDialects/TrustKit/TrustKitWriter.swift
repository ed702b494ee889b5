import CertificatePinning
import CertificateTrust
import PinctlBasics

/// A writer of rules as entries of TSKPinnedDomains.
enum TrustKitWriter {
    static func domains(_ policy: CanonicalPolicy) throws(DialectWriteError) -> PropertyList {
        guard policy.combination == .closest, policy.denied.isEmpty, policy.unlisted == .trust else {
            throw DialectWriteError("TrustKit can't express this policy: convert it first")
        }
        var members: [PropertyList.Member] = []
        var hosts: Set<String> = []
        let pinning = policy.pinningRules
        for rule in policy.rules {
            for pattern in rule.patterns {
                guard hosts.insert(pattern.host).inserted else {
                    throw DialectWriteError(
                        "\(quoted(pattern.host)) is in two rules: merge them", at: rule.location)
                }
                let entry = rule.mode == .off ? try exclusion(pattern, rule, pinning) : try entry(pattern, rule)
                if let entry { members.append(PropertyList.Member(pattern.host, entry)) }
            }
        }
        return PropertyList(.dictionary(members))
    }

    private static func entry(
        _ pattern: HostPattern, _ rule: CanonicalRule
    ) throws(DialectWriteError) -> PropertyList {
        guard pattern.scope == .exact || pattern.scope == .exactAndBelow, rule.ports == nil, rule.requirement == .any,
            rule.anchors == nil
        else {
            throw DialectWriteError("TrustKit can't express this rule: convert the policy first", at: rule.location)
        }
        for pin in rule.pins
        where pin.content != .publicKey || pin.digest != .sha256 || pin.role != .any || pin.trust != .chain {
            throw DialectWriteError("TrustKit cannot pin \(pin): convert the policy first", at: rule.location)
        }
        let minimum = rule.mode == .enforce ? 2 : 1
        guard Set(rule.pins.map(\.value)).count >= minimum else {
            throw DialectWriteError(
                "TrustKit requires \(minimum) pins for \(quoted(pattern.host)): add the pin of a backup key",
                at: rule.location)
        }
        func text(_ text: String) -> PropertyList { PropertyList(.string(text)) }
        var members = [
            PropertyList.Member(TrustKitReader.subdomainsKey, PropertyList(.bool(pattern.scope == .exactAndBelow))),
            PropertyList.Member(TrustKitReader.enforceKey, PropertyList(.bool(rule.mode == .enforce))),
            PropertyList.Member(
                TrustKitReader.hashesKey, PropertyList(.array(rule.pins.map { text(Base64.encode($0.value.span)) }))),
        ]
        if let expiry = rule.expiry {
            guard case .instant(let seconds) = expiry.moment, expiry.effect == .stopPinning,
                let day = CivilTime(secondsSince1970: seconds), day.midnight == seconds
            else {
                throw DialectWriteError(
                    "TrustKit can't express this expiry: convert the policy first", at: rule.location)
            }
            members.append(PropertyList.Member(TrustKitReader.expiryKey, text(day.dayText)))
        }
        if !rule.reports.isEmpty {
            members.append(
                PropertyList.Member(TrustKitReader.reportsKey, PropertyList(.array(rule.reports.map(text)))))
        }
        members.append(
            PropertyList.Member(TrustKitReader.defaultReportKey, PropertyList(.bool(!rule.usesDefaultReport))))
        return PropertyList(.dictionary(members))
    }

    /// Returns the entry that excludes a host from the rule of a parent domain, or `nil` if no such rule exists.
    /// TrustKit doesn't start with an exclusion that has no parent.
    private static func exclusion(
        _ pattern: HostPattern, _ rule: CanonicalRule, _ pinning: RuleTable<CanonicalRule>
    ) throws(DialectWriteError) -> PropertyList? {
        guard pinning.includes(byParent: pattern.host) else { return nil }
        guard pattern.scope == .exact else {
            throw DialectWriteError(
                "TrustKit can exclude a host, but not the names below \(quoted(pattern.host)): list each of them",
                at: rule.location)
        }
        return PropertyList(.dictionary([PropertyList.Member(TrustKitReader.excludeKey, PropertyList(.bool(true)))]))
    }
}
