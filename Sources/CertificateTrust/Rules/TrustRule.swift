import OpenSSLBridge

/// The identifier of a check, such as `expired` or `name-mismatch`. Identifiers are stable across versions.
public struct TrustRule: RawRepresentable, Hashable, Sendable {
    /// The identifier, in lower case with hyphens.
    public let rawValue: String

    /// Creates a rule from its identifier.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The certificate doesn't match the hostname (RFC 9525).
    public static let nameMismatch = TrustRule(rawValue: "name-mismatch")
    /// The certificate has expired: the time is after notAfter (RFC 5280, section 4.1.2.5;
    /// `X509_V_ERR_CERT_HAS_EXPIRED`).
    public static let expired = TrustRule(rawValue: "expired")
    /// The certificate isn't valid yet: the time is before notBefore (`X509_V_ERR_CERT_NOT_YET_VALID`).
    public static let notYetValid = TrustRule(rawValue: "not-yet-valid")
    /// No issuer certificate was found, or none that leads to an anchor
    /// (`X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY`).
    public static let unknownIssuer = TrustRule(rawValue: "unknown-issuer")
    /// A signature doesn't verify with the issuer's key (`X509_V_ERR_CERT_SIGNATURE_FAILURE`).
    public static let badSignature = TrustRule(rawValue: "bad-signature")
    /// The issuer isn't a CA, or its keyUsage lacks keyCertSign (RFC 5280, sections 4.2.1.9 and 4.2.1.3;
    /// `X509_V_ERR_INVALID_CA`).
    public static let notAnAuthority = TrustRule(rawValue: "not-an-authority")
    /// More CA certificates are below a CA than its path length allows (`X509_V_ERR_PATH_LENGTH_EXCEEDED`).
    public static let pathLength = TrustRule(rawValue: "path-length")
    /// A name is outside the name constraints, or the name constraints of a certificate are invalid (RFC 5280, section
    /// 4.2.1.10; `X509_V_ERR_PERMITTED_VIOLATION`).
    public static let nameConstraints = TrustRule(rawValue: "name-constraints")
    /// The certificate isn't valid for this purpose (RFC 5280, section 4.2.1.12; `X509_V_ERR_INVALID_PURPOSE`).
    public static let purpose = TrustRule(rawValue: "purpose")
    /// A key or signature digest is too weak (`X509_V_ERR_EE_KEY_TOO_SMALL`, `X509_V_ERR_CA_MD_TOO_WEAK`).
    public static let weakCryptography = TrustRule(rawValue: "weak-cryptography")
    /// A critical extension is unsupported (`X509_V_ERR_UNHANDLED_CRITICAL_EXTENSION`).
    public static let criticalExtension = TrustRule(rawValue: "critical-extension")
    /// A wildcard is directly below a public suffix (Baseline Requirements, section 3.2.2.6). The default profile
    /// rejects wildcards below a registry's suffix, such as `co.uk`. ``TrustPolicy/strict`` also rejects those below a
    /// company's suffix, such as `github.io`.
    public static let publicSuffixWildcard = TrustRule(rawValue: "public-suffix-wildcard")
    /// The path isn't valid for any required policy, or a certificate constrains policies and has none (RFC 5280,
    /// section 6.1; `X509_V_ERR_NO_EXPLICIT_POLICY`). ``TrustPolicy/strict`` also rejects a malformed
    /// certificatePolicies, and one that has the same policy twice.
    public static let certificatePolicies = TrustRule(rawValue: "certificate-policies")
    /// OpenSSL can't parse the certificate.
    public static let malformed = TrustRule(rawValue: "malformed")
    /// The search, or a single certificate, exceeds one of the limits on work.
    public static let budget = TrustRule(rawValue: "budget")
    /// Memory ran out, so nothing is known about the path.
    public static let outOfMemory = TrustRule(rawValue: "out-of-memory")
    /// OpenSSL rejected the certificate for any other reason, which the detail quotes.
    public static let other = TrustRule(rawValue: "other")

    /// The certificate names two different signature algorithms (RFC 5280, section 4.1.1.2). In ``TrustPolicy/strict``,
    /// also: it encodes the same one in two ways, or one of RSA otherwise than the Web PKI does (Baseline Requirements,
    /// section 7.1.3.2.1).
    public static let signatureAlgorithm = TrustRule(rawValue: "signature-algorithm")
    /// The version doesn't allow extensions, or, in ``TrustPolicy/strict``, isn't 3 (RFC 5280, section 4.1.2.9).
    public static let certificateVersion = TrustRule(rawValue: "certificate-version")

