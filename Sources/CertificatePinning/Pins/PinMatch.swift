package import CertificateTrust

/// A pin, and where on the path it matches.
public struct PinMatch: Sendable, Hashable {
    /// The pin.
    public let pin: Pin
    /// The certificate on the path, 0 is the leaf.
    public let index: Int
    /// What that certificate is: leaf, intermediate or root.
    public let role: PinRole
}

extension [Pin] {
    /// Every pin that stands on the path in a place its role covers, in the order of the path.
    func matches(on path: VerifiedPath) -> [PinMatch] {
        let count = path.certificates.count
        return path.certificates.enumerated().flatMap { index, certificate in
            let objects = objects(of: certificate)
            return filter { $0.role.covers(index: index, of: count) && objects.contains($0.object) }
                .map { PinMatch(pin: $0, index: index, role: PinRole(index: index, of: count)) }
        }
    }

    /// What these pins may name in a certificate: its key, and the whole of it where one is of that kind.
    package func objects(of certificate: X509Certificate) -> [PinnedObject] {
        let key = PinnedObject.publicKey(certificate.spkiFingerprint)
        let namesCertificates = contains { if case .certificate = $0.object { true } else { false } }
        return namesCertificates ? [key, .certificate(certificate.fingerprint)] : [key]
    }
}

extension PinningRule {
    /// The required roles in which none of these matches stands; nil when the requirement is met.
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
