import CertificatePinning
import CertificateTrust
import PinctlBasics

/// The certificates of the given chains, and the names of pins and keys.
///
/// Two keys with the same name, such as the certificate of a host and its successor, are told apart by the beginning of
/// their digests.
struct KnownNames: Sendable {
    private var subjects: [SPKIFingerprint: String] = [:]
    /// The certificates of the given chains.
    private(set) var certificates: Set<X509Certificate> = []
    /// Those that servers present as their own.
    private var leaves: Set<X509Certificate> = []
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

    /// Adds the certificates of a path or a chain, the leaf first.
    mutating func add(_ certificates: [X509Certificate]) {
        self.certificates.formUnion(certificates)
        leaves.formUnion(certificates.prefix(1))
        addSubjects(of: certificates)
    }

    /// Adds the subjects of certificates that aren't in the given chains.
    mutating func addSubjects(of certificates: some Collection<X509Certificate>) {
        for certificate in certificates where others.insert(certificate).inserted {
            let key = certificate.spkiFingerprint
            subjects[key] = subjects[key] ?? title(certificate)
        }
    }

    /// Adds the pins of releases, whose names have to differ.
    mutating func add(_ pins: [CanonicalPin]) {
        for pin in pins { self.pins[pin.name ?? "", default: []].insert(PinnedKey(pin)) }
    }

    /// Adds the subjects of other chains.
    mutating func addSubjects(of other: KnownNames) {
        leaves.formUnion(other.leaves)
        addSubjects(of: other.others)
    }

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
        guard let name = pin.name ?? subject(of: pin).map({ "CN=\($0)" }) else { return (pin.description, nil) }
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
        guard let name = subject(of: pin) else { return [] }
        return (pins[""] ?? []).filter { other in
            let other = CanonicalPin(other.content, other.digest, other.value)
            return subject(of: other) == name
        }
    }

    /// Returns whether a pin is one of a CA, or `nil` if neither its role nor a certificate shows it.
    ///
    /// A key that a server has for its own certificate isn't that of a CA, whatever the role of its pin is. By default,
    /// `openssl req -x509` marks certificates of servers as those of CAs, which have no hostnames otherwise.
    ///
    /// With `roots`, those are the only ones that clients trust, so that the pin of another root isn't one of a CA.
    func isAuthority(_ pin: CanonicalPin, under roots: TrustStore? = nil) -> Bool? {
        guard pin.role != .leaf, !leaves.contains(where: pin.matches) else { return false }
        if let trusted = roots?.certificates, !trusted.contains(where: pin.matches) {
            let owners = others.filter(pin.matches)
            let isPublic = pin.spkiFingerprint.map { PublicRoots.names[$0] != nil } ?? false
            // mutant plan-other-root: false by PlanRoleTests/ownRoots
            if owners.isEmpty ? isPublic : owners.allSatisfy({ $0.issuer == $0.subject }) { return false }
        }
        guard pin.role.covers(index: 0, of: 3) else { return true }
        if let key = pin.spkiFingerprint, PublicRoots.names[key] != nil { return true }
        var owners = others.filter(pin.matches)
        if owners.isEmpty, pin.content == .certificate, pin.digest == .full,
            let certificate = try? X509Certificate(derBytes: pin.value)
        {
            owners = [certificate]
        }
        guard !owners.isEmpty else { return nil }
        if owners.contains(where: { $0.isCertificateAuthority && !$0.namesServers }) { return true }
        return owners.contains(where: \.isCertificateAuthority) ? nil : false
    }

    /// Returns whether a certificate of the chains, or its key, is the pinned one.
    func has(_ pin: CanonicalPin) -> Bool { certificates.contains { pin.matches($0) } }

    private func subject(of pin: CanonicalPin) -> String? {
        pin.spkiFingerprint.flatMap { subjects[$0] }
    }
}
