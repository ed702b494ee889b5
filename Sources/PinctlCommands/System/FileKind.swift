import Glibc

/// What a path leads to, symbolic links followed.
enum FileKind {
    case missing
    case file
    case folder
    /// A pipe, a device, a socket.
    case special

    /// Looks at a path (`stat`); one that cannot be looked at is missing, and opening it says why.
    init(_ path: String) {
        var status = stat()
        guard !path.utf8.contains(0), unsafe stat(path, &status) == 0 else {
            self = .missing
            return
        }
        switch status.st_mode & S_IFMT {
        case S_IFREG: self = .file
        case S_IFDIR: self = .folder
        default: self = .special
        }
    }
}

/// Whether two paths lead to one file that is there (`stat`).
func isSameFile(_ first: String, _ second: String) -> Bool {
    var (one, other) = (stat(), stat())
    guard unsafe stat(first, &one) == 0, unsafe stat(second, &other) == 0 else { return false }
    return one.st_dev == other.st_dev && one.st_ino == other.st_ino
}
