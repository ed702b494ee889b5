import CertificateTrust
import PinctlBasics
import PinctlLibC

/// A child process that is controlled through its standard input and output.
///
/// It is started without a shell. It gets descriptors 0 to 2 and the given environment, and nothing else. All waiting
/// ends at a deadline, and the process is killed when this object is released.
final class ChildProcess {
    private var process: pid_t
    private var input: Int32
    private let output: Int32
    private let errors: Int32
    private var buffered: [UInt8] = []
    private var start = 0
    /// The beginning of its standard error.
    private(set) var errorOutput: [UInt8] = []
    private let deadline: ContinuousClock.Instant

    /// Starts the program at an absolute path. `arguments` doesn't include the program's name.
    init(
        _ path: String, _ arguments: [String], environment: [String], patience: Duration
    ) throws(ChildProcessError) {
        var pipes: [[Int32]] = []
        defer { for pipe in pipes { for end in pipe where end >= 0 { close(end) } } }
        for _ in 0..<3 {
            var ends: [Int32] = [-1, -1]
            #if canImport(Darwin)
            let kind = streamSocket
            #else
            // Unlike pipe(2), this sets close-on-exec atomically, so programs started meanwhile don't inherit the
            // descriptors.
            let kind = streamSocket | Int32(SOCK_CLOEXEC.rawValue)
            #endif
            guard unsafe socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw .failed(systemErrorText(errno)) }
            pipes.append(ends)
        }
        #if canImport(Darwin)
        var actions: posix_spawn_file_actions_t?
        var attributes: posix_spawnattr_t?
        // A socket pair isn't close-on-exec here, so each child closes what it isn't given.
        let flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_CLOEXEC_DEFAULT
        #else
        var actions = unsafe posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        let flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF
        #endif
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        for (number, end) in [pipes[0][0], pipes[1][1], pipes[2][1]].enumerated() {
            // Lower descriptors without FD_CLOEXEC may be open in this process; these numbers are the child's alone.
            unsafe posix_spawn_file_actions_adddup2(&actions, end, Int32(number))
        }
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe posix_spawnattr_setsigmask(&attributes, &signals)
        // This process ignores SIGPIPE, and a child would inherit that.
        unsafe sigaddset(&signals, SIGPIPE)
        unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
        unsafe posix_spawnattr_setflags(&attributes, Int16(flags))
        var child = pid_t()
        let code = unsafe withCStrings([path] + arguments) { words in
            unsafe withCStrings(environment) { variables in
                unsafe posix_spawn(&child, path, &actions, &attributes, words, variables)
            }
        }
        guard code == 0 else { throw .failed(systemErrorText(code)) }
        process = child
        input = pipes[0][1]
        output = pipes[1][0]
        errors = pipes[2][0]
        pipes[0][1] = -1
        pipes[1][0] = -1
        pipes[2][0] = -1
        for end in [input, output, errors] { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
        deadline = .now + patience
    }

    deinit {
        if input >= 0 { close(input) }
        close(output)
        close(errors)
        if process > 0 {
            kill(process, SIGKILL)
            _ = ended(0)
        }
    }

    /// Writes bytes to its standard input.
    func write(_ bytes: [UInt8]) throws(ChildProcessError) {
        var start = 0
        while start < bytes.count {
            let count = unsafe bytes[start...].withUnsafeBytes { rest in
                unsafe send(input, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
            }
            if count >= 0 {
                start += count
            } else if errno == EAGAIN {
                try poll(for: POLLOUT, on: input)
            } else if errno != EINTR {
                throw .ended
            }
        }
    }

    /// Returns the next line of at most `limit` bytes without its end, or `nil` at the end of the output.
    func line(limit: Int) throws(ChildProcessError) -> [UInt8]? {
        while true {
            let rest = buffered[start...]
            if let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                defer { start = end + 1 }
                return Array(rest[..<end])
            }
            guard rest.count <= limit else { throw .tooMuch }
            guard try fill() else { return nil }
        }
    }

    /// Returns the next `count` bytes.
    func bytes(_ count: Int) throws(ChildProcessError) -> [UInt8] {
        while buffered.count - start < count {
            guard try fill() else { throw .ended }
        }
        defer { start += count }
        return Array(buffered[start..<start + count])
    }

