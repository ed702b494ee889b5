import CertificatePinning
import CertificateTrust
import FoundationEssentials

/// `2027-11-20 (364 d)`, or since when it is over.
func expiry(_ certificate: X509Certificate, now: Date) -> String {
    let end = certificate.notAfter
    let days = (end.timeIntervalSince1970 - now.timeIntervalSince1970) / 86_400
    return days < 0 ? "expired " + end.day : end.day + " (" + String(Int(days)) + " d)"
}

/// What JSON says of a certificate, besides its subject and key.
func certificateMembers(_ certificate: X509Certificate) -> [(String, JSON)] {
    [
        ("role", certificate.isCertificateAuthority ? "ca" : "leaf"),
        ("issuer", .string(certificate.issuer.description)),
        ("not_before", .string(certificate.notBefore.rfc3339)),
        ("not_after", .string(certificate.notAfter.rfc3339)),
        ("certificate", .string(certificate.fingerprint.description)),
    ]
}
