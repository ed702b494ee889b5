package import PinctlBasics

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

extension TrustFinding: CustomStringConvertible {
    public var description: String { "\(text)" }

    /// The violation, after the certificate that it is about, and the remedy.
    package var text: ProblemText {
        let text = ProblemText(detail)
        guard let depth, let certificate else { return text }
        let name = certificate.subject.description
        let position = depth == 0 ? "leaf" : "certificate \(depth)"
        return ProblemText(
            "\(position) (\(name.isEmpty ? "no subject" : name)): \(text.problem)", remedy: text.remedy)
    }
}
