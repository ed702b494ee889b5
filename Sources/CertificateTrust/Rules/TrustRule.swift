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
    /// A wildcard directly below a public suffix (Baseline Requirements, section 3.2.2.6): of a registry, such as
    /// `co.uk`; in ``TrustPolicy/strict`` of a company too, such as `github.io`.
    public static let publicSuffixWildcard = TrustRule(rawValue: "public-suffix-wildcard")
    /// A policy that the path is not valid for (RFC 5280, section 6.1; `X509_V_ERR_NO_EXPLICIT_POLICY`).
    public static let certificatePolicies = TrustRule(rawValue: "certificate-policies")
    /// A certificate that OpenSSL cannot parse.
    public static let malformed = TrustRule(rawValue: "malformed")
    /// The search was stopped by one of its budgets.
    public static let budget = TrustRule(rawValue: "budget")
    /// Any other refusal of OpenSSL; the detail has its words.
    public static let other = TrustRule(rawValue: "other")

    /// Two signature algorithms in one certificate (RFC 5280, section 4.1.1.2).
    public static let signatureAlgorithm = TrustRule(rawValue: "signature-algorithm")
    /// A version that does not go with the extensions, or another than 3 in ``TrustPolicy/strict`` (RFC 5280, section
    /// 4.1.2.9).
    public static let certificateVersion = TrustRule(rawValue: "certificate-version")

    /// Not DER in all of its parts (RFC 5280, section 4.1). Strict.
    public static let encoding = TrustRule(rawValue: "encoding")
    /// An issuer without a name (RFC 5280, sections 4.1.2.4 and 4.1.2.6). Strict.
    public static let authorityName = TrustRule(rawValue: "authority-name")
    /// basicConstraints of an authority missing or not critical (RFC 5280, section 4.2.1.9). Strict.
    public static let basicConstraints = TrustRule(rawValue: "basic-constraints")
    /// An authority without keyUsage (RFC 5280, section 4.2.1.3). Strict.
    public static let keyUsage = TrustRule(rawValue: "key-usage")
    /// An authority without subjectKeyIdentifier (RFC 5280, section 4.2.1.2). Strict.
    public static let subjectKeyIdentifier = TrustRule(rawValue: "subject-key-identifier")
    /// authorityKeyIdentifier missing, or of another key than that of the issuer (RFC 5280, section 4.2.1.1). Strict.
    public static let authorityKeyIdentifier = TrustRule(rawValue: "authority-key-identifier")
    /// A root that says more than a root may (Baseline Requirements, section 7.1.2.1). Strict.
    public static let rootProfile = TrustRule(rawValue: "root-profile")
    /// Constraints on policies that are not critical (RFC 5280, section 4.2.1.11). Strict.
    public static let policyConstraints = TrustRule(rawValue: "policy-constraints")
    /// A leaf that is an authority (Baseline Requirements, section 7.1.2.7). Strict.
    public static let leafAuthority = TrustRule(rawValue: "leaf-authority")
    /// A leaf for any purpose, or for none that it says (Baseline Requirements, section 7.1.2.7.6). Strict.
    public static let leafPurpose = TrustRule(rawValue: "leaf-purpose")
    /// subjectAltName missing, malformed, or critical where it must not be (RFC 5280, section 4.2.1.6). Strict.
    public static let alternativeNames = TrustRule(rawValue: "alternative-names")
    /// A common name that spells an alternative name in another way (Baseline Requirements, section 7.1.4.3). Strict.
    public static let commonName = TrustRule(rawValue: "common-name")
    /// A serial number that is not positive or has over 20 bytes (RFC 5280, section 4.1.2.2). Strict.
    public static let serialNumber = TrustRule(rawValue: "serial-number")
    /// A malformed authorityInfoAccess (RFC 5280, section 4.2.2.1). Strict.
    public static let informationAccess = TrustRule(rawValue: "information-access")
    /// A kind of key that the Web does not have (Baseline Requirements, section 6.1.5). Strict.
    public static let webKey = TrustRule(rawValue: "web-key")

    /// Which of two reasons helps more: what is nearest to a path that works outranks what any stray candidate fails at.
    var usefulness: Int {
        switch self {
        case .nameMismatch: 9
        case .expired, .notYetValid, .revoked, .missingStaple: 8
        case .weakCryptography, .purpose, .nameConstraints, .pathLength, .criticalExtension, .revocationStale,
            .revocationSigner, .revocationUnusable:
            7
        case .notAnAuthority: 5
        case .other: 4
        case .malformed: 3
        case .badSignature: 2
        case .unknownIssuer: 1
        // Revocation that nothing tells, and the rules of the strict profile: a path that is sound otherwise.
        default: 6
        }
    }
}
