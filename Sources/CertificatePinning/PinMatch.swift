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

extension PinningRule {
    /// Every pin that stands on the path in a place its role covers, in the order of the path.
    func matches(on path: VerifiedPath) -> [PinMatch] {
        let count = path.certificates.count
        return path.certificates.enumerated().flatMap { index, certificate in
            pins.filter { $0.role.covers(index: index, of: count) && $0.object.isObject(of: certificate) }
                .map { PinMatch(pin: $0, index: index, role: PinRole(index: index, of: count)) }
        }
    }

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

extension PinnedObject {
    package func isObject(of certificate: X509Certificate) -> Bool {
        switch self {
        case .publicKey(let fingerprint): fingerprint == certificate.spkiFingerprint
        case .certificate(let fingerprint): fingerprint == certificate.fingerprint
        }
    }
}
