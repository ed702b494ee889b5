/// An answer to a challenge: a user name and password, a client identity, or a server trust to accept.
public final class URLCredential: NSObject, NSCopying, Sendable {
    /// The time for which a ``URLCredentialStorage`` keeps a credential.
    public enum Persistence: UInt, Sendable {
        /// The credential is for one task and isn't kept.
        case none
        /// The credential is kept as long as the storage exists.
        case forSession
        /// The credential is kept for later runs. A password is kept in the storage's file, if it has one.
        case permanent
        /// The credential is kept for later runs on all of a user's devices. Nothing here transfers it to other
        /// devices, so it stays on this one, like ``permanent``. It is removed only with
        /// ``NSURLCredentialStorageRemoveSynchronizableCredentials``.
        case synchronizable
    }

    enum Kind: Sendable, Hashable {
        /// A nil password proposes only the user name.
        case password(user: String, password: String?)
        case identity(SecIdentity, [SecCertificate])
        case trust(SecTrust)
        /// The answer of the default implementations of delegate methods. See ``ChallengeRouting``.
        case unimplemented
    }

    let kind: Kind
    /// The time for which the credential is kept.
    public let persistence: Persistence

    /// Creates a credential with a user name and password, for Basic, Digest and similar methods.
    public convenience init(user: String, password: String, persistence: Persistence) {
        self.init(kind: .password(user: user, password: password), persistence: persistence)
    }

    /// Creates a credential with a client certificate. `certificates` are sent after it, in this order. If nil or
    /// empty, the certificates that the identity was read with are sent.
    ///
    /// An identity is never kept longer than ``Persistence/forSession``.
    public convenience init(identity: SecIdentity, certificates: [SecCertificate]?, persistence: Persistence) {
        self.init(kind: .identity(identity, certificates ?? []), persistence: persistence)
    }

    /// Creates a credential that accepts the server whose challenge has this trust. For another challenge it is a
    /// refusal.
    public convenience init(trust: SecTrust) {
        self.init(kind: .trust(trust), persistence: .forSession)
    }

    init(kind: Kind, persistence: Persistence) {
        self.kind = kind
        self.persistence = persistence
    }

    /// The user name, or nil for an identity or a trust.
    public var user: String? {
        if case .password(let user, _) = kind { user } else { nil }
    }

    /// The password. It is nil for an identity, for a trust, and if only a user name is proposed.
    public var password: String? {
        if case .password(_, let password) = kind { password } else { nil }
    }

    /// Whether there is a password.
    public var hasPassword: Bool { password != nil }

    /// The client certificate and its key, or nil if the credential isn't an identity.
    public var identity: SecIdentity? {
        if case .identity(let identity, _) = kind { identity } else { nil }
    }

    /// The given certificates that are sent after the client certificate.
    public var certificates: [SecCertificate] {
        if case .identity(_, let certificates) = kind { certificates } else { [] }
    }

    /// Returns the identity as it is presented to a server, with the given certificates in place of its own. Returns
    /// nil for other kinds of credential.
    func shownIdentity() throws(ClientIdentityError) -> ClientIdentity? {
        try identity?.presenting(certificates)
    }

    /// Compares kind, contents and persistence. A trust equals only itself.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? URLCredential else { return false }
        return kind == other.kind && persistence == other.persistence
    }

    public override var hash: Int {
        var hasher = Hasher()
        hasher.combine(kind)
        hasher.combine(persistence)
        return hasher.finalize()
    }

    /// Returns the credential itself, which can't be changed.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// The kind and its public parts. The user and password are left out, so that they don't get into logs.
    public override var description: String {
        switch kind {
        case .password: "URLCredential(password)"
        case .identity(let identity, _): "URLCredential(\(identity))"
        case .trust(let trust): "URLCredential(trust of \(trust.name))"
        case .unimplemented: "URLCredential(none)"
        }
    }
}

/// A client certificate with its private key, under its name on Apple's platforms.
public typealias SecIdentity = ClientIdentity
/// A certificate, under its name on Apple's platforms.
public typealias SecCertificate = X509Certificate

extension URLCredential: CustomReflectable {
    /// A mirror without children, so that `dump` can't print a password.
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
