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
    let folder: String?
    /// The contents of the file, empty while it can't be used.
    private(set) var saved = Contents()
    /// The reason why the last attempt to read or write the file failed, if it did.
    private(set) var error: CredentialStorageError?
    private var version: PrivateFolder.Version?

    /// Creates a reference to the file in a directory. Reads nothing.
    init(in folder: String?) { self.folder = folder }

    private var path: String? { folder.map { $0 + "/" + Contents.name } }

    /// Reads the file if it has changed. A missing file counts as empty and isn't an error.
    mutating func refresh() {
        guard let folder else { return }
        do throws(PrivateFolderError) {
            let opened = try PrivateFolder(path: folder, creates: false)
            let now = opened.version(of: Contents.name)
            if now != version || now == nil || error != nil { try read(opened) }
        } catch {
            saved = Contents()
            version = nil
            if case .failed("open", 2) = error.reason, error.path == folder {
                // ENOENT: no credential has been stored yet.
                self.error = nil
            } else {
                note(.folder(error))
            }
        }
    }

    /// Changes the contents of the file. If it can't be written, returns false and sets ``error``. Waits until the
    /// deadline for another process that is changing the file.
    mutating func change(
        until deadline: ContinuousClock.Instant, _ body: (inout Contents) -> Void
    ) -> Bool {
        guard let folder else {
            note(.homeless)
            return false
        }
        do throws(PrivateFolderError) {
            let opened = try PrivateFolder(path: folder, creates: true)
            return try opened.change(until: deadline) { () throws(PrivateFolderError) in
                try read(opened)
                // A file that can't be read isn't overwritten.
                guard error == nil else { return false }
                var changed = saved
                body(&changed)
                guard changed != saved else { return true }
                do throws(CredentialStorageError.Reason) {
                    let file = try changed.file()
                    try file.withBytes { bytes throws(CredentialStorageError.Reason) in
                        do throws(PrivateFolderError) {
                            try opened.replace(Contents.name, with: bytes)
                        } catch {
                            throw .folder(error)
                        }
                    }
                } catch {
                    note(error)
                    return false
                }
                saved = changed
                version = opened.version(of: Contents.name)
                return true
            }
        } catch {
            note(.folder(error))
            return false
        }
    }

    private mutating func read(_ opened: PrivateFolder) throws(PrivateFolderError) {
        guard
            case (var bytes, let version)? = try opened.contents(of: Contents.name, limit: Contents.sizeLimit)
        else {
            saved = Contents()
            self.version = nil
            error = nil
            return
        }
        let file = SecretBytes(taking: &bytes)
        self.version = version
        do throws(CredentialStorageError.Reason) {
            saved = try Contents(file)
            error = nil
        } catch {
            saved = Contents()
            note(error)
        }
    }

    private mutating func note(_ reason: CredentialStorageError.Reason) {
        let new = CredentialStorageError(reason: reason, path: path)
        if new != error { NSLog("%@", "PinnedNetworking cannot store \(Contents.name): \(new)") }
        error = new
    }

    /// Returns the directory for a program's files according to the XDG Base Directory Specification. Returns nil
    /// without a home directory, or if the program's name can't be a directory.
    static func standardFolder(environment: [String: String], program: String) -> String? {
        guard !["", ".", ".."].contains(program), !program.contains("/") else { return nil }
        let home = environment["XDG_DATA_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        let fallback = environment["HOME"].flatMap { $0.hasPrefix("/") ? $0 + "/.local/share" : nil }
        return (home ?? fallback).map { $0 + "/PinnedNetworking/" + program }
    }
}
