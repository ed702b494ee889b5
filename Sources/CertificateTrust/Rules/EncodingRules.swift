/// The checks that ``TrustPolicy/strict`` adds for the encoding of every certificate below the anchor and for the keys
/// of all certificates.
extension CertificateRule {
    static let encodingRules: [CertificateRule] = [
        CertificateRule(
            rule: .certificateVersion, places: .belowAnchor, source: "Baseline Requirements, section 7.1.1",
            isBase: false
        ) { certificate, _ in
            certificate.version == 3 ? nil : "is version \(certificate.version): reissue it as version 3"
        },
        CertificateRule(
            rule: .encoding, places: .belowAnchor, source: "RFC 5280, section 4.1", isBase: false
        ) { certificate, _ in
            // mutant strict-encoding: nil for `certificate.encodingDefect` by RuleTests/breach
            certificate.encodingDefect.map { "\($0): reissue it as DER" }
        },
        CertificateRule(
            rule: .signatureAlgorithm, places: .belowAnchor, source: "RFC 5280, section 4.1.1.2", isBase: false
        ) { certificate, _ in
            guard case .sameButNull = certificate.signatureAlgorithms else { return nil }
            return "its signature algorithm is encoded differently inside and outside the signed part: reissue it"
        },
        CertificateRule(
            rule: .signatureAlgorithm, places: .belowAnchor, source: "Baseline Requirements, section 7.1.3.2.1",
            isBase: false
        ) { certificate, _ in
            // mutant signature-encoding: false by SignatureEncodingTests RuleTests/breach
            guard !certificate.hasWebSignature else { return nil }
            return "its RSA signature has parameters that the Web PKI does not have: reissue it with NULL, or for "
                + "RSASSA-PSS with a salt as long as the hash"
        },
        CertificateRule(
            rule: .serialNumber, places: .belowAnchor, source: "RFC 5280, section 4.1.2.2", isBase: false
        ) { certificate, _ in
            let serial = certificate.serialNumber
            // mutant strict-serial-number: true for 2 by RuleTests/breach
            guard let first = serial.first, first < 0x80, serial.contains(where: { $0 != 0 }) else {
                return "its serial number is not positive: reissue it"
            }
            return serial.count > 20 ? "its serial number has \(serial.count) bytes, more than 20: reissue it" : nil
        },
        CertificateRule(
            rule: .authorityName, places: .belowAnchor, source: "RFC 5280, section 4.1.2.4", isBase: false
        ) { certificate, _ in
            certificate.issuer.isEmpty ? "has an empty issuer: reissue it under a CA with a name" : nil
        },
        CertificateRule(
            rule: .authorityKeyIdentifier, places: .belowAnchor, source: "RFC 5280, section 4.2.1.1", isBase: false
        ) { certificate, context in
            // A self-signed certificate may omit the identifier. A self-issued intermediate isn't self-signed:
            // otherwise the path would contain its key twice.
            guard !certificate.isSelfIssued || context.place == .intermediate else { return nil }
            return certificate.issuerKeyIdentifier == nil
                ? "has no authorityKeyIdentifier with a keyIdentifier: reissue it with one" : nil
        },
        CertificateRule(
            rule: .informationAccess, places: .belowAnchor, source: "RFC 5280, section 4.2.2.1", isBase: false
        ) { certificate, _ in
            certificate.extensions.informationAccessDefect.map { "its authorityInfoAccess \($0): reissue it" }
        },
        CertificateRule(
            rule: .certificatePolicies, places: .belowAnchor, source: "RFC 5280, section 4.2.1.4", isBase: false
        ) { certificate, _ in
            if certificate.extensions.unknownQualifier == CertificateExtensions.malformedQualifier {
                return "its certificatePolicies is malformed: reissue it"
            }
            return certificate.hasRepeatedPolicy
                ? "its certificatePolicies has a policy twice: reissue it with each policy once" : nil
        },
        CertificateRule(
            rule: .webKey, places: .everywhere, source: "Baseline Requirements, sections 6.1.5 and 7.1.3.1",
            isBase: false
        ) { certificate, _ in
            switch certificate.keyKind {
            case .rsa(let bits) where bits % 8 == 0: return nil
            case .ellipticCurve("P-256"), .ellipticCurve("P-384"), .ellipticCurve("P-521"): return nil
            default:
                return "its key is \(certificate.keyKind), but the Web PKI has only RSA of whole bytes, P-256, P-384 "
                    + "and P-521: reissue it with one of these"
            }
        },
    ]
}

extension X509Certificate {
    /// Whether certificatePolicies has the same policy twice.
    fileprivate var hasRepeatedPolicy: Bool {
        guard extensions.policyCount > 1 else { return false }
        let der = derBytes
        var isRepeated = false
        try? CertificateLayout(der.span).forEachExtension(der.span) { (identifier, _, value) throws(DERError) in
            guard CertificateExtensions.isPolicies(der.span, identifier) else { return }
            var seen: Set<[UInt8]> = []
            var outer = DERCursor(value)
            var list = DERCursor(try outer.next(DERTag.sequence, der.span).contents)
            while !list.isAtEnd {
                var entry = DERCursor(try list.next(DERTag.sequence, der.span).contents)
                let policy = try entry.next(DERTag.objectIdentifier, der.span).contents
                isRepeated = !seen.insert(Array(der[policy])).inserted || isRepeated
            }
        }
        return isRepeated
    }
}
