import CertificatePinning
import CertificateTrust
import PinctlBasics

/// The certificates of the given chains, and the names of pins and keys.
///
/// Two keys with the same name, such as the certificate of a host and its successor, are told apart by the beginning of
/// their digests.
struct KnownNames: Sendable {
    private var subjects: [SPKIFingerprint: (name: String, isAuthority: Bool)] = [:]
    private(set) var certificates: Set<X509Certificate> = []
    /// The pins by the name that they have in their files, or by the empty name.
    private var pins: [String: Set<PinnedKey>] = [:]

    /// A pinned object, whatever its name and role are.
    private struct PinnedKey: Hashable {
        let content: CanonicalPin.Content
        let digest: CanonicalPin.Digest
        let value: [UInt8]

        init(_ pin: CanonicalPin) { (content, digest, value) = (pin.content, pin.digest, pin.value) }
    }

    mutating func add(_ certificates: [X509Certificate]) {
        for certificate in certificates {
            let name = certificate.subject.commonName ?? certificate.subject.description
            subjects[certificate.spkiFingerprint] = (name, certificate.isCertificateAuthority)
            self.certificates.insert(certificate)
        }
    }

    /// Adds the pins of releases, whose names have to differ.
    mutating func add(_ pins: [CanonicalPin]) {
        for pin in pins { self.pins[pin.name ?? "", default: []].insert(PinnedKey(pin)) }
    }

    /// Adds the subjects of other chains, but not their certificates.
    mutating func add(_ other: KnownNames) { subjects.merge(other.subjects) { known, _ in known } }

    func issuer(of certificate: X509Certificate) -> String {
        certificate.issuer.commonName ?? certificate.issuer.description
    }

    func title(_ certificate: X509Certificate) -> String {
        certificate.subject.commonName ?? certificate.subject.description
    }

    /// Returns the pin's name, or else the subject of its key, or else the pin.
    func title(_ pin: CanonicalPin) -> String {
        let (name, beginning) = label(pin)
        return beginning.map { "\(name) (\($0))" } ?? name
    }

    /// Returns the name of a pin, and the beginning of its digest if other pins have the same name.
    func label(_ pin: CanonicalPin) -> (name: String, beginning: String?) {
        guard let name = pin.name ?? subject(of: pin).map({ "CN=\($0.name)" }) else { return (pin.description, nil) }
        let key = PinnedKey(pin)
        let others = (pins[name] ?? []).union(pin.name == nil ? namesakes(of: pin) : []).subtracting([key])
        guard !others.isEmpty else { return (name, nil) }
        let digest = pin.digest == .full ? sha256Digest(pin.value.span) : pin.value
        return (
            name, "\(pin.digest == .full ? "sha256" : pin.digest.rawValue)/\(Base64.encode(digest.span).prefix(8))…"
        )
    }

    /// Returns the pins without a name of their own whose keys have the same subject.
    private func namesakes(of pin: CanonicalPin) -> Set<PinnedKey> {
        guard let name = subject(of: pin)?.name else { return [] }
        return (pins[""] ?? []).filter { other in
            let other = CanonicalPin(other.content, other.digest, other.value)
            return subject(of: other)?.name == name
        }
    }

    func isAuthority(_ pin: CanonicalPin) -> Bool { subject(of: pin)?.isAuthority ?? false }

    /// Returns whether a certificate of the chains, or its key, is the pinned one.
    func has(_ pin: CanonicalPin) -> Bool { certificates.contains { pin.matches($0) } }

    private func subject(of pin: CanonicalPin) -> (name: String, isAuthority: Bool)? {
        guard pin.content == .publicKey, pin.digest == .sha256,
            let fingerprint = SPKIFingerprint("sha256/" + Base64.encode(pin.value.span))
        else { return nil }
        return subjects[fingerprint]
    }
}
