import TestPKI

/// A chain that is meant to make evaluation slow, and the verdict it gets within the limits.
struct PathologicalChain: Sendable {
    /// What it is, and how much of it.
    let description: String
    /// The rule that refuses it, or `accepted`.
    let verdict: String
    let claim: @Sendable () throws -> Claim

    init(_ description: String, _ verdict: String, _ claim: @escaping @Sendable () throws -> Claim) {
        self.description = description
        self.verdict = verdict
        self.claim = claim
    }

    static let all = namesakes + slowKeys + cycles + ladders + manyNames + constraints + policies

    /// The one key of all that need not differ in it.
    static var key: TestKey { get throws { try TestKey.shared(.p256) } }

    /// Without identifiers, so that names alone lead the search.
    static func anonymous(_ settings: inout TestCertificate.Settings) {
        settings.hasSubjectKeyIdentifier = false
        settings.hasAuthorityKeyIdentifier = false
    }
}

// MARK: - Authorities that bear one name

extension PathologicalChain {
    /// Distinct keys, no identifiers; the last one presented signed the leaf.
    static let namesakes: [PathologicalChain] =
        [10, 35, 50, 98, 101, 200].flatMap { count in
            [
                PathologicalChain("\(count) namesakes", count > 100 ? "budget" : "accepted") {
                    let root = try TestCertificate.root("Root")
                    let authorities = try (0..<count).map { _ in
                        try root.intermediate("Authority", adjusting: anonymous)
                    }
                    let leaf = try authorities[count - 1].leaf("api.example.test", key: key, adjusting: anonymous)
                    return Claim(leaf: leaf, presented: authorities, anchors: [root])
                },
                PathologicalChain("\(count) namesakes, self-signed", count > 100 ? "budget" : "unknown-issuer") {
                    let authorities = try (0..<count).map { _ in
                        try TestCertificate.root("Authority", adjusting: anonymous)
                    }
                    let leaf = try authorities[count - 1].leaf("api.example.test", key: key, adjusting: anonymous)
                    return Claim(leaf: leaf, presented: authorities, anchors: [try .root("Root")])
                },
            ]
        }

    /// Namesakes whose keys are slow to verify with, none of which signed the leaf.
    static let slowKeys: [PathologicalChain] = [1, 10, 40, 90].flatMap { count in
        [
            rsa(count, bits: 16_384, exponentBits: 17), rsa(count, bits: 16_384, exponentBits: 64),
            rsa(count, bits: 8_192, exponentBits: 64), rsa(count, bits: 4_096, exponentBits: 64),
            rsa(count, bits: 3_072, exponentBits: 3_071), rsa(count, bits: 2_048, exponentBits: 2_047),
            rsa(count, bits: 100_000, exponentBits: 17),
            slowKeys("DSA-3072", count, dsaWithSHA256, ecdsaSignature) {
                TestKey.dsaPublicKeyDER(bits: 3_072, last: $0)
            },
            slowKeys("DSA-10000", count, dsaWithSHA256, ecdsaSignature) {
                TestKey.dsaPublicKeyDER(bits: 10_000, last: $0)
            },
            curve(count, "secp384r1"), curve(count, "brainpoolP512r1"), curve(count, "sect571r1"),
        ]
    }

    private static func rsa(_ count: Int, bits: Int, exponentBits: Int) -> PathologicalChain {
        let exponent =
            exponentBits == 17 ? [1, 0, 1] : [UInt8](repeating: 0xFF, count: (exponentBits + 7) / 8)
        let positive = exponentBits % 8 == 0 ? [0] + exponent : [UInt8(exponent[0] & 0x7F)] + exponent.dropFirst()
        return slowKeys(
            "RSA-\(bits), exponent of \(exponentBits) bits", count, rsaWithSHA256,
            [UInt8](repeating: 0x55, count: bits / 8)
        ) { TestKey.rsaPublicKeyDER(bits: bits, exponent: positive, last: $0) }
    }

    private static func curve(_ count: Int, _ name: String) -> PathologicalChain {
        slowKeys(name, count, ecdsaWithSHA256, ecdsaSignature) { _ in try TestKey(.curve(name)).publicKeyDER }
    }

    private static func slowKeys(
        _ name: String, _ count: Int, _ algorithm: [UInt8], _ signature: [UInt8],
        _ subjectPublicKeyInfo: @escaping @Sendable (UInt8) throws -> [UInt8]
    ) -> PathologicalChain {
        PathologicalChain("\(count) namesakes with \(name)", "bad-signature") {
            let root = try TestCertificate.root("Root")
            let authorities = try (0..<count).map { number in
                let publicKey = try subjectPublicKeyInfo(UInt8(2 * number + 1))
                return try root.intermediate("Authority", key: key) {
                    anonymous(&$0)
                    $0.subjectPublicKeyInfo = publicKey
                }
            }
            let leaf = try authorities[0].leaf("api.example.test", key: key) {
                anonymous(&$0)
                $0.innerSignatureAlgorithm = algorithm
                $0.outerSignatureAlgorithm = algorithm
                $0.signature = signature
            }
            return Claim(leaf: leaf, presented: authorities, anchors: [root])
        }
    }

    private static let rsaWithSHA256 = TestDER.sequence(
        TestDER.objectIdentifier("1.2.840.113549.1.1.11"), [0x05, 0x00])
    private static let ecdsaWithSHA256 = TestDER.sequence(TestDER.objectIdentifier("1.2.840.10045.4.3.2"))
    private static let dsaWithSHA256 = TestDER.sequence(TestDER.objectIdentifier("2.16.840.1.101.3.4.3.2"))
    /// Two numbers of 254 bits, below the order of every group here.
    private static let ecdsaSignature = TestDER.sequence(
        TestDER.integer(octets: [0x2B] + [UInt8](repeating: 0x55, count: 31)),
        TestDER.integer(octets: [0x2B] + [UInt8](repeating: 0x33, count: 31)))
}
