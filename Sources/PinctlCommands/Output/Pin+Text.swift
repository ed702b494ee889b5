import CertificatePinning
import CertificateTrust
import PinctlBasics

extension RequiredGroup {
    /// The finding in one line.
    var finding: String {
        let found =
            used.map { "the key exchange uses \($0)" }
            ?? "\(version) is used, in which the key exchange isn't known in time"
        return "\(found), but \(name) is required"
    }
}

extension VerifiedPath {
    /// The certificates with the roles of their positions, leaf first.
    var roles: [(PinRole, X509Certificate)] {
        certificates.enumerated().map { (PinRole(index: $0, of: certificates.count), $1) }
    }
}

extension Pin {
    /// The name of the pin, or else the pin itself.
    var title: String { name ?? fingerprint.description }
}

extension PinningRule {
    /// The position of the rule, or `--pin`.
    var origin: String { location.map { "policy \($0)" } ?? "--pin" }
}

extension PinMismatch {
    /// The number of matching pins, and the required roles without a match.
    var finding: String {
        let count = "\(Set(matches.map(\.pin)).count) of \(rule.pins.count) pins match"
        return unmetRoles == [.any]
            ? count : "no match as \(unmetRoles.map(\.rawValue).joined(separator: " and ")), \(count)"
    }
}
