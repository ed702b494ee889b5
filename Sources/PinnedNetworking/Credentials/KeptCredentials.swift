import PinctlBasics

/// The credentials that a ``URLCredentialStorage`` holds at one point in time, in memory and in its file.
struct KeptCredentials: Sendable {
    /// The credentials in memory. A user here hides the user of the same name in the file.
    fileprivate(set) var spaces: [URLProtectionSpace: Entry] = [:]
    /// Users who were removed but are still in the file, since it couldn't be written.
    private var removed: [URLProtectionSpace: Set<String>] = [:]
    var file: CredentialFile?
    /// The number of changes made through the storage.
    var changeCount = 0

    init(file: CredentialFile?) { self.file = file }

    /// Returns the credentials in memory, combined with those in the file. Memory takes precedence.
    func entry(for space: URLProtectionSpace) -> Entry {
        var entry = spaces[space] ?? Entry()
        guard let saved = file?.saved.spaces[space] else { return entry }
        let removed = removed[space] ?? []
        entry.add(saved.users.filter { !removed.contains($0.key) }, defaultUser: saved.defaultUser)
        return entry
    }

    /// Stores the permanent passwords of a space in the file and the rest in memory. If the file can't be written,
    /// memory also holds the passwords. Only changed entries are written, because other processes change the file too.
    mutating func keep(_ entry: Entry, for space: URLProtectionSpace, until deadline: ContinuousClock.Instant) {
        var kept = entry
        var hidden: Set<String> = []
        if file != nil {
            let before = file?.saved.spaces[space] ?? SavedCredentials.Space()
            let wanted = entry.saved(after: before)
            let wasWritten =
                wanted == before
                || file?.change(until: deadline) {
                    $0.spaces[space] = wanted.replacing(before, in: $0.spaces[space])
                } == true
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
    /// Returns the new contents for a file that holds `now`, if `self` replaces `before`, or nil if nothing remains.
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

extension KeptCredentials {
    /// The credentials of one space.
    struct Entry: Equatable, Sendable {
        private enum Default: Equatable, Sendable {
            case user(String)
            /// A credential without a user name.
            case unnamed(URLCredential)
        }

        private var users: [String: KeptCredential] = [:]
        private var chosen: Default?

        init() {}

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

        /// The credential that a session tries before it asks: the default, or the only one there is.
        var bestCredential: URLCredential? {
            defaultCredential ?? (names.count == 1 ? names.first.flatMap { self[$0] } : nil)
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

        /// Removes users. If the default user is among them, there is no default afterwards.
        mutating func forget(where isForgotten: (String) -> Bool) {
            users = users.filter { !isForgotten($0.key) }
            if case .user(let name) = chosen, users[name] == nil { chosen = nil }
        }

        /// Adds the contents of a file. Existing entries take precedence.
        mutating func add(_ saved: [String: SavedCredentials.Credential], defaultUser: String?) {
            users.merge(saved.mapValues { .saved($0) }) { own, _ in own }
            if chosen == nil, let defaultUser, users[defaultUser] != nil { chosen = .user(defaultUser) }
        }

        /// Returns the part to store in a file that held `before`.
        func saved(after before: SavedCredentials.Space) -> SavedCredentials.Space {
            var saved = SavedCredentials.Space(users: users.compactMapValues(\.saved))
            if case .user(let name) = chosen, saved.users[name] != nil {
                saved.defaultUser = name
            } else if let name = before.defaultUser, saved.users[name] != nil {
                // A default that lasts only for this session doesn't change the stored one.
                saved.defaultUser = name
            }
            return saved
        }
    }
}

/// A credential with a user name. The password of one from a file becomes a `String` only on request.
private enum KeptCredential: Equatable, Sendable {
    case given(URLCredential)
    case saved(SavedCredentials.Credential)

    func credential(of user: String) -> URLCredential {
        switch self {
        case .given(let credential): credential
        case .saved(let saved): saved.credential(of: user)
        }
    }

    /// The form to store in a file, or nil if it isn't stored.
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
