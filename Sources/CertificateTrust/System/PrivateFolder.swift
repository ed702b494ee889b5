import Glibc
import OpenSSLBridge

/// A folder of this user alone (mode 0700) whose files (mode 0600) are replaced whole: whoever looks, and whatever ends
/// the program meanwhile, finds the old file or the new one.
///
/// Everything is done below one descriptor, so nobody can put another folder in its place between two steps. What others
/// can read, what belongs to somebody else, and what is a symbolic link is refused, and neither read nor repaired. So is a
/// directory below one that another user could rename or replace.
package final class PrivateFolder: Sendable {
    package let path: String
    private let descriptor: Int32

    /// How long to wait for another process that changes the folder.
    package static let patience = Duration.seconds(5)
    private static let lockName = ".lock"
    /// A name that a kill leaves behind is this one, which the next change removes.
    private static let temporaryName = ".new"

    /// Opens a directory; `creates` makes it before, with those above it that are missing.
    package init(path: String, creates: Bool) throws(PrivateFolderError) {
        guard path.utf8.first == UInt8(ascii: "/"), !path.utf8.contains(0) else {
            throw PrivateFolderError(path: path, reason: .relative)
        }
        let opened = try PrivateFolderWalk.open(path, creates: creates)
        do throws(PrivateFolderError) {
            _ = try Self.check(opened, path, kind: S_IFDIR)
        } catch {
            close(opened)
            throw error
        }
        self.path = path
        descriptor = opened
    }

    deinit { close(descriptor) }

    /// What tells one version of a file from the next.
    package struct Version: Hashable, Sendable {
        fileprivate let numbers: [Int64]

        fileprivate init(_ status: stat) {
            numbers = [
                Int64(truncatingIfNeeded: status.st_dev), Int64(truncatingIfNeeded: status.st_ino),
                Int64(status.st_mtim.tv_sec), Int64(status.st_mtim.tv_nsec), Int64(status.st_size),
                // The mode and the owner change with this one.
                Int64(status.st_ctim.tv_sec), Int64(status.st_ctim.tv_nsec),
            ]
        }
    }

    /// The version of a file; nil when there is none.
    package func version(of name: String) -> Version? {
        var status = stat()
        guard unsafe fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return nil }
        return Version(status)
    }

    /// The contents of a file; nil when there is none. They are the caller's to wipe, and leave no copy behind.
    package func contents(
        of name: String, limit: Int
    ) throws(PrivateFolderError) -> (bytes: [UInt8], version: Version)? {
        let file = path + "/" + name
        let opened = unsafe openat(descriptor, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
        guard opened >= 0 else {
            if errno == ENOENT { return nil }
            throw PrivateFolderError(path: file, reason: .failed(operation: "open", errno: errno))
        }
        defer { close(opened) }
        let status = try Self.check(opened, file, kind: S_IFREG)
        guard status.st_size <= limit else { throw PrivateFolderError(path: file, reason: .tooLarge(limit: limit)) }
        var bytes = [UInt8](repeating: 0, count: max(0, Int(status.st_size)))
        var count = 0
        while count < bytes.count {
            // Not through a slice, which would be a copy that stays in memory.
            let read = unsafe bytes.withUnsafeMutableBytes { all in
                let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: all[count...])
                return unsafe Glibc.read(opened, rest.baseAddress, rest.count)
            }
            if read == 0 { break }
            guard read > 0 || errno == EINTR else {
                let code = errno
                wipe(&bytes)
                throw PrivateFolderError(path: file, reason: .failed(operation: "read", errno: code))
            }
            count += max(0, read)
        }
        guard count == bytes.count else {
            wipe(&bytes)
            throw PrivateFolderError(path: file, reason: .failed(operation: "read", errno: EIO))
        }
        return (bytes, Version(status))
    }

    /// Puts a file in place of the one of this name, and returns when it is on the disk. To be called within
    /// ``change(_:)``, which keeps others from the one name that all temporary files have.
    package func replace(_ name: String, with bytes: [UInt8]) throws(PrivateFolderError) {
        let file = path + "/" + name
        _ = unsafe unlinkat(descriptor, Self.temporaryName, 0)
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        let opened = unsafe openat(descriptor, Self.temporaryName, flags, 0o600)
        guard opened >= 0 else {
            throw PrivateFolderError(path: file, reason: .failed(operation: "write", errno: errno))
        }
        // A umask may have taken the owner's own rights.
        var code = fchmod(opened, 0o600) == 0 ? 0 : errno
        if code == 0 { code = writeAll(bytes, to: opened) }
        if code == 0, fsync(opened) != 0 { code = errno }
        if close(opened) != 0, code == 0 { code = errno }
        if code == 0, unsafe renameat(descriptor, Self.temporaryName, descriptor, name) != 0 { code = errno }
        if code != 0 { _ = unsafe unlinkat(descriptor, Self.temporaryName, 0) }
        // The name is on the disk when the folder is.
        if code == 0, fsync(descriptor) != 0 { code = errno }
        guard code == 0 else { throw PrivateFolderError(path: file, reason: .failed(operation: "write", errno: code)) }
    }

    /// Removes a file, if there is one.
    package func remove(_ name: String) throws(PrivateFolderError) {
        guard unsafe unlinkat(descriptor, name, 0) == 0 || errno == ENOENT else {
            throw PrivateFolderError(path: path + "/" + name, reason: .failed(operation: "remove", errno: errno))
        }
    }

    /// Calls `body` while no other process does so in this folder (`flock` of a file in it). Waits for one until the
    /// deadline, which blocks the thread.
    package func change<Result>(
        until deadline: ContinuousClock.Instant = .now + patience, _ body: () throws(PrivateFolderError) -> Result
    ) throws(PrivateFolderError) -> Result {
        let file = path + "/" + Self.lockName
        let opened = unsafe openat(descriptor, Self.lockName, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard opened >= 0 else {
            throw PrivateFolderError(path: file, reason: .failed(operation: "open", errno: errno))
        }
        defer { close(opened) }
        _ = try Self.check(opened, file, kind: S_IFREG)
        while flock(opened, LOCK_EX | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK || errno == EINTR else {
                throw PrivateFolderError(path: file, reason: .failed(operation: "lock", errno: errno))
            }
            guard .now < deadline else { throw PrivateFolderError(path: path, reason: .busy) }
            usleep(1_000)
        }
        return try body()
    }

    /// The names of the files in it that do not begin with a dot, in no order; at most `limit`.
    package func names(limit: Int) throws(PrivateFolderError) -> [String] {
        // A descriptor of its own, since reading moves it on, and closedir(3) closes it.
        let opened = unsafe openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard opened >= 0, let folder = unsafe fdopendir(opened) else {
            throw PrivateFolderError(path: path, reason: .failed(operation: "read", errno: errno))
        }
        defer { unsafe closedir(folder) }
        var names: [String] = []
        while names.count < limit, let entry = unsafe readdir(folder) {
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names
    }

    /// Throws unless it is of this kind and of this user alone.
    private static func check(_ opened: Int32, _ path: String, kind: mode_t) throws(PrivateFolderError) -> stat {
        var status = stat()
        guard unsafe fstat(opened, &status) == 0 else {
            throw PrivateFolderError(path: path, reason: .failed(operation: "look at", errno: errno))
        }
        guard status.st_mode & S_IFMT == kind else { throw PrivateFolderError(path: path, reason: .otherKind) }
        guard status.st_uid == geteuid() else { throw PrivateFolderError(path: path, reason: .foreign) }
        guard status.st_mode & 0o077 == 0 else {
            throw PrivateFolderError(path: path, reason: .open(isFolder: kind == S_IFDIR))
        }
        return status
    }
}

/// Why a private folder, or a file in it, is of no use.
package struct PrivateFolderError: Error, Hashable, Sendable {
    package enum Reason: Hashable, Sendable {
        case relative
        /// Not the kind of file that belongs there.
        case otherKind
        /// It belongs to another user.
        case foreign
        /// Others have rights to it.
        case open(isFolder: Bool)
        /// A directory or link above it belongs to another user than this one and root.
        case foreignParent
        /// Others can write to a directory above it.
        case openParent
        case tooLarge(limit: Int)
        /// Another process has it for too long.
        case busy
        case failed(operation: String, errno: Int32)
    }

    package let path: String
    package let reason: Reason
}

extension PrivateFolderError: CustomStringConvertible {
    package var description: String {
        switch reason {
        case .relative: "\(path): not an absolute path: name one that begins with a slash"
        case .otherKind, .failed("open", ELOOP), .failed("open", ENOTDIR):
            "\(path): not what belongs there, or a symbolic link: move it away"
        case .foreign: "\(path): belongs to another user: move it away, or name another folder"
        case .open(let isFolder):
            "\(path): others have rights to it and may have read it: change what is in it, then run "
                + "chmod \(isFolder ? "700" : "600")"
        case .foreignParent:
            "\(path): belongs to another user, who can replace what is below it: use a directory whose parents belong to "
                + "root or to this user"
        case .openParent:
            "\(path): other users can write to it and replace what is below it: run chmod go-w, or use another directory"
        case .tooLarge(let limit): "\(path): larger than \(limit) bytes: move it away"
        case .busy: "\(path): another process keeps it locked: try again when that has ended"
        case .failed(let operation, let code): "\(path): cannot \(operation) it: \(systemErrorText(code))"
        }
    }
}
