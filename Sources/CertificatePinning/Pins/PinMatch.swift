package import CertificateTrust

/// A pin and the position in the path where it matches.
public struct PinMatch: Sendable, Hashable {
    /// The pin.
    public let pin: Pin
    /// The index of the matching certificate in the path. 0 is the leaf.
    public let index: Int
    /// The role of that certificate: leaf, intermediate or root.
    public let role: PinRole
}

extension [Pin] {
    /// Returns every pin that matches the path at a position its role covers, in the order of the path.
    func matches(on path: VerifiedPath) -> [PinMatch] {
        let count = path.certificates.count
        return path.certificates.enumerated().flatMap { index, certificate in
            let fingerprints = fingerprints(of: certificate)
            return filter { $0.role.covers(index: index, of: count) && fingerprints.contains($0.fingerprint) }
                .map { PinMatch(pin: $0, index: index, role: PinRole(index: index, of: count)) }
        }
    }

    /// Returns the objects of a certificate that these pins can match: its key, and the certificate itself if one of
    /// the pins is for a certificate.
    package func fingerprints(of certificate: X509Certificate) -> [PinFingerprint] {
        let key = PinFingerprint.publicKey(certificate.spkiFingerprint)
        let namesCertificates = contains { if case .certificate = $0.fingerprint { true } else { false } }
        return namesCertificates ? [key, .certificate(certificate.fingerprint)] : [key]
    }
}

extension PinningRule {
    /// Returns the required roles in which none of these matches is located, or `nil` if the requirement is met.
    func unmetRoles(_ matches: [PinMatch], on path: VerifiedPath) -> [PinRole]? {
        let roles: [PinRole] =
            switch requirement {
            case .any: [.any]
            case .eachOf(let roles): PinRole.allCases.filter(roles.contains)
            }
        let unmet = roles.filter { role in
            !matches.contains { role.covers(index: $0.index, of: path.certificates.count) }
        }
        return unmet.isEmpty ? nil : unmet
    }
}

extension PinMatch: CustomStringConvertible {
    /// The pin and the position that it matches.
    public var description: String { "\(pin) matches the \(role.rawValue)" }
}
