import CertificatePinning
import CertificateTrust

/// Takes an Info.plist as Apple's Security framework does (SecPolicy.c, parseNSPinnedDomains).
struct ApplePinReader {
    /// The keys that lead to the hosts.
    static let path = ["NSAppTransportSecurity", "NSPinnedDomains"]
    static let hostKeys = ["NSIncludesSubdomains", leafKey, authorityKey]
    static let leafKey = "NSPinnedLeafIdentities"
    static let authorityKey = "NSPinnedCAIdentities"
    static let digestKey = "SPKI-SHA256-BASE64"

    let path: String
    var problems: PolicyProblems
    var notes: [ConversionNote] = []

    init(path: String) {
        self.path = path
        problems = PolicyProblems(path: path)
    }

    /// The policy; meaningless when there are problems.
    mutating func policy(_ root: PropertyList) -> CanonicalPolicy {
        let isRequired = boolean("SecTrustPinningRequired", in: root)
        let security = root[Self.path[0]]
        guard let domains = security?[Self.path[1]] else {
            problems.add(
                "the list has no \(Self.path.joined(separator: "/")): add it", at: (security ?? root).position)
            return CanonicalPolicy(rules: [], combination: .union)
        }
        guard let members = domains.members else {
            problems.add("\(Self.path[1]) is \(domains.kindName): make it a dictionary", at: domains.position)
            return CanonicalPolicy(rules: [], combination: .union)
        }
        if security?["NSAllowsArbitraryLoads"]?.bool == true, let security {
            note(.weaker, "NSAllowsArbitraryLoads lets hosts without pins be reached without TLS", security.position)
        }
        let rules = members.compactMap { rule($0, isRequired: isRequired) }
        if rules.allSatisfy({ $0.mode == .off }) {
            problems.add("\(Self.path[1]) pins no host: give it one with identities", at: domains.position)
        }
        return CanonicalPolicy(rules: rules, combination: .union, unlisted: isRequired ? .refuse : .trust)
    }

    private mutating func rule(_ member: PropertyList.Member, isRequired: Bool) -> CanonicalRule? {
        let host = member.key
        guard let keys = member.value.members else {
            note(.weaker, "\(quoted(host)) is \(member.value.kindName) and pins nothing: make it a dictionary", member)
            return nil
        }
        for key in keys where !Self.hostKeys.contains(key.key) {
            let meant = suggestion(for: key.key, among: Self.hostKeys)
            note(
                meant == nil ? .unchanged : .weaker,
                "\(quoted(key.key)) is passed over" + (meant.map { ": did you mean \($0)?" } ?? ""), key)
        }
        if host.hasSuffix(".") || host != host.lowercased() {
            note(
                .weaker, "\(quoted(host)) is compared as it stands and reaches no host: write it lower case, no dot",
                member)
        }
        let includes = boolean("NSIncludesSubdomains", in: member.value)
        let leaves = pins(Self.leafKey, .leaf, in: member.value)
        let authorities = pins(Self.authorityKey, .ca, in: member.value)
        let roles = Set([leaves.map { _ in PinRole.leaf }, authorities.map { _ in PinRole.ca }].compactMap(\.self))
        guard !roles.isEmpty else {
            note(.weaker, "\(quoted(host)) has no identities and is not pinned: add \(Self.leafKey)", member)
            return nil
        }
        let pins = (leaves ?? []) + (authorities ?? [])
        let isExcluded = isRequired && roles.count == 2 && pins.isEmpty
        if isRequired, !isExcluded {
            note(
                .weaker, "with SecTrustPinningRequired the system drops the pins of \(quoted(host)): use one of both",
                member)
        } else if !isExcluded, leaves?.isEmpty == true || authorities?.isEmpty == true {
            note(.stricter, "\(quoted(host)) has identities of which none counts, and refuses every server", member)
        }
        return CanonicalRule(
            patterns: [HostPattern(host, includes ? .exactAndOneLabelBelow : .exact)], pins: pins,
            requirement: isExcluded ? .any : .eachOf(roles), mode: isExcluded ? .off : .enforce,
            location: PolicyLocation(path: path, member.position))
    }

    /// The pins of one role; nil when its key is not there.
    private mutating func pins(_ key: String, _ role: PinRole, in host: PropertyList) -> [CanonicalPin]? {
        guard let value = host[key] else { return nil }
        guard let identities = value.elements else {
            note(.stricter, "\(key) is \(value.kindName) and counts as empty: make it an array", value.position)
            return []
        }
        return identities.compactMap { identity in
            guard let text = identity[Self.digestKey]?.string else {
                note(
                    .stricter, "an identity without a \(Self.digestKey) is passed over: give it one", identity.position)
                return nil
            }
            guard let digest = LenientBase64.decode(text.utf8) else {
                note(
                    .stricter, "\(quoted(text)) is not base64 and is passed over: hash the key again", identity.position
                )
                return nil
            }
            guard digest.count == 32 else {
                note(
                    .stricter,
                    "\(quoted(text)) holds \(digest.count) bytes where SHA-256 has 32 and matches no key: hash it again",
                    identity.position)
                return nil
            }
            var pin = CanonicalPin(.publicKey, .sha256, digest, role: role)
            pin.location = PolicyLocation(path: path, identity.position)
            return pin
        }
    }

    /// Only a Boolean counts: the system compares with the one value that is true.
    private mutating func boolean(_ key: String, in list: PropertyList) -> Bool {
        guard let value = list[key] else { return false }
        guard let bool = value.bool else {
            note(.weaker, "\(key) is \(value.kindName) and counts as false: make it a Boolean", value.position)
            return false
        }
        return bool
    }

    private mutating func note(_ direction: SecurityDirection, _ message: String, _ member: PropertyList.Member) {
        note(direction, message, member.position)
    }

    private mutating func note(_ direction: SecurityDirection, _ message: String, _ position: SourcePosition) {
        notes.append(ConversionNote(.quirk, direction, message, at: PolicyLocation(path: path, position)))
    }
}
