import PinctlLibC

/// A walk that opens a directory step by step from the root, each step relative to the descriptor of the last.
///
/// The owner of a directory, and everybody who can write to it, can replace its entries. Each directory on the way must
/// therefore belong to root or to this user. Other users may write to it only if they can't rename entries of other
/// owners (the sticky bit, as on `/tmp`). Symbolic links are followed under the same rule, except for the last step's.
struct PrivateDirectoryWalk: ~Copyable {
    /// The current directory of the walk.
    private var descriptor: Int32
    /// Its path without links, for messages.
    private var place: [String] = []
    /// The names that remain to be opened, the next one last.
    private var steps: [String]
    private var linkCount = 0

    private let path: String

    /// The limit on symbolic links, the same as in Linux (path_resolution(7)).
    private static let linkLimit = 40
    /// The flags that open a directory to pass through it, or a symbolic link itself.
    #if canImport(Darwin)
    // Darwin has no flag that opens both without the right to read the directory.
    private static let passing = O_RDONLY | O_SYMLINK
    #else
    // `O_PATH`, which Swift's Glibc module lacks. It needs only the right to pass through the directory.
    private static let passing: Int32 = 0o10_000_000 | O_NOFOLLOW
    #endif

    /// Opens the directory at a path that begins with a slash. If `creates` is true, creates missing directories with
    /// mode 0700. The caller checks the opened directory itself.
    static func open(_ path: String, creates: Bool) throws(PrivateDirectoryError) -> Int32 {
        var walk = try PrivateDirectoryWalk(path)
        while let name = walk.steps.popLast() {
            if let opened = try walk.enter(name, creates: creates) { return opened }
        }
        // The path is the root itself.
        let opened = unsafe PinctlLibC.open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard opened >= 0 else { throw walk.failed("open") }
        return opened
    }

    private init(_ path: String) throws(PrivateDirectoryError) {
        self.path = path
        steps = Self.names(path).reversed()
        descriptor = unsafe PinctlLibC.open("/", Self.passing | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failed("open") }
        try checkParent(descriptor)
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    private static func names(_ path: String) -> [String] {
        path.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }.filter { $0 != "." }
    }

    private var text: String { "/" + place.joined(separator: "/") }

    /// Moves into the directory of this name, or to the target of its link. At the last step, returns the opened
    /// directory.
    private mutating func enter(_ name: String, creates: Bool) throws(PrivateDirectoryError) -> Int32? {
        if name == ".." { _ = place.popLast() } else { place.append(name) }
        let isNew = creates && (unsafe mkdirat(descriptor, name, 0o700)) == 0
        if creates, !isNew, errno != EEXIST, errno != EROFS, errno != EACCES { throw failed("make") }
        if steps.isEmpty {
            let opened = unsafe openat(descriptor, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            guard opened >= 0 else {
                let error = PrivateDirectoryError(path: path, reason: reason("open"))
                // Only an empty directory can be removed this way.
                if isNew { _ = unsafe unlinkat(descriptor, name, AT_REMOVEDIR) }
                throw error
            }
            return opened
        }
        let opened = unsafe openat(descriptor, name, Self.passing | O_CLOEXEC)
        guard opened >= 0 else {
            let isMissing = errno == ENOENT && !creates
            throw PrivateDirectoryError(path: isMissing ? path : text, reason: reason("open"))
        }
        do throws(PrivateDirectoryError) {
            if try checkParent(opened) {
                try follow(name)
                close(opened)
            } else {
                move(to: opened)
            }
        } catch {
            close(opened)
            throw error
        }
        return nil
    }

    private mutating func move(to next: Int32) {
        close(descriptor)
        descriptor = next
    }

    /// Inserts the target of a link before the remaining steps.
    private mutating func follow(_ name: String) throws(PrivateDirectoryError) {
        linkCount += 1
        guard linkCount <= Self.linkLimit else {
            throw PrivateDirectoryError(path: text, reason: .failed(operation: "open", errno: ELOOP))
        }
        var target = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe target.withUnsafeMutableBytes { bytes in
            guard let start = bytes.baseAddress else { return -1 }
            return unsafe readlinkat(descriptor, name, start.assumingMemoryBound(to: CChar.self), bytes.count)
        }
        guard count > 0, count < target.count else { throw failed("open") }
        let destination = String(decoding: target[..<count], as: UTF8.self)
        steps += Self.names(destination).reversed()
        _ = place.popLast()
        guard destination.utf8.first == UInt8(ascii: "/") else { return }
        let root = unsafe PinctlLibC.open("/", Self.passing | O_DIRECTORY | O_CLOEXEC)
        guard root >= 0 else { throw failed("open") }
        move(to: root)
        place = []
    }

    /// Throws unless only root and this user can replace the entries of a directory. Returns true for a link, which
    /// must belong to root or this user.
    @discardableResult
    private func checkParent(_ opened: Int32) throws(PrivateDirectoryError) -> Bool {
        var status = stat()
        guard unsafe fstat(opened, &status) == 0 else { throw failed("access") }
        let kind = status.st_mode & S_IFMT
        guard kind == S_IFDIR || kind == S_IFLNK else { throw PrivateDirectoryError(path: text, reason: .otherKind) }
        // mutant private-parent-owner: true by PrivateDirectoryTests StoredCredentialTests
        guard status.st_uid == 0 || status.st_uid == geteuid() else {
            throw PrivateDirectoryError(path: text, reason: .foreignParent)
        }
        // The mode of a link has no meaning.
        // mutant private-parent-mode: true by PrivateDirectoryTests StoredCredentialTests
        guard kind == S_IFLNK || status.st_mode & 0o022 == 0 || status.st_mode & S_ISVTX != 0 else {
            throw PrivateDirectoryError(path: text, reason: .openParent)
        }
        return kind == S_IFLNK
    }

    private func failed(_ operation: String) -> PrivateDirectoryError {
        PrivateDirectoryError(path: text, reason: reason(operation))
    }

    private func reason(_ operation: String) -> PrivateDirectoryError.Reason {
        .failed(operation: operation, errno: errno)
    }
}
