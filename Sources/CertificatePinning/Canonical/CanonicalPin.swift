package import CertificateTrust
import PinctlBasics

/// A pin as dialects define it: of a key or a certificate, by one of several digests.
///
/// Two pins are equal regardless of their positions in files, their notes and the files that they come from.
package struct CanonicalPin: Sendable, Hashable {
    /// The object that a pin identifies.
    package enum Content: String, Sendable, Hashable, CaseIterable {
        /// A DER-encoded SubjectPublicKeyInfo.
        case publicKey
        /// A whole DER-encoded certificate.
        case certificate
    }

    /// The digest that identifies the pinned object.
    package enum Digest: String, Sendable, Hashable, CaseIterable {
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
    package enum Trust: String, Sendable, Hashable, CaseIterable {
        /// The chain must be trusted (PKIX).
        case chain
        /// The pin alone is enough: DANE-TA and DANE-EE (RFC 7671, section 5).
        case pinAlone
    }

    /// The object that the pin identifies.
    package var content: Content
    /// The digest that identifies the object.
    package var digest: Digest
    /// The digest, or the object itself.
    package var value: [UInt8]
    /// The positions on the path at which the pin counts.
    package var role: PinRole
    /// The trust that a match needs in addition to the pin.
    package var trust: Trust
    /// Whether the pin is a backup for later use.
    package var isBackup: Bool
    /// The name of the pin in messages.
    package var name: String?
    /// The file that has the pinned key, or should have it. Only policies of this project can state this.
    package var from: String?
    /// A remark for people. Only merged policies have any.
    package var note: String?
    /// The position in the file, if the dialect's reader provides it.
    package var location: PolicyLocation?

    /// Creates a pin without checking it.
    package init(
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
    /// Compares two pins without their positions, notes and files.
    package static func == (left: CanonicalPin, right: CanonicalPin) -> Bool {
        left.content == right.content && left.digest == right.digest && left.value == right.value
            && left.role == right.role && left.trust == right.trust && left.isBackup == right.isBackup
            && left.name == right.name
    }

    /// Hashes the pin without its position, note and file.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(content)
        hasher.combine(digest)
        hasher.combine(value)
        hasher.combine(role)
        hasher.combine(trust)
        hasher.combine(isBackup)
        hasher.combine(name)
    }
}

extension CanonicalPin {
    /// The same pin without its name.
    package var unnamed: CanonicalPin {
        var pin = self
        pin.name = nil
        return pin
    }
}

extension CanonicalPin {
    /// The fingerprint of the pinned key, or `nil` for pins of certificates and with other digests.
    package var spkiFingerprint: SPKIFingerprint? {
        guard content == .publicKey, digest == .sha256, value.count == 32 else { return nil }
        return SPKIFingerprint(bytes: [32 of UInt8] { value[$0] })
    }
}

extension CanonicalPin: CustomStringConvertible {
    /// A text such as `sha256/BASE64`, with the prefix `cert-` for a certificate.
    package var description: String {
        (content == .certificate ? "cert-" : "") + digest.rawValue + "/" + Base64.encode(value.span)
    }
}

extension CanonicalPin.Digest {
    /// The length of the digest in bytes, or `nil` for the content itself.
    package var length: Int? {
        switch self {
        case .sha1: 20
        case .sha256: 32
        case .sha512: 64
        case .full: nil
        }
    }
}
