import CertificateTrust
import PinctlBasics

/// The contents of a ``PrivateFile``.
protocol PrivateFileContents: Equatable, Sendable {
    /// The name of the file, which messages use too, such as `credentials`.
    static var name: String { get }
    /// The largest file, in bytes.
    static var sizeLimit: Int { get }

    /// Creates empty contents.
    init()
    /// Parses a file.
    init(_ file: SecretBytes) throws(CredentialStorageError.Reason)
    /// Returns the file's bytes.
    func file() throws(CredentialStorageError.Reason) -> SecretBytes
}

/// The file of a credential storage.
typealias CredentialFile = PrivateFile<SavedCredentials>

/// A file of secrets and its contents when it was last read. Other processes may change the file at any time.
struct PrivateFile<Contents: PrivateFileContents>: Sendable {
    /// The directory of the file, or nil if there is none.
    let directory: String?
    /// The contents of the file, empty while it can't be used.
    private(set) var saved = Contents()
    /// The reason why the file can't be read, or why the last change of it couldn't be written, if there is one.
    var error: CredentialStorageError? { readError ?? writeError }
    private var readError: CredentialStorageError?
    /// Unlike the other error, it remains when the file is read again, since the change is only in memory.
    private var writeError: CredentialStorageError?
    private var version: FileVersion?

    /// Creates a reference to the file in a directory. Reads nothing.
    init(in directory: String?) { self.directory = directory }

    private var path: String? { directory.map { $0 + "/" + Contents.name } }

    /// Reads the file if it has changed. A missing file counts as empty and isn't an error.
    mutating func refresh() {
        guard let directory else { return }
        do throws(PrivateDirectoryError) {
            let opened = try PrivateDirectory(path: directory, creates: false)
            let now = opened.version(of: Contents.name)
            if now != version || now == nil || readError != nil { try read(opened) }
        } catch {
            saved = Contents()
            version = nil
            if case .failed("open", 2) = error.reason, error.path == directory {
                // ENOENT: no credential has been stored yet.
                readError = nil
            } else {
                noteUnreadable(.directory(error))
            }
        }
    }

    /// Changes the contents of the file. If it can't be written, returns false and sets ``error``. Waits until the
    /// deadline for another process that is changing the file.
    mutating func change(
        until deadline: ContinuousClock.Instant, _ body: (inout Contents) -> Void
    ) -> Bool {
        guard let directory else {
            noteUnreadable(.homeless)
            return false
        }
        do throws(PrivateDirectoryError) {
            let opened = try PrivateDirectory(path: directory, creates: true)
            return try opened.change(until: deadline) { () throws(PrivateDirectoryError) in
                try read(opened)
                // A file that can't be read isn't overwritten.
                // mutant private-unreadable: true by StoredCredentialTests CookieStorageTests
                guard readError == nil else { return false }
                var changed = saved
                body(&changed)
                guard changed != saved else { return true }
                do throws(CredentialStorageError.Reason) {
                    let file = try changed.file()
                    try file.withBytes { bytes throws(CredentialStorageError.Reason) in
                        do throws(PrivateDirectoryError) {
                            try opened.replace(Contents.name, with: bytes)
                        } catch {
                            throw .directory(error)
                        }
                    }
                } catch {
                    noteUnwritten(error)
                    return false
                }
                writeError = nil
                saved = changed
                version = opened.version(of: Contents.name)
                return true
            }
        } catch {
            switch error.reason {
            case .failed, .busy: noteUnwritten(.directory(error))
            // Reading the file finds these too, until they are fixed.
            default: noteUnreadable(.directory(error))
            }
            return false
        }
    }

    private mutating func read(_ opened: PrivateDirectory) throws(PrivateDirectoryError) {
        guard
            case (var bytes, let version)? = try opened.contents(of: Contents.name, limit: Contents.sizeLimit)
        else {
            saved = Contents()
            self.version = nil
            readError = nil
            return
        }
        let file = SecretBytes(taking: &bytes)
        self.version = version
        do throws(CredentialStorageError.Reason) {
            saved = try Contents(file)
            readError = nil
        } catch {
            saved = Contents()
            noteUnreadable(error)
        }
    }

    private mutating func noteUnreadable(_ reason: CredentialStorageError.Reason) { note(reason, in: \.readError) }

    private mutating func noteUnwritten(_ reason: CredentialStorageError.Reason) { note(reason, in: \.writeError) }

    private mutating func note(
        _ reason: CredentialStorageError.Reason, in place: WritableKeyPath<Self, CredentialStorageError?>
    ) {
        let new = CredentialStorageError(reason: reason, path: path)
        if new != self[keyPath: place] { NSLog("%@", "PinnedNetworking cannot store \(Contents.name): \(new)") }
        self[keyPath: place] = new
    }

    /// Returns the directory for a program's files according to the XDG Base Directory Specification. Returns nil
    /// without a home directory, or if the program's name can't be a directory.
    static func standardDirectory(environment: [String: String], program: String) -> String? {
        guard !["", ".", ".."].contains(program), !program.contains("/") else { return nil }
        let home = environment["XDG_DATA_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        let fallback = environment["HOME"].flatMap { $0.hasPrefix("/") ? $0 + "/.local/share" : nil }
        return (home ?? fallback).map { $0 + "/PinnedNetworking/" + program }
    }
}
