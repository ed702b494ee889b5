public import CertificateTrust
import PinctlBasics

/// The fingerprint of what a pin names: a key, or one certificate.
@nonexhaustive
public enum PinFingerprint: Sendable, Hashable {
    /// The SHA-256 of a SubjectPublicKeyInfo, written `sha256/BASE64`. It stays valid when a renewed certificate keeps
    /// the key.
    case publicKey(SPKIFingerprint)
    /// The SHA-256 of a whole certificate, written `cert-sha256/BASE64`. It is valid for this certificate alone.
    case certificate(CertificateFingerprint)
}

extension PinFingerprint: CustomStringConvertible {
    /// `sha256/BASE64` or `cert-sha256/BASE64`.
    public var description: String {
        switch self {
        case .publicKey(let fingerprint): fingerprint.description
        case .certificate(let fingerprint): fingerprint.description
        }
    }
}

/// A key or certificate that may appear in a server's verified path.
public struct Pin: Sendable, Hashable {
    /// The fingerprint of the key or certificate.
    public let fingerprint: PinFingerprint
    /// The positions in the path where the pin counts.
    public let role: PinRole
    /// Whether the pin is a backup for later use. Nothing that a server presents today should match it.
    public let isBackup: Bool
    /// The name that messages use for the pin, if any.
    public let name: String?
    /// A note for readers of the policy.
    public let note: String?
    /// The file that has the pinned key, or should have it.
    package internal(set) var from: String?

    /// Creates a pin for a key or certificate.
    public init(
        _ fingerprint: PinFingerprint, role: PinRole = .any, isBackup: Bool = false, name: String? = nil,
        note: String? = nil
    ) {
        self.fingerprint = fingerprint
        self.role = role
        self.isBackup = isBackup
        self.name = name
        self.note = note
    }

    /// Parses a pin from `sha256/BASE64` or `cert-sha256/BASE64`, canonical base64 of 32 bytes.
    public init(
        _ text: String, role: PinRole = .any, isBackup: Bool = false, name: String? = nil, note: String? = nil
    ) throws(PinTextError) {
        let fingerprint = try PinFingerprint(text)
        self.init(fingerprint, role: role, isBackup: isBackup, name: name, note: note)
    }
}

extension Pin: CustomStringConvertible {
    /// The fingerprint, the role, and what else is known, such as `sha256/… leaf backup "next key"`.
    public var description: String {
        "\(fingerprint) \(role.rawValue)" + (isBackup ? " backup" : "") + (name.map { " \(quoted($0))" } ?? "")
    }
}
