import CertificatePinning
import PinctlBasics

/// A replacement of the domain-configs in a file that contain pins.
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

    func result(_ policy: CanonicalPolicy) throws(DialectWriteError) -> [UInt8] {
        var policy = policy
        var edit = MarkupEdit(bytes, usualStep: "    ")
        var old: [XMLElement] = []
        for config in root.elements where config.localName == "domain-config" && Self.holdsPins(config) {
            if try !replacePins(in: config, &policy, &edit) { old.append(config) }
        }
        if old.isEmpty, policy.rules.isEmpty { return edit.result }
        let kept = old.flatMap { rests(of: $0, inherited: AndroidConfigWriter.Rest()) }
        let named = Set(policy.rules.flatMap(\.patterns).map(\.host))
        for (host, rest) in kept where !named.contains(host) && rest != AndroidConfigWriter.Rest() {
            throw DialectWriteError(
                "\(quoted(host)) has other settings than pins, but no rule: give it a domain-config without a pin-set",
                at: old.first.map { PolicyLocation(path: path, $0.position) })
        }
        let byHost = Dictionary(kept, uniquingKeysWith: { first, _ in first })
        func configs(indent: String) throws(DialectWriteError) -> String {
            try AndroidConfigWriter.domainConfigs(policy, indent: indent) { rule in
                rule.patterns.compactMap { byHost[$0.host] }.first ?? AndroidConfigWriter.Rest()
            }.joined(separator: "\n")
        }
        if policy.rules.isEmpty {
            for config in old { edit.remove(config.range) }
        } else if let first = old.first {
            let indent = edit.indentation(at: first.range.lowerBound) ?? ""
            edit.replace(first.range, with: String(try configs(indent: indent).dropFirst(indent.count)))
            for config in old.dropFirst() { edit.remove(config.range) }
        } else {
            try edit.append(to: root.range, name: root.name) { indent, _ throws(DialectWriteError) in
                try configs(indent: indent)
            }
        }
        return edit.result
    }

    /// Replaces the pin-set of a config and removes the config's rules from the policy. Returns false if more than pins
    /// would change.
    private func replacePins(
        in config: XMLElement, _ policy: inout CanonicalPolicy, _ edit: inout MarkupEdit
    ) throws(DialectWriteError) -> Bool {
        let location = PolicyLocation(path: path, config.position)
        let pinSets = config.elements.filter { $0.localName == "pin-set" }
        guard let there = rules.first(where: { $0.location == location }), pinSets.count == 1,
            !config.elements.contains(where: { $0.localName == "domain-config" })
        else { return false }
        let hosts = Set(there.patterns)
        let own = policy.rules.filter { !hosts.isDisjoint(with: $0.patterns) }
        guard let first = own.first, Set(own.flatMap(\.patterns)) == hosts,
            own.allSatisfy({ $0.anchors == nil || $0.anchors == there.anchors }),
            own.allSatisfy({ [nil, there.certificateTransparency].contains($0.certificateTransparency) }),
            own.allSatisfy({ $0.reports == there.reports && $0.usesDefaultReport == there.usesDefaultReport })
        else { return false }
        let lines = try AndroidConfigWriter.pinSet(first)
        for rule in own.dropFirst() where try AndroidConfigWriter.pinSet(rule) != lines { return false }
        policy.rules.removeAll { own.contains($0) }
        let saysSo =
            there.mode == first.mode && there.expiry == first.expiry
            && there.pins.map(\.value) == first.pins.map(\.value)
        if !saysSo {
            let start = pinSets[0].range.lowerBound
            let outer = edit.indentation(at: config.range.lowerBound) ?? ""
            let indent = edit.indentation(at: start) ?? outer + "    "
            edit.replace(pinSets[0].range, with: lines.joined(separator: "\n" + indent))
        }
        return true
    }

    private static func holdsPins(_ config: XMLElement) -> Bool {
        config.elements.contains { $0.localName == "pin-set" || $0.localName == "domain-config" && holdsPins($0) }
    }

    /// Returns, for each host of a config and of those inside it, the settings that don't concern pins.
    private func rests(
        of config: XMLElement, inherited: AndroidConfigWriter.Rest
    ) -> [(String, AndroidConfigWriter.Rest)] {
        let own = config.attributes.map { " \($0.name)=\"\(escapedXML($0.value))\"" }.joined()
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
            attributes: own.isEmpty ? inherited.attributes : own,
            elements: others.isEmpty ? inherited.elements : others,
            anchors: anchors.map { String(decoding: bytes[$0.range], as: UTF8.self) } ?? inherited.anchors,
            transparency: transparency.map { String(decoding: bytes[$0.range], as: UTF8.self) }
                ?? (inherits ? inherited.transparency : nil))
        let hosts = config.elements.filter { $0.localName == "domain" }.compactMap(\.text).map { text in
            String(text.unicodeScalars.filter { $0.value > 0x20 }).lowercased()
        }
        return hosts.map { ($0, rest) }
            + config.elements.filter { $0.localName == "domain-config" }.flatMap { rests(of: $0, inherited: rest) }
    }
}
