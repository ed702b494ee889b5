import Basics
import CertificateTrust
import FoundationEssentials

// Findings about a single pin.

extension LintedPolicy.Pin {
    /// The key in the pin's file that the pin matches, or nil without a file or a match.
    var holder: KeyHolder? {
        evidence?.keys.first { holder in
            let bytes = isOfCertificate ? holder.certificate?.derBytes : holder.key.derBytes
            return bytes.map { algorithm?.hash($0) ?? $0 } == value
        }
    }

    /// The pin's role, or the one that its certificate has, or nil if neither is known.
    var knownRole: PinRole? {
        guard role == .any else { return role }
        guard let certificate = holder?.certificate else { return nil }
        guard certificate.isCertificateAuthority else { return .leaf }
        return certificate.isSelfIssued ? .root : .intermediate
    }
}

extension LintedPolicy {
    /// The notice for CA certificates, in days: the time that an app's next version needs to reach its users.
    private static let authorityNotice = 180.0
    private static let leafNotice = 30.0

    func pinFindings(_ pin: Pin, at time: Date) -> [LintFinding] {
        var findings: [LintFinding] = []
        func add(_ rule: LintRule, _ message: String) {
            findings.append(LintFinding(rule, at: pin.location, "\(pin.title) \(message)"))
        }
        if let algorithm = pin.algorithm, DigestText.Algorithm(byteCount: pin.value.count) != algorithm {
            add(.malformedPin, "holds \(pin.value.count) bytes, which is no \(algorithm.rawValue): hash the key again")
            return findings
        }
        if let reason = Self.placeholder(pin) {
            add(.placeholderPin, "is \(reason): put the pin of a key there")
            return findings
        }
        if pin.algorithm == .sha1 { add(.sha1, "is a SHA-1 pin, which no system takes any more: pin the SHA-256") }
        if pin.isOfCertificate {
            add(.certificatePin, "pins a whole certificate and ends with it: pin its key, sha256/")
        }
        guard let evidence = pin.evidence else { return findings }
        let file = quoted(evidence.file)
        if let failure = evidence.failure {
            add(.otherKey, "cannot be held against \(file), which \(failure)")
        } else if let holder = pin.holder {
            if let impossible = Self.impossibleRole(pin, evidence) {
                add(.impossibleRole, "counts as \(pin.role.rawValue), but its certificate in \(file) \(impossible)")
            }
            if let certificate = holder.certificate {
                findings += validity(of: certificate, pin, file, at: time)
            }
            if let weakness = holder.key.keyKind.weakness {
                add(.weakKey, "is a weak key, \(weakness): make another one, RSA 2048 or EC P-256 at least")
            }
        } else {
            findings += [Self.mistake(pin, evidence, file)]
        }
        return findings
    }

    private static func placeholder(_ pin: Pin) -> String? {
        guard let algorithm = pin.algorithm else { return nil }
        if let input = DigestInput(placeholder: pin.value) { return input.description }
        return DigestInput.constants.first { algorithm.hash($0.bytes) == pin.value }
            .map { "the digest of \($0.input), the command that made it failed" }
    }

    /// Returns a finding about a pin that matches no key in its file.
    private static func mistake(_ pin: Pin, _ evidence: LintEvidence, _ file: String) -> LintFinding {
        let right: DigestInput = pin.isOfCertificate ? .certificate : .publicKey
        let found = DigestText(bytes: pin.value)
            .map { DigestExplanation.all(of: $0, among: evidence.keys) }?.first { $0.input != right }
        if let found, let index = found.index {
            return LintFinding(
                .wrongBytes, at: pin.location,
                "\(pin.title) is the \(found) in \(file), and no key: write \(evidence.keys[index].key.fingerprint)")
        }
        let keys = evidence.keys.prefix(3).map(\.key.fingerprint.description).joined(separator: ", ")
        return LintFinding(
            .otherKey, at: pin.location,
            "\(pin.title) is not what \(file) holds, which is \(keys): correct one of them")
    }

    /// Returns the reason why no certificate with the pinned key can have the pin's role. Returns nil if one can, or if
    /// no certificate is known.
    private static func impossibleRole(_ pin: Pin, _ evidence: LintEvidence) -> String? {
        let certificates = evidence.keys.compactMap(\.certificate).filter { certificate in
            let bytes = pin.isOfCertificate ? certificate.derBytes : certificate.subjectPublicKeyInfo.derBytes
            return (pin.algorithm?.hash(bytes) ?? bytes) == pin.value
        }
        guard !certificates.isEmpty else { return nil }
        switch pin.role {
        case .any: return nil
        case .leaf:
            // A server's own certificate can claim to be a CA certificate, if it is self-signed and has the server's
            // name.
            guard certificates.allSatisfy({ $0.isCertificateAuthority && !$0.namesServers }) else { return nil }
            return "is a CA certificate: give the pin the role of its position, intermediate, root or ca"
        default:
            // A version 1 root has no extension that could mark it as a CA certificate.
            guard certificates.allSatisfy({ !$0.isCertificateAuthority && !($0.isSelfIssued && $0.version < 3) }) else {
                return nil
            }
            return "is no CA certificate: give the pin the role leaf"
        }
    }

    private func validity(
        of certificate: X509Certificate, _ pin: Pin, _ file: String, at time: Date
    ) -> [LintFinding] {
        let isAuthority = certificate.isCertificateAuthority
        let notice = isAuthority ? Self.authorityNotice : Self.leafNotice
        guard certificate.notAfter < time.adding(days: notice) else { return [] }
        let end = certificate.notAfter.day
        let isPast = certificate.notAfter < time
        let advice =
            isAuthority
            ? "pin the authority that takes its place now, clients in the field need months to learn of it"
            : "renew it with the same key, or pin the next key now, and put the new certificate there"
        return [
            LintFinding(
                .certificateExpiry, isAuthority || isPast ? .error : .warning, at: pin.location,
                "\(pin.title): the certificate in \(file) \(isPast ? "ended" : "ends") on \(end): \(advice)")
        ]
    }
}

extension X509Certificate {
    /// Whether the certificate has a DNS name or an IP address among its names.
    fileprivate var namesServers: Bool {
        subjectAlternativeNames.contains { name in
            switch name {
            case .dns, .ipAddress: true
            case .other: false
            }
        }
    }
}

extension PublicKeyKind {
    /// A description of a weak key, or nil if the key is strong enough for servers.
    fileprivate var weakness: String? {
        switch self {
        case .rsa(let bits) where bits < 2048, .rsaPSS(let bits) where bits < 2048: description
        case .dsa, .ellipticCurve("P-192"), .ellipticCurve("P-224"): description
        default: nil
        }
    }
}
