import PinctlBasics
import PinctlLibC

/// The kind of file that a path leads to, following symbolic links.
enum FileKind {
    case missing
    case file
    case directory
    /// A pipe, device or socket.
    case special

    /// Determines the kind of a path (`stat`). A path that can't be inspected is missing, and opening it gives the
    /// reason.
    init(_ path: String) {
        var status = stat()
        guard !path.utf8.contains(0), unsafe stat(path, &status) == 0 else {
            self = .missing
            return
        }
        switch status.st_mode & S_IFMT {
        case S_IFREG: self = .file
        case S_IFDIR: self = .directory
        default: self = .special
        }
    }
}

extension DirectoryEntry.Kind {
    /// Determines the kind of a path without following links (`lstat`). `nil` if it can't be inspected.
    init?(_ path: String) {
        var status = stat()
        guard !path.utf8.contains(0), unsafe lstat(path, &status) == 0 else { return nil }
        switch status.st_mode & S_IFMT {
        case S_IFREG: self = .file
        case S_IFDIR: self = .directory
        case S_IFLNK: self = .link
        default: self = .special
        }
    }
}

/// The identity of an existing file, whatever path leads to it (`stat`).
struct FileIdentity: Hashable {
    private let device: UInt64
    private let number: UInt64

    init?(_ path: String) {
        var status = stat()
        guard !path.utf8.contains(0), unsafe stat(path, &status) == 0 else { return nil }
        (device, number) = (UInt64(truncatingIfNeeded: status.st_dev), UInt64(truncatingIfNeeded: status.st_ino))
    }
}

/// Returns whether two paths lead to the same existing file (`stat`).
func isSameFile(_ first: String, _ second: String) -> Bool {
    guard let one = FileIdentity(first), let other = FileIdentity(second) else { return false }
    return one == other
}

/// Returns the directory of a path as it is written: `.` for a name alone, and `/` for one in the root directory.
func parentDirectory(of path: String) -> String {
    path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
}

/// Returns the absolute path of an existing file (`realpath`).
func absolutePath(_ path: String) -> String? {
    guard let found = unsafe realpath(path, nil) else { return nil }
    defer { unsafe free(found) }
    return unsafe String(cString: found)
}
