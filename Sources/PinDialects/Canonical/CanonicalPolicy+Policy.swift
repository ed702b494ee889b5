public import CertificatePinning
import CertificateTrust

extension CanonicalPolicy {
    /// What a policy of this project says.
    public init(_ policy: PinningPolicy) {
        self.init(
            rules: policy.rules.map(CanonicalRule.init), combination: .closest, unlisted: policy.unlisted)
    }
}

extension CanonicalRule {
    fileprivate init(_ rule: PinningRule) {
        self.init(
            patterns: [HostPattern(rule.host.description, rule.includesSubdomains ? .exactAndBelow : .exact)],
            ports: rule.ports, pins: rule.pins.map(CanonicalPin.init), requirement: rule.requirement, mode: rule.mode,
            note: rule.note, location: rule.location)
    }
}

extension CanonicalPin {
    /// A pin of this project.
    public init(_ pin: Pin) {
        switch pin.object {
        case .publicKey(let fingerprint): self.init(.publicKey, .sha256, Array(copying: fingerprint.bytes.span))
        case .certificate(let fingerprint): self.init(.certificate, .sha256, Array(copying: fingerprint.bytes.span))
        }
        role = pin.role
        isBackup = pin.isBackup
        name = pin.name
    }
}
