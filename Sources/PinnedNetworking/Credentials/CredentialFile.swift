import CertificateTrust

/// A file of credentials and what it held when it was looked at last. Other processes may change it at any time.
struct CredentialFile: Sendable {
    /// Nil when there is no place for one.
    let folder: String?
    /// What the file holds; nothing as long as it cannot be used.
    private(set) var saved = SavedCredentials()
    /// Why the file could not be read or written when that was tried last.
    private(set) var error: CredentialStorageError?
    private var version: PrivateFolder.Version?

    static let name = "credentials"

    /// A file in this folder.
    init(in folder: String?) { self.folder = folder }

    private var path: String? { folder.map { $0 + "/" + Self.name } }

    /// Reads the file if it has changed. Without a file there is nothing, which is no error.
    mutating func refresh() {
        guard let folder else { return }
        do throws(PrivateFolderError) {
            let opened = try PrivateFolder(path: folder, creates: false)
            let now = opened.version(of: Self.name)
            if now != version || now == nil || error != nil { try read(opened) }
        } catch {
            saved = SavedCredentials()
            version = nil
            if case .failed("open", 2) = error.reason, error.path == folder {
                // ENOENT: nothing has been kept yet.
                self.error = nil
            } else {
                note(.folder(error))
            }
        }
    }

    /// Changes what the file holds; false when it cannot be written, and ``error`` says why. Waits until the deadline for
    /// another process that changes it.
    mutating func change(
        until deadline: ContinuousClock.Instant, _ body: (inout SavedCredentials) -> Void
    ) -> Bool {
        guard let folder else {
            note(.homeless)
            return false
        }
        do throws(PrivateFolderError) {
            let opened = try PrivateFolder(path: folder, creates: true)
            return try opened.change(until: deadline) { () throws(PrivateFolderError) in
                try read(opened)
                // What cannot be read is not written over.
                guard error == nil else { return false }
                var changed = saved
                body(&changed)
                guard changed != saved else { return true }
                do throws(CredentialStorageError.Reason) {
                    let file = try changed.file()
                    try file.withBytes { bytes throws(CredentialStorageError.Reason) in
                        do throws(PrivateFolderError) {
                            try opened.replace(Self.name, with: bytes)
                        } catch {
                            throw .folder(error)
                        }
                    }
                } catch {
                    note(error)
                    return false
                }
                saved = changed
                version = opened.version(of: Self.name)
                return true
            }
        } catch {
            note(.folder(error))
            return false
        }
    }

    private mutating func read(_ opened: PrivateFolder) throws(PrivateFolderError) {
        guard
            case (var bytes, let version)? = try opened.contents(of: Self.name, limit: SavedCredentials.sizeLimit)
        else {
            saved = SavedCredentials()
            self.version = nil
            error = nil
            return
        }
        let file = SecretBytes(taking: &bytes)
        self.version = version
        do throws(CredentialStorageError.Reason) {
            saved = try SavedCredentials(file)
            error = nil
        } catch {
            saved = SavedCredentials()
            note(error)
        }
    }

    private mutating func note(_ reason: CredentialStorageError.Reason) {
        let new = CredentialStorageError(reason: reason, path: path)
        if new != error { NSLog("%@", "PinnedNetworking keeps no credentials: \(new)") }
        error = new
    }

    /// Where the credentials of this program are, by the XDG Base Directory Specification; nil without a home.
    static func standardFolder(environment: [String: String], program: String) -> String? {
        guard !["", ".", ".."].contains(program), !program.contains("/") else { return nil }
        let home = environment["XDG_DATA_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        let fallback = environment["HOME"].flatMap { $0.hasPrefix("/") ? $0 + "/.local/share" : nil }
        return (home ?? fallback).map { $0 + "/PinnedNetworking/" + program }
    }
}
