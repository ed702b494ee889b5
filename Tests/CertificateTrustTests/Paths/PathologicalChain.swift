import PinctlTestPKI

/// A chain designed to make evaluation slow, and its verdict within the limits.
struct PathologicalChain: Sendable {
    /// The kind of chain, with its size.
    let description: String
    /// The rule that rejects it, or `accepted`.
    let verdict: String
    let claim: @Sendable () throws -> Claim

    init(_ description: String, _ verdict: String, _ claim: @escaping @Sendable () throws -> Claim) {
        self.description = description
        self.verdict = verdict
        self.claim = claim
    }

    static let all = namesakes + slowKeys + cycles + ladders + manyNames + constraints + policies + sizes + repeats

    /// The key shared by all certificates whose keys need not differ.
    static var key: TestKey { get throws { try TestKey.shared(.p256) } }

    /// Removes the key identifiers, so that only names guide the search.
    static func anonymous(_ settings: inout TestCertificate.Settings) {
        settings.hasSubjectKeyIdentifier = false
        settings.hasAuthorityKeyIdentifier = false
    }
}

// MARK: - CAs with one name

extension PathologicalChain {
    /// Chains with distinct keys and no identifiers. The last certificate presented signed the leaf.
    static let namesakes: [PathologicalChain] =
        [10, 35, 48, 99, 100, 200].flatMap { count in
            [
                PathologicalChain("\(count) namesakes", count > 48 ? "budget" : "accepted") {
                    let root = try TestCertificate.root("Root")
                    let authorities = try (0..<count).map { _ in
                        try root.intermediate("Authority", adjusting: anonymous)
                    }
                    let leaf = try authorities[count - 1].leaf("api.example.test", key: key, adjusting: anonymous)
                    return Claim(leaf: leaf, presented: authorities, anchors: [root])
                },
                PathologicalChain("\(count) namesakes, self-signed", count > 99 ? "budget" : "unknown-issuer") {
                    let authorities = try (0..<count).map { _ in
                        try TestCertificate.root("Authority", adjusting: anonymous)
                    }
                    let leaf = try authorities[count - 1].leaf("api.example.test", key: key, adjusting: anonymous)
                    return Claim(leaf: leaf, presented: authorities, anchors: [try .root("Root")])
                },
            ]
        }

    /// Namesakes whose keys are slow to verify with. None of them signed the leaf.
    static let slowKeys: [PathologicalChain] = [1, 10, 40, 90].flatMap { count in
        [
            rsa(count, bits: 8_192, exponent: [1, 0, 1]),
            rsa(count, bits: 8_192, exponent: [1, 0xFF, 0xFF, 0xFF, 0xFF]),
            ecdsa(count, "secp384r1"), ecdsa(count, "brainpoolP512r1"),
        ].map { $0.expecting(count > 48 ? "budget" : "bad-signature") }
            + [
                rsa(count, bits: 16_384, exponent: [1, 0, 1]), rsa(count, bits: 16_384, exponent: [0] + ones(64)),
                rsa(count, bits: 8_192, exponent: [0] + ones(64)), rsa(count, bits: 4_096, exponent: [0] + ones(64)),
                rsa(count, bits: 3_072, exponent: [0x7F] + ones(3_064)),
                rsa(count, bits: 2_048, exponent: [0x7F] + ones(2_040)),
                dsa(count, bits: 3_072), dsa(count, bits: 10_000), ecdsa(count, "sect571r1"),
            ].map { $0.expecting("weak-cryptography") }
    }

    func expecting(_ verdict: String) -> PathologicalChain { PathologicalChain(description, verdict, claim) }

    private static func ones(_ bits: Int) -> [UInt8] { [UInt8](repeating: 0xFF, count: bits / 8) }

    private static func rsa(_ count: Int, bits: Int, exponent: [UInt8]) -> PathologicalChain {
        slowKeys(
            "RSA-\(bits), exponent of \(exponent.count) octets", count, rsaWithSHA256,
            [UInt8](repeating: 0x55, count: bits / 8)
        ) { TestKey.rsaPublicKeyDER(bits: bits, exponent: exponent, last: $0) }
    }

    private static func dsa(_ count: Int, bits: Int) -> PathologicalChain {
        slowKeys("DSA-\(bits)", count, dsaWithSHA256, twoNumbers) { TestKey.dsaPublicKeyDER(bits: bits, last: $0) }
    }

    private static func ecdsa(_ count: Int, _ curve: String) -> PathologicalChain {
        slowKeys(curve, count, ecdsaWithSHA256, twoNumbers) { _ in try TestKey(.curve(curve)).publicKeyDER }
    }

    private static func slowKeys(
        _ name: String, _ count: Int, _ algorithm: [UInt8], _ signature: [UInt8],
        _ subjectPublicKeyInfo: @escaping @Sendable (UInt8) throws -> [UInt8]
    ) -> PathologicalChain {
        PathologicalChain("\(count) namesakes with \(name)", "") {
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
    /// Two numbers of 254 bits, below the order of every group used here.
    private static let twoNumbers = TestDER.sequence(
        TestDER.integer(octets: [0x2B] + [UInt8](repeating: 0x55, count: 31)),
        TestDER.integer(octets: [0x2B] + [UInt8](repeating: 0x33, count: 31)))
}
