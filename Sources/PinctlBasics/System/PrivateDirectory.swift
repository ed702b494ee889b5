import PinctlLibC

/// A directory with mode 0700 whose files have mode 0600 and are replaced atomically. A reader finds either the old
/// file or the new one, even if the program is killed during a change.
///
/// All operations are relative to one descriptor, so nobody can substitute another directory between two steps. A file
/// or directory is rejected, and neither read nor repaired, if other users have rights to it, it belongs to another
/// user, or it is a symbolic link. A directory is also rejected if another user could rename or replace it or one of
/// its parents.
package final class PrivateDirectory: Sendable {
    package let path: String
    private let descriptor: Int32

    /// The longest wait for another process that changes the directory.
    package static let patience = Duration.seconds(5)
    private static let lockName = ".lock"
    /// The name of the temporary file. If the process is killed, the file remains, and the next change removes it.
    private static let temporaryName = ".new"

    /// Opens a directory. If `creates` is true, creates it and its missing parents first.
    package init(path: String, creates: Bool) throws(PrivateDirectoryError) {
        guard path.utf8.first == UInt8(ascii: "/"), !path.utf8.contains(0) else {
            throw PrivateDirectoryError(path: path, reason: .relative)
        }
        let opened = try PrivateDirectoryWalk.open(path, creates: creates)
        do throws(PrivateDirectoryError) {
            _ = try Self.check(opened, path, kind: S_IFDIR)
        } catch {
            close(opened)
            throw error
        }
        self.path = path
        descriptor = opened
    }

    deinit { close(descriptor) }

    /// Returns the version of a file, or `nil` if it doesn't exist.
    package func version(of name: String) -> FileVersion? {
        var status = stat()
        guard unsafe fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return nil }
        return FileVersion(status)
    }

    /// Reads a file. Returns `nil` if it doesn't exist. The caller wipes the contents: no other copy is left in memory.
    package func contents(
        of name: String, limit: Int
    ) throws(PrivateDirectoryError) -> (bytes: [UInt8], version: FileVersion)? {
        let file = path + "/" + name
        let opened = unsafe openat(descriptor, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
        guard opened >= 0 else {
            if errno == ENOENT { return nil }
            throw PrivateDirectoryError(path: file, reason: .failed(operation: "open", errno: errno))
        }
        defer { close(opened) }
        let status = try Self.check(opened, file, kind: S_IFREG)
        guard status.st_size <= limit else { throw PrivateDirectoryError(path: file, reason: .tooLarge(limit: limit)) }
        var bytes = [UInt8](repeating: 0, count: max(0, Int(status.st_size)))
        var count = 0
        while count < bytes.count {
            // Reading through a slice would leave a copy in memory.
            let read = unsafe bytes.withUnsafeMutableBytes { all in
                let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: all[count...])
                return unsafe PinctlLibC.read(opened, rest.baseAddress, rest.count)
            }
            if read == 0 { break }
            guard read > 0 || errno == EINTR else {
                let code = errno
                wipe(&bytes)
                throw PrivateDirectoryError(path: file, reason: .failed(operation: "read", errno: code))
            }
            count += max(0, read)
        }
        guard count == bytes.count else {
            wipe(&bytes)
            throw PrivateDirectoryError(path: file, reason: .failed(operation: "read", errno: EIO))
        }
        return (bytes, FileVersion(status))
    }

    /// Replaces a file and returns when the new one is on disk. Call it within ``change(_:)``, which keeps other
    /// processes from using the one name that all temporary files have.
    package func replace(_ name: String, with bytes: [UInt8]) throws(PrivateDirectoryError) {
        let file = path + "/" + name
        _ = unsafe unlinkat(descriptor, Self.temporaryName, 0)
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        let opened = unsafe openat(descriptor, Self.temporaryName, flags, 0o600)
        guard opened >= 0 else {
            throw PrivateDirectoryError(path: file, reason: .failed(operation: "write", errno: errno))
        }
        // A umask may have removed the owner's own rights.
        // mutant private-written-mode: 0o644 for `0o600` by PrivateDirectoryTests StoredCredentialTests
        //   CookieStorageTests
        var code = fchmod(opened, 0o600) == 0 ? 0 : errno
        if code == 0 { code = writeAll(bytes, to: opened) }
        if code == 0, fsync(opened) != 0 { code = errno }
        if close(opened) != 0, code == 0 { code = errno }
        if code == 0, unsafe renameat(descriptor, Self.temporaryName, descriptor, name) != 0 { code = errno }
        if code != 0 { _ = unsafe unlinkat(descriptor, Self.temporaryName, 0) }
        // The name is on disk once the directory is.
        if code == 0, fsync(descriptor) != 0 { code = errno }
        guard code == 0 else {
            throw PrivateDirectoryError(path: file, reason: .failed(operation: "write", errno: code))
        }
    }

    /// Removes a file if it exists.
    package func remove(_ name: String) throws(PrivateDirectoryError) {
        guard unsafe unlinkat(descriptor, name, 0) == 0 || errno == ENOENT else {
            throw PrivateDirectoryError(path: path + "/" + name, reason: .failed(operation: "remove", errno: errno))
        }
    }

    /// Deletes a file of a directory if its name still belongs to the open file with this descriptor, and then the
    /// directory if it is empty. Everything else in it stays.
    package static func discard(_ name: String, openAs descriptor: Int32, in path: String) {
        let file = path + "/" + name
        var (opened, named) = (stat(), stat())
        if unsafe fstat(descriptor, &opened) == 0, unsafe lstat(file, &named) == 0, opened.st_dev == named.st_dev,
            opened.st_ino == named.st_ino
        {
            _ = unsafe unlink(file)
        }
        _ = unsafe rmdir(path)
    }

    /// Calls `body` while no other process does so in this directory (`flock` on a file in it). Blocks the thread until
    /// the other process has finished or the deadline has passed.
    package func change<Result>(
        until deadline: ContinuousClock.Instant = .now + patience, _ body: () throws(PrivateDirectoryError) -> Result
    ) throws(PrivateDirectoryError) -> Result {
        let file = path + "/" + Self.lockName
        let opened = unsafe openat(descriptor, Self.lockName, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard opened >= 0 else {
            throw PrivateDirectoryError(path: file, reason: .failed(operation: "open", errno: errno))
        }
        defer { close(opened) }
        _ = try Self.check(opened, file, kind: S_IFREG)
        while flock(opened, LOCK_EX | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK || errno == EINTR else {
                throw PrivateDirectoryError(path: file, reason: .failed(operation: "lock", errno: errno))
            }
            guard .now < deadline else { throw PrivateDirectoryError(path: path, reason: .busy) }
            usleep(1_000)
        }
        return try body()
    }

    /// Returns up to `limit` names of files in the directory, in no particular order. Names that begin with a dot are
    /// omitted.
    package func names(limit: Int) throws(PrivateDirectoryError) -> [String] {
        // A separate descriptor, because reading moves its offset.
        let opened = unsafe openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard let entries = DirectoryEntry.all(ofOpened: opened, limit: limit) else {
            throw PrivateDirectoryError(path: path, reason: .failed(operation: "read", errno: errno))
        }
        return entries.map(\.name).filter { !$0.hasPrefix(".") }
    }

    /// Throws unless the file is of this kind, belongs to this user, and gives no rights to others.
    private static func check(_ opened: Int32, _ path: String, kind: mode_t) throws(PrivateDirectoryError) -> stat {
        var status = stat()
        guard unsafe fstat(opened, &status) == 0 else {
            throw PrivateDirectoryError(path: path, reason: .failed(operation: "access", errno: errno))
        }
        guard status.st_mode & S_IFMT == kind else { throw PrivateDirectoryError(path: path, reason: .otherKind) }
        // mutant private-owner: true by PrivateDirectoryTests StoredCredentialTests
        guard status.st_uid == geteuid() else { throw PrivateDirectoryError(path: path, reason: .foreign) }
        // mutant private-mode: true by PrivateDirectoryTests StoredCredentialTests
        guard status.st_mode & 0o077 == 0 else {
            throw PrivateDirectoryError(path: path, reason: .open(isDirectory: kind == S_IFDIR))
        }
        return status
    }
}

