import Glibc
import OpenSSLBridge

/// A file to read: a regular file, a pipe, standard input. It never blocks on a pipe that nobody writes to, and leaves
/// size limits to its reader, who sees the bytes come.
package struct InputFile: ~Copyable {
    /// What to call it in messages.
    package let name: String
    private let descriptor: Int32
    private let isOwned: Bool
    private let isPipe: Bool
    /// The mode's last nine bits (`st_mode`); 0 for standard input.
    let permissions: UInt32
    /// Whether others than the owner have rights to it; of a file that this process does not own, others than the owner
    /// and the group.
    let isOpenToOthers: Bool
    /// Seconds since 1970 (`st_mtim`); 0 for standard input.
    let modified: Int64
    private var hasSeenWriter = false

    /// Opens a path (`open` with `O_RDONLY | O_NONBLOCK | O_CLOEXEC`). A directory is refused.
    package init(path: String) throws(InputFileError) {
        guard !path.utf8.contains(0) else {
            throw InputFileError(path: path, reason: .failed(operation: "open", errno: EINVAL))
        }
        // What stands where a name had other bytes would open another file.
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
            throw InputFileError(path: path, reason: .failed(operation: "look at", errno: code))
        }
        let kind = information.st_mode & S_IFMT
        guard kind != S_IFDIR else {
            close(opened)
            throw InputFileError(path: path, reason: .directory)
        }
        name = path
        descriptor = opened
        isOwned = true
        isPipe = kind == S_IFIFO
        permissions = information.st_mode & 0o777
        modified = Int64(information.st_mtim.tv_sec)
        isOpenToOthers = permissions & (information.st_uid == geteuid() ? 0o077 : 0o007) != 0
    }

    /// Standard input, as it is.
    package static func standardInput() -> InputFile { InputFile(standardInput: 0) }

    /// A descriptor that this program was started with; it stays open.
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
        permissions = 0
        isOpenToOthers = false
        modified = 0
    }

    deinit { if isOwned { close(descriptor) } }

    /// Fills `buffer` from the start with what comes next and returns how many bytes came, 0 at the end.
    package mutating func read(into buffer: inout [UInt8]) throws(InputFileError) -> Int {
        // A pipe without a writer reads as ended; a writer that is yet to come gets this long to open it.
        var patience = isPipe && !hasSeenWriter ? 20 : 0
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes { bytes in
                unsafe Glibc.read(descriptor, bytes.baseAddress, bytes.count)
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
            case EAGAIN:
                // Somebody holds the other end: wait as long as it takes.
                hasSeenWriter = true
                _ = waitForInput(milliseconds: -1)
            default: throw InputFileError(path: name, reason: .failed(operation: "read", errno: errno))
            }
        }
    }

    private func waitForInput(milliseconds: Int32) -> Int16 {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&entry, 1, milliseconds) > 0 ? entry.revents : 0
    }

    /// Everything up to the end, or an error when there is more than `limit`.
    package static func contents(ofFile path: String, limit: Int) throws(InputFileError) -> [UInt8] {
        var file = try InputFile(path: path)
        return try file.contents(limit: limit)
    }

    /// Everything that is left, or an error when there is more than `limit`. What is secret leaves no copies behind.
    package mutating func contents(limit: Int, isSecret: Bool = false) throws(InputFileError) -> [UInt8] {
        var contents: [UInt8] = []
        if isSecret { contents.reserveCapacity(limit) }
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        defer { if isSecret { wipe(&buffer) } }
        while true {
            let count = try read(into: &buffer)
            if count == 0 { return contents }
            guard contents.count + count <= limit else {
                throw InputFileError(path: name, reason: .tooLarge(limit: limit))
            }
            contents += buffer[..<count]
        }
    }
}

/// Why a file could not be read.
package struct InputFileError: Error, Hashable, Sendable {
    package enum Reason: Hashable, Sendable {
        case directory
        case notUTF8
        case noWriter
        case tooLarge(limit: Int)
        /// Whatever keeps the file has its name, and cannot give it.
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
    /// Whether there is nothing of that name.
    package var isNoSuchFile: Bool { if case .failed(_, ENOENT) = reason { true } else { false } }
}

extension InputFileError: CustomStringConvertible {
    /// The reason without the path, which the caller prints in front.
    package var description: String {
        switch reason {
        case .directory: "is a directory: name the files in it"
        case .notUTF8: "its name is not UTF-8: rename it, or give it as standard input"
        case .noWriter: "nobody writes to this pipe: start the writer first"
        case .tooLarge(let limit): "larger than \(limit) bytes, the most that is read: split it"
        case .unavailable(let reason): "cannot be had: \(reason)"
        case .failed(_, ENOENT): "no such file: check the path"
        case .failed(_, EACCES): "permission denied: check who may read it"
        case .failed(let operation, let code): "cannot \(operation) it: \(systemErrorText(code))"
        }
    }
}

/// The system's words for an `errno` value (`strerror_r`).
package func systemErrorText(_ code: Int32) -> String {
    var buffer = [CChar](repeating: 0, count: 256)
    guard unsafe strerror_r(code, &buffer, buffer.count) == 0 else { return "error \(code)" }
    return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}
