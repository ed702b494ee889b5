import PinctlBasics

/// The checks that both profiles make.
extension CertificateRule {
    static let baseRules: [CertificateRule] = [
        CertificateRule(
            rule: .expired, places: .everywhere, source: "RFC 5280, section 4.1.2.5", isBase: true
        ) { certificate, context in
            // mutant expired: false by ServerTrustTests/validity
            guard context.time > certificate.validity.upperBound else { return nil }
            let remedy =
                context.place == .anchor
                ? "serve a chain to another root"
                : context.place == .intermediate
                    ? "serve a current certificate of this CA"
                    : "renew it, with the same key if that is pinned"
            return "certificate has expired (valid until \(timeText(certificate.validity.upperBound)), "
                + "current time \(timeText(context.time))): \(remedy), or check the clock"
        },
        CertificateRule(
            rule: .notYetValid, places: .everywhere, source: "RFC 5280, section 4.1.2.5", isBase: true
        ) { certificate, context in
            // mutant not-yet-valid: false by ServerTrustTests/validity
            guard context.time < certificate.validity.lowerBound else { return nil }
            return "certificate is not yet valid (valid from \(timeText(certificate.validity.lowerBound)), "
                + "current time \(timeText(context.time))): check the clock, or serve the certificate before it until "
                + "then"
        },
        CertificateRule(
            rule: .notAnAuthority, places: .issuer, source: "RFC 5280, section 4.2.1.9", isBase: true
        ) { certificate, context in
            let extensions = certificate.extensions
            // mutant issuer-ca: false by RuleTests/breach
            guard !extensions.isAuthority else { return nil }
            // Anchors are trusted by configuration. Version 1 certificates have no extension that could mark them as a
            // CA.
            // mutant issuer-version-1: true for 1 by RuleTests/version1
            if context.place == .anchor, certificate.version == 1, extensions.present.isEmpty { return nil }
            return "is not a CA certificate but signed another certificate: reissue it with basicConstraints CA:TRUE"
        },
        CertificateRule(
            rule: .notAnAuthority, places: .issuer, source: "RFC 5280, section 4.2.1.3", isBase: true
        ) { certificate, _ in
            // mutant issuer-key-cert-sign: false for 2 by RuleTests/breach
            guard let usage = certificate.extensions.keyUsage, !usage.contains(.certificateSigning) else { return nil }
            return "its keyUsage lacks keyCertSign but it signed another certificate: reissue it with keyCertSign"
        },
        CertificateRule(
            rule: .purpose, places: .everywhere, source: "RFC 5280, section 4.2.1.12", isBase: true
        ) { certificate, context in
            // mutant purpose: true for `certificate.extensions.allows(wanted)` by RuleTests/breach
            //   ServerTrustTests/leafProperties
            guard let wanted = context.policy.wantedPurpose, !certificate.extensions.allows(wanted),
                let usages = certificate.extensions.extendedKeyUsage
            else { return nil }
            return usages.isEmpty
                ? "unsuitable certificate purpose (its extendedKeyUsage is empty): reissue it with \(wanted.name)"
                : "unsuitable certificate purpose (\(usages.names), not \(wanted.name)): reissue it with \(wanted.name)"
        },
        CertificateRule(
            rule: .purpose, places: .leaf, source: "RFC 5280, section 4.2.1.3", isBase: true
        ) { certificate, context in
            guard let usage = certificate.extensions.keyUsage, context.policy.wantedPurpose != nil,
                // mutant leaf-key-usage: false by RuleTests/breach
                usage.isDisjoint(with: context.policy.handshakeUsages)
            else { return nil }
            return "unsuitable certificate purpose (its keyUsage does not allow TLS): reissue it with digitalSignature"
        },
        CertificateRule(
            rule: .publicSuffixWildcard, places: .leaf, source: "Baseline Requirements, section 3.2.2.6", isBase: true
        ) { certificate, context in
            guard let name = context.name else { return nil }
            // Another entry may match the server without such a wildcard.
            var wildcard: SubjectAlternativeName?
            for entry in certificate.subjectAlternativeNames where name.matches(entry) {
                // mutant suffix-wildcard: false by PublicSuffixWildcardTests/wildcard
                guard context.sectionAbove(entry) == .icann else { return nil }
                wildcard = wildcard ?? entry
            }
            if wildcard != nil { context.policy.publicSuffixes.noteRefusal() }
            return wildcard.map {
                "its wildcard \($0) covers every name below a public suffix: reissue it with the servers' hostnames"
            }
        },
        CertificateRule(
            rule: .weakCryptography, places: .everywhere, source: "NIST SP 800-57, part 1, table 2", isBase: true
        ) { certificate, context in
            certificate.keyWeakness(at: context.policy.strength)
        },
        CertificateRule(
            rule: .weakCryptography, places: .belowAnchor, source: "RFC 4055, RFC 5758 and RFC 8410",
            isBase: true
        ) { certificate, _ in
            // mutant signature-digest: false by RuleTests/breach ServerTrustTests/leafProperties
            guard !certificate.hasAcceptedSignature else { return nil }
            if let refusal = certificate.postQuantumSignature?.refusal {
                return "its signature algorithm is \(refusal)"
            }
            return "its signature algorithm is too weak or unsupported: reissue it with SHA-256"
        },
        CertificateRule(
            rule: .criticalExtension, places: .everywhere, source: "RFC 5280, section 4.2", isBase: true
        ) { certificate, _ in
            // mutant critical-extension: nil for `certificate.extensions.unprocessedCritical` by RuleTests/breach
            //   ServerTrustTests/leafProperties
            certificate.extensions.unprocessedCritical.map {
                "unhandled critical extension \($0): reissue it without the extension, or mark it non-critical"
            }
        },
        CertificateRule(
            rule: .criticalExtension, places: .everywhere, source: "RFC 5280, section 4.2.1.4", isBase: true
        ) { certificate, _ in
            let extensions = certificate.extensions
            // mutant policy-qualifier: false for 1 by PolicyQualifierTests/qualifiers
            guard extensions.critical.contains(.certificatePolicies), let qualifier = extensions.unknownQualifier else {
                return nil
            }
            return "its critical certificatePolicies has the unsupported qualifier \(qualifier): "
                + "reissue it without the qualifier, or mark the extension non-critical"
        },
        CertificateRule(
            rule: .nameConstraints, places: .everywhere, source: "RFC 5280, section 4.2.1.10", isBase: true
        ) { certificate, context in
            guard let constraints = certificate.extensions.nameConstraints else { return nil }
            // mutant constraints-in-leaf: false by RuleTests/breach
            if context.place == .leaf {
                return "has nameConstraints, which only CA certificates may have: reissue it without them"
            }
            // mutant constraints-defect: nil for `constraints.defect` by RuleTests/breach
            return constraints.defect.map { "its nameConstraints \($0): reissue it" }
        },
        CertificateRule(
            rule: .certificateVersion, places: .everywhere, source: "RFC 5280, section 4.1.2.9", isBase: true
        ) { certificate, _ in
            // mutant old-version-extensions: false for 1 by RuleTests/breach
            guard certificate.version < 3, certificate.hasExtensions else { return nil }
            return "is version \(certificate.version) but has extensions: reissue it as version 3"
        },
        CertificateRule(
            rule: .certificatePolicies, places: .belowAnchor, source: "RFC 5280, section 6.1.3 (e)",
            isBase: true
        ) { certificate, _ in
            // No CA issues such a certificate, no certificate below it can be valid for a policy, and OpenSSL 3.0 leaks
            // memory when it verifies one.
            let present = certificate.extensions.present
            // mutant policy-constraints-alone: false by RuleTests/breach
            return present.contains(.policyConstraints) && !present.contains(.certificatePolicies)
                ? "has policyConstraints but no certificatePolicies: reissue it with its policies" : nil
        },
        CertificateRule(
            rule: .budget, places: .everywhere, source: "limits of this library", isBase: true
        ) { certificate, _ in
            certificate.excessiveWork
        },
        CertificateRule(
            rule: .signatureAlgorithm, places: .everywhere, source: "RFC 5280, section 4.1.1.2", isBase: true
        ) { certificate, _ in
            // mutant signature-algorithms-differ: { return nil } by RuleTests/breach
            guard case .different = certificate.signatureAlgorithms else { return nil }
            return "its signature algorithm differs inside and outside the signed part: reissue it"
        },
    ]
}

