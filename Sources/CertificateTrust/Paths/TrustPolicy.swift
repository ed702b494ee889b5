/// The requirements for a path besides leading to an anchor.
///
/// ``default`` accepts what the Web accepts. ``strict`` requires exact conformance to RFC 5280 and the CA/Browser
/// Forum's rules. Both build the same paths within the same limits.
public struct TrustPolicy: Sendable, Hashable {
    /// The purpose of the leaf (RFC 5280, section 4.2.1.12).
    @nonexhaustive
    public enum Purpose: Sendable, Hashable {
        /// A TLS server (`id-kp-serverAuth`).
        case server
        /// A TLS client (`id-kp-clientAuth`).
        case client
        /// Any purpose: path validation alone (RFC 5280, section 6). Key usages aren't checked. The rules that
        /// ``TrustPolicy/strict`` adds aren't checked either, because they are a profile of certificates for TLS.
        case any
    }

    /// The minimum strength of keys and signature digests, in bits (NIST SP 800-57; OpenSSL's security levels 1 to 5).
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

    /// The purpose of the leaf.
    public var purpose = Purpose.server

    /// The maximum number of certificates between leaf and anchor, not counting self-issued ones (RFC 5280, section
    /// 4.2.1.9). Whatever the value, no path is longer than 12 certificates.
    public var maximumIntermediates = 10

    /// The minimum strength of the keys and signatures in a path.
    public var strength = Strength.bits112

    /// The extent of the revocation check. By default, revocation isn't checked.
    public var revocation = RevocationMode.ignore

    /// The extent to which Certificate Transparency is checked. By default, it isn't.
    public var certificateTransparency = CertificateTransparencyMode.ignore

    /// The certificate policies that a path must be valid for. By default, any policy is accepted.
    public var certificatePolicies = CertificatePolicyRequirements()

    /// The names directly below which wildcards are rejected. Both profiles use the suffixes of registries, and
    /// ``strict`` also those of companies.
    public var publicSuffixes = PublicSuffixes.system

    /// The keys of the roots of public CAs, which the Baseline Requirements bind. `nil` means the list of this version
    /// of the library, `pins/public-roots.jsonc`. Only ``strict`` uses them.
    public var publicRoots: Set<SPKIFingerprint>?

    /// Returns whether a path, leaf first, has the key of a public CA's root above the leaf. A cross-signed root may be
    /// in the middle of a path that ends at an older root, or at a private one.
    package func isOfPublicCA(_ path: [X509Certificate]) -> Bool {
        let roots = publicRoots ?? PublicRoots.known
        return path.dropFirst().contains { roots.contains($0.spkiFingerprint) }
    }

    private var rules: CertificateRule.Selection

    /// The rules of this library that are checked, with one bit for each.
    var activeRules: CertificateRule.Selection {
        purpose == .any ? rules.intersection(CertificateRule.base) : rules
    }

    /// The rules of the Web: RSA keys of 2048 bits or more, SHA-256 or better, issuers that are CAs, a leaf for the
    /// purpose, and names within their constraints.
    public static let `default` = TrustPolicy(rules: CertificateRule.base)

    /// Exact conformance to RFC 5280 and the CA/Browser Forum's Baseline Requirements. It rejects certificates in use,
    /// including roots. Use it for a closed PKI, or to check what a CA issued.
    public static let strict = TrustPolicy(rules: CertificateRule.all)

    /// Returns this policy without one of the rules that ``strict`` adds. A rule of ``default`` can't be removed.
    public func without(_ rule: TrustRule) -> TrustPolicy {
        disabling(CertificateRule.selection(of: rule).subtracting(CertificateRule.base))
    }

    /// Returns this policy without any of these rules, for the tests that show the effect of each rule.
    func disabling(_ rules: CertificateRule.Selection) -> TrustPolicy {
        var policy = self
        policy.rules.subtract(rules)
        return policy
    }
}

/// The inputs of certificate policy processing (RFC 5280, section 6.1.1 (c) to (f)).
public struct CertificatePolicyRequirements: Sendable, Hashable {
    /// The acceptable policies in dotted decimal. `2.5.29.32.0` means any policy.
    public var initialPolicies: Set<String>
    /// Whether a path must be valid for one of them.
    public var requireExplicit: Bool
    /// Whether policy mappings are ignored.
    public var inhibitMapping: Bool
    /// Whether anyPolicy in a certificate is ignored.
    public var inhibitAnyPolicy: Bool

    /// Creates the inputs. By default, a path may be valid for any policy or none.
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

extension TrustPolicy: CustomStringConvertible {
    /// The profile and the settings that differ from it, such as `strict, revocation: require`.
    public var description: String {
        let profiles = [(TrustPolicy.default.rules, "default"), (TrustPolicy.strict.rules, "strict")]
        let usual = TrustPolicy.default
        var parts = [profiles.first { $0.0 == rules }?.1 ?? "strict with exceptions"]
        if purpose != usual.purpose { parts.append("purpose: \(purpose)") }
        if maximumIntermediates != usual.maximumIntermediates {
            parts.append("at most \(maximumIntermediates) intermediates")
        }
        if strength != usual.strength { parts.append("strength: \(strength)") }
        if revocation != usual.revocation { parts.append("revocation: \(revocation)") }
        if certificateTransparency != usual.certificateTransparency {
            parts.append("certificate transparency: \(certificateTransparency.rawValue)")
        }
        if certificatePolicies != usual.certificatePolicies { parts.append("certificate policies required") }
        if publicSuffixes != usual.publicSuffixes { parts.append("its own public suffixes") }
        if publicRoots != usual.publicRoots { parts.append("its own public roots") }
        return parts.joined(separator: ", ")
    }
}
