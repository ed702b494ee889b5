import PinctlBasics

/// The reason why a chain isn't trusted: the rule, the certificate that violates it, and the details.
public struct TrustFinding: Error, Hashable, Sendable {
    /// The rule that was violated.
    public let rule: TrustRule
    /// The position in the path, where 0 is the leaf. `nil` if no single certificate is the cause.
    public let depth: Int?
    /// The certificate at that position.
    public let certificate: X509Certificate?
    /// The violation and its remedy.
    public let detail: String
}

extension TrustFinding {
    /// The part of the detail that says what to do, or `nil` if there is none.
    package var remedy: String? { ProblemText(detail).remedy }
}

extension TrustFinding: CustomStringConvertible {
    public var description: String {
        guard let depth, let certificate else { return detail }
        let name = certificate.subject.description
        let position = depth == 0 ? "leaf" : "certificate \(depth)"
        return "\(position) (\(name.isEmpty ? "no subject" : name)): \(detail)"
    }
}
