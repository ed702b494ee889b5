import PinctlBasics

/// A public key as in a certificate: its algorithm and key bits (RFC 5280, section 4.1.2.7).
public struct SubjectPublicKeyInfo: Sendable, Hashable {
    /// The DER as received.
    public let derBytes: [UInt8]

    /// Parses a DER SubjectPublicKeyInfo that fills `derBytes`.
    public init(derBytes: [UInt8]) throws(DERError) {
        try Self.check(derBytes.span)
        self.derBytes = derBytes
    }

    /// Creates a key that was checked when its certificate was parsed.
    init(checked derBytes: [UInt8]) {
        self.derBytes = derBytes
    }

    /// Throws unless the bytes are exactly an algorithm and a BIT STRING.
    static func check(_ bytes: Span<UInt8>) throws(DERError) {
        let fields = try Fields(bytes)
        var algorithm = DERCursor(fields.algorithm)
        _ = try algorithm.next(DERTag.objectIdentifier, bytes)
    }

    /// The positions of the two parts of a DER SubjectPublicKeyInfo that fills `bytes`.
    struct Fields {
        /// The contents of the AlgorithmIdentifier.
        let algorithm: Range<Int>
        /// The contents of the BIT STRING, beginning with the number of unused bits.
        let key: Range<Int>

        init(_ bytes: Span<UInt8>) throws(DERError) {
            var outer = DERCursor(0..<bytes.count)
            var fields = DERCursor(try outer.next(DERTag.sequence, bytes).contents)
            try outer.finish()
            algorithm = try fields.next(DERTag.sequence, bytes).contents
            key = try fields.nextOctetsInBits(bytes).contents
            try fields.finish()
        }
    }

    /// The octets of the key, without the algorithm and the enclosing structure. Empty if malformed.
    package var keyOctets: [UInt8] {
        guard let fields = try? Fields(derBytes.span) else { return [] }
        return Array(derBytes[fields.key.dropFirst()])
    }

    /// The magnitude of an RSA key's modulus, big-endian. `nil` for other keys.
    package var rsaModulus: [UInt8]? {
        guard let fields = try? Fields(derBytes.span),
            var integers = PublicKeyKind.rsaIntegers(derBytes.span, fields.key),
            let modulus = try? integers.next(DERTag.integer, derBytes.span)
        else { return nil }
        return Array(derBytes[modulus.contents].drop { $0 == 0 })
    }

    /// The algorithm of FIPS 204 or FIPS 205. `nil` for other keys.
    var postQuantumAlgorithm: PostQuantumAlgorithm? {
        let bytes = derBytes.span
        guard let fields = try? Fields(bytes) else { return nil }
        var algorithm = DERCursor(fields.algorithm)
        guard let identifier = try? algorithm.next(DERTag.objectIdentifier, bytes).contents else { return nil }
        return PostQuantumAlgorithm(bytes, identifier)
    }

    /// The algorithm and size. An unsupported algorithm is given by its identifier.
    public var keyKind: PublicKeyKind {
        (try? PublicKeyKind(subjectPublicKeyInfo: derBytes.span)) ?? .malformed
    }

    /// The pin of this key.
    public var fingerprint: SPKIFingerprint { SPKIFingerprint(hashing: derBytes.span) }
}

/// The algorithm and size of a public key.
@nonexhaustive
public enum PublicKeyKind: Sendable, Hashable {
    /// An `rsaEncryption` key, with the size of the modulus in bits (RFC 3279).
    case rsa(bits: Int)
    /// An `id-RSASSA-PSS` key, with the size of the modulus in bits (RFC 4055).
    case rsaPSS(bits: Int)
    /// An `id-ecPublicKey` key on a named curve (RFC 5480): `P-256`, or the curve's identifier in dotted decimal. If
    /// the point isn't uncompressed, as TLS requires, this is added. For a curve given by its parameters, `explicit
    /// parameters`.
    case ellipticCurve(String)
    /// An Ed25519 key (RFC 8410).
    case ed25519
    /// An Ed448 key (RFC 8410).
    case ed448
    /// A DSA key, with the size of the prime in bits (RFC 3279).
    case dsa(bits: Int)
    /// An ML-DSA (FIPS 204, RFC 9881) or SLH-DSA (FIPS 205, RFC 9909) key, by its name in the standard: `ML-DSA-44`.
    case postQuantum(String)
    /// A key of any other algorithm, by its identifier in dotted decimal.
    case other(identifier: String)
}

