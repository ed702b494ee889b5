/// An answer to a challenge: a user name and password, a client's identity, or a server's trust that is accepted.
public final class URLCredential: Sendable {
    /// How long a ``URLCredentialStorage`` keeps a credential.
    public enum Persistence: UInt, Sendable {
        /// Not at all: it is for one task.
        case none
        /// As long as the storage lives.
        case forSession
        /// For every later run: a password is kept in the storage's file, if it has one.
        case permanent
        /// For every later run, on all of a user's devices; there is nothing here that carries it to another, so it
        /// stays on this one, like ``permanent``, and is removed only with ``NSURLCredentialStorageRemoveSynchronizableCredentials``.
        case synchronizable
    }

    enum Kind: Sendable, Hashable {
        /// A nil password proposes the user name alone.
        case password(user: String, password: String?)
        case identity(SecIdentity, [SecCertificate])
        case trust(SecTrust)
        /// What the default implementations of delegate methods answer with; see ``ChallengeRouting``.
        case unimplemented
    }

    let kind: Kind
    /// How long the credential is to be kept.
    public let persistence: Persistence

    /// A user name and password, for Basic, Digest and the like.
    public convenience init(user: String, password: String, persistence: Persistence) {
        self.init(kind: .password(user: user, password: password), persistence: persistence)
    }

    /// A client certificate. `certificates` are sent behind it, in this order; nil or none sends those that the identity
    /// was read with.
    ///
    /// Never kept beyond ``Persistence/forSession``.
    public convenience init(identity: SecIdentity, certificates: [SecCertificate]?, persistence: Persistence) {
        self.init(kind: .identity(identity, certificates ?? []), persistence: persistence)
    }

    /// Accepts the server whose challenge holds this trust; for another challenge it counts as a refusal.
    public convenience init(trust: SecTrust) {
        self.init(kind: .trust(trust), persistence: .forSession)
    }

    init(kind: Kind, persistence: Persistence) {
        self.kind = kind
        self.persistence = persistence
    }

    /// The user name; nil for an identity and a trust.
    public var user: String? {
        if case .password(let user, _) = kind { user } else { nil }
    }

    /// The password; nil for an identity, for a trust, and where a user name alone is proposed.
    public var password: String? {
        if case .password(_, let password) = kind { password } else { nil }
    }

    /// Whether there is a password.
    public var hasPassword: Bool { password != nil }

    /// The client certificate and its key; nil but for an identity.
    public var identity: SecIdentity? {
        if case .identity(let identity, _) = kind { identity } else { nil }
    }

    /// The certificates that were given to be sent behind the client certificate.
    public var certificates: [SecCertificate] {
        if case .identity(_, let certificates) = kind { certificates } else { [] }
    }

    /// The identity as it is shown to a server: with the certificates that were given instead of its own; nil for other
    /// kinds.
    func shownIdentity() throws(ClientIdentityError) -> ClientIdentity? {
        try identity?.presenting(certificates)
    }
}

/// A client certificate with its private key, under the name that Apple's platforms use.
public typealias SecIdentity = ClientIdentity
/// A certificate, under the name that Apple's platforms use.
public typealias SecCertificate = X509Certificate

extension URLCredential: Hashable {
    /// Equal in kind, contents and persistence. A trust is equal to itself alone.
    public static func == (left: URLCredential, right: URLCredential) -> Bool {
        left.kind == right.kind && left.persistence == right.persistence
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(kind)
        hasher.combine(persistence)
    }
}

extension URLCredential: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Names the kind, and what is public of it; user and password stay out of logs.
    public var description: String {
        switch kind {
        case .password: "URLCredential(password)"
        case .identity(let identity, _): "URLCredential(\(identity))"
        case .trust(let trust): "URLCredential(trust of \(trust.name))"
        case .unimplemented: "URLCredential(none)"
        }
    }

    /// The same as ``description``.
    public var debugDescription: String { description }

    /// Shows what ``description`` does and no more: `dump` must not print a password.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension URLCredential.Kind {
    static func == (left: Self, right: Self) -> Bool {
        switch (left, right) {
        case (.password(let user, let password), .password(let otherUser, let otherPassword)):
            user == otherUser && password == otherPassword
        case (.identity(let identity, let certificates), .identity(let otherIdentity, let otherCertificates)):
            identity == otherIdentity && certificates == otherCertificates
        case (.trust(let trust), .trust(let other)): trust === other
        case (.unimplemented, .unimplemented): true
        default: false
        }
    }

    func hash(into hasher: inout Hasher) {
        switch self {
        case .password(let user, _): hasher.combine(user)
        case .identity(let identity, _): hasher.combine(identity)
        case .trust(let trust): hasher.combine(ObjectIdentifier(trust))
        case .unimplemented: break
        }
    }
}
