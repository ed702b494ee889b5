/// Why a server is not trusted.
@nonexhaustive
public enum TrustError: Error, Hashable, Sendable {
    /// No valid path leads to an anchor; the finding is the most useful reason of all that were met.
    case untrusted(TrustFinding)
    /// Valid paths exist and the caller accepted none; `best` is the first of them.
    case refused(best: VerifiedPath)
}

extension TrustError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .untrusted(let finding): finding.description
        case .refused(let best): "the verified path to \(best.anchor.subject) was refused: see the pins of \(best.name)"
        }
    }
}

/// One reason to refuse: the rule, the certificate it failed at, and what that certificate does say.
public struct TrustFinding: Error, Hashable, Sendable {
    /// The rule that was not met.
    public let rule: TrustRule
    /// Where in the path: 0 is the leaf. Nil when no certificate is to blame.
    public let depth: Int?
    /// The certificate at that place.
    public let certificate: X509Certificate?
    /// What was wanted and what was found, and what to do.
    public let detail: String
}

extension TrustFinding: CustomStringConvertible {
    public var description: String {
        guard let depth, let certificate else { return detail }
        let name = certificate.subject.description
        let position = depth == 0 ? "leaf" : "certificate \(depth)"
        return "\(position) (\(name.isEmpty ? "no subject" : name)): \(detail)"
    }
}

/// The identifier of a check, stable across versions: `expired`, `name-mismatch`.
public struct TrustRule: RawRepresentable, Hashable, Sendable {
    /// The identifier, lower case with hyphens.
    public let rawValue: String

    /// A rule by its identifier.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The certificate does not name the server (RFC 9525).
    public static let nameMismatch = TrustRule(rawValue: "name-mismatch")
    /// After notAfter (RFC 5280, section 4.1.2.5; `X509_V_ERR_CERT_HAS_EXPIRED`).
    public static let expired = TrustRule(rawValue: "expired")
    /// Before notBefore (`X509_V_ERR_CERT_NOT_YET_VALID`).
    public static let notYetValid = TrustRule(rawValue: "not-yet-valid")
    /// No certificate of the issuer at hand, or none that is an anchor (`X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY`).
    public static let unknownIssuer = TrustRule(rawValue: "unknown-issuer")
    /// A signature that the issuer's key does not verify (`X509_V_ERR_CERT_SIGNATURE_FAILURE`).
    public static let badSignature = TrustRule(rawValue: "bad-signature")
    /// An issuer that is no authority (RFC 5280, section 4.2.1.9; `X509_V_ERR_INVALID_CA`).
    public static let notAnAuthority = TrustRule(rawValue: "not-an-authority")
    /// More authorities below than the path length allows (`X509_V_ERR_PATH_LENGTH_EXCEEDED`).
    public static let pathLength = TrustRule(rawValue: "path-length")
    /// A name outside the name constraints (RFC 5280, section 4.2.1.10; `X509_V_ERR_PERMITTED_VIOLATION`).
    public static let nameConstraints = TrustRule(rawValue: "name-constraints")
    /// Not meant for this use (RFC 5280, section 4.2.1.12; `X509_V_ERR_INVALID_PURPOSE`).
    public static let purpose = TrustRule(rawValue: "purpose")
    /// A key or signature digest that is too weak (`X509_V_ERR_EE_KEY_TOO_SMALL`, `X509_V_ERR_CA_MD_TOO_WEAK`).
    public static let weakCryptography = TrustRule(rawValue: "weak-cryptography")
    /// A critical extension nobody here understands (`X509_V_ERR_UNHANDLED_CRITICAL_EXTENSION`).
    public static let criticalExtension = TrustRule(rawValue: "critical-extension")
    /// A certificate that OpenSSL cannot parse.
    public static let malformed = TrustRule(rawValue: "malformed")
    /// The search was stopped by one of its budgets.
    public static let budget = TrustRule(rawValue: "budget")
    /// Any other refusal of OpenSSL; the detail has its words.
    public static let other = TrustRule(rawValue: "other")

    /// Which of two reasons helps more: what is nearest to a path that works outranks what any stray candidate fails at.
    var usefulness: Int {
        switch self {
        case .nameMismatch: 9
        case .expired, .notYetValid: 8
        case .weakCryptography, .purpose, .nameConstraints, .pathLength, .criticalExtension: 7
        case .budget: 6
        case .notAnAuthority: 5
        case .other: 4
        case .malformed: 3
        case .badSignature: 2
        default: 1
        }
    }
}