extension PublicKeyKind: CustomStringConvertible {
    /// The kind as text: `RSA 2048`, `EC P-256`, `Ed25519`.
    public var description: String { String(appending: append) }

    /// Appends the ``description`` to `text`.
    package func append(to text: inout [UInt8]) {
        let (name, size): (String, Int?) =
            switch self {
            case .rsa(let bits): ("RSA ", bits)
            case .rsaPSS(let bits): ("RSA-PSS ", bits)
            case .ellipticCurve(let curve): ("EC " + curve, nil)
            case .ed25519: ("Ed25519", nil)
            case .ed448: ("Ed448", nil)
            case .dsa(let bits): ("DSA ", bits)
            case .postQuantum(let name): (name, nil)
            case .other(let identifier): ("key " + identifier, nil)
            }
        text += name.utf8
        if let size { text.append(decimal: size) }
    }
}

extension PublicKeyKind {
    /// A key with parameters that don't belong to its algorithm.
    static let malformed = PublicKeyKind.other(identifier: "of malformed parameters")

    /// Parses the kind of a DER SubjectPublicKeyInfo that fills `bytes`.
    init(subjectPublicKeyInfo bytes: Span<UInt8>) throws(DERError) {
        let fields = try SubjectPublicKeyInfo.Fields(bytes)
        var algorithm = DERCursor(fields.algorithm)
        let identifier = try algorithm.next(DERTag.objectIdentifier, bytes).contents
        switch ObjectIdentifierNumber(bytes, identifier) {
        // RFC 3279, section 2.3.1: the parameters are NULL and must not be omitted.
        case .rsaEncryption:
            _ = try algorithm.next(DERTag.null, bytes)
            try algorithm.finish()
            self = .rsa(bits: Self.modulusBits(bytes, fields.key))
        case .rsaPSS: self = .rsaPSS(bits: Self.modulusBits(bytes, fields.key))
        case .ecPublicKey:
            guard algorithm.peek(bytes) == DERTag.objectIdentifier else {
                self = .ellipticCurve("explicit parameters")
                return
            }
            let curve = try algorithm.next(DERTag.objectIdentifier, bytes).contents
            try algorithm.finish()
            let name = Self.curveName(bytes, curve)
            // mutant uncompressed-point: true by RuleTests/breach
            let isUncompressed = fields.key.count > 1 && bytes[fields.key.lowerBound + 1] == Self.uncompressedPoint
            self = .ellipticCurve(isUncompressed ? name : name + " with a point that isn't uncompressed")
        case .ed25519:
            try algorithm.finish()
            self = .ed25519
        case .ed448:
            try algorithm.finish()
            self = .ed448
        case .dsa: self = .dsa(bits: Self.firstIntegerBits(bytes, algorithm))
        default:
            guard let postQuantum = PostQuantumAlgorithm(bytes, identifier) else {
                self = .other(identifier: ObjectIdentifierText.dotted(bytes, identifier))
                return
            }
            try algorithm.finish()
            self = .postQuantum(postQuantum.name)
        }
    }

    /// The first octet of the only form that TLS has (RFC 8422, section 5.1.2). OpenSSL reads the same point in two
    /// more, one of which RFC 5480, section 2.2 forbids: they would give one key three pins.
    private static let uncompressedPoint: UInt8 = 0x04

    private static func curveName(_ bytes: Span<UInt8>, _ identifier: Range<Int>) -> String {
        switch ObjectIdentifierNumber(bytes, identifier) {
        case .p256: "P-256"
        case .p384: "P-384"
        case .p521: "P-521"
        case .p224: "P-224"
        case .p192: "P-192"
        case .secp256k1: "secp256k1"
        case .brainpoolP256: "brainpoolP256r1"
        case .brainpoolP384: "brainpoolP384r1"
        case .brainpoolP512: "brainpoolP512r1"
        default: ObjectIdentifierText.dotted(bytes, identifier)
        }
    }

