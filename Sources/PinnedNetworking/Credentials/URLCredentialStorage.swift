/// Keeps credentials for protection spaces, and says which is a space's default.
///
/// In memory, for now: ``URLCredential/Persistence/permanent`` and ``URLCredential/Persistence/synchronizable`` last as
/// long as ``URLCredential/Persistence/forSession``, until the process ends. A credential of
/// ``URLCredential/Persistence/none`` is not kept, nor is a trust, which answers one challenge.
public final class URLCredentialStorage: Sendable {
    /// The storage of the process.
    public static let shared = URLCredentialStorage()

    private let spaces = Locked<[URLProtectionSpace: Entry]>([:])

    /// A storage of its own, such as an ephemeral session has: empty, and forgotten with the last reference to it.
    public init() {}

    /// The credentials of a space by their user names; nil when there are none.
    public func credentials(for space: URLProtectionSpace) -> [String: URLCredential]? {
        spaces.withLock { $0[space] }?.userCredentials
    }

    /// All credentials with a user name, by space and name.
    public var allCredentials: [URLProtectionSpace: [String: URLCredential]] {
        spaces.withLock { $0 }.compactMapValues(\.userCredentials)
    }

    /// Keeps a credential in place of the one with the same user name. The first of a space becomes its default, until
    /// ``setDefaultCredential(_:for:)`` names another; one without a user name can be nothing else.
    public func set(_ credential: URLCredential, for space: URLProtectionSpace) {
        set(credential, for: space, asDefault: false)
    }

    /// Removes a credential of a space that is equal to this one.
    ///
    /// One of ``URLCredential/Persistence/synchronizable`` is removed only if the options hold true for
    /// ``NSURLCredentialStorageRemoveSynchronizableCredentials``.
    public func remove(
        _ credential: URLCredential, for space: URLProtectionSpace, options: [String: Any]? = [:]
    ) {
        if credential.persistence == .synchronizable {
            guard options?[NSURLCredentialStorageRemoveSynchronizableCredentials] as? Bool == true else { return }
        }
        change(space) { $0.remove(credential) }
    }

    /// The credential that is tried in a space without asking; nil when there is none.
    public func defaultCredential(for space: URLProtectionSpace) -> URLCredential? {
        spaces.withLock { $0[space] }?.defaultCredential
    }

    /// Keeps a credential, as ``set(_:for:)`` does, and makes it the default.
    public func setDefaultCredential(_ credential: URLCredential, for space: URLProtectionSpace) {
        set(credential, for: space, asDefault: true)
    }
}

extension URLCredentialStorage: CustomStringConvertible, CustomReflectable {
    /// The type alone: who has credentials where stays out of logs.
    public var description: String { "URLCredentialStorage" }

    /// Shows what ``description`` does and no more.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

// MARK: For a task

// Apple's spellings for tasks; which task asks changes nothing.
extension URLCredentialStorage {
    /// Calls the handler with ``credentials(for:)`` before it returns.
    public func getCredentials(
        for protectionSpace: URLProtectionSpace, task: URLSessionTask,
        completionHandler: ([String: URLCredential]?) -> Void
    ) {
        completionHandler(credentials(for: protectionSpace))
    }

    /// ``credentials(for:)``
    public func credentials(
        for protectionSpace: URLProtectionSpace, task: URLSessionTask
    ) async -> [String: URLCredential]? {
        credentials(for: protectionSpace)
    }

    /// ``set(_:for:)``
    public func set(_ credential: URLCredential, for protectionSpace: URLProtectionSpace, task: URLSessionTask) {
        set(credential, for: protectionSpace)
    }

    /// ``remove(_:for:options:)``
    public func remove(
        _ credential: URLCredential, for protectionSpace: URLProtectionSpace, options: [String: Any]? = [:],
        task: URLSessionTask
    ) {
        remove(credential, for: protectionSpace, options: options)
    }

