import PinctlLibC

/// An entry of a directory.
package struct DirectoryEntry {
    package enum Kind {
        case file
        case directory
        case link
        /// A pipe, device or socket.
        case special
    }

    package let name: String
    /// The kind that the file system gives without an access to the entry, or `nil` if it gives none (`DT_UNKNOWN`).
    package let kind: Kind?

    /// Returns the entries of a directory in no particular order, without `.` and `..`, or `nil` if it can't be read.
    package static func all(in path: String) -> [DirectoryEntry]? {
        guard !path.utf8.contains(0) else { return nil }
        return all(ofOpened: unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), limit: .max)
    }

    /// Returns up to `limit` entries of an opened directory, and closes it.
    static func all(ofOpened descriptor: Int32, limit: Int) -> [DirectoryEntry]? {
        guard descriptor >= 0 else { return nil }
        guard let directory = unsafe fdopendir(descriptor) else {
            close(descriptor)
            return nil
        }
        defer { unsafe closedir(directory) }
        var entries: [DirectoryEntry] = []
        while entries.count < limit, let entry = unsafe readdir(directory) {
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard name != ".", name != ".." else { continue }
            let kind: Kind? =
                switch Int(unsafe entry.pointee.d_type) {
                case Int(DT_REG): .file
                case Int(DT_DIR): .directory
                case Int(DT_LNK): .link
                case Int(DT_UNKNOWN): nil
                default: .special
                }
            entries.append(DirectoryEntry(name: name, kind: kind))
        }
        return entries
    }
}
