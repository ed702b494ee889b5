/// What a path must satisfy besides leading to an anchor.
///
/// ``default`` accepts what the Web accepts; ``strict`` asks for RFC 5280 and the CA/Browser Forum's rules to the
/// letter. Both build the same paths under the same budgets.
public struct TrustPolicy: Sendable, Hashable {
    /// What the leaf is used for (RFC 5280, section 4.2.1.12).
    @nonexhaustive
    public enum Purpose: Sendable, Hashable {
        /// A TLS server (`id-kp-serverAuth`).
        case server
        /// A TLS client (`id-kp-clientAuth`).
        case client
        /// Whatever the leaf is for: path validation alone (RFC 5280, section 6). Usages are not looked at, and of the
        /// rules that ``TrustPolicy/strict`` adds, which are a profile of certificates for TLS, none is.
        case any
    }

    /// The least strength of keys and signature digests, in bits (NIST SP 800-57; OpenSSL's security levels 1 to 5).
    @nonexhaustive
    public enum Strength: Int, Sendable, Hashable {
        /// RSA 1024.
        case bits80 = 1
        /// RSA 2048, P-224, SHA-256.
        case bits112
        /// RSA 3072, P-256, SHA-256.
        case bits128
        /// RSA 7680, P-384, SHA-384.
        case bits192
        /// P-521, SHA-512.
        case bits256
    }

    /// What the leaf is used for.
    public var purpose = Purpose.server

    /// How many certificates may stand between leaf and anchor; those that are self-issued do not count (RFC 5280,
    /// section 4.2.1.9). No path is longer than 12 certificates whatever this says.
    public var maximumIntermediates = 10

    /// The least strength of the keys and signatures of a path.
    public var strength = Strength.bits112

    /// How much is asked about revocation; nothing, unless told.
    public var revocation = RevocationMode.ignore

    /// The policies a path must be valid for; any, unless told.
    public var certificatePolicies = CertificatePolicyRequirements()

    /// The names directly below which no wildcard is accepted: those of registries in both profiles, those of companies
    /// in ``strict``.
    public var publicSuffixes = PublicSuffixes.system

    private var rules: CertificateRule.Selection

    /// The rules of our own that are checked, each as a bit.
    var activeRules: CertificateRule.Selection {
        purpose == .any ? rules.intersection(CertificateRule.base) : rules
    }

    /// What the Web accepts: RSA of 2048 bits or more, SHA-256 or better, issuers that are authorities, a leaf for the
    /// purpose, names within their constraints.
    public static let `default` = TrustPolicy(rules: CertificateRule.base)

    /// RFC 5280 and the CA/Browser Forum's Baseline Requirements to the letter. Refuses real certificates, roots among
    /// them: for a closed PKI, and for judging what a CA issued.
    public static let strict = TrustPolicy(rules: CertificateRule.all)

    /// This policy without one of the rules that ``strict`` adds; a rule that ``default`` has stays.
    public func without(_ rule: TrustRule) -> TrustPolicy {
        disabling(CertificateRule.selection(of: rule).subtracting(CertificateRule.base))
    }

    /// This policy without a rule, whichever it is: for the tests that show what each is good for.
    func disabling(_ rules: CertificateRule.Selection) -> TrustPolicy {
        var policy = self
        policy.rules.subtract(rules)
        return policy
    }
}

/// The inputs of certificate policy processing (RFC 5280, section 6.1.1 (c) to (f)).
public struct CertificatePolicyRequirements: Sendable, Hashable {
    /// The policies that are acceptable, as dotted decimals; `2.5.29.32.0` stands for any.
    public var initialPolicies: Set<String>
    /// Whether a path must be valid for one of them.
    public var requireExplicit: Bool
    /// Whether policy mappings are ignored.
    public var inhibitMapping: Bool
    /// Whether anyPolicy in a certificate is ignored.
    public var inhibitAnyPolicy: Bool

    /// By default any policy will do, and none.
    public init(
        initialPolicies: Set<String> = ["2.5.29.32.0"], requireExplicit: Bool = false, inhibitMapping: Bool = false,
        inhibitAnyPolicy: Bool = false
    ) {
        self.initialPolicies = initialPolicies
        self.requireExplicit = requireExplicit
        self.inhibitMapping = inhibitMapping
        self.inhibitAnyPolicy = inhibitAnyPolicy
    }
}
