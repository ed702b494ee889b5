import CertificatePinning
import PinctlBasics

/// A change of a domain-config in place, which keeps everything that isn't about hosts or pins that change.
struct AndroidConfigChange {
    private let config: XMLElement
    private let pinSet: XMLElement
    /// The rule of the config as it is.
    private let there: CanonicalRule

    /// Returns `nil` if the config has no pin-set of its own, or Android rejects it.
    init?(_ config: XMLElement, _ rule: CanonicalRule?) {
        let pinSets = config.elements.filter { $0.localName == "pin-set" }
        guard let rule, pinSets.count == 1 else { return nil }
        self.config = config
        pinSet = pinSets[0]
        there = rule
    }

    /// Returns whether a rule needs no other settings than those of a config, besides its pins.
    static func keepsSettings(of there: CanonicalRule, _ rule: CanonicalRule) -> Bool {
        (rule.anchors == nil || rule.anchors == there.anchors)
            && [nil, there.certificateTransparency].contains(rule.certificateTransparency)
            && rule.reports == there.reports && rule.usesDefaultReport == there.usesDefaultReport
    }

    /// Changes the config to the rules of its hosts, and removes these from the policy.
    ///
    /// The config keeps the hosts whose rules are like that of its first one. The others leave it: their rules stay in
    /// the policy, if there are any. Returns false if the policy has no rule for any host of the config, or if a host
    /// without a rule would lose other settings.
    func apply(_ policy: inout CanonicalPolicy, _ edit: inout MarkupEdit) throws(DialectWriteError) -> Bool {
        let domains = config.elements.filter { $0.localName == "domain" }
        let rules = domains.map { domain in
            let host = Self.host(of: domain)
            return policy.rules.first { $0.patterns.contains { $0.host == host } }
        }
        guard let first = rules.compactMap(\.self).first, hasPinsAlone || rules.allSatisfy({ $0 != nil }) else {
            return false
        }
        var stays: Set<Int> = []
        for (domain, rule) in zip(domains, rules) {
            guard let rule, try isLike(rule, first) else { continue }
            stays.insert(domain.range.lowerBound)
            try setScope(of: domain, rule, &edit)
            policy.rules.removeAll { $0 == rule }
        }
        try replacePins(first, &edit)
        var gone: Set<Int> = []
        var added: [String] = []
        func set(_ name: String, _ lines: [String]) {
            let element = config.elements.first { $0.localName == name }
            if let element, !lines.isEmpty {
                let indent = edit.indentation(at: element.range.lowerBound) ?? ""
                edit.replace(element.range, with: lines.joined(separator: "\n" + indent))
            } else if let element {
                gone.insert(element.range.lowerBound)
            } else {
                added += lines
            }
        }
        if let anchors = first.anchors, anchors != there.anchors {
            set("trust-anchors", AndroidConfigWriter.anchors(first))
        }
        if let mode = first.certificateTransparency, mode != there.certificateTransparency {
            set("certificateTransparency", try AndroidConfigWriter.transparency(first).map { [$0] } ?? [])
        }
        if first.reports != there.reports || first.usesDefaultReport != there.usesDefaultReport {
            set("trustkit-config", AndroidConfigWriter.reports(first))
        }
        let isKept = config.elements.map { element in
            element.localName == "domain"
                ? stays.contains(element.range.lowerBound) : !gone.contains(element.range.lowerBound)
        }
        let all = config.elements.map(\.range)
        let items = edit.items(all, from: config.range.lowerBound, to: config.range.upperBound, .markup)
        edit.change(items, keeping: isKept, adding: [], .markup)
        if !added.isEmpty {
            try edit.append(to: config.range, name: config.name) { indent, _ in
                added.map { indent + $0 }.joined(separator: "\n")
            }
        }
        return true
    }

    /// Whether the config has nothing but hosts and pins.
    private var hasPinsAlone: Bool {
        config.attributes.isEmpty
            && config.elements.allSatisfy { ["domain", "pin-set", "trustkit-config"].contains($0.localName) }
    }

    /// Returns whether two rules can share a config.
    private func isLike(_ rule: CanonicalRule, _ other: CanonicalRule) throws(DialectWriteError) -> Bool {
        try AndroidConfigWriter.pinSet(rule) == AndroidConfigWriter.pinSet(other) && rule.anchors == other.anchors
            && rule.certificateTransparency == other.certificateTransparency && rule.reports == other.reports
            && rule.usesDefaultReport == other.usesDefaultReport
    }

    static func host(of domain: XMLElement) -> String {
        String((domain.text ?? "").unicodeScalars.filter { $0.value > 0x20 }).lowercased()
    }

    private func setScope(
        of domain: XMLElement, _ rule: CanonicalRule, _ edit: inout MarkupEdit
    ) throws(DialectWriteError) {
        guard let pattern = rule.patterns.first, !there.patterns.contains(pattern) else { return }
        let value = try AndroidConfigWriter.includesSubdomains(pattern, rule)
        set("includeSubdomains", of: domain, to: "\(value)", &edit)
    }

    /// Sets or removes an attribute.
    private func set(_ name: String, of element: XMLElement, to value: String?, _ edit: inout MarkupEdit) {
        let text = value.map { "\(name)=\"\(escapedXML($0))\"" }
        if let range = element[name]?.range {
            let blanks = edit.bytes[..<range.lowerBound].reversed().prefix(while: isXMLSpace).count
            let start = text == nil ? range.lowerBound - blanks : range.lowerBound
            edit.replace(start..<range.upperBound, with: text ?? "")
        } else if let text {
            let end = element.range.lowerBound + 1 + element.name.utf8.count
            edit.replace(end..<end, with: " " + text)
        }
    }

    /// Changes the pins of the pin-set, and its expiration, to those of a rule.
    func replacePins(_ rule: CanonicalRule, _ edit: inout MarkupEdit) throws(DialectWriteError) {
        _ = try AndroidConfigWriter.pinSet(rule)
        let wanted = rule.mode == .enforce ? rule.pins : []
        let expiration = pinSet["expiration"]
        if there.expiry != rule.expiry || there.pins.isEmpty && expiration != nil {
            set("expiration", of: pinSet, to: try AndroidConfigWriter.expiration(rule), &edit)
        }
        let old = pinSet.elements.map { $0.localName == "pin" ? Self.digest(of: $0) ?? [] : nil }
        let isKept = old.map { digest in digest.map { digest in wanted.contains { $0.value == digest } } ?? true }
        let new = wanted.filter { !old.contains($0.value) }.map(AndroidConfigWriter.pin)
        guard !pinSet.elements.isEmpty else {
            guard !new.isEmpty else { return }
            return try edit.append(to: pinSet.range, name: pinSet.name) { indent, _ in
                new.map { indent + $0 }.joined(separator: "\n")
            }
        }
        let all = pinSet.elements.map(\.range)
        let items = edit.items(all, from: pinSet.range.lowerBound, to: pinSet.range.upperBound, .markup)
        edit.change(items, keeping: isKept, adding: new.map { text in NewItem(text: { _ in text }) }, .markup)
    }

    private static func digest(of pin: XMLElement) -> [UInt8]? {
        LenientBase64.decode((pin.text ?? "").utf8.filter { !isXMLSpace($0) }, needsPadding: false)
    }
}
