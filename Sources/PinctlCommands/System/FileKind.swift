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
