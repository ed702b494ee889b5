import OpenSSLBridge

extension TrustRule {
    /// Maps an OpenSSL verification code to its rule.
    init(_ code: VerifyCode) {
        self = Self.families.first { $0.codes.contains(code) }?.rule ?? .other
    }

    private static let families: [(codes: Set<VerifyCode>, rule: TrustRule)] = [
        (VerifyCode.unknownIssuers, .unknownIssuer), (VerifyCode.badSignatures, .badSignature),
        (VerifyCode.notAuthorities, .notAnAuthority), (VerifyCode.pathLengths, .pathLength),
        (VerifyCode.purposes, .purpose), (VerifyCode.nameConstraints, .nameConstraints),
        (VerifyCode.weakCryptography, .weakCryptography), (VerifyCode.criticalExtensions, .criticalExtension),
        (VerifyCode.certificatePolicies, .certificatePolicies), (VerifyCode.exhaustions, .budget),
    ]
}