    /// Returns the rest of the output, at most `limit` bytes, and the exit status.
    func finish(limit: Int) throws(ChildProcessError) -> (output: [UInt8], status: Int32) {
        if input >= 0 { close(input) }
        input = -1
        while try fill() {
            guard buffered.count - start <= limit else { throw .tooMuch }
        }
        while try drainErrors() { try poll(for: POLLIN, on: errors) }
        // It may have closed its output and still run.
        while process > 0 {
            if let status = ended(WNOHANG) { return (Array(buffered[start...]), status) }
            guard .now < deadline else { throw .tookTooLong }
            usleep(1_000)
        }
        return (Array(buffered[start...]), -1)
    }

    /// Waits for output and reads what is available. Returns false at the end.
    private func fill() throws(ChildProcessError) -> Bool {
        if start > 0, start == buffered.count {
            buffered.removeAll(keepingCapacity: true)
            start = 0
        }
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = unsafe read(output, &chunk, chunk.count)
            if count > 0 {
                buffered += chunk[..<count]
                return true
            }
            if count == 0 { return false }
            switch errno {
            case EINTR: continue
            case EAGAIN: try poll(for: POLLIN, on: output)
            default: throw .failed(systemErrorText(errno))
            }
        }
    }

    /// Reads standard error and keeps its beginning, so that the program doesn't block on a full pipe. Returns false at
    /// the end.
    private func drainErrors() throws(ChildProcessError) -> Bool {
        var chunk = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = unsafe read(errors, &chunk, chunk.count)
            if count == 0 { return false }
            guard count > 0 else {
                if errno == EINTR { continue }
                return errno == EAGAIN
            }
            errorOutput += chunk[..<count].prefix(max(0, 4096 - errorOutput.count))
        }
    }

    private func poll(for events: Int32, on descriptor: Int32) throws(ChildProcessError) {
        let left = deadline - .now
        guard left > .zero else { throw .tookTooLong }
        _ = try drainErrors()
        var entries = [
            pollfd(fd: descriptor, events: Int16(events), revents: 0),
            pollfd(fd: errors, events: Int16(POLLIN), revents: 0),
        ]
        // Standard error is always readable once it has ended.
        let count = unsafe PinctlLibC.poll(&entries, descriptor == errors || hasEndedErrors() ? 1 : 2, 100)
        if count < 0, errno != EINTR { throw .failed(systemErrorText(errno)) }
    }

    private func hasEndedErrors() -> Bool {
        var entry = pollfd(fd: errors, events: Int16(POLLIN), revents: 0)
        return unsafe PinctlLibC.poll(&entry, 1, 0) > 0 && entry.revents & Int16(POLLHUP) != 0
    }

    /// Returns the exit status of the process, or -1 if it isn't known. With WNOHANG, returns `nil` while it runs.
    private func ended(_ options: Int32) -> Int32? {
        var status: Int32 = 0
        var result: pid_t
        repeat { result = unsafe waitpid(process, &status, options) } while result < 0 && errno == EINTR
        guard result != 0 else { return nil }
        process = 0
        guard result > 0 else { return -1 }
        return status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F
    }
}

/// Calls `body` with C strings and a null pointer behind them.
func withCStrings<Result>(
    _ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
) -> Result {
    let pointers = unsafe strings.map { unsafe strdup($0) }
    defer { for index in unsafe pointers.indices { unsafe free(pointers[index]) } }
    return unsafe body(pointers + [nil])
}

/// A reason why a child process gave no answer.
enum ChildProcessError: Error, Hashable {
    case failed(String)
    case ended
    case tookTooLong
    case tooMuch
}

extension ChildProcessError: CustomStringConvertible {
    var description: String {
        switch self {
        case .failed(let reason): "cannot be run: \(reason)"
        case .ended: "ended before it answered"
        case .tookTooLong: "took too long: look whether the repository is on a slow disk, or sound (git fsck)"
        case .tooMuch: "said more than is read: name fewer tags"
        }
    }
}

/// Returns the path of a program in the directories of PATH. Relative directories are skipped, so that nothing in the
/// working directory is run.
func programPath(_ name: String, in path: String) -> String? {
    // mutant plan-program: true by PlanTagTests/relativePath
    for directory in path.split(separator: ":") where directory.hasPrefix("/") {
        let file = "\(directory)/\(name)"
        if unsafe access(file, X_OK) == 0 { return file }
    }
    return nil
}

/// Returns whether a name matches a shell pattern (`fnmatch(3)`). `*` matches `/` too, as in `git tag --list`.
func matches(_ name: String, glob: String) -> Bool { unsafe fnmatch(glob, name, 0) == 0 }
