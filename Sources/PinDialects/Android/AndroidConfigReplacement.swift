import CertificatePinning
import PinctlBasics

/// A replacement of the pins in the domain-configs of a file. Configs are written anew only if configs inside them are
/// affected by more than their pins.
struct AndroidConfigReplacement {
    private let bytes: [UInt8]
    private let path: String
    private let root: XMLElement
    /// The rules in the file as it is. A config with problems is replaced all the same.
    private let rules: [CanonicalRule]

    init(_ bytes: [UInt8], path: String) throws(DialectWriteError) {
        do throws(MarkupProblem) {
            root = try XMLReader.read(bytes)
        } catch {
            throw DialectWriteError(error.message, at: PolicyLocation(path: path, error.position))
        }
        guard root.localName == "network-security-config" else {
            throw DialectWriteError(
                "the root element isn't network-security-config: rename it",
                at: PolicyLocation(path: path, root.position))
        }
        var reader = AndroidConfigReader(path: path, problems: PolicyProblems(path: path))
        reader.read(root)
        rules = reader.rules
        self.bytes = bytes
        self.path = path
    }

    /// Returns the policy in which rules without roots of their own get those that the file gives their hosts.
    func keepingAnchors(_ policy: CanonicalPolicy) throws(DialectWriteError) -> CanonicalPolicy {
        var policy = policy
        for (index, rule) in policy.rules.enumerated() where rule.anchors == nil {
            let anchors = Set(
                rule.patterns.map { pattern in
                    rules.first { $0.patterns.contains { $0.host == pattern.host } }?.anchors
                })
            guard anchors.count < 2 else {
                throw DialectWriteError(
                    "\(rule.title) have different trust-anchors in \(path), but share one rule: give each a rule of "
                        + "its own",
                    at: rule.location)
            }
            policy.rules[index].anchors = anchors.first ?? nil
        }
        return policy
    }

    /// Throws if pins in a changed file wouldn't count, because the file's roots override them and the policy has no
    /// such roots.
    func checkOverrides(in result: [UInt8], _ policy: CanonicalPolicy) throws(DialectWriteError) {
        guard let changed = try? AndroidConfigReplacement(result, path: path) else { return }
        for rule in changed.rules where rule.mode == .enforce {
            guard let first = rule.anchors?.first(where: \.bypassesPins) else { continue }
            let patterns = Set(rule.patterns)
            let own = policy.rules.first { !patterns.isDisjoint(with: $0.patterns) }
            // mutant android-overrides: false for 2 by ReplacingTests
            guard let own, own.anchors != rule.anchors else { continue }
            let there = rules.first { !Set($0.patterns.map(\.host)).isDisjoint(with: rule.patterns.map(\.host)) }
            throw DialectWriteError(
                "the pins of \(own.title) wouldn't count for chains that end at the roots \(quoted(first.source)), "
                    + "because they have overridePins=\"true\" in this file: remove that first",
                at: there?.location ?? PolicyLocation(path: path))
        }
    }

    func result(_ policy: CanonicalPolicy) throws(DialectWriteError) -> [UInt8] {
        var policy = policy.split
        var edit = MarkupEdit(bytes, usualStep: "    ")
        var old: [XMLElement] = []
        var kept: [(String, AndroidConfigWriter.Rest)] = []
        for config in root.elements where config.localName == "domain-config" && Self.holdsPins(config) {
            let others = rests(of: config, inherited: AndroidConfigWriter.Rest())
            kept += others
            let isNested = config.elements.contains { $0.localName == "domain-config" }
            guard let change = isNested ? nil : AndroidConfigChange(config, rule(of: config)) else {
                if try !replacePins(inside: config, &policy, &edit) { old.append(config) }
                continue
            }
            if try !change.apply(&policy, &edit) { old.append(config) }
        }
        if old.isEmpty, policy.rules.isEmpty { return edit.result }
        let left = Set(old.flatMap { rests(of: $0, inherited: AndroidConfigWriter.Rest()) }.map(\.0))
        let named = Set(policy.rules.flatMap(\.patterns).map(\.host))
        for (host, rest) in kept
        where left.contains(host) && !named.contains(host) && rest != AndroidConfigWriter.Rest() {
            throw otherSettings(of: host, at: old.first?.position)
        }
        let byHost = Dictionary(kept, uniquingKeysWith: { first, _ in first })
        func configs(indent: String) throws(DialectWriteError) -> [String] {
            try AndroidConfigWriter.domainConfigs(policy, indent: indent) { rule in
                rule.patterns.compactMap { byHost[$0.host] }.first ?? AndroidConfigWriter.Rest()
            }
        }
        if let first = old.first {
            let indent = edit.indentation(at: first.range.lowerBound) ?? ""
            let positions = Set(old.map(\.range.lowerBound))
            let items = edit.items(
                root.elements.map(\.range), from: root.range.lowerBound, to: root.range.upperBound, .markup)
            edit.change(
                items, keeping: root.elements.map { !positions.contains($0.range.lowerBound) },
                adding: try configs(indent: indent).map { text in
                    NewItem(text: { _ in String(text.dropFirst(indent.count)) })
                },
                .markup)
        } else {
            try edit.append(to: root.range, name: root.name) { indent, _ throws(DialectWriteError) in
                try configs(indent: indent).joined(separator: "\n")
            }
        }
        return edit.result
    }

