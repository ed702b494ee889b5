/// The keys that a path may contain. Sizes have an upper limit as well because the peer chooses the keys: verifying
/// with a 16384-bit RSA key takes sixty times as long as with a 2048-bit key.
extension X509Certificate {
    /// The largest RSA key. Go's TLS verifies with no larger key either (CVE-2023-29409).
    private static let maximumRSABits = 8192
    /// The largest RSA exponent: 33 bits, as in BoringSSL (`kMaxExponentBits`). For keys of up to 3072 bits, OpenSSL
    /// accepts an exponent as long as the key.
    private static let maximumRSAExponent: UInt64 = (1 << 33) - 1

    /// Returns the reason why the key isn't accepted at `strength`, or `nil` if it is.
    func keyWeakness(at strength: TrustPolicy.Strength) -> String? {
        let bits: Int
        switch keyKind {
        case .rsa(let size), .rsaPSS(let size):
            // mutant huge-key: true by RuleTests ServerTrustTests PathologicalTests
            guard size <= Self.maximumRSABits else {
                return "its key is \(keyKind), larger than \(Self.maximumRSABits) bits: reissue it with a smaller key"
            }
            // mutant rsa-exponent: true for 4 by RuleTests ServerTrustTests PathologicalTests
            guard let exponent = rsaExponent, exponent >= 3, exponent % 2 == 1, exponent <= Self.maximumRSAExponent
            else { return "its RSA key has an unusual exponent: reissue it with the exponent 65537" }
            bits = Self.securityBits(ofRSA: size)
        case .ellipticCurve(let curve):
            guard let known = Self.securityBitsOfCurves[curve] else {
                return "its key is \(keyKind), which TLS does not support: reissue it with P-256"
            }
            bits = known
        case .ed25519: bits = 128
        case .ed448: bits = 224
        case .postQuantum:
            let algorithm = subjectPublicKeyInfo.postQuantumAlgorithm
            if let refusal = algorithm?.refusal { return "its key is \(refusal)" }
            bits = algorithm?.securityBits ?? 0
        default: return "its key is \(keyKind), which TLS does not support: reissue it with P-256 or RSA"
        }
        // mutant weak-key: false by RuleTests/breach ServerTrustTests/leafProperties
        guard bits < strength.bits else { return nil }
        return "its key is too weak (\(keyKind) gives \(bits) bits of security, \(strength.bits) are required): "
            + "reissue it with a stronger key"
    }

    private static func securityBits(ofRSA size: Int) -> Int {
        switch size {
        case 7680...: 192
        case 3072...: 128
        case 2048...: 112
        case 1024...: 80
        default: 0
        }
    }

    /// The named curves of TLS (RFC 8422, RFC 7027). All others, and curves given by their parameters, are rejected.
    private static let securityBitsOfCurves = [
        "P-224": 112, "P-256": 128, "P-384": 192, "P-521": 256, "secp256k1": 128, "brainpoolP256r1": 128,
        "brainpoolP384r1": 192, "brainpoolP512r1": 256,
    ]
}

extension TrustPolicy.Strength {
    var bits: Int {
        switch self {
        case .bits80: 80
        case .bits112: 112
        case .bits128: 128
        case .bits192: 192
        case .bits256: 256
        }
    }
}
