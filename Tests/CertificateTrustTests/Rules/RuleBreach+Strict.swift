import CertificateTrust
import PinctlTestPKI

private typealias Usage = TestCertificate.ExtendedKeyUsage

extension RuleBreach {
    static let authorityRules: [RuleBreach] = [
        RuleBreach(
            .basicConstraints, "RFC 5280, section 4.2.1.9", 1,
            .intermediate("not critical") {
                $0.isAuthority = false
                $0.extensions = [.basicConstraints(isAuthority: true, critical: false)]
            }),
        RuleBreach(
            .basicConstraints, "RFC 5280, section 4.2.1.9", 2,
            .root("not critical in a root") {
                $0.isAuthority = false
                $0.extensions = [.basicConstraints(isAuthority: true, critical: false)]
            }),
        RuleBreach(
            .basicConstraints, "RFC 5280, section 4.2.1.9", 2,
            beside: [.subjectKeyIdentifier], .root("none in a root") { $0.version = 1 }),
        RuleBreach(.keyUsage, "RFC 5280, section 4.2.1.3", 1, .intermediate("none") { $0.keyUsage = [] }),
        RuleBreach(
            .subjectKeyIdentifier, "RFC 5280, section 4.2.1.2", 1,
            .intermediate("none") { $0.hasSubjectKeyIdentifier = false }),
        RuleBreach(
            .subjectKeyIdentifier, "RFC 5280, section 4.2.1.2", 2,
            .root("none in a root") { $0.hasSubjectKeyIdentifier = false }),
        RuleBreach(
            .rootProfile, "Baseline Requirements, section 7.1.2.1", 2,
            .root("a purpose") { $0.extendedKeyUsages = [Usage.serverAuth] }),
        RuleBreach(
            .rootProfile, "Baseline Requirements, section 7.1.2.1", 2,
            .root("its certificate") {
                $0.extensions = [.authorityCertificate(issuer: $0.subject, serial: $0.serial)]
            }),
        RuleBreach(
            .rootProfile, "Baseline Requirements, section 7.1.2.1", 2,
            .root("another key") { $0.extensions = [.authorityKeyIdentifier([1, 2, 3])] }),
        RuleBreach(
            .nameConstraints, "RFC 5280, section 4.2.1.10", 1,
            .intermediate("constraints that are not critical") {
                $0.extensions = [.nameConstraints(permitted: [.dns("example.test")], critical: false)]
            }),
        RuleBreach(
            .nameConstraints, "RFC 5280, sections 4.2.1.6 and 4.2.1.10", 1,
            .intermediate("a leading dot") { $0.permittedSubtrees = [.dns(".example.test")] }),
        RuleBreach(
            .nameConstraints, "RFC 5280, sections 4.2.1.6 and 4.2.1.10", 2,
            .root("a leading dot in a root") { $0.permittedSubtrees = [.dns(".example.test")] }),
        RuleBreach(
            .alternativeNames, "RFC 5280, section 4.2.1.6", 1,
            .intermediate("an empty list of names") { $0.extensions = [.alternativeNames([])] }),
        RuleBreach(
            .policyConstraints, "RFC 5280, sections 4.2.1.11 and 4.2.1.14", 1,
            .intermediate("not critical") {
                $0.extensions = [
                    .policyConstraints(requireExplicit: 5, critical: false), .certificatePolicies(["2.5.29.32.0"]),
                ]
            }),
    ]

