/// The checks that ``TrustPolicy/strict`` adds for CA certificates. They aren't part of the default profile because
/// some roots in use fail them, for example roots without a key identifier or with basicConstraints that isn't
/// critical.
extension CertificateRule {
    static let authorityRules: [CertificateRule] = [
        CertificateRule(
            rule: .basicConstraints, places: .issuer, source: "RFC 5280, section 4.2.1.9", isBase: false
        ) { certificate, _ in
            let extensions = certificate.extensions
            guard extensions.present.contains(.basicConstraints) else {
                return "is a CA certificate without basicConstraints: reissue it with a critical CA:TRUE"
            }
            // mutant strict-basic-constraints: true by RuleTests/breach
            return extensions.critical.contains(.basicConstraints)
                ? nil : "its basicConstraints is not critical: reissue it with a critical CA:TRUE"
        },
        CertificateRule(
            rule: .keyUsage, places: .intermediate, source: "RFC 5280, section 4.2.1.3", isBase: false
        ) { certificate, _ in
            // mutant strict-key-usage: false by RuleTests/breach
            certificate.extensions.keyUsage == nil
                ? "is a CA certificate without keyUsage: reissue it with keyCertSign" : nil
        },
        CertificateRule(
            rule: .subjectKeyIdentifier, places: .issuer, source: "RFC 5280, section 4.2.1.2", isBase: false
        ) { certificate, _ in
            // mutant strict-subject-key-identifier: false by RuleTests/breach
            certificate.extensions.subjectKeyIdentifier == nil
                ? "is a CA certificate without subjectKeyIdentifier: reissue it with one" : nil
        },
        CertificateRule(
            rule: .rootProfile, places: .anchor, source: "Baseline Requirements, section 7.1.2.1", isBase: false
        ) { certificate, _ in
            guard certificate.isSelfIssued else { return nil }
            let extensions = certificate.extensions
            if extensions.extendedKeyUsage != nil { return "is a root with extendedKeyUsage: reissue it without" }
            guard let authority = extensions.authorityKeyIdentifier else { return nil }
            if authority.namesCertificate {
                return "is a root whose authorityKeyIdentifier names a certificate: reissue it with keyIdentifier only"
            }
            return certificate.issuerKeyIdentifier == certificate.subjectKeyIdentifier
                ? nil : "is a root whose key identifiers differ: reissue it with the same identifier in both"
        },
        CertificateRule(
            rule: .nameConstraints, places: .intermediate, source: "RFC 5280, section 4.2.1.10", isBase: false
        ) { certificate, _ in
            let extensions = certificate.extensions
            return extensions.nameConstraints == nil || extensions.critical.contains(.nameConstraints)
                ? nil : "its nameConstraints is not critical: reissue it with nameConstraints critical"
        },
        CertificateRule(
            rule: .nameConstraints, places: .issuer, source: "RFC 5280, sections 4.2.1.6 and 4.2.1.10", isBase: false
        ) { certificate, _ in
            // mutant strict-leading-dot: nil for `certificate.extensions.nameConstraints?.leadingDot` by
            //   LeadingDotTests
            certificate.extensions.nameConstraints?.leadingDot.map {
                "its nameConstraints has the DNS name \($0) with a leading dot: reissue it without the dot"
            }
        },
        CertificateRule(
            rule: .alternativeNames, places: .intermediate, source: "RFC 5280, section 4.2.1.6", isBase: false
        ) { certificate, _ in
            certificate.extensions.present.contains(.subjectAlternativeName)
                && certificate.subjectAlternativeNames.isEmpty
                ? "its subjectAltName is empty: reissue it without the extension" : nil
        },
        CertificateRule(
            rule: .policyConstraints, places: .intermediate, source: "RFC 5280, sections 4.2.1.11 and 4.2.1.14",
            isBase: false
        ) { certificate, _ in
            let constraints: CertificateExtensions.Kinds = [.policyConstraints, .inhibitAnyPolicy]
            let extensions = certificate.extensions
            return extensions.critical.isSuperset(of: extensions.present.intersection(constraints))
                ? nil : "its policyConstraints or inhibitAnyPolicy is not critical: reissue it with both critical"
        },
    ]
}
