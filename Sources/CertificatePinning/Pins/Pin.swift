public import CertificateTrust

/// What a pin names: a key, or one certificate.
@nonexhaustive
public enum PinnedObject: Sendable, Hashable {
    /// The SHA-256 of a SubjectPublicKeyInfo, written `sha256/BASE64`: it outlives renewals that keep the key.
    case publicKey(SPKIFingerprint)
    /// The SHA-256 of a whole certificate, written `cert-sha256/BASE64`: it ends with the certificate.
    case certificate(CertificateFingerprint)
}

extension PinnedObject: CustomStringConvertible {
    /// `sha256/BASE64` or `cert-sha256/BASE64`.
    public var description: String {
        switch self {
        case .publicKey(let fingerprint): fingerprint.description
        case .certificate(let fingerprint): fingerprint.description
        }
    }
}

/// One thing that may stand on a server's verified path.
public struct Pin: Sendable, Hashable {
    /// The key or certificate.
    public let object: PinnedObject
    /// Where on the path it counts.
    public let role: PinRole
    /// Whether it is kept for later: nothing that is served today should match it.
    public let isBackup: Bool
    /// What messages call it.
    public let name: String?
    /// A remark for people.
    public let note: String?
    /// The file whose key it is, or should be.
    package internal(set) var from: String?

    /// Pins a key or certificate.
    public init(
        _ object: PinnedObject, role: PinRole = .any, isBackup: Bool = false, name: String? = nil,
        note: String? = nil
    ) {
        self.object = object
        self.role = role
        self.isBackup = isBackup
        self.name = name
        self.note = note
    }

    /// Pins what a text names, `sha256/BASE64` or `cert-sha256/BASE64`: canonical base64 of 32 bytes.
    public init(
        _ text: String, role: PinRole = .any, isBackup: Bool = false, name: String? = nil, note: String? = nil
    ) throws(PinTextError) {
        let object = try PinnedObject(text)
        self.init(object, role: role, isBackup: isBackup, name: name, note: note)
    }
}
