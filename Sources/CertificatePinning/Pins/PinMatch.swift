package import CertificateTrust

/// The match of a pin at a position in a path.
public struct PinMatch: Sendable, Hashable {
    /// The pin.
    public let pin: Pin
    /// The index of the matching certificate in the path. 0 is the leaf.
    public let index: Int
    /// The role of the matching certificate: leaf, intermediate or root.
    public let role: PinRole
}

extension [Pin] {
    /// Returns the objects of a certificate that these pins can match: its key, and the certificate itself if one of
    /// the pins is for a certificate.
    package func fingerprints(of certificate: X509Certificate) -> [PinFingerprint] {
        let kinds: [CanonicalPin.Content] =
            contains { $0.kind == .certificate } ? [.publicKey, .certificate] : [.publicKey]
        return kinds.compactMap { Pin.value(of: certificate, $0) }
    }
}

extension PinMatch: CustomStringConvertible {
    /// The pin and the position that it matches.
    public var description: String { "\(pin) matches the \(role.rawValue)" }
}
