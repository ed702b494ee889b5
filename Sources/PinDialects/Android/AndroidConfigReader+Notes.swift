import CertificatePinning
import CertificateTrust
import PinctlBasics

// Notes about settings that a reader of the file may misunderstand.

extension AndroidConfigReader {
    /// The elements that Android and TrustKit-Android know, each with the elements in which they read it.
    static let parents: [String: [String]] = [
        "base-config": ["network-security-config"],
        "domain-config": ["network-security-config", "domain-config"],
        "debug-overrides": ["network-security-config"],
        "domain": ["domain-config"], "pin-set": ["domain-config"], "pin": ["pin-set"],
        "trust-anchors": ["base-config", "domain-config", "debug-overrides"], "certificates": ["trust-anchors"],
        "certificateTransparency": ["base-config", "domain-config"],
        "domainEncryption": ["base-config", "domain-config"],
        "trustkit-config": ["domain-config"], "report-uri": ["trustkit-config"],
    ]
    /// The attributes about pins and hosts, each with the element on which it is read.
    private static let owners = [
        "includeSubdomains": "domain", "expiration": "pin-set", "digest": "pin", "src": "certificates",
        "overridePins": "certificates", "enabled": "certificateTransparency", "mode": "domainEncryption",
        "enforcePinning": "trustkit-config", "disableDefaultReportUri": "trustkit-config",
        cleartextName: "base-config or domain-config",
    ]
    static let cleartextName = "cleartextTrafficPermitted"

    mutating func note(
        _ direction: SecurityDirection, _ message: String, _ position: SourcePosition?, _ rule: LintRule?,
        _ severity: LintFinding.Severity? = nil
    ) {
        guard let position else { return }
        notes.append(
            ConversionNote(
                .quirk, direction, message, at: PolicyLocation(path: path, position), rule: rule, severity: severity))
    }

    /// Notes an element that Android ignores with all of its contents, and suggests the element that may have been
    /// meant, or where the element belongs.
    mutating func noteUnknown(_ element: XMLElement, in parent: XMLElement) {
        let name = element.localName
        let what = "\(quoted(name)) in \(parent.localName) is ignored with all of its contents"
        if let parents = Self.parents[name] {
            note(.either, "\(what): move it to \(alternatives(parents))", element.position, .misplacedSetting)
        } else if let owner = Self.owners[name] {
            note(.either, "\(what): make it an attribute of \(owner)", element.position, .misplacedSetting)
        } else if let meant = suggestion(for: name, among: Self.parents.keys.sorted()) {
            note(.weaker, "\(what): did you mean \(meant)?", element.position, .ignoredSetting)
        } else {
            let holdsPins = Self.holdsPins(element)
            note(
                holdsPins ? .weaker : .unchanged,
                "\(what): \(holdsPins ? "move it to the right element" : "remove it")", element.position,
                holdsPins ? .ignoredSetting : nil)
        }
    }

    private static func holdsPins(_ element: XMLElement) -> Bool {
        element.elements.contains { $0.localName == "pin" || holdsPins($0) }
    }

    /// Notes attributes and text that Android ignores.
    mutating func noteExtras(of element: XMLElement, besides known: Set<String>) {
        if element.hasLooseText, !["domain", "pin", "report-uri"].contains(element.localName) {
            note(
                .weaker, "the text in this \(element.localName) is ignored: put it into an element",
                element.position, .ignoredSetting)
        }
        for attribute in element.attributes where !known.contains(attribute.name) && !isPlumbing(attribute.name) {
            noteExtra(attribute, of: element, besides: known)
        }
    }

    private mutating func noteExtra(
        _ attribute: XMLElement.Attribute, of element: XMLElement, besides known: Set<String>
    ) {
        let name = quoted(attribute.name)
        if attribute.name == "hstsEnforced" {
            note(.unchanged, "\(name) doesn't affect pins", attribute.position, nil)
        } else if let owner = Self.owners[attribute.name] {
            note(
                .either, "\(name) of \(element.localName) is ignored: move it to \(owner)", attribute.position,
                .misplacedSetting)
        } else if Self.parents[attribute.name] != nil {
            note(
                .weaker, "\(name) of \(element.localName) is ignored: make it an element", attribute.position,
                .misplacedSetting)
        } else {
            let meant = suggestion(for: attribute.name, among: known)
            note(
                meant == nil ? .unchanged : .weaker,
                "\(name) is ignored" + (meant.map { ": did you mean \($0)?" } ?? ""), attribute.position,
                meant.map { _ in .ignoredSetting })
        }
    }

    private func isPlumbing(_ name: String) -> Bool {
        name == "xmlns" || name.hasPrefix("xmlns:") || name.hasPrefix("tools:")
    }
}
