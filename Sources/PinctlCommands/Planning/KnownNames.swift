import CertificatePinning
import CertificateTrust
import PinctlBasics

/// The certificates of the given chains, and the names of pins and keys.
///
/// Two keys with the same name, such as the certificate of a host and its successor, are told apart by the beginning of
/// their digests.
struct KnownNames: Sendable {
    private var subjects: [SPKIFingerprint: (name: String, isAuthority: Bool)] = [:]
    /// The certificates of the given chains.
    private(set) var certificates: Set<X509Certificate> = []
    /// These and others, of which only names and keys matter.
    private var others: Set<X509Certificate> = []
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
        self.certificates.formUnion(certificates)
        addSubjects(of: certificates)
    }

    /// Adds the subjects of certificates that aren't in the given chains.
    mutating func addSubjects(of certificates: some Collection<X509Certificate>) {
        for certificate in certificates where others.insert(certificate).inserted {
            let known = subjects[certificate.spkiFingerprint]
            subjects[certificate.spkiFingerprint] = (
                known?.name ?? title(certificate), certificate.isCertificateAuthority || known?.isAuthority ?? false
            )
        }
    }

    /// Adds the pins of releases, whose names have to differ.
    mutating func add(_ pins: [CanonicalPin]) {
        for pin in pins { self.pins[pin.name ?? "", default: []].insert(PinnedKey(pin)) }
    }

    /// Adds the subjects of other chains.
    mutating func addSubjects(of other: KnownNames) { addSubjects(of: other.others) }

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

    /// Returns whether a pin is one of a CA, or `nil` if neither its role nor a certificate shows it.
    func isAuthority(_ pin: CanonicalPin) -> Bool? {
        guard pin.role.covers(index: 0, of: 3) else { return true }
        guard pin.role != .leaf else { return false }
        if let subject = subject(of: pin) { return subject.isAuthority }
        if let key = pin.spkiFingerprint, PublicRoots.names[key] != nil { return true }
        if pin.content == .certificate, pin.digest == .full {
            return (try? X509Certificate(derBytes: pin.value))?.isCertificateAuthority
        }
        let owners = others.filter(pin.matches)
        return owners.isEmpty ? nil : owners.contains(where: \.isCertificateAuthority)
    }

    /// Returns whether a certificate of the chains, or its key, is the pinned one.
    func has(_ pin: CanonicalPin) -> Bool { certificates.contains { pin.matches($0) } }

    private func subject(of pin: CanonicalPin) -> (name: String, isAuthority: Bool)? {
        pin.spkiFingerprint.flatMap { subjects[$0] }
    }
}