    /// A part of the certificate isn't DER (RFC 5280, section 4.1), or the certificate has unique identifiers. Strict.
    public static let encoding = TrustRule(rawValue: "encoding")
    /// The issuer name is empty (RFC 5280, sections 4.1.2.4 and 4.1.2.6). Strict.
    public static let authorityName = TrustRule(rawValue: "authority-name")
    /// basicConstraints of a CA certificate is missing or not critical (RFC 5280, section 4.2.1.9). Strict.
    public static let basicConstraints = TrustRule(rawValue: "basic-constraints")
    /// A CA certificate has no keyUsage (RFC 5280, section 4.2.1.3). Strict.
    public static let keyUsage = TrustRule(rawValue: "key-usage")
    /// A CA certificate has no subjectKeyIdentifier (RFC 5280, section 4.2.1.2). Strict.
    public static let subjectKeyIdentifier = TrustRule(rawValue: "subject-key-identifier")
    /// authorityKeyIdentifier is missing, or names another key than the issuer's (RFC 5280, section 4.2.1.1). Strict.
    public static let authorityKeyIdentifier = TrustRule(rawValue: "authority-key-identifier")
    /// A root contains more than a root may (Baseline Requirements, section 7.1.2.1). Strict.
    public static let rootProfile = TrustRule(rawValue: "root-profile")
    /// policyConstraints or inhibitAnyPolicy isn't critical (RFC 5280, sections 4.2.1.11 and 4.2.1.14). Strict.
    public static let policyConstraints = TrustRule(rawValue: "policy-constraints")
    /// The leaf is a CA certificate, or has a path length, keyCertSign or cRLSign (Baseline Requirements, section
    /// 7.1.2.7). Strict.
    public static let leafAuthority = TrustRule(rawValue: "leaf-authority")
    /// The leaf is valid for any purpose, states none, or its extendedKeyUsage is critical (Baseline Requirements,
    /// section 7.1.2.7.6). Strict.
    public static let leafPurpose = TrustRule(rawValue: "leaf-purpose")
    /// subjectAltName is missing, empty or malformed, or its criticality is wrong: it must be critical exactly if the
    /// subject is empty. In an intermediate it must not be empty (RFC 5280, section 4.2.1.6). Strict.
    public static let alternativeNames = TrustRule(rawValue: "alternative-names")
    /// A common name is another spelling of an alternative name, or an internationalized name that isn't one of them
    /// (Baseline Requirements, section 7.1.4.3). Strict.
    public static let commonName = TrustRule(rawValue: "common-name")
    /// The serial number isn't positive or has over 20 bytes (RFC 5280, section 4.1.2.2). Strict.
    public static let serialNumber = TrustRule(rawValue: "serial-number")
    /// authorityInfoAccess is malformed or critical (RFC 5280, section 4.2.2.1). Strict.
    public static let informationAccess = TrustRule(rawValue: "information-access")
    /// The key is of a kind or size that the Web PKI doesn't allow (Baseline Requirements, section 6.1.5). Strict.
    public static let webKey = TrustRule(rawValue: "web-key")
    /// The leaf is valid for longer than a public CA may issue, and its path has the key of a public root (Baseline
    /// Requirements, section 6.3.2). Strict.
    public static let lifetime = TrustRule(rawValue: "lifetime")

    /// The rank of the rule when one of two findings must be chosen. A failure close to a valid path ranks above the
    /// failure of an unrelated candidate.
    var usefulness: Int {
        switch self {
        // Without it, another path might have been valid.
        case .outOfMemory: 10
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
        // Unknown revocation status and the rules of the strict profile: the path is valid otherwise.
        default: 6
        }
    }
}

extension TrustRule: CustomStringConvertible {
    /// The identifier, such as `name-mismatch`.
    public var description: String { rawValue }
}

/// The rules for revocation, in addition to those for the path.
extension TrustRule {
    /// The issuer revoked the certificate or put it on hold (RFC 5280, section 5.3.1; `X509_V_ERR_CERT_REVOKED`).
    public static let revoked = TrustRule(rawValue: "revoked")
    /// The available evidence doesn't say whether the certificate is revoked, and the policy requires it
    /// (`X509_V_ERR_UNABLE_TO_GET_CRL`), or the OCSP responder doesn't know the certificate (RFC 6960, section 2.2).
    public static let revocationUnknown = TrustRule(rawValue: "revocation-unknown")
    /// A list or response isn't valid yet, has expired, or has no nextUpdate (`X509_V_ERR_CRL_HAS_EXPIRED`).
    public static let revocationStale = TrustRule(rawValue: "revocation-stale")
    /// A list or response isn't signed by an authorized signer (RFC 5280, section 6.3.3 (f) and (g); RFC 6960, section
    /// 4.2.2.2; `X509_V_ERR_CRL_SIGNATURE_FAILURE`).
    public static let revocationSigner = TrustRule(rawValue: "revocation-signer")
    /// A list or response can't be read, has an unsupported critical extension, or is about another certificate.
    public static let revocationUnusable = TrustRule(rawValue: "revocation-unusable")
    /// The certificate requires a stapled response, and the server sent none (RFC 7633, section 4).
    public static let missingStaple = TrustRule(rawValue: "missing-staple")
}

extension TrustRule {
    /// Maps an OpenSSL verification code to its rule.
    init(_ code: VerifyCode) {
        self = Self.families.first { $0.codes.contains(code) }?.rule ?? .other
    }

    private static let families: [(codes: Set<VerifyCode>, rule: TrustRule)] = [
        (VerifyCode.unknownIssuers, .unknownIssuer), (VerifyCode.badSignatures, .badSignature),
        (VerifyCode.notAuthorities, .notAnAuthority), (VerifyCode.pathLengths, .pathLength),
        (VerifyCode.purposes, .purpose), (VerifyCode.nameConstraints, .nameConstraints),
        (VerifyCode.weakCryptography, .weakCryptography), (VerifyCode.criticalExtensions, .criticalExtension),
        (VerifyCode.certificatePolicies, .certificatePolicies), (VerifyCode.exhaustions, .budget),
    ]
}
