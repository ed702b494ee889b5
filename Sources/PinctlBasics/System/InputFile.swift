import PinctlLibC

/// An input: a regular file, a pipe, or standard input. Reading a pipe without a writer fails after about one second.
/// Size limits are left to the caller, who sees the bytes arrive.
package struct InputFile: ~Copyable {
    /// The name in messages.
    package let name: String
    private let descriptor: Int32
    private let isOwned: Bool
    private let isPipe: Bool
    /// Whether it is a regular file.
    package let isRegular: Bool
    /// The last nine bits of the mode (`st_mode`), or 0 for standard input and inherited descriptors.
    package let permissions: UInt32
    /// Whether other users have rights to the file. For a file that this process's user doesn't own, the group isn't
    /// counted among the others.
    package let isOpenToOthers: Bool
    /// The size in bytes (`st_size`), or 0 for standard input, inherited descriptors and most files of the kernel.
    package let size: Int
    /// The modification time in seconds since 1970 (`st_mtim`), or 0 for standard input and inherited descriptors.
    package let modified: Int64
    private var hasSeenWriter = false

    /// Opens a path (`open` with `O_RDONLY | O_NONBLOCK | O_CLOEXEC`). Throws for a directory.
    package init(path: String) throws(InputFileError) {
        guard !path.utf8.contains(0) else {
            throw InputFileError(path: path, reason: .failed(operation: "open", errno: EINVAL))
        }
        // U+FFFD replaces bytes that aren't UTF-8, so the path would name another file.
        guard !path.unicodeScalars.contains("\u{FFFD}") else {
            throw InputFileError(path: path, reason: .notUTF8)
        }
        let opened = unsafe open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
        guard opened >= 0 else {
            throw InputFileError(path: path, reason: .failed(operation: "open", errno: errno))
        }
        var information = stat()
        guard unsafe fstat(opened, &information) == 0 else {
            let code = errno
            close(opened)
            throw InputFileError(path: path, reason: .failed(operation: "access", errno: code))
        }
        let kind = information.st_mode & S_IFMT
        // mutant input-directory: true by PolicyFileReadingTests InputTests ScriptTests
        guard kind != S_IFDIR else {
            close(opened)
            throw InputFileError(path: path, reason: .directory)
        }
        name = path
        descriptor = opened
        isOwned = true
        isPipe = kind == S_IFIFO
        isRegular = kind == S_IFREG
        permissions = UInt32(information.st_mode & 0o777)
        size = Int(information.st_size)
        modified = Int64(information.st_mtim.tv_sec)
        // mutant key-file-mode: false by ClientIdentityFileTests
        isOpenToOthers = permissions & (information.st_uid == geteuid() ? 0o077 : 0o007) != 0
    }

    package static func standardInput() -> InputFile { InputFile(standardInput: 0) }

    /// Uses a descriptor that the program inherited. It stays open.
    package init(descriptor: Int32) throws(InputFileError) {
        self.init(standardInput: descriptor, name: "descriptor \(descriptor)")
        guard fcntl(descriptor, F_GETFD) != -1 else {
            throw InputFileError(path: name, reason: .failed(operation: "read", errno: errno))
        }
    }

    private init(standardInput descriptor: Int32, name: String = "standard input") {
        self.name = name
        self.descriptor = descriptor
        isOwned = false
        isPipe = false
        isRegular = false
        permissions = 0
        size = 0
        isOpenToOthers = false
        modified = 0
    }

    deinit { if isOwned { close(descriptor) } }

    /// Reads the next bytes to the start of `buffer`, or to a part of it, and returns their number, or 0 at the end.
    package mutating func read(
        into buffer: inout [UInt8], in part: Range<Int>? = nil
    ) throws(InputFileError) -> Int {
        let part = (part ?? buffer.indices).clamped(to: buffer.indices)
        // A pipe without a writer reads as ended. This is the number of 50 ms waits for a writer to open it.
        var patience = isPipe && !hasSeenWriter ? 20 : 0
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes { bytes in
                unsafe PinctlLibC.read(descriptor, bytes.baseAddress.map { unsafe $0 + part.lowerBound }, part.count)
            }
            if count > 0 {
                hasSeenWriter = true
                return count
            }
            if count == 0 {
                guard isPipe, !hasSeenWriter else { return 0 }
                guard patience > 0 else { throw InputFileError(path: name, reason: .noWriter) }
                patience -= 1
                if waitForInput(milliseconds: 50) & Int16(POLLHUP) != 0 { hasSeenWriter = true }
                continue
            }
            switch errno {
            case EINTR: continue
            // mutant input-endless: true for `!isRegular` by InputTests/endless
            case EAGAIN where !isRegular:
                // A writer has the pipe open: wait without a limit.
                hasSeenWriter = true
                _ = waitForInput(milliseconds: -1)
            // A file of the kernel that waits for events, such as /proc/kmsg, is regular and never ends.
            default: throw InputFileError(path: name, reason: .failed(operation: "read", errno: errno))
            }
        }
    }

    private func waitForInput(milliseconds: Int32) -> Int16 {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&entry, 1, milliseconds) > 0 ? entry.revents : 0
    }

    /// Reads the whole file. Throws if it is larger than `limit` bytes.
    package static func contents(ofFile path: String, limit: Int) throws(InputFileError) -> [UInt8] {
        var file = try InputFile(path: path)
        return try file.contents(limit: limit)
    }

    /// Reads everything that is left. Throws if it is more than `limit` bytes. If `isSecret` is true, no copies are
    /// left in memory.
    package mutating func contents(limit: Int, isSecret: Bool = false) throws(InputFileError) -> [UInt8] {
        var contents: [UInt8] = []
        if isSecret { contents.reserveCapacity(limit) }
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        defer { if isSecret { wipe(&buffer) } }
        while true {
            let count = try read(into: &buffer)
            if count == 0 { return contents }
            // mutant input-size: contents.count + count <= 4 * limit by InputFileTests
            guard contents.count + count <= limit else {
                throw InputFileError(path: name, reason: .tooLarge(limit: limit))
            }
            contents += buffer[..<count]
        }
    }
}

