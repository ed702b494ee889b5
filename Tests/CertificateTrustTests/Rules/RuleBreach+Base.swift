import CertificateTrust
import PinctlTestPKI

private typealias Usage = TestCertificate.ExtendedKeyUsage

extension RuleBreach {
    static let baseRules: [RuleBreach] =
        [
            RuleBreach(.expired, "RFC 5280, section 4.1.2.5", 0, .leaf("leaf") { $0.notAfter = 1_799_999_999 }),
            RuleBreach(
                .expired, "RFC 5280, section 4.1.2.5", 1,
                .intermediate("intermediate") { $0.notAfter = 1_799_999_999 }),
            RuleBreach(.expired, "RFC 5280, section 4.1.2.5", 2, .root("root") { $0.notAfter = 1_799_999_999 }),
            RuleBreach(.notYetValid, "RFC 5280, section 4.1.2.5", 0, .leaf("leaf") { $0.notBefore = 1_800_000_001 }),
            RuleBreach(.notYetValid, "RFC 5280, section 4.1.2.5", 2, .root("root") { $0.notBefore = 1_800_000_001 }),
            RuleBreach(
                .notAnAuthority, "RFC 5280, section 4.2.1.9", 1, otherwise: "not-an-authority",
                .intermediate("no cA") {
                    $0.isAuthority = false
                    $0.extensions = [.basicConstraints(isAuthority: false)]
                }),
            RuleBreach(
                .notAnAuthority, "RFC 5280, section 4.2.1.3", 1, otherwise: "not-an-authority",
                .intermediate("no keyCertSign") { $0.keyUsage = .cRLSign }),
            RuleBreach(
                .notAnAuthority, "RFC 5280, section 4.2.1.3", 2, otherwise: "not-an-authority",
                .root("no keyCertSign in a root") { $0.keyUsage = .cRLSign }),
            RuleBreach(
                .criticalExtension, "RFC 5280, section 4.2", 0, otherwise: "critical-extension",
                .leaf("unknown") { $0.extensions = [.init("1.2.3.4.5", critical: true, [0x05, 0x00])] }),
            RuleBreach(
                .criticalExtension, "RFC 5280, section 4.2", 1, otherwise: "critical-extension",
                .intermediate("a critical identifier") {
                    $0.hasSubjectKeyIdentifier = false
                    var identifier = TestCertificate.Extension.subjectKeyIdentifier([1, 2, 3])
                    identifier.isCritical = true
                    $0.extensions = [identifier]
                }),
            RuleBreach(
                .criticalExtension, "RFC 5280, section 4.2.1.4", 0,
                .leaf("an unknown qualifier of a policy") {
                    let qualifier = TestDER.sequence(TestDER.objectIdentifier("1.2.3.4.5"), [0x05, 0x00])
                    let policy = TestDER.sequence(TestDER.objectIdentifier("1.2.3"), TestDER.sequence(qualifier))
                    $0.extensions = [.init("2.5.29.32", critical: true, TestDER.sequence(policy))]
                }),
            RuleBreach(
                .weakCryptography, "RFC 4055, RFC 5758 and RFC 8410", 0, .leaf("SHA-224") { $0.digest = .sha224 }),
            RuleBreach(
                .weakCryptography, "RFC 4055, RFC 5758 and RFC 8410", 1, otherwise: "weak-cryptography",
                .intermediate("SHA-1") { $0.digest = .sha1 }),
            RuleBreach(
                .nameConstraints, "RFC 5280, section 4.2.1.10", 0,
                .leaf("a leaf with constraints") { $0.permittedSubtrees = [.dns("example.test")] }),
            RuleBreach(
                .nameConstraints, "RFC 5280, section 4.2.1.10", 1,
                .intermediate("a mask with a hole") {
                    $0.permittedSubtrees = [.ip([192, 0, 2, 0, 255, 0, 255, 0])]
                }),
            RuleBreach(
                // The names are rejected too, so that OpenSSL, which leaks memory here, isn't called.
                .certificatePolicies, "RFC 5280, section 6.1.3 (e)", 1, otherwise: "name-constraints",
                .intermediate("constraints on policies that it has none of") {
                    $0.extensions = [.policyConstraints(requireExplicit: 5)]
                    $0.permittedSubtrees = [.dns("other.test")]
                }),
            RuleBreach(
                .budget, "limits of this library", 1,
                .intermediate("20,001 alternative names") {
                    $0.alternativeNames = Array(repeating: .dns("a"), count: 20_001)
                }),
            RuleBreach(
                .budget, "limits of this library", 0,
                .leaf("101 policies") { $0.extensions = [.certificatePolicies((0..<101).map { "1.2.\($0)" })] }),
            RuleBreach(
                .budget, "limits of this library", 0,
                .intermediate(
                    "distribution points relative to a long name",
                    adjusting: { $0.subject = TestName(.commonName(String(repeating: "a", count: 3_000))) },
                    leaf: {
                        $0.extensions = [
                            .distributionPoints(relativeNames: Array(repeating: .organization("CRL"), count: 30))
                        ]
                    })),
            RuleBreach(
                .certificateVersion, "RFC 5280, section 4.1.2.9", 0, otherwise: "certificate-version",
                .leaf("version 2 with extensions") {
                    $0.version = 2
                    $0.hasExtensionsInAnyVersion = true
                }),
            RuleBreach(
                .signatureAlgorithm, "RFC 5280, section 4.1.1.2", 0, otherwise: "bad-signature",
                .leaf("SHA-384 beside SHA-256") {
                    $0.outerSignatureAlgorithm = TestDER.sequence(TestDER.objectIdentifier("1.2.840.10045.4.3.3"))
                }),
        ] + purposes + keys