    static let leafRules: [RuleBreach] = [
        RuleBreach(
            .leafAuthority, "Baseline Requirements, section 7.1.2.7.8", 0, .leaf("cA") { $0.isAuthority = true }),
        RuleBreach(
            .leafAuthority, "Baseline Requirements, section 7.1.2.7.8", 0,
            .leaf("a path length") { $0.pathLength = 0 }),
        RuleBreach(
            .leafAuthority, "Baseline Requirements, section 7.1.2.7.8", 0,
            .leaf("keyCertSign") { $0.keyUsage = [.digitalSignature, .keyCertSign] }),
        RuleBreach(
            .leafAuthority, "Baseline Requirements, section 7.1.2.7.8", 0,
            .leaf("cRLSign") { $0.keyUsage = [.digitalSignature, .cRLSign] }),
        RuleBreach(
            .leafPurpose, "Baseline Requirements, section 7.1.2.7.6", 0, .leaf("none") { $0.extendedKeyUsages = [] }),
        RuleBreach(
            .leafPurpose, "Baseline Requirements, section 7.1.2.7.6", 0,
            .leaf("any") { $0.extendedKeyUsages = [Usage.serverAuth, Usage.any] }),
        RuleBreach(
            .leafPurpose, "Baseline Requirements, section 7.1.2.7.6", 0,
            .leaf("critical") {
                $0.extendedKeyUsages = []
                $0.extensions = [.extendedKeyUsage([Usage.serverAuth], critical: true)]
            }),
        RuleBreach(
            .alternativeNames, "Baseline Requirements, section 7.1.2.7.12", 0,
            .leaf("none", name: nil) { $0.alternativeNames = [] }),
        RuleBreach(
            .alternativeNames, "Baseline Requirements, section 7.1.2.7.12", 0,
            .leaf("an empty list", name: nil) {
                $0.alternativeNames = []
                $0.extensions = [.alternativeNames([])]
            }),
        RuleBreach(
            .alternativeNames, "Baseline Requirements, section 7.1.2.7.12", 0,
            .leaf("critical beside a subject") {
                $0.extensions = [.alternativeNames($0.alternativeNames, critical: true)]
                $0.alternativeNames = []
            }),
        RuleBreach(
            .alternativeNames, "Baseline Requirements, section 7.1.2.7.12", 0,
            .leaf("not critical without a subject") { $0.subject = TestName() }),
        RuleBreach(
            .alternativeNames, "Baseline Requirements, section 7.1.2.7.12", 0,
            .leaf("an underscore") { $0.alternativeNames.append(.dns("my_host.example.test")) }),
        RuleBreach(
            .alternativeNames, "Baseline Requirements, section 7.1.2.7.12", 0,
            .leaf("an address of 5 octets") { $0.alternativeNames.append(.ip([1, 2, 3, 4, 5])) }),
        RuleBreach(
            .commonName, "Baseline Requirements, section 7.1.4.3", 0,
            .leaf("other capitals") { $0.subject = "API.example.test" }),
        RuleBreach(
            .publicSuffixWildcard, "Baseline Requirements, sections 3.2.2.6 and 7.1.2.7.12", 0,
            ChainVariant("a wildcard below a private one") {
                try wildcardClaim(below: "// ===BEGIN PRIVATE DOMAINS===\nco.test")
            }),
        RuleBreach(
            .lifetime, "Baseline Requirements, section 6.3.2", 0,
            ChainVariant("ten years from a public CA") {
                let root = try TestCertificate.root("Root")
                var claim = Claim(leaf: try root.leaf("api.example.test"), anchors: [root])
                claim.policy.publicRoots = [try X509Certificate(derBytes: root.derBytes).spkiFingerprint]
                return claim
            }),
    ]