extension X509Certificate {
    /// The limit on policies and mappings. OpenSSL sorts a certificate's policies again after reading each one, so
    /// 10,000 of them take it seconds.
    private static let maximumPolicies = 100
    /// The limit on the bytes that OpenSSL copies for relative distribution points. It copies the issuer's name for
    /// each one, so a certificate of 39 KB makes it allocate 128 MiB.
    private static let maximumRelativePointBytes = 64 * 1_024

    /// The limit on alternative names. With more names of one byte each, the values built from them here and by OpenSSL
    /// take over 32 MiB. The largest certificates in use have a thousand names.
    private static let maximumAlternativeNames = 20_000

    /// The reason why OpenSSL would take too long over the certificate before it verifies a signature. `nil` if there
    /// is none.
    fileprivate var excessiveWork: String? {
        // mutant excessive-policies: false by RuleTests PathologicalTests HostileNameTests
        if extensions.policyCount > Self.maximumPolicies {
            return
                "has \(extensions.policyCount) policies and mappings, more than \(Self.maximumPolicies): reissue it "
                + "with fewer"
        }
        // mutant excessive-names: false by RuleTests PathologicalTests HostileNameTests
        if subjectAlternativeNames.count > Self.maximumAlternativeNames {
            return
                "has \(subjectAlternativeNames.count) alternative names, more than \(Self.maximumAlternativeNames): "
                + "reissue it with fewer"
        }
        guard extensions.relativePointCount > 0 else { return nil }
        let bytes = extensions.relativePointCount * issuer.derBytes.count
        // mutant excessive-points: false by RuleTests PathologicalTests
        return bytes > Self.maximumRelativePointBytes
            ? "has \(extensions.relativePointCount) distribution points relative to a long name: reissue it with full "
                + "names"
            : nil
    }
}

