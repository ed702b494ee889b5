public import CertificatePinning
import CertificateTrust

/// A pin as dialects have it: of a key or a certificate, by one of several digests.
///
/// Two pins are equal wherever they are written.
public struct CanonicalPin: Sendable, Hashable {
    /// What is pinned.
    @nonexhaustive
    public enum Content: String, Sendable, Hashable, CaseIterable {
        /// A SubjectPublicKeyInfo, DER.
        case publicKey
        /// A whole certificate, DER.
        case certificate
    }

    /// How it is pinned.
    @nonexhaustive
    public enum Digest: String, Sendable, Hashable, CaseIterable {
        /// By 20 bytes: OkHttp alone takes it.
        case sha1
        /// By 32 bytes.
        case sha256
        /// By 64 bytes: TLSA alone.
        case sha512
        /// As it is, without a digest.
        case full
    }

    /// Whether a match needs a chain that is trusted besides.
    @nonexhaustive
    public enum Trust: String, Sendable, Hashable, CaseIterable {
        /// It does: PKIX.
        case chain
        /// The pin is all there is: DANE-TA and DANE-EE (RFC 7671, section 5).
        case pinAlone
    }

    /// What is pinned.
    public var content: Content
    /// How.
    public var digest: Digest
    /// The digest, or the content itself.
    public var value: [UInt8]
    /// Where on the path it counts.
    public var role: PinRole
    /// Whether a match needs a trusted chain.
    public var trust: Trust
    /// Whether it is kept for later.
    public var isBackup: Bool
    /// What messages call it.
    public var name: String?
    /// The place in the file, where its dialect's reader knows it.
    package var location: PolicyLocation?

    /// Makes a pin; nothing is checked.
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
    /// Compares all but the places of two pins.
    public static func == (left: CanonicalPin, right: CanonicalPin) -> Bool {
        left.content == right.content && left.digest == right.digest && left.value == right.value
            && left.role == right.role && left.trust == right.trust && left.isBackup == right.isBackup
            && left.name == right.name
    }

    /// Hashes all but the place.
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
    /// `sha256/BASE64`, and with `cert-` in front of it for a certificate.
    public var description: String {
        (content == .certificate ? "cert-" : "") + digest.rawValue + "/" + Base64.encode(value.span)
    }
}
