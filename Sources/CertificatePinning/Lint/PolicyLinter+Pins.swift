import CertificateTrust
import PinctlBasics
import PinctlFoundation

// Findings about a single pin.

extension CanonicalPin {
    /// The pin's name, or the pin itself.
    var lintTitle: String { name ?? (digest == .full ? "a pin" : description) }

    /// The digest algorithm, or `nil` if the bytes themselves are pinned.
    var algorithm: DigestText.Algorithm? {
        switch digest {
        case .sha1: .sha1
        case .sha256: .sha256
        case .sha512: .sha512
        case .full: nil
        }
    }
}

extension PolicyLinter {
    /// Returns the keys in the file that a pin claims to come from, or `nil` if it names none.
    func evidence(of pin: CanonicalPin) -> LintEvidence? { pin.from.flatMap { evidence[$0] } }

    /// Returns the key in the pin's file that the pin matches, or `nil` without a file or a match.
    func holder(of pin: CanonicalPin) -> KeyHolder? {
        evidence(of: pin)?.keys.first { holder in
            let bytes = pin.content == .certificate ? holder.certificate?.derBytes : holder.key.derBytes
            return bytes.map { pin.algorithm?.hash($0) ?? $0 } == pin.value
        }
    }

    /// Returns the pin's role, or the one that its certificate has, or `nil` if neither is known.
    func knownRole(of pin: CanonicalPin) -> PinRole? {
        guard pin.role == .any else { return pin.role }
        guard let certificate = holder(of: pin)?.certificate else { return nil }
        guard certificate.isCertificateAuthority else { return .leaf }
        return certificate.isSelfIssued ? .root : .intermediate
    }
}

extension PolicyLinter {
    /// The notice for CA certificates, in days: the time that an app's next version needs to reach its users.
    private static let authorityNotice = 180.0
    private static let leafNotice = 30.0

    func pinFindings(_ pin: CanonicalPin, at location: PolicyLocation) -> [LintFinding] {
        var findings: [LintFinding] = []
        func add(_ rule: LintRule, _ message: String) {
            findings.append(LintFinding(rule, at: location, "\(pin.lintTitle) \(message)"))
        }
        if let algorithm = pin.algorithm, DigestText.Algorithm(byteCount: pin.value.count) != algorithm {
            add(
                .malformedPin,
                "has \(pin.value.count) bytes, which isn't the length of \(algorithm.rawValue): hash the key again")
            return findings
        }
        // mutant lint-placeholder: nil by CertificatePinningTests.LintTests/placeholder
        if let reason = Self.placeholder(pin) {
            // A name may be a remark, so the pin itself is first.
            let title = pin.name.map { "\(pin) (\($0))" } ?? pin.lintTitle
            findings.append(
                LintFinding(.placeholderPin, at: location, "\(title) is \(reason): put the pin of a key there"))
            return findings
        }
        if pin.algorithm == .sha1 {
            add(.sha1, "is a SHA-1 pin, which systems no longer accept: pin the SHA-256 digest")
        }
        if pin.content == .certificate {
            add(.certificatePin, "pins a whole certificate, so it doesn't match a renewed one: pin its key, sha256/")
        }
        guard let evidence = evidence(of: pin) else { return findings }
        let file = quoted(evidence.file)
        if let failure = evidence.failure {
            add(.otherKey, "can't be compared with \(file), which \(failure)")
        } else if let holder = holder(of: pin) {
            if let impossible = Self.impossibleRole(pin, evidence) {
                add(.impossibleRole, "counts as \(pin.role.rawValue), but its certificate in \(file) \(impossible)")
            }
            if let certificate = holder.certificate {
                findings += validity(of: certificate, pin, file, at: location)
            }
            // mutant lint-weak-key: nil by CertificatePinningTests.LintTests/weakKey
            if let weakness = holder.key.keyKind.weakness {
                add(.weakKey, "is a weak key, \(weakness): create another one, at least RSA 2048 or EC P-256")
            }
        } else {
            // mutant lint-other-key: {} by CertificatePinningTests.LintTests/evidence
            findings += [Self.mistake(pin, evidence, file, at: location)]
        }
        return findings
    }

    private static func placeholder(_ pin: CanonicalPin) -> String? {
        guard let algorithm = pin.algorithm else { return nil }
        if let input = DigestInput(placeholder: pin.value) { return input.description }
        return DigestInput.constants.first { algorithm.hash($0.bytes) == pin.value }
            .map { "the digest of \($0.input), so the command that made it failed" }
    }

    /// Returns a finding about a pin that matches no key in its file.
    private static func mistake(
        _ pin: CanonicalPin, _ evidence: LintEvidence, _ file: String, at location: PolicyLocation
    ) -> LintFinding {
        let right: DigestInput = pin.content == .certificate ? .certificate : .publicKey
        let found = DigestText(bytes: pin.value)
            .map { DigestExplanation.all(of: $0, among: evidence.keys) }?.first { $0.input != right }
        if let found, let index = found.index, found.input == .mistyped {
            return LintFinding(
                .otherKey, at: location,
                "\(pin.lintTitle) differs from the pin of the key in \(file) in a digit or a few, so it was mistyped: "
                    + "write \(evidence.keys[index].key.fingerprint)")
        }
        if let found, let index = found.index {
            return LintFinding(
                .wrongBytes, at: location,
                "\(pin.lintTitle) is the \(found) in \(file), and not of its key: write "
                    + "\(evidence.keys[index].key.fingerprint)"
            )
        }
        let keys = evidence.keys.prefix(3).map(\.key.fingerprint.description).joined(separator: ", ")
        return LintFinding(
            .otherKey, at: location,
            "\(pin.lintTitle) doesn't match \(file), which has \(keys): correct one of them")
    }

    /// Returns the reason why no certificate with the pinned key can have the pin's role. Returns nil if one can, or if
    /// no certificate is known.
    private static func impossibleRole(_ pin: CanonicalPin, _ evidence: LintEvidence) -> String? {
        let certificates = evidence.keys.compactMap(\.certificate).filter(pin.matches)
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
            return "isn't a CA certificate: give the pin the role leaf"
        }
    }

    private func validity(
        of certificate: X509Certificate, _ pin: CanonicalPin, _ file: String, at location: PolicyLocation
    ) -> [LintFinding] {
        let isAuthority = certificate.isCertificateAuthority
        let notice = isAuthority ? Self.authorityNotice : Self.leafNotice
        guard certificate.notAfter < time.adding(days: notice) else { return [] }
        let end = certificate.notAfter.day
        let isPast = certificate.notAfter < time
        let advice =
            isAuthority
            ? "pin the CA that replaces it now, because released apps take months to be updated"
            : "renew it with the same key, or pin the next key now, and put the new certificate in that file"
        return [
            LintFinding(
                .certificateExpiry, isAuthority || isPast ? .error : .warning, at: location,
                "\(pin.lintTitle): the certificate in \(file) \(isPast ? "expired" : "expires") on \(end): \(advice)")
        ]
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
