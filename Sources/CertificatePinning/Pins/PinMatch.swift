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

/// The certificates of a path, with the fingerprints of the one that pins are compared with. Each is computed once for
/// all pins.
struct PathFingerprints {
    private let certificates: [X509Certificate]
    private var index = 0
    private var key: SPKIFingerprint?
    private var whole: CertificateFingerprint?

    init(_ certificates: [X509Certificate]) { self.certificates = certificates }

    /// Returns whether a pin is that of the certificate at an index, or of its key.
    mutating func hasMatch(_ pin: Pin, at index: Int) -> Bool {
        if index != self.index { (self.index, key, whole) = (index, nil, nil) }
        switch pin.fingerprint {
        case .publicKey(let pinned):
            let found = key ?? certificates[index].spkiFingerprint
            key = found
            return found == pinned
        case .certificate(let fingerprint):
            let found = whole ?? certificates[index].fingerprint
            whole = found
            return found == fingerprint
        }
    }
}

extension [Pin] {
    /// Returns the objects of a certificate that these pins can match: its key, and the certificate itself if one of
    /// the pins is for a certificate.
    package func fingerprints(of certificate: X509Certificate) -> [PinFingerprint] {
        let key = PinFingerprint.publicKey(certificate.spkiFingerprint)
        let namesCertificates = contains { if case .certificate = $0.fingerprint { true } else { false } }
        return namesCertificates ? [key, .certificate(certificate.fingerprint)] : [key]
    }
}

extension PinMatch: CustomStringConvertible {
    /// The pin and the position that it matches.
    public var description: String { "\(pin) matches the \(role.rawValue)" }
}
