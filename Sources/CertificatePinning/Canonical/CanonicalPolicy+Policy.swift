import CertificateTrust
import PinctlBasics
import PinctlFoundation

extension CanonicalPolicy {
    /// Creates a canonical policy from a policy of this project.
    public init(_ policy: PinningPolicy) {
        self.init(
            rules: policy.rules.map(CanonicalRule.init), combination: .closest,
            denied: policy.deny.map(CanonicalPin.init),
            unlisted: policy.unlisted)
    }

    /// Creates a canonical policy from a policy file, with the names of its root files and the positions of its pins.
    package init(_ file: PolicyFile) {
        self.init(file.policy)
        // The file had no problems, so there is a rule for each element.
        for (index, value) in (file.root["domains"]?.elements ?? []).enumerated() where rules.indices.contains(index) {
            for (pin, element) in (value["pins"]?.elements ?? []).enumerated()
            where rules[index].pins.indices.contains(pin) {
                let definition = element.string.flatMap { name in file.root["pins"]?[name] } ?? element
                rules[index].pins[pin].location = PolicyLocation(path: file.path, definition.position)
                rules[index].pins[pin].note = definition["note"]?.string
            }
            guard let anchors = value["anchors"] else { continue }
            let bypasses = value["localAnchorsBypassPins"]?.bool ?? false
            let files = (anchors["files"]?.elements ?? []).compactMap(\.string)
            rules[index].anchors = files.map { AnchorSet(file: $0, bypassesPins: bypasses) }
            if anchors["system"]?.bool == true || anchors.string == "system" {
                rules[index].anchors?.append(AnchorSet("system"))
            }
        }
    }
}

extension CanonicalRule {
    fileprivate init(_ rule: PinningRule) {
        self.init(
            patterns: rule.patterns, ports: rule.ports, pins: rule.pins.map(CanonicalPin.init),
            requirement: rule.requirement, mode: rule.mode,
            // Rounded up, so that the rule doesn't expire before the policy's own.
            expiry: rule.expiry.map { RuleExpiry(.instant($0.end.secondsSince1970(rounded: .up)), $0.action) },
            anchors: rule.anchors.map { _ in [AnchorSet("in code")] },
            certificateTransparency: rule.certificateTransparency, reports: rule.reports.map(\.absoluteString),
            note: rule.note, location: rule.location)
        ownsPublicSuffix = rule.ownsPublicSuffix
        stores = RuleStores(anchors: rule.anchors, pinsApplyOnlyUnder: rule.pinsApplyOnlyUnder)
    }
}

extension CanonicalPin {
    /// Creates a canonical pin from a pin of this project.
    package init(_ pin: Pin) {
        switch pin.fingerprint {
        case .publicKey(let fingerprint): self.init(.publicKey, .sha256, Array(copying: fingerprint.bytes.span))
        case .certificate(let fingerprint): self.init(.certificate, .sha256, Array(copying: fingerprint.bytes.span))
        }
        role = pin.role
        isBackup = pin.isBackup
        name = pin.name
        from = pin.from
    }
}