func timeText(_ seconds: Int64) -> String {
    CivilTime(secondsSince1970: seconds)?.description ?? "\(seconds) seconds after 1970-01-01"
}

extension CertificateRule.Context {
    /// Returns the section of the public suffix directly below which a wildcard name is. Returns `nil` for any other
    /// name.
    func sectionAbove(_ entry: SubjectAlternativeName) -> PublicSuffixes.Section? {
        guard let parent = entry.wildcardParent, let suffix = try? ServerName(String(decoding: parent, as: UTF8.self))
        else { return nil }
        return policy.publicSuffixes.section(of: suffix)
    }
}

extension TrustPolicy {
    /// The required purpose. `nil` if any purpose is accepted.
    var wantedPurpose: CertificateExtensions.Purposes? {
        switch purpose {
        case .server: .server
        case .client: .client
        case .any: nil
        }
    }

    /// The key usages of which a handshake needs at least one: RFC 8446, sections 4.4.2.2 and 4.4.2.4, and the key
    /// exchanges of TLS 1.2 (RFC 5246, section 7.4.2).
    fileprivate var handshakeUsages: CertificateExtensions.KeyUsage {
        purpose == .client
            ? [.digitalSignature, .keyAgreement] : [.digitalSignature, .keyEncipherment, .keyAgreement]
    }
}

extension CertificateExtensions.Purposes {
    fileprivate var name: String { self == .server ? "serverAuth" : "clientAuth" }

    fileprivate var names: String {
        let names: [(CertificateExtensions.Purposes, String)] = [
            (.server, "serverAuth"), (.client, "clientAuth"), (.ocspSigning, "OCSPSigning"), (.other, "other purposes"),
        ]
        return names.filter { contains($0.0) }.map(\.1).joined(separator: ", ")
    }
}
