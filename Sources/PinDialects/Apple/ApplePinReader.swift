import CertificatePinning
import CertificateTrust
import PinctlBasics

/// A reader that parses an Info.plist like Apple's Security framework (SecPolicy.c, parseNSPinnedDomains).
struct ApplePinReader {
    /// The keys that lead to the dictionary of hosts.
    static let path = ["NSAppTransportSecurity", "NSPinnedDomains"]
    static let hostKeys = [subdomainsKey, leafKey, authorityKey]
    static let leafKey = "NSPinnedLeafIdentities"
    static let authorityKey = "NSPinnedCAIdentities"
    static let digestKey = "SPKI-SHA256-BASE64"
    static let exceptionsKey = "NSExceptionDomains"
    private static let subdomainsKey = "NSIncludesSubdomains"
    static let requiredKey = "SecTrustPinningRequired"

    /// The dictionaries in which the system looks for its keys.
    static let places = PropertyListPlaces(
        hosts: path, pinKeys: [path[1], leafKey, authorityKey, digestKey],
        [
            []: [path[0], requiredKey],
            [path[0]]: [path[1], exceptionsKey],
            [path[0], exceptionsKey, PropertyListPlaces.any]: [subdomainsKey],
            path + [PropertyListPlaces.any]: hostKeys,
            path + [PropertyListPlaces.any, leafKey]: [digestKey],
            path + [PropertyListPlaces.any, authorityKey]: [digestKey],
        ])

    let path: String
    var notes: [ConversionNote] = []

    init(path: String) { self.path = path }

    /// Whether a program or document has a dictionary with the key of the settings, and doesn't only mention them.
    static func isIn(_ bytes: [UInt8]) -> Bool {
        let cursor = TextCursor(bytes)
        return SourceLiterals(bytes, cursor, path: "").contains(key: path[0])
    }

    /// Returns the policy of the list. The system ignores values of the wrong type, so every list can be read.
    mutating func policy(_ root: PropertyList) -> CanonicalPolicy {
        let isRequired = boolean(Self.requiredKey, in: root)
        let security = root[Self.path[0]]
        noteMisplaced(root, security)
        if security?["NSAllowsArbitraryLoads"]?.bool == true, let security {
            note(
                .weaker, "NSAllowsArbitraryLoads allows connections without TLS to hosts without pins: remove it",
                security.position, .bypassedPins)
        }
        let domains = security?[Self.path[1]]
        var hosts: Set<String> = []
        let entries = (domains?.members ?? []).filter { !Self.places.knows($0.key) }
        for member in entries where !hosts.insert(member.key.lowercased()).inserted {
            note(
                .either,
                "\(quoted(member.key)) is listed twice, because names are compared case-insensitively: merge the "
                    + "entries",
                member.position, .duplicate)
        }
        let rules = entries.compactMap { rule($0, isRequired: isRequired) }
        notePlaintext(security, rules)
        if let domains, domains.members == nil {
            note(
                .weaker,
                "no pins: \(Self.path[1]) is \(domains.kindName), which the system ignores: make it a dictionary",
                domains.position, .pinsNothing)
        } else if rules.allSatisfy({ $0.mode == .off }) {
            let remedy =
                domains == nil
                ? "the list has no \(Self.path.joined(separator: "/")): add it"
                : "\(Self.path[1]) doesn't pin any host: add one with identities"
            note(.unchanged, "no pins: \(remedy)", (domains ?? security ?? root).position, .pinsNothing)
        }
        return CanonicalPolicy(rules: rules, combination: .union, unlisted: isRequired ? .refuse : .trust)
    }

