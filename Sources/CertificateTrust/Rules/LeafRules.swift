/// The checks that ``TrustPolicy/strict`` adds for the certificate of a TLS server or client.
extension CertificateRule {
    static let leafRules: [CertificateRule] = [
        leafRule(.leafAuthority, "Baseline Requirements, section 7.1.2.7.8") { certificate, _ in
            let extensions = certificate.extensions
            // mutant strict-leaf-ca: false by RuleTests/breach
            if extensions.isAuthority { return "is a CA certificate: use an end-entity certificate on the server" }
            if extensions.hasPathLength {
                return "has a path length, which only CA certificates may have: reissue it without one"
            }
            guard let usage = extensions.keyUsage, !usage.isDisjoint(with: [.certificateSigning, .listSigning]) else {
                return nil
            }
            let name = usage.contains(.certificateSigning) ? "keyCertSign" : "cRLSign"
            return "its keyUsage has \(name), which only CA certificates may have: reissue it without that"
        },
        leafRule(.leafPurpose, "Baseline Requirements, section 7.1.2.7.6") { certificate, _ in
            guard let usages = certificate.extensions.extendedKeyUsage else {
                return "has no extendedKeyUsage: reissue it with serverAuth or clientAuth"
            }
            // mutant strict-leaf-purpose: false by RuleTests/breach
            if usages.contains(.any) {
                return "its extendedKeyUsage allows any purpose: reissue it with the purpose that it is used for"
            }
            return certificate.extensions.critical.contains(.extendedKeyUsage)
                ? "its extendedKeyUsage is critical: reissue it with a non-critical one" : nil
        },
        leafRule(.alternativeNames, "Baseline Requirements, section 7.1.2.7.12") { certificate, _ in
            let extensions = certificate.extensions
            guard extensions.present.contains(.subjectAlternativeName) else {
                return "has no subjectAltName: reissue it with one"
            }
            let isCritical = extensions.critical.contains(.subjectAlternativeName)
            if certificate.subject.isEmpty != isCritical {
                return isCritical
                    ? "its subjectAltName is critical although it has a subject: reissue it with a non-critical "
                        + "subjectAltName"
                    : "its subjectAltName is not critical although the subject is empty: reissue it with a critical one"
            }
            if certificate.subjectAlternativeNames.isEmpty {
                return "its subjectAltName is empty: reissue it with its hostnames"
            }
            // mutant strict-alternative-names: false for `!$0.isWellFormed` by RuleTests/breach
            return certificate.subjectAlternativeNames.first { !$0.isWellFormed }.map {
                "its alternative name \($0) is malformed: reissue it without that name"
            }
        },
        leafRule(.commonName, "Baseline Requirements, section 7.1.4.3") { certificate, context in
            // The common name of a client certificate is the name of a person or device.
            guard context.policy.purpose == .server else { return nil }
            let commonNames = certificate.subject.commonNames
            guard !commonNames.isEmpty else { return nil }
            let names = CommonNames(beside: certificate.subjectAlternativeNames)
            // mutant strict-common-name: ({ _ in false }) for `names.areMisled` by
            //   HostileNameTests/misleadingCommonName RuleTests/breach
            return commonNames.first(where: names.areMisled).map {
                "its common name \(SubjectAlternativeName.dns(Array($0.utf8))) is spelled differently in "
                    + "subjectAltName: reissue it with the same spelling in both"
            }
        },
        leafRule(.publicSuffixWildcard, "Baseline Requirements, sections 3.2.2.6 and 7.1.2.7.12") {
            certificate, context in
            // Only entries that match the requested name are checked. The owner of a public suffix may have a wildcard
            // directly below it in the same certificate.
            guard let name = context.name else { return nil }
            let wildcard = certificate.subjectAlternativeNames.first {
                name.matches($0) && context.sectionAbove($0) != nil
            }
            if wildcard != nil { context.policy.publicSuffixes.noteRefusal() }
            return wildcard.map {
                "its wildcard \($0) covers every name below a public suffix: reissue it with the servers' hostnames"
            }
        },
        CertificateRule(
            rule: .lifetime, places: .publicLeaf, source: "Baseline Requirements, section 6.3.2", isBase: false
        ) { certificate, context in
            // The Baseline Requirements are about the certificates of servers.
            context.policy.purpose == .server ? LifetimeLimit.violation(by: certificate.validity) : nil
        },
    ]

    private static func leafRule(
        _ rule: TrustRule, _ source: String, _ violation: @escaping @Sendable (X509Certificate, Context) -> String?
    ) -> CertificateRule {
        CertificateRule(rule: rule, places: .leaf, source: source, isBase: false, violation: violation)
    }
}

extension SubjectAlternativeName {
    /// Whether the entry is a well-formed hostname or address. A hostname has ASCII labels without underscores, and `*`
    /// only as the whole first label. An address has 4 or 16 bytes. Other kinds aren't examined.
    fileprivate var isWellFormed: Bool {
        switch self {
        case .dns(let bytes):
            let host = wildcardParent ?? HostText.lowered(bytes)
            return HostText.isHostName(ArraySlice(host)) && !host.contains(UInt8(ascii: "_"))
                && host.split(separator: UInt8(ascii: ".")).allSatisfy {
                    $0.first != UInt8(ascii: "-") && $0.last != UInt8(ascii: "-")
                }
        case .ipAddress(let bytes): return bytes.count == 4 || bytes.count == 16
        case .other: return true
        }
    }
}
