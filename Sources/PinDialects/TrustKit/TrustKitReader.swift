import CertificatePinning
import CertificateTrust
import PinctlBasics

/// A reader that parses a configuration like TrustKit for Apple's systems (parse_configuration.m).
struct TrustKitReader {
    static let rootKey = "TSKConfiguration"
    static let domainsKey = "TSKPinnedDomains"
    static let hashesKey = "TSKPublicKeyHashes"
    static let enforceKey = "TSKEnforcePinning"
    static let subdomainsKey = "TSKIncludeSubdomains"
    static let reportsKey = "TSKReportUris"
    static let defaultReportKey = "TSKDisableDefaultReportUri"
    static let expiryKey = "TSKExpirationDate"
    /// The key as TrustKit spells it; TrustKit's constant for it is kTSKExcludeSubdomainFromParentPolicy.
    static let excludeKey = "kSKExcludeSubdomainFromParentPolicy"
    private static let meantExcludeKey = "TSKExcludeSubdomainFromParentPolicy"
    private static let otherKeys = ["TSKPublicKeyAlgorithms"]
    private static let domainKeys =
        [hashesKey, enforceKey, subdomainsKey, reportsKey, defaultReportKey, expiryKey, meantExcludeKey] + otherKeys
    /// The keys of a host that decide how it is pinned.
    static let settingKeys: Set = [
        hashesKey, enforceKey, subdomainsKey, reportsKey, defaultReportKey, expiryKey, excludeKey,
    ]
    private static let userAnchorsKey = "TSKIgnorePinningForUserDefinedTrustAnchors"
    private static let globalKeys = [domainsKey, "TSKSwizzleNetworkDelegates", userAnchorsKey]

    /// The dictionaries in which TrustKit looks for its keys. `isAlone` is for the configuration without the rest of an
    /// Info.plist.
    static func places(isAlone: Bool) -> PropertyListPlaces { isAlone ? placesAlone : placesInList }

    private static let placesInList = PropertyListPlaces(
        hosts: [rootKey, domainsKey], pinKeys: pinKeys,
        [
            []: [rootKey], [rootKey]: globalKeys,
            [rootKey, domainsKey, PropertyListPlaces.any]: domainKeys + [excludeKey],
        ])
    private static let placesAlone = PropertyListPlaces(
        hosts: [domainsKey], pinKeys: pinKeys,
        [[]: [rootKey] + globalKeys, [domainsKey, PropertyListPlaces.any]: domainKeys + [excludeKey]])
    private static let pinKeys = Set(
        ([rootKey] + globalKeys + domainKeys).flatMap { [$0, "k" + $0] } + [excludeKey])

    let path: String
    let publicSuffixes: PublicSuffixes
    var problems: PolicyProblems
    var notes: [ConversionNote] = []
    private var places = placesInList

    init(path: String, publicSuffixes: PublicSuffixes) {
        self.path = path
        self.publicSuffixes = publicSuffixes
        problems = PolicyProblems(path: path)
    }

    /// Returns the rules. The result is meaningless if there are problems.
    mutating func rules(_ root: PropertyList) -> [CanonicalRule] {
        let isAlone = Self.isAlone(root, path: path)
        places = Self.places(isAlone: isAlone)
        if !isAlone { noteUnknown(root, in: [], isWhole: false) }
        for stray in places.strays(in: root) {
            note(.either, stray.message(moveTo: place(of: stray)), stray.member.position, .misplacedSetting)
        }
        guard let configuration = isAlone ? root : root[Self.rootKey] else {
            note(.unchanged, "no pins: the list has no \(Self.rootKey): add it", root.position, .pinsNothing)
            return []
        }
        noteUnknown(configuration, in: places.hosts.dropLast())
        guard let domains = configuration[Self.domainsKey] else {
            problems.add("the list has no \(Self.domainsKey): add it", at: configuration.position)
            return []
        }
        guard let members = domains.members, !members.isEmpty else {
            problems.add("\(Self.domainsKey) lists no hosts: make it a dictionary of hosts", at: domains.position)
            return []
        }
        if configuration[Self.userAnchorsKey]?.bool == true {
            note(
                .weaker,
                "on macOS, pins are ignored for chains that end at a root the user added: set \(Self.userAnchorsKey) "
                    + "to false",
                configuration.position, .bypassedPins)
        }
        let rules = members.compactMap { rule($0) }
        let pinning = CanonicalPolicy(rules: rules, combination: .closest).pinningRules
        let excluded = Set(rules.filter { $0.mode == .off }.map { $0.patterns[0].host })
        for entry in members where excluded.contains(entry.key) && !pinning.includes(byParent: entry.key) {
            problems.add(
                "\(quoted(entry.key)) is excluded, but no parent includes it: add \(Self.subdomainsKey) to one, or "
                    + "remove the host",
                at: entry.position)
        }
        return rules
    }
}

// MARK: - Places

