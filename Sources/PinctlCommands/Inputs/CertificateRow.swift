import CertificatePinning
import CertificateTrust
import PinctlBasics
import PinctlFoundation

/// A certificate in the output of `show`: two lines, or an element of JSON.
struct CertificateRow {
    private let role: String
    private let certificate: X509Certificate
    /// The source: `served`, `store` or `file`.
    private let source: String
    /// Whether the certificate is a trust anchor, or `nil` for a certificate on a path.
    private let isInStore: Bool?

    init(role: String, _ certificate: X509Certificate, source: String, isInStore: Bool? = nil) {
        self.role = role
        self.certificate = certificate
        self.source = source
        self.isInStore = isInStore
    }

    /// The maximum number of names in the text output. JSON contains all of them.
    private static let nameLimit = 8

    /// Returns the lines of all rows with aligned columns.
    static func lines(_ rows: [CertificateRow], now: Date) -> [String] {
        let keyWidth = rows.map(\.key.width).max() ?? 0
        let nameWidth = min(40, rows.map(\.certificate.shortName.width).max() ?? 0)
        return rows.flatMap { row in
            let columns = [
                padded(row.role, 12), row.certificate.spkiFingerprint.description, padded(row.key, keyWidth),
                padded(row.certificate.shortName, nameWidth), padded(row.source, 6), row.validity(now),
            ]
            return ["  " + columns.joined(separator: "  "), "                " + row.details]
        }
    }

    private var key: String { certificate.subjectPublicKeyInfo.keyKind.description }

    private func validity(_ now: Date) -> String {
        guard certificate.notBefore <= now else { return "not valid before \(certificate.notBefore.day)" }
        let text = expiry(certificate, now: now)
        return (text.hasPrefix("expired") ? text : "expires \(text)") + (isInStore == true ? ", in the store" : "")
    }

    private var details: String {
        let names = certificate.subjectAlternativeNames.map(\.description)
        let subject = certificate.subject.description
        return
            "\(subject.isEmpty ? "no subject" : subject), by \(certificate.issuer), since \(certificate.notBefore.day)"
            + (names.isEmpty ? "" : ", for \(FirstNames(names, limit: Self.nameLimit))")
    }

    var json: JSON {
        .object(
            [
                ("role", .string(role.replacing(" ", with: "_"))),
                ("pin", .string(certificate.spkiFingerprint.description)), ("key", .string(key)),
                ("subject", .string(certificate.subject.description)),
                ("issuer", .string(certificate.issuer.description)),
                ("names", .array(certificate.subjectAlternativeNames.map { .string($0.description) })),
                ("not_before", .string(certificate.notBefore.rfc3339)),
                ("not_after", .string(certificate.notAfter.rfc3339)),
                ("certificate", .string(certificate.fingerprint.description)),
                ("authority", .bool(certificate.isCertificateAuthority)), ("source", .string(source)),
            ] + (isInStore.map { [("in_store", .bool($0))] } ?? []))
    }
}

extension X509Certificate {
    /// The common name, or else the whole subject, or else the first alternative name.
    var shortName: String {
        if let name = subject.commonName { return name }
        let whole = subject.description
        return whole.isEmpty ? subjectAlternativeNames.first?.description ?? "no subject" : whole
    }
}
