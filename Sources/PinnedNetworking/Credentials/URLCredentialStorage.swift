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

    /// Held for moments only, never while a file is read or written.
    private let state: Locked<KeptCredentials>
    /// Held by whoever changes the storage, which can take as long as a disk or another process.
    private let changing = Locked(())
    private let patience: Duration
    // One thread each, however many wait: those who only look wait for nobody who changes.
    private let reads = DispatchQueue(label: "PinnedNetworking.credentials.reads")
    private let changes = DispatchQueue(label: "PinnedNetworking.credentials.changes")

    private init(file: CredentialFile?, patience: Duration = PrivateFolder.patience) {
        state = Locked(KeptCredentials(file: file))
        self.patience = patience
    }

    /// A storage of its own, such as an ephemeral session has: empty, without a file, and forgotten with the last
    /// reference to it.
    public convenience init() { self.init(file: nil) }

    /// A storage with a file in this directory, which is made where it is missing. Several processes may use one.
    ///
    /// Throws when it cannot be used: when others have rights to the directory or the file, when they belong to another
    /// user, when another user could replace the directory, or when the file is not as it was written.
    public convenience init(directory: URL) throws(CredentialStorageError) {
        try self.init(directory: directory, patience: PrivateFolder.patience)
    }

    /// `patience` is how long a change waits for another process.
    convenience init(directory: URL, patience: Duration) throws(CredentialStorageError) {
        // A path from elsewhere than this machine's files is none.
        var file = CredentialFile(in: directory.isFileURL ? directory.standardizedFileURL.path : "")
        _ = file.change(until: .now + patience) { _ in }
        if let error = file.error { throw error }
        self.init(file: file, patience: patience)
    }

    /// Why the file cannot be read or written; nil while it can. What was to be kept in it lasts as long as the storage.
    public var storageError: CredentialStorageError? { currentSnapshot().file?.error }

    /// The credentials of a space by their user names; nil when there are none.
    public func credentials(for space: URLProtectionSpace) -> [String: URLCredential]? {
        currentSnapshot().entry(for: space).userCredentials
    }

    /// All credentials with a user name, by space and name.
    public var allCredentials: [URLProtectionSpace: [String: URLCredential]] {
        let kept = currentSnapshot()
        let places = Set(kept.spaces.keys).union(kept.file?.saved.spaces.keys.map { $0 } ?? [])
        return Dictionary(uniqueKeysWithValues: places.map { ($0, kept.entry(for: $0)) })
            .compactMapValues(\.userCredentials)
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
        currentSnapshot().entry(for: space).defaultCredential
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

// MARK: For a session

extension URLCredentialStorage {
    /// What was kept when the file was looked at last; waits for nothing.
    var lastSnapshot: KeptCredentials { state.withLock { $0 } }

    /// What is kept, with the file as it is now. Blocks like its file system, and never for another process's lock.
    func currentSnapshot() -> KeptCredentials {
        while true {
            var kept = lastSnapshot
            guard var file = kept.file else { return kept }
            file.refresh()
            kept.file = file
            let isCurrent = state.withLock { state in
                // What was read before a change of this process's says nothing behind it.
                guard state.changeCount == kept.changeCount else { return false }
                state.file = file
                return true
            }
            if isCurrent { return kept }
        }
    }

    /// The same off the thread that asks; what was kept before when the task is cancelled.
    func snapshot() async -> KeptCredentials {
        let last = lastSnapshot
        guard last.file != nil else { return last }
        return await BlockingWork.run(on: reads) { self.currentSnapshot() } ?? last
    }

    /// Keeps a credential and makes it the default, off the thread that asks: whoever hears of the change is called too.
    func keep(_ credential: URLCredential, for space: URLProtectionSpace) async {
        let deadline = ContinuousClock.now + patience
        await BlockingWork.run(on: changes) {
            self.set(credential, for: space, asDefault: true, until: deadline)
        }
    }

    /// Forgets every credential, of a storage without a file.
    func removeAll() {
        for space in lastSnapshot.spaces.keys { change(space) { $0 = KeptCredentials.Entry() } }
    }

    /// Keeps a credential unless it is not to be kept.
    private func set(
        _ credential: URLCredential, for space: URLProtectionSpace, asDefault isDefault: Bool,
        until deadline: ContinuousClock.Instant? = nil
    ) {
        guard credential.persistence != .none else { return }
        switch credential.kind {
        case .password, .identity:
            change(space, until: deadline) { $0.set(credential, asDefault: isDefault) }
        case .trust, .unimplemented: return
        }
    }

    /// Changes what is kept of a space, and tells of it if it is another than before. All who wait for one process give
    /// up when they have waited long enough, not one after the other.
    private func change(
        _ space: URLProtectionSpace, until deadline: ContinuousClock.Instant? = nil,
        _ body: (inout KeptCredentials.Entry) -> Void
    ) {
        let deadline = deadline ?? .now + patience
        let isChanged = changing.withLock { _ in
            var kept = currentSnapshot()
            let before = kept.entry(for: space)
            var entry = before
            body(&entry)
            guard entry != before else { return false }
            kept.keep(entry, for: space, until: deadline)
            kept.changeCount += 1
            state.withLock { [kept] in $0 = kept }
            return true
        }
        guard isChanged else { return }
        NotificationCenter.default.post(name: .NSURLCredentialStorageChanged, object: self)
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