extension TrustKitReader {
    /// The beginnings of keys that only a whole Info.plist has.
    private static let listPrefixes = ["CFBundle", "NS", "UI", "LS", "DT"]

    /// Returns whether a list is TrustKit's configuration alone, as a program hands it to TrustKit, and not an
    /// Info.plist, in which TrustKit reads TSKConfiguration only.
    static func isAlone(_ root: PropertyList, path: String) -> Bool {
        guard root[rootKey] == nil, root[domainsKey] != nil, !path.lowercased().hasSuffix("info.plist") else {
            return false
        }
        return !(root.members ?? []).contains { member in listPrefixes.contains(where: member.key.hasPrefix) }
    }

    /// Returns the place where a misplaced key is read.
    private func place(of stray: PropertyListPlaces.Stray) -> String {
        let key = stray.member.key
        if stray.isHost { return Self.domainsKey }
        if key == Self.rootKey { return "the top level of the list" }
        if Self.globalKeys.contains(key) { return places.hosts.count == 1 ? "the top level of the list" : Self.rootKey }
        return "the dictionary of each host in \(Self.domainsKey)"
    }
}

// MARK: - Domains

extension TrustKitReader {
    private mutating func rule(_ entry: PropertyList.Member) -> CanonicalRule? {
        guard let keys = entry.value.members else {
            problems.add("\(quoted(entry.key)) is \(entry.value.kindName): make it a dictionary", at: entry.position)
            return nil
        }
        noteUnknown(entry.value, in: places.hosts + [entry.key])
        let location = PolicyLocation(path: path, entry.position)
        let includes = boolean(Self.subdomainsKey, in: entry.value, default: false)
        check(entry, includesSubdomains: includes)
        if excludes(entry.value) {
            // mutant trustkit-excluded: false by TrustKitTests
            if keys.count > 1 {
                problems.add(
                    "\(quoted(entry.key)) is excluded, but has other keys: remove them", at: entry.position)
            }
            return CanonicalRule(patterns: [HostPattern(entry.key, .exact)], pins: [], mode: .off, location: location)
        }
        let enforces = boolean(Self.enforceKey, in: entry.value, default: true)
        return CanonicalRule(
            patterns: [HostPattern(entry.key, includes ? .exactAndBelow : .exact)],
            pins: pins(entry, minimum: enforces ? 2 : 1), mode: enforces ? .enforce : .report,
            expiry: expiry(entry.value), reports: strings(Self.reportsKey, in: entry.value)?.texts.map(\.text) ?? [],
            usesDefaultReport: !boolean(Self.defaultReportKey, in: entry.value, default: false), location: location)
    }

    private mutating func check(_ entry: PropertyList.Member, includesSubdomains: Bool) {
        do throws(ServerNameError) {
            let name = try ServerName(entry.key)
            if let problem = TrustKitConfiguration.problem(with: name, publicSuffixes) {
                problems.add(problem, at: entry.position)
                // mutant trustkit-suffix: false for 2 by TrustKitTests
            } else if includesSubdomains, publicSuffixes.registry(of: name) == name.description {
                problems.add(
                    "\(quoted(entry.key)) is a public suffix and includes its subdomains: list your own hosts instead",
                    at: entry.position, rule: .publicSuffix)
            }
            if name.description != entry.key {
                note(
                    .weaker, "\(quoted(entry.key)) is compared as written and matches no host: write \(name)",
                    entry.position, .malformedHost)
            }
        } catch {
            problems.add(error.description, at: entry.position, rule: .malformedHost)
        }
    }

    private mutating func excludes(_ domain: PropertyList) -> Bool {
        boolean(Self.excludeKey, in: domain, default: false)
    }

    private mutating func pins(_ entry: PropertyList.Member, minimum: Int) -> [CanonicalPin] {
        guard let (texts, isKnown) = strings(Self.hashesKey, in: entry.value) else {
            problems.add("\(quoted(entry.key)) has no \(Self.hashesKey): add at least \(minimum)", at: entry.position)
            return []
        }
        var pins: [CanonicalPin] = []
        var seen: Set<CanonicalPin> = []
        var isWhole = isKnown
        for (text, position) in texts {
            guard let value = LenientBase64.decode(text.utf8), value.count == 32 else {
                problems.add(
                    "\(quoted(text)) isn't the base64 of 32 bytes: hash the key again", at: position,
                    rule: .malformedPin)
                isWhole = false
                continue
            }
            var pin = CanonicalPin(.publicKey, .sha256, value)
            guard seen.insert(pin).inserted else { continue }
            pin.location = PolicyLocation(path: path, position)
            pins.append(pin)
        }
        if isWhole, pins.count < minimum {
            // mutant trustkit-duplicate: false for `pins.count < texts.count` by LiteralEditTests/duplicates
            let isRepeated = pins.count < texts.count
            problems.add(
                "\(quoted(entry.key)) "
                    + (isRepeated
                        ? "lists a pin twice, which TrustKit counts once, and it requires \(minimum) different ones: "
                            + "replace the second with the pin of a backup key"
                        : "has \(pins.count) different pins, but TrustKit requires \(minimum): add the pin of a backup "
                            + "key"),
                at: entry.position)
        }
        return pins
    }

