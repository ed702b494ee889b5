import PinctlTestPKI
import Testing

private typealias Usage = TestCertificate.ExtendedKeyUsage

@Suite("No false alarms: certificate fields and extensions")
struct FalseAlarmTests {
    @Test("Missing or mismatched authority key identifiers don't reject a chain", arguments: identifiers)
    func identifier(_ row: ChainVariant) throws { #expect(try row.claim().verdict() == "accepted") }

    static let identifiers: [ChainVariant] = [
        .leaf("a leaf without one") { $0.hasAuthorityKeyIdentifier = false },
        .intermediate("an intermediate without one") { $0.hasAuthorityKeyIdentifier = false },
        .intermediate("an intermediate without any identifier") {
            $0.hasAuthorityKeyIdentifier = false
            $0.hasSubjectKeyIdentifier = false
        },
        .root("a root without any identifier") { $0.hasSubjectKeyIdentifier = false },
        .leaf("a leaf that names another key than its issuer says it has") {
            $0.hasAuthorityKeyIdentifier = false
            $0.extensions = [.authorityKeyIdentifier([1, 2, 3, 4])]
        },
        .intermediate("an intermediate that names another key than its issuer says it has") {
            $0.hasAuthorityKeyIdentifier = false
            $0.extensions = [.authorityKeyIdentifier([1, 2, 3, 4])]
        },
        .leaf("a leaf that names an issuer and serial nobody presents") {
            $0.hasAuthorityKeyIdentifier = false
            $0.extensions = [.authorityCertificate(issuer: "Elsewhere", serial: [5])]
        },
        ChainVariant("a leaf that names the certificate its issuer had before it was reissued") {
            let (root, old) = (try TestCertificate.root("Root"), try TestCertificate.root("Old Root"))
            let intermediate = try root.intermediate("Intermediate")
            let leaf = try intermediate.leaf("api.example.test") {
                $0.hasAuthorityKeyIdentifier = false
                $0.extensions = [.authorityCertificate(issuer: old.subject, serial: [5])]
            }
            let before = try old.crossSign(intermediate) { $0.serial = [5] }
            return Claim(leaf: leaf, presented: [before, intermediate], anchors: [root])
        },
    ]

    @Test("Every key type and signature algorithm in use is accepted", arguments: keys)
    func key(_ row: ChainVariant) throws { #expect(try row.claim().verdict() == "accepted") }

    static let keys: [ChainVariant] =
        [TestKey.Kind.rsa2048, .rsa(bits: 3072), .rsaPSS(bits: 2048), .p384, .p521, .ed25519].flatMap { kind in
            [
                .leaf("a leaf: \(kind)", key: kind),
                ChainVariant("authorities: \(kind)") {
                    let root = try TestCertificate.root("Root", key: .shared(kind))
                    let intermediate = try root.intermediate("Intermediate", key: .shared(kind))
                    return Claim(
                        leaf: try intermediate.leaf("api.example.test"), presented: [intermediate], anchors: [root])
                },
            ]
        } + [
            ChainVariant("RSA-PSS signatures of a plain RSA key") {
                let key = try TestKey.shared(.rsaPSS(bits: 2048))
                let plain = TestDER.sequence(TestDER.objectIdentifier("1.2.840.113549.1.1.1"), [0x05, 0x00])
                // The BIT STRING with a 2048-bit key has 275 octets, under either identifier of the algorithm.
                let spki = TestDER.sequence(plain, Array(try key.publicKeyDER.suffix(275)))
                let root = try TestCertificate.root("Root", key: key) { $0.subjectPublicKeyInfo = spki }
                let intermediate = try root.intermediate("Intermediate", key: key) { $0.subjectPublicKeyInfo = spki }
                let leaf = try intermediate.leaf("api.example.test") { $0.digest = .sha384 }
                return Claim(leaf: leaf, presented: [intermediate], anchors: [root])
            },
            ChainVariant("an inner algorithm without the NULL that the outer one has, as Apple writes it") {
                let bare = TestDER.sequence(TestDER.objectIdentifier("1.2.840.113549.1.1.11"))
                let root = try TestCertificate.root("Root", key: .shared(.rsa2048)) {
                    $0.innerSignatureAlgorithm = bare
                }
                let leaf = try root.leaf("api.example.test") { $0.innerSignatureAlgorithm = bare }
                return Claim(leaf: leaf, anchors: [root])
            },
            .leaf("RSA with the exponent 3") {
                $0.subjectPublicKeyInfo = TestKey.rsaPublicKeyDER(bits: 2_048, exponent: [3])
            },
            .leaf("P-224", key: .curve("secp224r1")),
            .leaf("SHA-512 under P-256") { $0.digest = .sha512 },
            .root("a root that signed itself with SHA-1") { $0.digest = .sha1 },
            .root("a root whose own signature is broken") { $0.signature = [0x30, 0x00] },
        ]

    @Test("Every usual combination of key usages and purposes is accepted", arguments: purposes)
    func purpose(_ row: ChainVariant) throws { #expect(try row.claim().verdict() == "accepted") }

    static let purposes: [ChainVariant] = [
        .leaf("a leaf for servers and clients") { $0.extendedKeyUsages = [Usage.clientAuth, Usage.serverAuth] },
        .leaf("a leaf that names no purpose") { $0.extendedKeyUsages = [] },
        .leaf("a leaf with a critical extendedKeyUsage") {
            $0.extendedKeyUsages = []
            $0.extensions = [.extendedKeyUsage([Usage.serverAuth], critical: true)]
        },
        .leaf("a leaf without keyUsage") { $0.keyUsage = [] },
        .leaf("an RSA leaf for key encipherment alone", key: .rsa2048) { $0.keyUsage = .keyEncipherment },
        .leaf("a leaf for key agreement alone") { $0.keyUsage = .keyAgreement },
        .leaf("a leaf for signing and key agreement, not critical") {
            $0.keyUsage = []
            $0.extensions = [.keyUsage([.digitalSignature, .keyAgreement], critical: false)]
        },
        .leaf("a leaf for servers and for something of its vendor's") {
            $0.extendedKeyUsages = ["1.3.6.1.4.1.311.10.3.3", Usage.serverAuth, "2.16.840.1.113730.4.1"]
        },
        .leaf("a keyUsage with zeros at its end") {
            $0.keyUsage = []
            $0.extensions = [.init("2.5.29.15", critical: true, TestDER.bitString([0xA0]))]
        },
        .intermediate("an intermediate for servers") { $0.extendedKeyUsages = [Usage.serverAuth] },
        .intermediate("an intermediate for clients and servers") {
            $0.extendedKeyUsages = [Usage.clientAuth, Usage.serverAuth]
        },
        .intermediate("an intermediate for any purpose") { $0.extendedKeyUsages = [Usage.any] },
        .root("a root for any purpose") { $0.extendedKeyUsages = [Usage.any] },
        .intermediate("an intermediate without keyUsage") { $0.keyUsage = [] },
        .root("a root without keyUsage") { $0.keyUsage = [] },
    ]

    @Test("Unusual serial numbers, dates and extensions are accepted", arguments: oddities)
    func oddity(_ row: ChainVariant) throws { #expect(try row.claim().verdict() == "accepted") }

    static let oddities: [ChainVariant] = [
        .leaf("serial 0") { $0.serial = [0] },
        .leaf("a serial of 20 octets") { $0.serial = [UInt8](repeating: 0x7F, count: 20) },
        .intermediate("an intermediate with serial 0") { $0.serial = [0] },
        .leaf("valid for ever: 9999-12-31T23:59:59Z") { $0.notAfter = 253_402_300_799 },
        .leaf("a serial that is negative") { $0.serial = [0x80, 0x01] },
        .root("a root from before 1970") { $0.notBefore = -86_400 },
        .leaf("an empty basicConstraints") { $0.extensions = [.basicConstraints(isAuthority: false)] },
        .leaf("an empty basicConstraints, not critical") {
            $0.extensions = [.basicConstraints(isAuthority: false, critical: false)]
        },
        .leaf("an extension nobody knows, not critical") { $0.extensions = [.init("1.2.3.4.5", [0x05, 0x00])] },
        .leaf("certificate policies") { $0.extensions = [.certificatePolicies(["2.23.140.1.2.1"])] },
        .leaf("critical certificate policies and distribution points") {
            var point = TestCertificate.Extension.distributionPoint("http://crl.example.test/")
            point.isCritical = true
            $0.extensions = [.certificatePolicies(["2.23.140.1.2.1", "2.5.29.32.0"], critical: true), point]
        },
        .leaf("a default that is written out: cA false") {
            $0.extensions = [.init("2.5.29.19", critical: true, TestDER.sequence(TestDER.boolean(false)))]
        },
        .intermediate("policies of an authority that its leaf does not share") {
            $0.extensions = [.certificatePolicies(["1.2.3"])]
        },
        .root("a root whose basicConstraints are not critical") {
            $0.isAuthority = false
            $0.extensions = [.basicConstraints(isAuthority: true, critical: false)]
        },
        .intermediate("an intermediate whose basicConstraints are not critical") {
            $0.isAuthority = false
            $0.extensions = [.basicConstraints(isAuthority: true, critical: false)]
        },
        .root("a root of version 1") { $0.version = 1 },
        .root("a root with a path length of 1") { $0.pathLength = 1 },
        .intermediate("an intermediate with a path length of 0") { $0.pathLength = 0 },
        .leaf("a critical subjectAltName beside a subject") {
            $0.alternativeNames = []
            $0.extensions = [.alternativeNames([.dns("api.example.test")], critical: true)]
        },
        .leaf("no subject, a critical subjectAltName") {
            $0.subject = TestName()
            $0.alternativeNames = []
            $0.extensions = [.alternativeNames([.dns("api.example.test")], critical: true)]
        },
        .leaf("no subject, a subjectAltName that is not critical") { $0.subject = TestName() },
    ]
}
