import OpenSSLBridge

/// A signature algorithm of FIPS 204 or FIPS 205: ML-DSA, SLH-DSA, or the pre-hash variant of one. Keys and signatures
/// have the same identifier, `2.16.840.1.101.3.4.3.n`, without parameters (RFC 9881, RFC 9909).
struct PostQuantumAlgorithm: Sendable, Hashable {
    /// The name in the standard and in OpenSSL: `ML-DSA-44`, `SLH-DSA-SHA2-128s`, `HashML-DSA-44`.
    let name: String
    /// The strength in bits (FIPS 204, table 1; FIPS 205, table 2).
    let securityBits: Int
    /// The pure algorithm of a pre-hash variant, which no certificate verifier supports. `nil` for the others.
    let pureName: String?

    /// The names without `Hash`, for the numbers from 17. The pre-hash variants follow in the same order.
    private static let names: [(name: String, securityBits: Int)] =
        [("ML-DSA-44", 128), ("ML-DSA-65", 192), ("ML-DSA-87", 256)]
        + ["SHA2", "SHAKE"].flatMap { hash in
            [128, 192, 256].flatMap { bits in ["s", "f"].map { ("SLH-DSA-\(hash)-\(bits)\($0)", bits) } }
        }

    /// Parses an object identifier. Returns `nil` for any other algorithm.
    init?(_ bytes: Span<UInt8>, _ identifier: Range<Int>) {
        guard identifier.count == 9, let last = identifier.last,
            ObjectIdentifierNumber(bytes, identifier.lowerBound..<last) == .signatureAlgorithms
        else { return nil }
        let index = Int(bytes[last]) - 17
        guard (0..<2 * Self.names.count).contains(index) else { return nil }
        let (name, bits) = Self.names[index % Self.names.count]
        securityBits = bits
        self.name = index < Self.names.count ? name : "Hash" + name
        pureName = index < Self.names.count ? nil : name
    }

    /// Parses a DER AlgorithmIdentifier. Returns `nil` for another algorithm, or one with parameters.
    init?(algorithmIdentifier bytes: Span<UInt8>) {
        var outer = DERCursor(0..<bytes.count)
        guard let contents = try? outer.next(DERTag.sequence, bytes).contents else { return nil }
        var fields = DERCursor(contents)
        guard let identifier = try? fields.next(DERTag.objectIdentifier, bytes).contents, fields.isAtEnd else {
            return nil
        }
        self.init(bytes, identifier)
    }

    /// Parses the algorithm of an unencrypted DER private key (RFC 5958, section 2). Returns `nil` for another
    /// algorithm.
    init?(privateKey bytes: Span<UInt8>) {
        var outer = DERCursor(0..<bytes.count)
        guard let contents = try? outer.next(DERTag.sequence, bytes).contents else { return nil }
        var fields = DERCursor(contents)
        guard (try? fields.next(DERTag.integer, bytes)) != nil,
            let algorithm = try? fields.next(DERTag.sequence, bytes).whole
        else { return nil }
        self.init(algorithmIdentifier: bytes.extracting(algorithm))
    }

    /// Whether OpenSSL verifies signatures of the algorithm.
    var isVerifiable: Bool { pureName == nil && OpenSSLLibrary.verifies(name) }

    /// The reason why a key or signature of the algorithm is rejected, with the remedy. `nil` if OpenSSL can verify it.
    var refusal: String? {
        if let pureName { return "\(name), which OpenSSL cannot verify: reissue it with \(pureName)" }
        guard !isVerifiable else { return nil }
        return "\(name), which OpenSSL \(OpenSSLLibrary.version) cannot verify: use OpenSSL 3.5 or later"
    }
}