    /// Returns the rule's expiry: the beginning of a day in UTC, after which TrustKit doesn't pin.
    private mutating func expiry(_ domain: PropertyList) -> RuleExpiry? {
        guard let member = domain.member(Self.expiryKey) else { return nil }
        guard let text = member.value.string else {
            problems.add(
                "\(Self.expiryKey) is \(member.value.kindName): write it as the string 2026-12-31", at: member.position)
            return nil
        }
        guard let day = CivilTime(day: text) else {
            note(
                .stricter,
                "\(quoted(text)) isn't a date, so the pins never expire: write it as 2026-12-31", member.position,
                .ignoredSetting)
            return nil
        }
        return RuleExpiry(.instant(day.secondsSince1970), .stopPinning)
    }
}

// MARK: - Values

extension TrustKitReader {
    /// Returns whether TrustKit reads two values the same way: Booleans, digests, days and other texts.
    static func isSame(_ old: PropertyList, _ new: PropertyList) -> Bool {
        switch (old.kind, new.kind) {
        case (.bool(let bool), .bool(let other)): return bool == other
        case (.integer(let number), .bool(let bool)): return (number != 0) == bool
        case (.array(let elements), .array(let others)):
            return elements.count == others.count && zip(elements, others).allSatisfy(isSame)
        case (.string(let text), .string(let other)):
            guard text != other else { return true }
            if let day = CivilTime(day: text) { return day == CivilTime(day: other) }
            guard let digest = LenientBase64.decode(text.utf8), digest.count == 32 else { return false }
            return digest == LenientBase64.decode(other.utf8)
        default: return false
        }
    }
}

extension TrustKitReader {
    /// Returns a Boolean, or the value that Foundation's `boolValue` has for a number or a string.
    private mutating func boolean(_ key: String, in domain: PropertyList, default usual: Bool) -> Bool {
        guard let member = domain.member(key) else { return usual }
        let bool: Bool
        switch member.value.kind {
        case .bool(let value): return value
        case .integer(let number): bool = number != 0
        case .string(let text):
            let digits = text.utf8.drop { isXMLSpace($0) }.drop { $0 == UInt8(ascii: "0") }
            bool = digits.first.map { "YyTt123456789".utf8.contains($0) } ?? false
        default:
            problems.add("\(key) is \(member.value.kindName): make it a Boolean", at: member.position)
            return usual
        }
        note(
            .unchanged, "\(key) is \(member.value.kindName) and is read as \(bool): make it a Boolean", member.position,
            .misreadSetting)
        return bool
    }

    /// Returns the strings of an array, and whether it has only strings.
    private mutating func strings(
        _ key: String, in domain: PropertyList
    ) -> (texts: [(text: String, position: SourcePosition)], isWhole: Bool)? {
        guard let member = domain.member(key) else { return nil }
        let elements = member.value.elements ?? []
        let strings = elements.compactMap { element in element.string.map { (text: $0, position: element.position) } }
        guard member.value.elements != nil, strings.count == elements.count else {
            problems.add("\(key) isn't an array of strings: make it one", at: member.position)
            return (strings, false)
        }
        return (strings, true)
    }

    /// Notes the keys that TrustKit ignores.
    ///
    /// If only part of the list belongs to TrustKit, `isWhole` is false, and only keys that resemble TrustKit's own are
    /// noted.
    private mutating func noteUnknown(_ list: PropertyList, in path: [String], isWhole: Bool = true) {
        for member in list.members ?? [] where !places.knows(member.key) {
            if let meant = places.meant(by: member, in: path) {
                let isExclusion = meant == Self.meantExcludeKey
                let what = member.key == "k" + meant ? "the name of the constant" : "an unknown key"
                note(
                    isExclusion ? .stricter : .weaker,
                    "TrustKit ignores \(quoted(member.key)), \(what): write \(isExclusion ? Self.excludeKey : meant)",
                    member.position, .ignoredSetting)
            } else if isWhole, !places.holdsPins(member.value) {
                note(.unchanged, "\(quoted(member.key)) is ignored", member.position, nil)
            }
        }
        if path.count > places.hosts.count, let member = list.member(Self.meantExcludeKey) {
            note(
                .stricter, "TrustKit ignores \(quoted(member.key)): write \(Self.excludeKey), the key that it reads",
                member.position, .ignoredSetting)
        }
    }

    private mutating func note(
        _ direction: SecurityDirection, _ message: String, _ position: SourcePosition, _ rule: LintRule?
    ) {
        notes.append(ConversionNote(.quirk, direction, message, at: PolicyLocation(path: path, position), rule: rule))
    }
}

extension PropertyList {
    fileprivate func member(_ key: String) -> Member? { members?.first { $0.key == key } }
}