    /// Calls the handler with ``defaultCredential(for:)`` before it returns.
    public func getDefaultCredential(
        for space: URLProtectionSpace, task: URLSessionTask, completionHandler: (URLCredential?) -> Void
    ) {
        completionHandler(defaultCredential(for: space))
    }

    /// ``defaultCredential(for:)``
    public func defaultCredential(for space: URLProtectionSpace, task: URLSessionTask) async -> URLCredential? {
        defaultCredential(for: space)
    }

    /// ``setDefaultCredential(_:for:)``
    public func setDefaultCredential(
        _ credential: URLCredential, for protectionSpace: URLProtectionSpace, task: URLSessionTask
    ) {
        setDefaultCredential(credential, for: protectionSpace)
    }
}

// MARK: For a session

extension URLCredentialStorage {
    /// What a session tries in a space before it asks: the default, or else the only one there is.
    func bestCredential(for space: URLProtectionSpace) -> URLCredential? {
        guard let entry = spaces.withLock({ $0[space] }) else { return nil }
        return entry.defaultCredential ?? (entry.users.count == 1 ? entry.users.first?.value : nil)
    }

    /// The credential of a user whom a URL names.
    func credential(of user: String, for space: URLProtectionSpace) -> URLCredential? {
        spaces.withLock { $0[space] }?.users[user]
    }

    /// Forgets every credential.
    func removeAll() {
        for space in spaces.withLock({ Array($0.keys) }) { change(space) { $0 = Entry() } }
    }

    /// Keeps a credential unless it is not to be kept.
    private func set(_ credential: URLCredential, for space: URLProtectionSpace, asDefault isDefault: Bool) {
        guard credential.persistence != .none else { return }
        switch credential.kind {
        case .password, .identity: change(space) { $0.set(credential, asDefault: isDefault) }
        case .trust, .unimplemented: return
        }
    }

    /// Changes what is kept of a space, and tells of it if it is another than before.
    private func change(_ space: URLProtectionSpace, _ body: (inout Entry) -> Void) {
        let isChanged = spaces.withLock { spaces in
            let before = spaces[space] ?? Entry()
            var entry = before
            body(&entry)
            spaces[space] = entry == Entry() ? nil : entry
            return entry != before
        }
        guard isChanged else { return }
        NotificationCenter.default.post(name: .NSURLCredentialStorageChanged, object: self)
    }
}

/// What is kept of one space.
private struct Entry: Equatable, Sendable {
    enum Default: Equatable, Sendable {
        case user(String)
        /// One without a user name.
        case unnamed(URLCredential)
    }

    private(set) var users: [String: URLCredential] = [:]
    private var chosen: Default?

    var userCredentials: [String: URLCredential]? { users.isEmpty ? nil : users }

    var defaultCredential: URLCredential? {
        switch chosen {
        case .user(let name): users[name]
        case .unnamed(let credential): credential
        case nil: nil
        }
    }

    mutating func set(_ credential: URLCredential, asDefault isDefault: Bool) {
        if let user = credential.user { users[user] = credential }
        if isDefault || chosen == nil {
            chosen = credential.user.map { .user($0) } ?? .unnamed(credential)
        }
    }

    mutating func remove(_ credential: URLCredential) {
        if let user = credential.user, users[user] == credential {
            users[user] = nil
            if chosen == .user(user) { chosen = nil }
        }
        if chosen == .unnamed(credential) { chosen = nil }
    }
}

// swift-format-ignore: AlwaysUseLowerCamelCase
extension NSNotification.Name {
    /// Posted by a ``URLCredentialStorage``, its object, on the thread that changed it, when what it keeps has changed.
    public static let NSURLCredentialStorageChanged = NSNotification.Name("NSURLCredentialStorageChangedNotification")
}

// swift-format-ignore: AlwaysUseLowerCamelCase
/// The key of an option that lets ``URLCredentialStorage/remove(_:for:options:)`` remove synchronizable credentials: its
/// value is true.
public let NSURLCredentialStorageRemoveSynchronizableCredentials =
    "NSURLCredentialStorageRemoveSynchronizableCredentials"
