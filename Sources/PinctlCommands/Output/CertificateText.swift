import Basics
import CertificatePinning
import CertificateTrust
import PlatformFoundation

/// Returns the expiry of a certificate, such as `2027-11-20 (364 d)`, or the day on which it expired.
func expiry(_ certificate: X509Certificate, now: Date) -> String {
    String(appending: { appendExpiry(certificate, now: now, to: &$0) })
}

/// Appends the expiry of a certificate to `text`.
func appendExpiry(_ certificate: X509Certificate, now: Date, to text: inout [UInt8]) {
    let end = certificate.notAfter
    let days = (end.timeIntervalSince1970 - now.timeIntervalSince1970) / 86_400
    if days < 0 { text.append("expired ") }
    end.appendDay(to: &text)
    guard days >= 0 else { return }
    text.append(" (")
    text.append(decimal: Int(days))
    text.append(" d)")
}

/// Returns the share of a lifetime that is left, from 0 (at its end or later) to 1 (at its start or earlier).
func lifetimeLeft(from start: Date, until end: Date, at time: Date) -> Double {
    let lifetime = end.timeIntervalSince(start)
    guard lifetime > 0 else { return time < start ? 1 : 0 }
    return min(1, max(0, end.timeIntervalSince(time) / lifetime))
}

extension X509Certificate {
    /// Returns the share of the certificate's lifetime that is left, from 0 to 1.
    func lifetimeLeft(at time: Date) -> Double {
        PinctlCommands.lifetimeLeft(from: notBefore, until: notAfter, at: time)
    }
}

/// Returns the JSON members of a certificate, except for its subject and key.
func certificateMembers(_ certificate: X509Certificate) -> [(String, JSON)] {
    [
        ("role", certificate.isCertificateAuthority ? "ca" : "leaf"),
        ("issuer", .string(certificate.issuer.description)),
        ("not_before", .string(certificate.notBefore.rfc3339)),
        ("not_after", .string(certificate.notAfter.rfc3339)),
        ("certificate", .string(certificate.fingerprint.description)),
    ]
}
