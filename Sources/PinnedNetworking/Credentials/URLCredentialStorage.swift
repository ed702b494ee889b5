import CertificateTrust

/// Keeps credentials for protection spaces, and says which is a space's default.
///
/// Passwords of ``URLCredential/Persistence/permanent`` and ``URLCredential/Persistence/synchronizable`` are kept in a
/// file, which only this user can read, by ``shared`` and by a storage with a directory. All else lasts as long as the
/// storage, identities among them. A credential of ``URLCredential/Persistence/none`` is not kept, nor is a trust, which
/// answers one challenge. See <doc:StoredCredentials>.
public final class URLCredentialStorage: Sendable {
    /// The storage of the process. Its file is made when the first credential is to be kept in it:
    /// `$XDG_DATA_HOME/PinnedNetworking/PROGRAM/credentials`, below `~/.local/share` where that is not set.
    public static let shared = URLCredentialStorage(
        file: CredentialFile(
            in: CredentialFile.standardFolder(
                environment: ProcessInfo.processInfo.environment, program: ProcessInfo.processInfo.processName)))

    private let state: Locked<StorageState>

    private init(file: CredentialFile?) {
        state = Locked(StorageState(file: file))
    }

    /// A storage of its own, such as an ephemeral session has: empty, without a file, and forgotten with the last
    /// reference to it.
    public convenience init() { self.init(file: nil) }

    /// A storage with a file in this directory, which is made where it is missing. Several processes may use one.
    ///
    /// Throws when it cannot be used: when others have rights to the directory or the file, when they belong to another
    /// user, or when the file is not as it was written.
    public convenience init(directory: URL) throws(CredentialStorageError) {
        // A path from elsewhere than this machine's files is none.
        var file = CredentialFile(in: directory.isFileURL ? directory.standardizedFileURL.path : "")
        _ = file.change { _ in }
        if let error = file.error { throw error }
        self.init(file: file)
    }

    /// Why the file cannot be read or written; nil while it can. What was to be kept in it lasts as long as the storage.
    public var storageError: CredentialStorageError? {
        state.withLock { state in
            state.file?.refresh()
            return state.file?.error
        }
    }

    /// The credentials of a space by their user names; nil when there are none.
    public func credentials(for space: URLProtectionSpace) -> [String: URLCredential]? {
        entry(for: space)?.userCredentials
    }

    /// All credentials with a user name, by space and name.
    public var allCredentials: [URLProtectionSpace: [String: URLCredential]] {
        state.withLock { state in
            state.file?.refresh()
            let places = Set(state.spaces.keys).union(state.file?.saved.spaces.keys.map { $0 } ?? [])
            return Dictionary(uniqueKeysWithValues: places.map { ($0, state.entry(for: $0)) })
        }.compactMapValues(\.userCredentials)
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
        entry(for: space)?.defaultCredential
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
        guard let entry = entry(for: space) else { return nil }
        return entry.defaultCredential ?? (entry.names.count == 1 ? entry.names.first.flatMap { entry[$0] } : nil)
    }

    /// The credential of a user whom a URL names.
    func credential(of user: String, for space: URLProtectionSpace) -> URLCredential? {
        entry(for: space)?[user]
    }

    /// Forgets every credential, of a storage without a file.
    func removeAll() {
        for space in state.withLock({ Array($0.spaces.keys) }) { change(space) { $0 = Entry() } }
    }

    /// Keeps a credential unless it is not to be kept.
    private func set(_ credential: URLCredential, for space: URLProtectionSpace, asDefault isDefault: Bool) {
        guard credential.persistence != .none else { return }
        switch credential.kind {
        case .password, .identity: change(space) { $0.set(credential, asDefault: isDefault) }
        case .trust, .unimplemented: return
        }
    }

    private func entry(for space: URLProtectionSpace) -> Entry? {
        state.withLock { state in
            state.file?.refresh()
            return state.entry(for: space)
        }
    }

    /// Changes what is kept of a space, and tells of it if it is another than before.
    private func change(_ space: URLProtectionSpace, _ body: (inout Entry) -> Void) {
        let isChanged = state.withLock { state in
            state.file?.refresh()
            let before = state.entry(for: space)
            var entry = before
            body(&entry)
            guard entry != before else { return false }
            state.keep(entry, for: space)
            return true
        }
        guard isChanged else { return }
        NotificationCenter.default.post(name: .NSURLCredentialStorageChanged, object: self)
    }
}

private struct StorageState: Sendable {
    /// What is kept in memory; a user here hides the one of the same name in the file.
    var spaces: [URLProtectionSpace: Entry] = [:]
    /// Users who were removed and are still in the file, since it could not be written.
    var removed: [URLProtectionSpace: Set<String>] = [:]
    var file: CredentialFile?

    init(file: CredentialFile?) { self.file = file }

    /// What is in memory over what is in the file.
    func entry(for space: URLProtectionSpace) -> Entry {
        var entry = spaces[space] ?? Entry()
        guard let saved = file?.saved.spaces[space] else { return entry }
        let removed = removed[space] ?? []
        entry.add(saved.users.filter { !removed.contains($0.key) }, defaultUser: saved.defaultUser)
        return entry
    }

