import CertificateTrust
import PinctlBasics

/// A store of credentials for protection spaces and of the default credential for each space.
///
/// ``shared`` and storages with a directory keep the passwords of ``URLCredential/Persistence/permanent`` and
/// ``URLCredential/Persistence/synchronizable`` in a file that only this user can read. All other credentials,
/// including identities, last as long as the storage. A credential of ``URLCredential/Persistence/none`` isn't kept. A
/// trust isn't kept either, since it answers only one challenge. See <doc:StoredCredentials>.
public final class URLCredentialStorage: NSObject, Sendable {
    /// The storage of the process. Its file is created when the first credential has to be stored:
    /// `$XDG_DATA_HOME/PinnedNetworking/PROGRAM/credentials`. If the variable isn't set, it is below `~/.local/share`.
    public static let shared = URLCredentialStorage(
        file: CredentialFile(
            in: CredentialFile.standardDirectory(
                environment: processEnvironment, program: ProcessInfo.processInfo.processName)))

    /// A lock held only briefly, never while a file is read or written.
    private let state: Locked<KeptCredentials>
    /// A lock for changes. It can be held as long as a disk or another process takes.
    private let changing = Locked(())
    private let patience: Duration
    // One thread each, regardless of the number of waiting calls. Reads don't wait for changes.
    private let reads = DispatchQueue(label: "PinnedNetworking.credentials.reads")
    private let changes = DispatchQueue(label: "PinnedNetworking.credentials.changes")

    private init(file: CredentialFile?, patience: Duration = PrivateDirectory.patience) {
        state = Locked(KeptCredentials(file: file))
        self.patience = patience
    }

    /// Creates an empty storage without a file, like that of an ephemeral session. It is gone with the last reference
    /// to it.
    public override convenience init() { self.init(file: nil) }

    /// Creates a storage with a file in this directory, which is created if missing. Several processes can share it.
    ///
    /// Throws if the directory can't be used: other users have access to the directory or the file or own one of them,
    /// another user could replace the directory, or the file is damaged.
    public convenience init(directory: URL) throws(CredentialStorageError) {
        try self.init(directory: directory, patience: PrivateDirectory.patience)
    }

    /// Creates a storage. `patience` is how long a change waits for another process.
    convenience init(directory: URL, patience: Duration) throws(CredentialStorageError) {
        // A URL other than a file URL gives no path.
        var file = CredentialFile(in: directory.isFileURL ? directory.standardizedFileURL.path : "")
        _ = file.change(until: .now + patience) { _ in }
        if let error = file.error { throw error }
        self.init(file: file, patience: patience)
    }

    /// The name of the type. Hosts and users are left out, so that they don't get into logs.
    public override var description: String { "URLCredentialStorage" }

    /// The reason why the file can't be read or written, or nil. While there is an error, credentials are kept only as
    /// long as the storage exists.
    public var storageError: CredentialStorageError? { currentSnapshot().file?.error }

    /// Returns the credentials of a space by user name, or nil if there are none.
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

    /// Stores a credential and replaces the one with the same user name. The first credential of a space is its default
    /// until ``setDefaultCredential(_:for:)`` sets another. A credential without a user name is kept only as the
    /// default.
    public func set(_ credential: URLCredential, for space: URLProtectionSpace) {
        set(credential, for: space, asDefault: false)
    }

    /// Removes the credential of a space that equals this one.
    ///
    /// A credential of ``URLCredential/Persistence/synchronizable`` is removed only if the options contain
    /// ``NSURLCredentialStorageRemoveSynchronizableCredentials`` with the value true.
    public func remove(
        _ credential: URLCredential, for space: URLProtectionSpace, options: [String: Any]? = [:]
    ) {
        if credential.persistence == .synchronizable {
            guard options?[NSURLCredentialStorageRemoveSynchronizableCredentials] as? Bool == true else { return }
        }
        change(space) { $0.remove(credential) }
    }

    /// Returns the credential to try in a space without asking, or nil if there is none.
    public func defaultCredential(for space: URLProtectionSpace) -> URLCredential? {
        currentSnapshot().entry(for: space).defaultCredential
    }

    /// Stores a credential, as ``set(_:for:)`` does, and makes it the default.
    public func setDefaultCredential(_ credential: URLCredential, for space: URLProtectionSpace) {
        set(credential, for: space, asDefault: true)
    }
}

extension URLCredentialStorage: CustomReflectable {
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

// MARK: Use by a session

extension URLCredentialStorage {
    /// The credentials as of the last read of the file. Returns at once.
    var lastSnapshot: KeptCredentials { state.withLock { $0 } }

    /// Returns the current credentials, after reading a changed file. Blocks for file access, but never for the lock of
    /// another process.
    func currentSnapshot() -> KeptCredentials {
        while true {
            var kept = lastSnapshot
            guard var file = kept.file else { return kept }
            file.refresh()
            kept.file = file
            let isCurrent = state.withLock { state in
                // A read from before a change in this process is out of date.
                guard state.changeCount == kept.changeCount else { return false }
                state.file = file
                return true
            }
            if isCurrent { return kept }
        }
    }

    /// Returns the current credentials, read on another thread, or the last known ones if the task is cancelled.
    func snapshot() async -> KeptCredentials {
        let last = lastSnapshot
        guard last.file != nil else { return last }
        return await BlockingWork.run(on: reads) { self.currentSnapshot() } ?? last
    }

    /// Stores a credential and makes it the default, on another thread. Observers of the change are called there too.
    func keep(_ credential: URLCredential, for space: URLProtectionSpace) async {
        let deadline = ContinuousClock.now + patience
        await BlockingWork.run(on: changes) {
            self.set(credential, for: space, asDefault: true, until: deadline)
        }
    }

    /// Removes all credentials of a storage without a file.
    func removeAll() {
        for space in lastSnapshot.spaces.keys { change(space) { $0 = KeptCredentials.Entry() } }
    }

    /// Stores a credential unless its kind or persistence excludes that.
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

    /// Changes the credentials of a space, and posts a notification if they differ from before. The deadline is set
    /// before the lock is taken, so several changes that wait for the same process give up together, not one after the
    /// other.
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
    /// A notification that the contents of a ``URLCredentialStorage``, its object, have changed. It is posted on the
    /// thread that made the change.
    public static let NSURLCredentialStorageChanged = NSNotification.Name("NSURLCredentialStorageChangedNotification")
}

// swift-format-ignore: AlwaysUseLowerCamelCase
/// An option key. With the value true, ``URLCredentialStorage/remove(_:for:options:)`` also removes synchronizable
/// credentials.
public let NSURLCredentialStorageRemoveSynchronizableCredentials =
    "NSURLCredentialStorageRemoveSynchronizableCredentials"
