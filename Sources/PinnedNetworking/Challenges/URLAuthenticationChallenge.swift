/// A question to a delegate: is this the server, or who are you?
public final class URLAuthenticationChallenge: Sendable {
    /// What it is about.
    public let protectionSpace: URLProtectionSpace
    /// A credential to go on with; nil for server trust.
    public var proposedCredential: URLCredential? { nil }
    /// How many answers were refused before; 0 for server trust.
    public var previousFailureCount: Int { 0 }

    init(protectionSpace: URLProtectionSpace) {
        self.protectionSpace = protectionSpace
    }
}