/// The reason why a file couldn't be read.
package struct InputFileError: Error, Hashable, Sendable {
    package enum Reason: Hashable, Sendable {
        case directory
        case notUTF8
        case noWriter
        case tooLarge(limit: Int)
        /// The input's source exists but can't provide it.
        case unavailable(String)
        case failed(operation: String, errno: Int32)
    }

    package let path: String
    package let reason: Reason

    package init(path: String, reason: Reason) {
        self.path = path
        self.reason = reason
    }
}

extension InputFileError {
    /// Whether the file doesn't exist.
    package var isNoSuchFile: Bool { if case .failed(_, ENOENT) = reason { true } else { false } }
}

extension InputFileError: CustomStringConvertible {
    /// The reason without the path, which the caller prints before it.
    package var description: String {
        switch reason {
        case .directory: "is a directory: specify the files in it"
        case .notUTF8: "its name is not UTF-8: rename it, or use standard input"
        case .noWriter: "no process writes to this pipe: start the writer first"
        case .tooLarge(let limit):
            "is larger than \(limit) bytes, the limit for such a file: check that it is the file you mean"
        case .unavailable(let reason): "is unavailable: \(reason)"
        case .failed(_, ENOENT): "no such file: check the path"
        case .failed(_, EACCES): "permission denied: check its permissions"
        case .failed(let operation, let code): "cannot \(operation) it: \(systemErrorText(code))"
        }
    }
}

/// Returns the system's message for an `errno` value (`strerror_r`).
package func systemErrorText(_ code: Int32) -> String {
    var buffer = [CChar](repeating: 0, count: 256)
    guard unsafe strerror_r(code, &buffer, buffer.count) == 0 else { return "error \(code)" }
    return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}