    private mutating func rule(_ member: PropertyList.Member, isRequired: Bool) -> CanonicalRule? {
        let host = member.key
        guard let keys = member.value.members else {
            note(
                .weaker, "\(quoted(host)) is \(member.value.kindName) and pins nothing: make it a dictionary",
                member.position, .pinsNothing)
            return nil
        }
        let place = Self.path + [host]
        for key in keys where !Self.places.knows(key.key) {
            // What has pins inside is reported where they are.
            guard Self.places.meant(by: key, in: place) != nil || !Self.places.holdsPins(key.value) else { continue }
            noteUnknown(key, in: place)
        }
        if host.hasSuffix(".") {
            note(
                .weaker, "\(quoted(host)) ends in a dot and matches no host: remove the dot", member.position,
                .malformedHost)
        }
        if let message = HostPattern.capitals(in: host) {
            note(.unchanged, message, member.position, .malformedHost, .warning)
        }
        let includes = boolean(Self.subdomainsKey, in: member.value)
        let leaves = pins(Self.leafKey, .leaf, in: member.value)
        let authorities = pins(Self.authorityKey, .ca, in: member.value)
        let roles = Set([leaves.map { _ in PinRole.leaf }, authorities.map { _ in PinRole.ca }].compactMap(\.self))
        // mutant apple-no-identities: true by AppleTests
        guard !roles.isEmpty else {
            note(
                .weaker, "\(quoted(host)) has no identities, so it isn't pinned: add \(Self.leafKey)", member.position,
                .pinsNothing)
            return nil
        }
        let pins = (leaves ?? []) + (authorities ?? [])
        let isExcluded = isRequired && roles.count == 2 && pins.isEmpty
        if isRequired, !isExcluded {
            note(
                .weaker,
                "with SecTrustPinningRequired the system ignores the pins of \(quoted(host)): use only one of the two",
                member.position, .pinsNothing)
        } else if !isExcluded, leaves?.isEmpty == true || authorities?.isEmpty == true {
            note(
                .stricter,
                "\(quoted(host)) has an identity list without valid identities, so every server is rejected: add "
                    + "valid identities, or remove the key", member.position, .refusesEverything)
        }
        return CanonicalRule(
            // The system compares hostnames case-insensitively.
            patterns: [HostPattern(host.lowercased(), includes ? .exactAndOneLabelBelow : .exact)], pins: pins,
            requirement: isExcluded ? .any : .eachOf(roles), mode: isExcluded ? .off : .enforce,
            location: PolicyLocation(path: path, member.position))
    }

    /// Returns the pins of one role, or `nil` if its key is missing.
    private mutating func pins(_ key: String, _ role: PinRole, in host: PropertyList) -> [CanonicalPin]? {
        guard let value = host[key] else { return nil }
        guard let identities = value.elements else {
            note(
                .stricter, "\(key) is \(value.kindName) and is read as empty: make it an array", value.position,
                .ignoredSetting)
            return []
        }
        return identities.compactMap { identity in
            let value = identity[Self.digestKey]
            guard let text = value?.string else {
                note(
                    .stricter, "an identity without a \(Self.digestKey) is ignored: add it", identity.position,
                    .ignoredSetting)
                return nil
            }
            guard let digest = LenientBase64.decode(text.utf8) else {
                note(
                    .stricter, "\(quoted(text)) isn't base64 and is ignored: hash the key again", identity.position,
                    .malformedPin)
                return nil
            }
            // mutant apple-length: true by AppleTests
            guard digest.count == 32 else {
                note(
                    .stricter,
                    "\(quoted(text)) has \(digest.count) bytes, but SHA-256 has 32, so it matches no key: hash the "
                        + "key again",
                    identity.position, .malformedPin)
                return nil
            }
            var pin = CanonicalPin(.publicKey, .sha256, digest, role: role)
            pin.location = PolicyLocation(path: path, value?.position ?? identity.position)
            return pin
        }
    }

    /// Returns the value of a key. Only a Boolean counts, because the system compares with the Boolean true itself.
    private mutating func boolean(_ key: String, in list: PropertyList) -> Bool {
        guard let value = list[key] else { return false }
        guard let bool = value.bool else {
            note(
                .weaker, "\(key) is \(value.kindName) and is read as false: make it a Boolean", value.position,
                .ignoredSetting)
            return false
        }
        return bool
    }