    /// Puts a space's passwords that are to last into the file, and all else, or what the file does not take, into
    /// memory. Only what is another than before is touched in the file, which others change too.
    mutating func keep(_ entry: Entry, for space: URLProtectionSpace) {
        var kept = entry
        var hidden: Set<String> = []
        if file != nil {
            let before = file?.saved.spaces[space] ?? SavedCredentials.Space()
            let wanted = entry.saved(after: before)
            let wasWritten =
                wanted == before
                || file?.change { $0.spaces[space] = wanted.replacing(before, in: $0.spaces[space]) } == true
            if wasWritten {
                kept.forget { wanted.users[$0] != nil }
            } else {
                kept.forget { wanted.users[$0] != nil && wanted.users[$0] == before.users[$0] }
                hidden = Set(before.users.keys).subtracting(entry.names)
            }
        }
        spaces[space] = kept == Entry() ? nil : kept
        removed[space] = hidden.isEmpty ? nil : hidden
    }
}

extension SavedCredentials.Space {
    /// What the file is to hold where it holds `now`, when this is to take the place of `before`; nil for nothing.
    fileprivate func replacing(_ before: Self, in now: Self?) -> Self? {
        var result = now ?? Self()
        for user in Set(users.keys).union(before.users.keys) where users[user] != before.users[user] {
            result.users[user] = users[user]
        }
        if defaultUser != before.defaultUser { result.defaultUser = defaultUser }
        if let user = result.defaultUser, result.users[user] == nil { result.defaultUser = nil }
        return result.users.isEmpty ? nil : result
    }
}

/// What is kept of one space.
private struct Entry: Equatable, Sendable {
    enum Default: Equatable, Sendable {
        case user(String)
        /// One without a user name.
        case unnamed(URLCredential)
    }

    private var users: [String: KeptCredential] = [:]
    private var chosen: Default?

    var names: Set<String> { Set(users.keys) }

    subscript(user: String) -> URLCredential? { users[user]?.credential(of: user) }

    var userCredentials: [String: URLCredential]? {
        users.isEmpty ? nil : Dictionary(uniqueKeysWithValues: users.map { ($0, $1.credential(of: $0)) })
    }

    var defaultCredential: URLCredential? {
        switch chosen {
        case .user(let name): self[name]
        case .unnamed(let credential): credential
        case nil: nil
        }
    }

    mutating func set(_ credential: URLCredential, asDefault isDefault: Bool) {
        if let user = credential.user { users[user] = .given(credential) }
        if isDefault || chosen == nil {
            chosen = credential.user.map { .user($0) } ?? .unnamed(credential)
        }
    }

    mutating func remove(_ credential: URLCredential) {
        if let user = credential.user, users[user] == .given(credential) {
            users[user] = nil
            if chosen == .user(user) { chosen = nil }
        }
        if chosen == .unnamed(credential) { chosen = nil }
    }

    /// Removes users, and the choice of one that is removed.
    mutating func forget(where isForgotten: (String) -> Bool) {
        users = users.filter { !isForgotten($0.key) }
        if case .user(let name) = chosen, users[name] == nil { chosen = nil }
    }

    /// Adds what a file holds, below what is here.
    mutating func add(_ saved: [String: SavedCredentials.Credential], defaultUser: String?) {
        users.merge(saved.mapValues { .saved($0) }) { own, _ in own }
        if chosen == nil, let defaultUser, users[defaultUser] != nil { chosen = .user(defaultUser) }
    }

    /// The part that belongs into a file which held `before`.
    func saved(after before: SavedCredentials.Space) -> SavedCredentials.Space {
        var saved = SavedCredentials.Space(users: users.compactMapValues(\.saved))
        if case .user(let name) = chosen, saved.users[name] != nil {
            saved.defaultUser = name
        } else if let name = before.defaultUser, saved.users[name] != nil {
            // A choice for this session changes nothing about those to come.
            saved.defaultUser = name
        }
        return saved
    }
}

/// A credential with a user name. One from a file becomes a text when it is asked for.
private enum KeptCredential: Equatable, Sendable {
    case given(URLCredential)
    case saved(SavedCredentials.Credential)

    func credential(of user: String) -> URLCredential {
        switch self {
        case .given(let credential): credential
        case .saved(let saved): saved.credential(of: user)
        }
    }

    /// What a file is to hold of it; nil for nothing.
    var saved: SavedCredentials.Credential? {
        switch self {
        case .saved(let saved): return saved
        case .given(let credential):
            guard let password = credential.password, [.permanent, .synchronizable].contains(credential.persistence)
            else { return nil }
            return SavedCredentials.Credential(
                password: SecretBytes(password.utf8),
                isSynchronizable: credential.persistence == .synchronizable)
        }
    }

    static func == (left: Self, right: Self) -> Bool {
        switch (left, right) {
        case (.given(let left), .given(let right)): left == right
        case (.saved(let left), .saved(let right)): left == right
        case (.given(let given), .saved(let saved)), (.saved(let saved), .given(let given)): saved.isEqual(to: given)
        }
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
