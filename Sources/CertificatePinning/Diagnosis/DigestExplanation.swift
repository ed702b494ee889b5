public import CertificateTrust

/// An explanation of a digest, found by hashing the bytes that are commonly hashed in place of a key.
public struct DigestExplanation: Sendable, Hashable {
    /// The bytes that were hashed.
    public let input: DigestInput
    /// The digest algorithm.
    public let algorithm: DigestText.Algorithm
    /// The index of the key that the digest belongs to, from 0, or nil if it belongs to none.
    public let index: Int?

    /// Whether the digest is a valid pin: the SHA-256 of a SubjectPublicKeyInfo.
    public var isPin: Bool { input == .publicKey && algorithm == .sha256 }

    /// Returns every explanation of a digest by these keys, the most likely first, or an empty array if there is none.
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
            let wanted = digest.algorithm.hash(holder.key.derBytes) ?? []
            // mutant digest-mistyped: false by DigestExplanationTests/mistyped
            if (1...3).contains(zip(wanted, digest.bytes).count(where: !=)) { add(.mistyped, index) }
        }
        return found
    }
}

extension DigestExplanation: CustomStringConvertible {
    /// The algorithm and the input, such as `SHA-256 of the whole certificate`.
    public var description: String {
        input == .placeholder ? "\(input)" : "\(algorithm.rawValue) of \(input)"
    }
}

/// A public key that a digest may belong to, with its certificate if there is one.
public struct KeyHolder: Sendable, Hashable {
    /// The key.
    public let key: SubjectPublicKeyInfo
    /// The certificate that contains the key, or nil for a bare key or a request's.
    public let certificate: X509Certificate?

    /// Creates a holder for a certificate's key.
    public init(_ certificate: X509Certificate) {
        key = certificate.subjectPublicKeyInfo
        self.certificate = certificate
    }

    /// Creates a holder for a key without a certificate.
    public init(_ key: SubjectPublicKeyInfo) {
        self.key = key
        certificate = nil
    }
}