    private static let purposes = [
        RuleBreach(
            .purpose, "RFC 5280, section 4.2.1.12", 0,
            .leaf("for clients") { $0.extendedKeyUsages = [Usage.clientAuth] }),
        RuleBreach(
            .purpose, "RFC 5280, section 4.2.1.12", 1,
            .intermediate("an intermediate for clients") { $0.extendedKeyUsages = [Usage.clientAuth] }),
        RuleBreach(
            .purpose, "RFC 5280, section 4.2.1.3", 0, beside: [.leafAuthority],
            .leaf("for signing lists") { $0.keyUsage = .cRLSign }),
        RuleBreach(
            .publicSuffixWildcard, "Baseline Requirements, section 3.2.2.6", 0, otherwise: "public-suffix-wildcard",
            ChainVariant("a wildcard below a public suffix") { try wildcardClaim(below: "co.test") }),
    ]

    /// Returns a claim whose leaf has `*.co.test`, evaluated with this list of public suffixes.
    static func wildcardClaim(below list: String) throws -> Claim {
        var claim = try ChainVariant.leaf("", name: "api.co.test") {
            $0.subject = "Server"
            $0.alternativeNames = [.dns("*.co.test")]
        }.claim()
        claim.policy.publicSuffixes = PublicSuffixes(list: Array(list.utf8))
        return claim
    }

    private static let keys = [
        weakKey("RSA-1024", otherwise: "weak-cryptography") { TestKey.rsaPublicKeyDER(bits: 1_024) },
        weakKey("RSA-16384") { TestKey.rsaPublicKeyDER(bits: 16_384) },
        weakKey("an even exponent") { TestKey.rsaPublicKeyDER(bits: 2_048, exponent: [2]) },
        weakKey("an exponent of 34 bits") { TestKey.rsaPublicKeyDER(bits: 2_048, exponent: [2, 0, 0, 0, 1]) },
        weakKey("a byte behind an RSA key") {
            let key = TestDER.sequence(
                TestDER.integer(octets: [0] + [UInt8](repeating: 0xC5, count: 256)), TestDER.integer(3))
            return TestDER.sequence(
                TestDER.sequence(TestDER.objectIdentifier("1.2.840.113549.1.1.1"), [0x05, 0x00]),
                TestDER.bitString(key + [0x2E]))
        },
        weakKey("a compressed point", otherwise: "web-key") { try point(2, keepingY: false) },
        weakKey("a hybrid point", otherwise: "web-key") { try point(6, keepingY: true) },
        weakKey("DSA", otherwise: "web-key") { TestKey.dsaPublicKeyDER(bits: 3_072) },
        weakKey("an unknown curve", otherwise: "web-key") { try TestKey.shared(.curve("sect571r1")).publicKeyDER },
    ]

    /// Returns a P-256 key whose point has another form, `form` with the lowest bit of y (SEC 1, section 2.3.3).
    private static func point(_ form: UInt8, keepingY: Bool) throws -> [UInt8] {
        let key = try TestKey.shared(.p256).publicKeyDER
        let coordinates = key.suffix(64)
        return TestDER.sequence(
            Array(key[2..<23]),
            TestDER.bitString([form | key[key.count - 1] & 1] + (keepingY ? coordinates : coordinates.prefix(32))))
    }

    private static func weakKey(
        _ description: String, otherwise: String = "accepted", _ publicKey: @escaping @Sendable () throws -> [UInt8]
    ) -> RuleBreach {
        RuleBreach(
            .weakCryptography, "NIST SP 800-57, part 1, table 2", 0, otherwise: otherwise,
            ChainVariant(description) {
                let root = try TestCertificate.root("Root")
                let key = try publicKey()
                let leaf = try root.leaf("api.example.test") { $0.subjectPublicKeyInfo = key }
                return Claim(leaf: leaf, anchors: [root])
            })
    }
}