    private mutating func note(
        _ direction: SecurityDirection, _ message: String, _ position: SourcePosition, _ rule: LintRule?,
        _ severity: LintFinding.Severity? = nil
    ) {
        notes.append(
            ConversionNote(
                .quirk, direction, message, at: PolicyLocation(path: path, position), rule: rule, severity: severity))
    }
}

// MARK: - Ignored keys

extension ApplePinReader {
    private static let securityKeys = [
        path[1], exceptionsKey, "NSAllowsArbitraryLoads", "NSAllowsArbitraryLoadsForMedia",
        "NSAllowsArbitraryLoadsInMedia", "NSAllowsArbitraryLoadsInWebContent", "NSAllowsLocalNetworking",
    ]
    private static let plaintextKeys = [
        "NSExceptionAllowsInsecureHTTPLoads", "NSTemporaryExceptionAllowsInsecureHTTPLoads",
    ]

    /// Notes a key that the system ignores, and suggests the one that may have been meant.
    private mutating func noteUnknown(_ member: PropertyList.Member, in path: [String]) {
        let meant = Self.places.meant(by: member, in: path)
        note(
            meant == nil ? .unchanged : .weaker,
            "\(quoted(member.key)) is ignored" + (meant.map { ": did you mean \($0)?" } ?? ""), member.position,
            meant.map { _ in .ignoredSetting })
    }

    /// Notes pinning keys that are misspelled, or that are in a dictionary where the system doesn't look for them.
    private mutating func noteMisplaced(_ root: PropertyList, _ security: PropertyList?) {
        for member in root.members ?? [] where Self.places.meant(by: member, in: []) != nil {
            noteUnknown(member, in: [])
        }
        for member in security?.members ?? []
        where !Self.securityKeys.contains(member.key) && !Self.places.knows(member.key) {
            noteUnknown(member, in: [Self.path[0]])
        }
        for stray in Self.places.strays(in: root) {
            note(.weaker, stray.message(moveTo: Self.place(of: stray)), stray.member.position, .misplacedSetting)
        }
        for host in security?[Self.exceptionsKey]?.members ?? [] {
            for member in host.value.members ?? [] where !Self.places.knows(member.key) {
                guard let key = suggestion(for: member.key, among: [Self.leafKey, Self.authorityKey]) else { continue }
                note(
                    .weaker,
                    "\(member.key) in \(Self.exceptionsKey) is ignored: move \(key) of \(quoted(host.key)) to "
                        + Self.path[1], member.position, .ignoredSetting)
            }
        }
    }

    /// Returns the place where a misplaced key is read.
    private static func place(of stray: PropertyListPlaces.Stray) -> String {
        switch stray.member.key {
        case _ where stray.isHost: path[1]
        case path[0], requiredKey: "the top level of the list"
        case path[1], exceptionsKey: "\(path[0]) at the top level of the list"
        case digestKey: "an identity in \(leafKey) or \(authorityKey) of a host"
        default: "the dictionary of its host in \(path[1])"
        }
    }

    /// Notes exceptions that allow connections to a pinned host without TLS, and so without its pins.
    private mutating func notePlaintext(_ security: PropertyList?, _ rules: [CanonicalRule]) {
        let pinned = Set(rules.filter { $0.mode != .off }.flatMap(\.patterns).map(\.host))
        for exception in security?[Self.exceptionsKey]?.members ?? [] {
            let name = exception.key.lowercased()
            let reachesBelow = exception.value[Self.subdomainsKey]?.bool == true
            guard Self.plaintextKeys.contains(where: { exception.value[$0]?.bool == true }),
                pinned.contains(name) || reachesBelow && pinned.contains(where: { $0.hasSuffix("." + name) })
            else { continue }
            note(
                .weaker,
                "\(Self.exceptionsKey) allows connections without TLS, and so without pins, to "
                    + "\(quoted(exception.key)): remove \(Self.plaintextKeys[0])", exception.position, .bypassedPins)
        }
    }
}
