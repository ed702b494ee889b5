import CertificatePinning

/// Replaces the domain-configs of a file that hold pins.
struct AndroidConfigReplacement {
    private let bytes: [UInt8]
    private let path: String
    private let root: XMLElement

    init(_ bytes: [UInt8], path: String) throws(DialectWriteError) {
        do throws(MarkupProblem) {
            root = try XMLReader.read(bytes)
        } catch {
            throw DialectWriteError(error.message, at: PolicyLocation(path: path, error.position))
        }
        guard root.localName == "network-security-config" else {
            throw DialectWriteError(
                "the first element is no network-security-config: give it that name",
                at: PolicyLocation(path: path, root.position))
        }
        self.bytes = bytes
        self.path = path
    }

    func result(_ policy: CanonicalPolicy) throws(DialectWriteError) -> [UInt8] {
        let old = root.elements.filter { $0.localName == "domain-config" && Self.holdsPins($0) }
        let kept = old.flatMap { rests(of: $0, inherited: AndroidConfigWriter.Rest()) }
        let named = Set(policy.rules.flatMap(\.patterns).map(\.host))
        for (host, rest) in kept where !named.contains(host) && !(rest.attributes.isEmpty && rest.elements.isEmpty) {
            throw DialectWriteError(
                "\(quoted(host)) has settings that are not about pins, and no rule: "
                    + "give it a domain-config without a pin-set",
                at: old.first.map { PolicyLocation(path: path, $0.position) })
        }
        let byHost = Dictionary(kept, uniquingKeysWith: { first, _ in first })
        func configs(indent: String) throws(DialectWriteError) -> String {
            try AndroidConfigWriter.domainConfigs(policy, indent: indent) { rule in
                rule.patterns.compactMap { byHost[$0.host] }.first ?? AndroidConfigWriter.Rest()
            }.joined(separator: "\n")
        }
        var edit = MarkupEdit(bytes, usualStep: "    ")
        if let first = old.first {
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

    private static func holdsPins(_ config: XMLElement) -> Bool {
        config.elements.contains { $0.localName == "pin-set" || $0.localName == "domain-config" && holdsPins($0) }
    }

    /// What a config and those inside it say of each host that is not about pins.
    private func rests(
        of config: XMLElement, inherited: AndroidConfigWriter.Rest
    ) -> [(String, AndroidConfigWriter.Rest)] {
        let own = config.attributes.map { " \($0.name)=\"\(escapedXML($0.value))\"" }.joined()
        let about: Set = ["domain", "pin-set", "trust-anchors", "trustkit-config", "domain-config"]
        let others = config.elements.filter { !about.contains($0.localName) }
            .map { String(decoding: bytes[$0.range], as: UTF8.self) }
        let rest = AndroidConfigWriter.Rest(
            attributes: own.isEmpty ? inherited.attributes : own,
            elements: others.isEmpty ? inherited.elements : others)
        let hosts = config.elements.filter { $0.localName == "domain" }.compactMap(\.text).map { text in
            String(text.unicodeScalars.filter { $0.value > 0x20 }).lowercased()
        }
        return hosts.map { ($0, rest) }
            + config.elements.filter { $0.localName == "domain-config" }.flatMap { rests(of: $0, inherited: rest) }
    }
}