    /// Returns the size of an RSA modulus in the BIT STRING, or 0 if the key doesn't match its algorithm. An evaluation
    /// treats 0 as no strength. A key that can't be read still has a pin.
    private static func modulusBits(_ bytes: Span<UInt8>, _ bitString: Range<Int>) -> Int {
        rsaIntegers(bytes, bitString).map { integerBits(bytes, $0) } ?? 0
    }

    /// Returns the public exponent of an RSA key in a DER SubjectPublicKeyInfo, or `nil` if there is none or it is too
    /// large for 64 bits.
    static func rsaExponent(subjectPublicKeyInfo bytes: Span<UInt8>) -> UInt64? {
        guard let fields = try? SubjectPublicKeyInfo.Fields(bytes), var integers = rsaIntegers(bytes, fields.key),
            (try? integers.next(DERTag.integer, bytes)) != nil,
            let exponent = try? integers.next(DERTag.integer, bytes), (1...8).contains(exponent.contents.count),
            integers.isAtEnd, bytes[exponent.contents.lowerBound] < 0x80
        else { return nil }
        return exponent.contents.reduce(0) { $0 << 8 | UInt64(bytes[$1]) }
    }

    /// Returns a cursor at the modulus and exponent of the RSAPublicKey in the BIT STRING (RFC 8017, appendix A.1.1).
    /// Returns `nil` if the key is followed by other bytes, which OpenSSL ignores: they would give one key many pins.
    fileprivate static func rsaIntegers(_ bytes: Span<UInt8>, _ bitString: Range<Int>) -> DERCursor? {
        guard bitString.count > 1 else { return nil }
        var key = DERCursor(bitString.lowerBound + 1..<bitString.upperBound)
        guard let integers = try? key.next(DERTag.sequence, bytes), key.isAtEnd else { return nil }
        return DERCursor(integers.contents)
    }

    private static func firstIntegerBits(_ bytes: Span<UInt8>, _ parameters: DERCursor) -> Int {
        var parameters = parameters
        guard let sequence = try? parameters.next(DERTag.sequence, bytes) else { return 0 }
        return integerBits(bytes, DERCursor(sequence.contents))
    }

    private static func integerBits(_ bytes: Span<UInt8>, _ cursor: DERCursor) -> Int {
        var cursor = cursor
        guard let integer = try? cursor.next(DERTag.integer, bytes) else { return 0 }
        var first = integer.contents.lowerBound
        while first < integer.contents.upperBound, bytes[first] == 0 { first += 1 }
        guard first < integer.contents.upperBound else { return 0 }
        return (integer.contents.upperBound - first) * 8 - bytes[first].leadingZeroBitCount
    }
}

/// A formatter for object identifiers (X.690, section 8.19).
enum ObjectIdentifierText {
    /// Returns the identifier in dotted decimal. Arcs over 63 bits are written as `?`, and octets after the first 256
    /// are omitted.
    static func dotted(_ bytes: Span<UInt8>, _ range: Range<Int>) -> String {
        var arcs: [String] = []
        var value: UInt64 = 0
        var overflowed = false
        for index in range.prefix(shownOctets) {
            overflowed = overflowed || value >> 57 != 0
            value = value << 7 | UInt64(bytes[index] & 0x7F)
            guard bytes[index] & 0x80 == 0 else { continue }
            if overflowed {
                arcs.append("?")
            } else if arcs.isEmpty {
                let first = min(value / 40, 2)
                arcs = ["\(first)", "\(value - first * 40)"]
            } else {
                arcs.append("\(value)")
            }
            value = 0
            overflowed = false
        }
        return arcs.joined(separator: ".")
    }
}

extension SubjectPublicKeyInfo: CustomStringConvertible {
    /// The kind of key and its pin, such as `EC P-256 sha256/…`.
    public var description: String { "\(keyKind) \(SPKIFingerprint(hashing: derBytes.span))" }
}
