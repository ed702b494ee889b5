import CertificateTrust
import Foundation
import PinnedNetworking

/// The reason why a trust is refused.
enum TrustRefusal: Error, Sendable {
    /// No path satisfies the policies.
    case untrusted(TrustFinding)
    /// The settings can't be honoured.
    case unusable(OSStatus, reason: String)

    /// The status code that is closest to the reason.
    var status: OSStatus {
        switch self {
        case .unusable(let status, _): status
        case .untrusted(let finding):
            switch finding.rule {
            case .nameMismatch: errSecHostNameMismatch
            case .expired: errSecCertificateExpired
            case .notYetValid: errSecCertificateNotValidYet
            case .unknownIssuer: errSecCreateChainFailed
            case .revoked: errSecCertificateRevoked
            case .revocationUnknown, .revocationStale, .revocationSigner, .revocationUnusable, .missingStaple:
                errSecIncompleteCertRevocationCheck
            default: errSecNotTrusted
            }
        }
    }

    /// The same reason as an error of Foundation. The underlying error is the `TrustFinding`, if there is one.
    var error: CFError {
        var details: [String: Any] = [NSLocalizedDescriptionKey: description]
        if case .untrusted(let finding) = self { details[NSUnderlyingErrorKey] = finding }
        return CFError(domain: "NSOSStatusErrorDomain", code: Int(status), userInfo: details)
    }
}

extension TrustRefusal: CustomStringConvertible {
    var description: String {
        switch self {
        case .untrusted(let finding): finding.description
        case .unusable(_, let reason): reason
        }
    }
}