    private func otherSettings(of host: String, at position: SourcePosition?) -> DialectWriteError {
        DialectWriteError(
            "\(quoted(host)) has other settings than pins, but no rule: give it a domain-config without a pin-set",
            at: position.map { PolicyLocation(path: path, $0) })
    }

    private func rule(of config: XMLElement) -> CanonicalRule? {
        let location = PolicyLocation(path: path, config.position)
        return rules.first { $0.location == location }
    }

    /// Replaces the pins of a config and of those inside it, and removes their rules from the policy. Returns false if
    /// more than pins would change.
    private func replacePins(
        inside config: XMLElement, _ policy: inout CanonicalPolicy, _ edit: inout MarkupEdit
    ) throws(DialectWriteError) -> Bool {
        var taken: Set<CanonicalRule> = []
        var changes: [(AndroidConfigChange, CanonicalRule)] = []
        func visit(_ config: XMLElement, _ inherited: [String]) throws(DialectWriteError) -> Bool {
            guard let there = rule(of: config) else { return false }
            let hosts = Set(there.patterns)
            let own = policy.rules.filter { !hosts.isDisjoint(with: $0.patterns) }
            var lines = inherited
            if let first = own.first {
                guard Set(own.flatMap(\.patterns)) == hosts else { return false }
                lines = try AndroidConfigWriter.pinSet(first)
                for rule in own {
                    let isSame = try AndroidConfigWriter.pinSet(rule) == lines
                    guard isSame, AndroidConfigChange.keepsSettings(of: there, rule) else { return false }
                }
                if let change = AndroidConfigChange(config, there) {
                    changes.append((change, first))
                } else if lines != inherited {
                    return false
                }
                taken.formUnion(own)
            } else if there.mode != .off {
                return false
            }
            for child in config.elements where child.localName == "domain-config" {
                guard try visit(child, lines) else { return false }
            }
            return true
        }
        guard try visit(config, ["<pin-set />"]) else { return false }
        for (change, rule) in changes { try change.replacePins(rule, &edit) }
        policy.rules.removeAll { taken.contains($0) }
        return true
    }

    private static func holdsPins(_ config: XMLElement) -> Bool {
        config.elements.contains { $0.localName == "pin-set" || $0.localName == "domain-config" && holdsPins($0) }
    }

    /// Returns, for each host of a config and of those inside it, the settings that don't concern pins.
    private func rests(
        of config: XMLElement, inherited: AndroidConfigWriter.Rest
    ) -> [(String, AndroidConfigWriter.Rest)] {
        let own = config.attributes.map { " \($0.name)=\"\(escapedXML($0.value))\"" }
        // Android inherits each attribute by itself.
        let inheritedAttributes = inherited.attributes.filter { text in
            !config.attributes.contains { text.hasPrefix(" \($0.name)=") }
        }
        let about: Set = [
            "domain", "pin-set", "trust-anchors", "trustkit-config", "domain-config", "certificateTransparency",
        ]
        let others = config.elements.filter { !about.contains($0.localName) }
            .map { String(decoding: bytes[$0.range], as: UTF8.self) }
        let anchors = config.elements.first { $0.localName == "trust-anchors" }
        let transparency = config.elements.first { $0.localName == "certificateTransparency" }
        // Android doesn't inherit the setting where a config names roots that aren't the system's.
        let inherits = anchors?.elements.allSatisfy { $0["src"]?.value == "system" } ?? true
        let rest = AndroidConfigWriter.Rest(
            // mutant android-attributes-kept: [] for `inheritedAttributes` by ReplacingTests/androidAttributesKept
            attributes: own + inheritedAttributes,
            elements: others.isEmpty ? inherited.elements : others,
            anchors: anchors.map { String(decoding: bytes[$0.range], as: UTF8.self) } ?? inherited.anchors,
            transparency: transparency.map { String(decoding: bytes[$0.range], as: UTF8.self) }
                ?? (inherits ? inherited.transparency : nil))
        let hosts = config.elements.filter { $0.localName == "domain" && $0.text != nil }.map(AndroidConfigChange.host)
        return hosts.map { ($0, rest) }
            + config.elements.filter { $0.localName == "domain-config" }.flatMap { rests(of: $0, inherited: rest) }
    }
}
