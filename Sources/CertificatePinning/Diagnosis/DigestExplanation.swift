public import CertificateTrust

/// What a digest is, found by hashing everything that people hash in place of a key.
public struct DigestExplanation: Sendable, Hashable {
    /// What was hashed.
    public let input: DigestInput
    /// By which digest.
    public let algorithm: DigestText.Algorithm
    /// Which of the keys that were given it is of, from 0; nil for what is of none.
    public let index: Int?

    /// Whether this is what a pin must be: the SHA-256 of a SubjectPublicKeyInfo.
    public var isPin: Bool { input == .publicKey && algorithm == .sha256 }

    /// Everything that a digest can be of these keys, the likeliest first; empty when it is none of theirs.
    public static func all(of digest: DigestText, among keys: [KeyHolder]) -> [DigestExplanation] {
        func matches(_ bytes: [UInt8]) -> Bool { digest.algorithm.hash(bytes) == digest.bytes }
        var found: [DigestExplanation] = []
        func add(_ input: DigestInput, _ index: Int?) {
            let explanation = DigestExplanation(input: input, algorithm: digest.algorithm, index: index)
            if !found.contains(explanation) { found.append(explanation) }
        }
        if let placeholder = DigestInput(placeholder: digest.bytes) { add(placeholder, nil) }
        for constant in DigestInput.constants where matches(constant.bytes) { add(constant.input, nil) }
        for (index, holder) in keys.enumerated() {
            for candidate in DigestInput.all(of: holder.key, in: holder.certificate) where matches(candidate.bytes) {
                add(candidate.input, index)
            }
        }
        return found
    }
}

extension DigestExplanation: CustomStringConvertible {
    /// `SHA-256 of the whole certificate`.
    public var description: String {
        input == .placeholder ? "\(input)" : "\(algorithm.rawValue) of \(input)"
    }
}

/// Something with a public key that a digest may be of.
public struct KeyHolder: Sendable, Hashable {
    /// The key.
    public let key: SubjectPublicKeyInfo
    /// The certificate it stands in; nil for a bare key or that of a request.
    public let certificate: X509Certificate?

    /// A certificate's key.
    public init(_ certificate: X509Certificate) {
        key = certificate.subjectPublicKeyInfo
        self.certificate = certificate
    }

    /// A key without a certificate.
    public init(_ key: SubjectPublicKeyInfo) {
        self.key = key
        certificate = nil
    }
}