    static let encodingRules: [RuleBreach] = [
        RuleBreach(
            .certificateVersion, "Baseline Requirements, section 7.1.1", 0,
            beside: [.leafPurpose, .alternativeNames, .authorityKeyIdentifier],
            .leaf("version 1", name: nil) { $0.version = 1 }),
        RuleBreach(.serialNumber, "RFC 5280, section 4.1.2.2", 0, .leaf("zero") { $0.serial = [0] }),
        RuleBreach(.serialNumber, "RFC 5280, section 4.1.2.2", 1, .intermediate("negative") { $0.serial = [0xFF] }),
        RuleBreach(
            .serialNumber, "RFC 5280, section 4.1.2.2", 1,
            .intermediate("21 octets") { $0.serial = [UInt8](repeating: 1, count: 21) }),
        RuleBreach(
            .encoding, "RFC 5280, section 4.1", 1,
            .intermediate("a GeneralizedTime before 2050") { $0.startsWithGeneralizedTime = true }),
        RuleBreach(
            .encoding, "RFC 5280, section 4.1", 0, .leaf("a unique identifier") { $0.uniqueIdentifier = [0, 1] }),
        RuleBreach(
            .encoding, "RFC 5280, section 4.1", 0,
            .leaf("a PrintableString that has an @") {
                $0.subject = TestName(.init("2.5.4.3", "server@example", tag: 0x13))
            }),
        RuleBreach(
            .encoding, "RFC 5280, section 4.1", 0,
            .leaf("an encoded default") {
                var encoded = TestCertificate.Extension("1.2.3.4.5", [0x05, 0x00])
                encoded.hasEncodedDefault = true
                $0.extensions = [encoded]
            }),
        RuleBreach(
            .certificatePolicies, "RFC 5280, section 4.2.1.4", 0,
            .leaf("a policy twice") { $0.extensions = [.certificatePolicies(["1.2.3", "1.2.4", "1.2.3"])] }),
        RuleBreach(
            .certificatePolicies, "RFC 5280, section 4.2.1.4", 0,
            .leaf("malformed qualifiers") {
                let policy = TestDER.sequence(TestDER.objectIdentifier("1.2.3"), TestDER.utf8String("qualifier"))
                $0.extensions = [.init("2.5.29.32", TestDER.sequence(policy))]
            }),
        RuleBreach(
            .certificatePolicies, "RFC 5280, section 4.2.1.4", 1,
            .intermediate("a policy twice in an intermediate") {
                $0.extensions = [.certificatePolicies(["1.2.3", "1.2.3"])]
            }),
        RuleBreach(
            .signatureAlgorithm, "Baseline Requirements, section 7.1.3.2.1", 0,
            ChainVariant("RSA without NULL") {
                let root = try TestCertificate.root("Root", key: .shared(.rsa2048))
                let bare = TestDER.sequence(TestDER.objectIdentifier("1.2.840.113549.1.1.11"))
                let leaf = try root.leaf("api.example.test") {
                    ($0.innerSignatureAlgorithm, $0.outerSignatureAlgorithm) = (bare, bare)
                }
                return Claim(leaf: leaf, anchors: [root])
            }),
        RuleBreach(
            .signatureAlgorithm, "RFC 5280, section 4.1.1.2", 0, otherwise: "signature-algorithm",
            ChainVariant("without NULL beside with") {
                let root = try TestCertificate.root("Root", key: .shared(.rsa2048))
                let leaf = try root.leaf("api.example.test") {
                    $0.innerSignatureAlgorithm = TestDER.sequence(TestDER.objectIdentifier("1.2.840.113549.1.1.11"))
                }
                return Claim(leaf: leaf, anchors: [root])
            }),
        RuleBreach(
            .authorityName, "RFC 5280, section 4.1.2.4", 0,
            .intermediate("a leaf without an issuer") { $0.subject = TestName() }),
        RuleBreach(
            .authorityKeyIdentifier, "RFC 5280, section 4.2.1.1", 0,
            .leaf("none") { $0.hasAuthorityKeyIdentifier = false }),
        RuleBreach(
            .authorityKeyIdentifier, "RFC 5280, section 4.2.1.1", 1,
            .intermediate("none in an intermediate") { $0.hasAuthorityKeyIdentifier = false }),
        RuleBreach(
            .authorityKeyIdentifier, "RFC 5280, section 4.2.1.1", 0,
            .leaf("a certificate alone") {
                $0.hasAuthorityKeyIdentifier = false
                $0.extensions = [.authorityCertificate(issuer: "Root", serial: [1])]
            }),
        RuleBreach(
            .authorityKeyIdentifier, "RFC 5280, section 4.2.1.1", 0,
            .leaf("another key") {
                $0.hasAuthorityKeyIdentifier = false
                $0.extensions = [.authorityKeyIdentifier([1, 2, 3])]
            }),
        informationAccess("no sequence", [0x05, 0x00]),
        informationAccess("an empty list", TestDER.sequence()),
        informationAccess(
            "no location",
            TestDER.sequence(TestDER.sequence(TestDER.objectIdentifier("1.3.6.1.5.5.7.48.1"), [0x05, 0x00]))),
        RuleBreach(
            .webKey, "Baseline Requirements, sections 6.1.5 and 7.1.3.1", 0, .leaf("Ed25519", key: .ed25519)),
        RuleBreach(
            .webKey, "Baseline Requirements, sections 6.1.5 and 7.1.3.1", 0,
            .leaf("brainpoolP256r1", key: .curve("brainpoolP256r1"))),
        RuleBreach(
            .webKey, "Baseline Requirements, sections 6.1.5 and 7.1.3.1", 0,
            .leaf("RSA-2049") { $0.subjectPublicKeyInfo = TestKey.rsaPublicKeyDER(bits: 2_049) }),
    ]

    private static func informationAccess(_ description: String, _ value: [UInt8]) -> RuleBreach {
        RuleBreach(
            .informationAccess, "RFC 5280, section 4.2.2.1", 0,
            .leaf(description) { $0.extensions = [.init("1.3.6.1.5.5.7.1.1", value)] })
    }
}
