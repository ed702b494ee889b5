import PinctlBasics

/// The signature algorithms that certificates and revocation evidence may use: RSA and ECDSA with SHA-256 or better,
/// Ed25519 and Ed448 (RFC 4055, RFC 5758, RFC 8410), and ML-DSA and SLH-DSA if OpenSSL supports them. SHA-1, SHA-224,
/// MD5 and DSA aren't accepted.
enum SignatureAlgorithms {
    /// Whether a DER AlgorithmIdentifier is accepted.
    static func accept(_ algorithm: Span<UInt8>) -> Bool {
        var outer = DERCursor(0..<algorithm.count)
        guard let fields = try? outer.next(DERTag.sequence, algorithm).contents else { return false }
        let contents = algorithm.extracting(fields)
        if whole.contains(where: { $0.span.elementsEqual(contents) }) { return true }
        if let postQuantum = PostQuantumAlgorithm(algorithmIdentifier: algorithm) { return postQuantum.isVerifiable }
        // The salt of RSASSA-PSS may have any length. OpenSSL reads it.
        var parts = DERCursor(fields)
        guard let identifier = try? parts.next(DERTag.objectIdentifier, algorithm).whole,
            pssIdentifier.span.elementsEqual(algorithm.extracting(identifier)),
            let parameters = try? parts.next(DERTag.sequence, algorithm).contents
        else { return false }
        return pssHashes.contains { starts(algorithm.extracting(parameters), with: $0) }
    }

    /// Whether a DER AlgorithmIdentifier is one of the six that the Baseline Requirements list for RSA (section
    /// 7.1.3.2.1), byte for byte, or of another kind of key: PKCS #1 with NULL parameters, or RSASSA-PSS with a salt as
    /// long as the hash.
    static func isOfWebPKI(_ algorithm: Span<UInt8>) -> Bool {
        var outer = DERCursor(0..<algorithm.count)
        guard let fields = try? outer.next(DERTag.sequence, algorithm).contents else { return false }
        let contents = algorithm.extracting(fields)
        return !rsaIdentifiers.contains { starts(contents, with: $0) }
            || webPKI.contains { $0.span.elementsEqual(contents) }
    }

    private static func starts(_ bytes: Span<UInt8>, with start: [UInt8]) -> Bool {
        bytes.count >= start.count && start.span.elementsEqual(bytes.extracting(first: start.count))
    }

    private static let null: [UInt8] = [0x05, 0x00]
    private static let pssIdentifier = rsaIdentifier(0x0A)
    /// The identifiers of RSASSA-PSS, and of sha256-, sha384- and sha512WithRSAEncryption.
    private static let rsaIdentifiers: [[UInt8]] = (0x0A...0x0D).map { rsaIdentifier($0) }

    /// The contents of complete AlgorithmIdentifiers: sha256-, sha384- and sha512WithRSAEncryption, with or without
    /// NULL parameters; ecdsa-with-SHA256 to -SHA512; Ed25519 and Ed448.
    private static let whole: [[UInt8]] = {
        let rsa = rsaIdentifiers.dropFirst()
        let ecdsa: [[UInt8]] = (0x02...0x04).map { [0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, $0] }
        let edwards: [[UInt8]] = (0x70...0x71).map { [0x06, 0x03, 0x2B, 0x65, $0] }
        return rsa + rsa.map { $0 + null } + ecdsa + edwards
    }()

    /// The start of RSASSA-PSS parameters: SHA-256, SHA-384 or SHA-512, and MGF1 with the same digest.
    private static let pssHashes: [[UInt8]] = [[], null].flatMap { end in
        (0x01...0x03).map { (number: UInt8) in
            let hash = DERText.sequence([0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, number] + end)
            return DERText.element(DERTag.constructedContext(0), hash)
                + DERText.element(DERTag.constructedContext(1), DERText.sequence(rsaIdentifier(0x08) + hash))
        }
    }

    /// The contents of the six AlgorithmIdentifiers for ``isOfWebPKI(_:)``.
    private static let webPKI: [[UInt8]] = {
        let pss = zip(pssHashes.suffix(3), [32, 48, 64] as [UInt8]).map { hashes, salt in
            pssIdentifier
                + DERText.sequence(hashes + DERText.element(DERTag.constructedContext(2), [DERTag.integer, 1, salt]))
        }
        return rsaIdentifiers.dropFirst().map { $0 + null } + pss
    }()

    /// Returns the identifier `1.2.840.113549.1.1.n` as DER.
    private static func rsaIdentifier(_ number: UInt8) -> [UInt8] {
        [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, number]
    }
}
