/// An answer to a challenge: a server's trust that is accepted, or a user name and password.
public final class URLCredential: Sendable {
    /// How long a credential is kept. This client keeps none.
    public enum Persistence: UInt, Sendable {
        /// For one challenge.
        case none
        /// For one session.
        case forSession
        /// For every later run.
        case permanent
        /// For every later run, on all of a user's devices.
        case synchronizable
    }

    enum Kind: Sendable {
        case password(user: String, password: String)
        case trust(SecTrust)
        /// What the default implementations of delegate methods answer with; see ``ChallengeRouting``.
        case unimplemented
    }

    let kind: Kind
    /// How long the credential is to be kept.
    public let persistence: Persistence

    /// Accepts the server whose challenge holds this trust; for another challenge it counts as a refusal.
    public convenience init(trust: SecTrust) {
        self.init(kind: .trust(trust), persistence: .forSession)
    }

    /// A user name and password. No challenge of this client takes one yet: for server trust it counts as a refusal.
    public convenience init(user: String, password: String, persistence: Persistence) {
        self.init(kind: .password(user: user, password: password), persistence: persistence)
    }

    init(kind: Kind, persistence: Persistence) {
        self.kind = kind
        self.persistence = persistence
    }

    /// The user name; nil for a trust.
    public var user: String? {
        if case .password(let user, _) = kind { user } else { nil }
    }

    /// The password; nil for a trust.
    public var password: String? {
        if case .password(_, let password) = kind { password } else { nil }
    }

    /// Whether there is a password.
    public var hasPassword: Bool { password != nil }
}

extension URLCredential: CustomStringConvertible, CustomReflectable {
    /// Names the kind; user and password stay out of logs.
    public var description: String {
        switch kind {
        case .password: "URLCredential(password)"
        case .trust(let trust): "URLCredential(trust of \(trust.name))"
        case .unimplemented: "URLCredential(none)"
        }
    }

    /// Shows what ``description`` does and no more: `dump` must not print a password.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
