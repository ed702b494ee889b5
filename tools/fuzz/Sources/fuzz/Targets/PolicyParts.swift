import FoundationEssentials

@testable import CertificatePinning
@testable import CertificateTrust

/// What scripts build pins and rules from.
struct PolicyParts: Sendable {
    let hosts: [String]
    let ports: [Int]
    /// The certificates that can be pinned. All but the first are also the roots under which pins can apply.
    let certificates: [X509Certificate]
    /// The moments at which a rule can expire, in seconds since 1970. At most 255.
    let ends: [Double]
    private let stores: [TrustStore?]

    init(hosts: [String], ports: [Int], certificates: [X509Certificate], ends: [Double]) {
        self.hosts = hosts
        self.ports = ports
        self.certificates = certificates
        self.ends = ends
        stores = [nil, nil] + certificates.dropFirst().map { TrustStore(certificates: [$0]) }
    }

    /// A pin of a certificate or its key, or of a key that nobody has.
    func pin(_ script: inout Script) -> Pin {
        let certificate = script.element(of: certificates)
        let fingerprint: PinFingerprint =
            switch script.number(below: 4) {
            case 0: .publicKey(SPKIFingerprint(hashing: [0].span))
            case 1: .certificate(certificate.fingerprint)
            default: .publicKey(certificate.spkiFingerprint)
            }
        return Pin(fingerprint, role: script.element(of: PinRole.allCases), isBackup: script.isChosen())
    }

    /// A rule, which may be invalid in a policy.
    func rule(_ script: inout Script) -> PinningRule {
        guard let host = try? ServerName(script.element(of: hosts)) else { preconditionFailure("a name was refused") }
        let flags = script.byte()
        let expiries: [PinningExpiry?] =
            [nil]
            + ends.map { end in
                PinningExpiry(
                    at: Date(timeIntervalSince1970: end), then: PinningExpiry.Action.allCases[Int(flags >> 2) % 3])
            }
        let roles = Set(script.subset(of: PinRole.allCases))
        return PinningRule(
            host: host, includesSubdomains: flags & 1 == 1,
            ports: flags & 2 == 2 ? Set(script.subset(of: ports)) : nil,
            pins: (0..<script.number(below: 4)).map { _ in pin(&script) },
            requirement: roles.isEmpty ? .any : .eachOf(roles), mode: script.element(of: PinningMode.allCases),
            expiry: script.element(of: expiries), pinsApplyOnlyUnder: script.element(of: stores))
    }
}
