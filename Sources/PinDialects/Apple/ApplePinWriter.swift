import CertificatePinning
import CertificateTrust
import PinctlBasics

/// A writer of rules as entries of NSPinnedDomains.
enum ApplePinWriter {
    static func domains(_ policy: CanonicalPolicy) throws(DialectWriteError) -> PropertyList {
        guard policy.combination == .union, policy.denied.isEmpty, policy.unlisted == .trust else {
            throw DialectWriteError("NSPinnedDomains can't express this policy: convert it first")
        }
        var members: [PropertyList.Member] = []
        var hosts: Set<String> = []
        for rule in policy.rules {
            let identities = try identities(rule)
            for pattern in rule.patterns {
                guard hosts.insert(pattern.host).inserted else {
                    throw DialectWriteError(
                        "\(quoted(pattern.host)) is in two rules: merge them", at: rule.location)
                }
                let includes: [PropertyList.Member]
                switch pattern.scope {
                case .exact: includes = []
                case .exactAndOneLabelBelow:
                    includes = [PropertyList.Member("NSIncludesSubdomains", PropertyList(.bool(true)))]
                default:
                    throw DialectWriteError(
                        "NSPinnedDomains can't express this scope: convert the policy first", at: rule.location)
                }
                members.append(PropertyList.Member(pattern.host, PropertyList(.dictionary(includes + identities))))
            }
        }
        return PropertyList(.dictionary(members))
    }

    /// Returns the keys of the roles that must match. A role without pins rejects every server, on Apple's systems as
    /// in this project.
    private static func identities(_ rule: CanonicalRule) throws(DialectWriteError) -> [PropertyList.Member] {
        let places = Set(rule.pins.map(\.role))
        let roles: Set<PinRole>
        switch rule.requirement {
        case .any: roles = places.count == 1 ? places : []
        case .eachOf(let required): roles = required.isSuperset(of: places) ? required : []
        }
        guard !roles.isEmpty, roles.isSubset(of: [.leaf, .ca]), rule.mode == .enforce, rule.ports == nil,
            rule.expiry == nil, rule.anchors == nil, rule.reports.isEmpty
        else {
            throw DialectWriteError(
                "NSPinnedDomains can't express this rule: convert the policy first", at: rule.location)
        }
        for pin in rule.pins where pin.content != .publicKey || pin.digest != .sha256 || pin.trust != .chain {
            throw DialectWriteError("NSPinnedDomains cannot pin \(pin): convert the policy first", at: rule.location)
        }
        return [(ApplePinReader.leafKey, PinRole.leaf), (ApplePinReader.authorityKey, .ca)].compactMap { key, role in
            guard roles.contains(role) else { return nil }
            let identities = rule.pins.filter { $0.role == role }.map { pin in
                let digest = PropertyList(.string(Base64.encode(pin.value.span)))
                return PropertyList(.dictionary([PropertyList.Member(ApplePinReader.digestKey, digest)]))
            }
            return PropertyList.Member(key, PropertyList(.array(identities)))
        }
    }
}
