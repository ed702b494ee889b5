import Basics
public import CertificatePinning
import CertificateTrust

/// A pin as dialects define it: of a key or a certificate, by one of several digests.
///
/// Two pins are equal regardless of their positions in files.
public struct CanonicalPin: Sendable, Hashable {
    /// The object that a pin identifies.
    @nonexhaustive
    public enum Content: String, Sendable, Hashable, CaseIterable {
        /// A DER-encoded SubjectPublicKeyInfo.
        case publicKey
        /// A whole DER-encoded certificate.
        case certificate
    }

    /// The digest that identifies the pinned object.
    @nonexhaustive
    public enum Digest: String, Sendable, Hashable, CaseIterable {
        /// SHA-1, 20 bytes. Only OkHttp supports it.
        case sha1
        /// SHA-256, 32 bytes.
        case sha256
        /// SHA-512, 64 bytes. Only TLSA supports it.
        case sha512
        /// The object itself, without a digest.
        case full
    }

    /// The trust that a match needs in addition to the pin.
    @nonexhaustive
    public enum Trust: String, Sendable, Hashable, CaseIterable {
        /// The chain must be trusted (PKIX).
        case chain
        /// The pin alone is enough: DANE-TA and DANE-EE (RFC 7671, section 5).
        case pinAlone
    }

    /// The object that the pin identifies.
    public var content: Content
    /// The digest that identifies the object.
    public var digest: Digest
    /// The digest, or the object itself.
    public var value: [UInt8]
    /// The positions on the path at which the pin counts.
    public var role: PinRole
    /// The trust that a match needs in addition to the pin.
    public var trust: Trust
    /// Whether the pin is a backup for later use.
    public var isBackup: Bool
    /// The name of the pin in messages.
    public var name: String?
    /// The position in the file, if the dialect's reader provides it.
    package var location: PolicyLocation?

    /// Creates a pin without checking it.
    public init(
        _ content: Content = .publicKey, _ digest: Digest = .sha256, _ value: [UInt8], role: PinRole = .any,
        trust: Trust = .chain, isBackup: Bool = false, name: String? = nil
    ) {
        self.content = content
        self.digest = digest
        self.value = value
        self.role = role
        self.trust = trust
        self.isBackup = isBackup
        self.name = name
    }
}

extension CanonicalPin {
    /// Compares two pins without their positions.
    public static func == (left: CanonicalPin, right: CanonicalPin) -> Bool {
        left.content == right.content && left.digest == right.digest && left.value == right.value
            && left.role == right.role && left.trust == right.trust && left.isBackup == right.isBackup
            && left.name == right.name
    }

    /// Hashes the pin without its position.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(content)
        hasher.combine(digest)
        hasher.combine(value)
        hasher.combine(role)
        hasher.combine(trust)
        hasher.combine(isBackup)
        hasher.combine(name)
    }
}

extension CanonicalPin: CustomStringConvertible {
    /// A text such as `sha256/BASE64`, with the prefix `cert-` for a certificate.
    public var description: String {
        (content == .certificate ? "cert-" : "") + digest.rawValue + "/" + Base64.encode(value.span)
    }
}
