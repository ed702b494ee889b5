import PinctlLibC

/// The kind of file that a path leads to, following symbolic links.
enum FileKind {
    case missing
    case file
    case folder
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
        case S_IFDIR: self = .folder
        default: self = .special
        }
    }
}

/// Returns whether two paths lead to the same existing file (`stat`).
func isSameFile(_ first: String, _ second: String) -> Bool {
    var (one, other) = (stat(), stat())
    guard unsafe stat(first, &one) == 0, unsafe stat(second, &other) == 0 else { return false }
    return one.st_dev == other.st_dev && one.st_ino == other.st_ino
}