/// The reason why a private directory, or a file in it, can't be used.
package struct PrivateDirectoryError: Error, Hashable, Sendable {
    package enum Reason: Hashable, Sendable {
        case relative
        /// The file isn't of the expected kind.
        case otherKind
        /// The file belongs to another user.
        case foreign
        /// Other users have rights to the file.
        case open(isDirectory: Bool)
        /// A directory or link above it belongs to a user other than this one and root.
        case foreignParent
        /// Other users can write to a directory above it.
        case openParent
        case tooLarge(limit: Int)
        /// Another process has kept the lock for too long.
        case busy
        case failed(operation: String, errno: Int32)
    }

    package let path: String
    package let reason: Reason
}

extension PrivateDirectoryError: CustomStringConvertible {
    package var description: String {
        switch reason {
        case .relative: "\(path): not an absolute path: use one that begins with a slash"
        case .otherKind, .failed("open", ELOOP), .failed("open", ENOTDIR):
            "\(path): a symbolic link or unexpected file: move it away"
        case .foreign: "\(path): belongs to another user: move it away, or use another directory"
        case .open(let isDirectory):
            "\(path): accessible by other users: run chmod \(isDirectory ? "700" : "600"), and change passwords in "
                + "it, which they may have read"
        case .foreignParent:
            "\(path): belongs to another user, who can replace what is below it: use a directory whose parents belong "
                + "to root or to this user"
        case .openParent:
            "\(path): other users can write to it and replace what is below it: run chmod go-w, or use another "
                + "directory"
        case .tooLarge(let limit): "\(path): larger than \(limit) bytes: move it away"
        case .busy: "\(path): locked by another process: try again when that has ended"
        case .failed(let operation, let code): "\(path): cannot \(operation) it: \(systemErrorText(code))"
        }
    }
}
