import PinctlLibC

/// The identity of one version of a file. It changes with the contents, and with the mode or owner.
package struct FileVersion: Hashable, Sendable {
    private let numbers: [Int64]

    init(_ status: stat) {
        numbers = [
            Int64(truncatingIfNeeded: status.st_dev), Int64(truncatingIfNeeded: status.st_ino),
            Int64(status.st_mtim.tv_sec), Int64(status.st_mtim.tv_nsec), Int64(status.st_size),
            Int64(status.st_ctim.tv_sec), Int64(status.st_ctim.tv_nsec),
        ]
    }

    /// The version of the file that a path leads to (`stat`), or `nil` if there is none.
    package init?(_ path: String) {
        var status = stat()
        guard !path.utf8.contains(0), unsafe stat(path, &status) == 0 else { return nil }
        self.init(status)
    }
}
