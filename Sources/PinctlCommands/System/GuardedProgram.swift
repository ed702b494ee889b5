import CertificateTrust
import PinctlBasics
import PinctlLibC
import PinctlTLSTransport

/// A program that runs with this process's terminal, descriptors and signals.
struct GuardedProgram: Sendable {
    /// How a program ended.
    enum End: Sendable {
        case exited(Int32)
        case signaled(Int32)
    }

    let process: Int32

    /// Starts a program, which is looked for in PATH, with the environment of this process and more variables. It gets
    /// the signals that this process gets, and ignores and blocks those that this process did when it started.
    init(_ words: [String], adding variables: [String: String]) throws(SystemError) {
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var signals = InitialSignals.current.mask
        unsafe posix_spawnattr_setsigmask(&attributes, &signals)
        unsafe sigemptyset(&signals)
        // This process ignores it, and the program would inherit that.
        if !InitialSignals.current.ignored.contains(SIGPIPE) { unsafe sigaddset(&signals, SIGPIPE) }
        unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        PassedSignals.begin()
        var child = pid_t()
        let added = variables.map { "\($0.key)=\($0.value)" }
        let code = unsafe withCStrings(added) { added in
            unsafe withCStrings(words) { words in
                // The bytes of words and values that aren't UTF-8 are passed on unchanged.
                let given = unsafe Self.givenWords(words)
                // mutant run-bytes: unsafe words for `unsafe given.isEmpty ? words : given` by RunCommandTests/bytes
                let words = unsafe given.isEmpty ? words : given
                guard let name = unsafe words[0] else { return ENOENT }
                let kept = unsafe Self.environment(without: Set(variables.keys))
                return unsafe posix_spawnp(&child, name, nil, &attributes, words, kept + added)
            }
        }
        guard code == 0 else { throw SystemError(code: code) }
        process = child
        PassedSignals.pass(to: child)
    }

    /// Returns the last arguments of this process if these words are their texts, and none otherwise.
    private static func givenWords(_ words: [UnsafeMutablePointer<CChar>?]) -> [UnsafeMutablePointer<CChar>?] {
        let count = unsafe words.count - 1
        let start = Int(CommandLine.argc) - count
        guard start > 0 else { return unsafe [] }
        var given: [UnsafeMutablePointer<CChar>?] = unsafe []
        for index in 0..<count {
            guard let word = unsafe words[index], let original = unsafe CommandLine.unsafeArgv[start + index],
                unsafe String(cString: word) == String(cString: original)
            else { return unsafe [] }
            unsafe given.append(original)
        }
        return unsafe given + [nil]
    }

    /// Returns the variables of this process but those with these names.
    private static func environment(without names: Set<String>) -> [UnsafeMutablePointer<CChar>?] {
        var kept: [UnsafeMutablePointer<CChar>?] = unsafe []
        var entry = unsafe environ
        while let variable = unsafe entry.pointee {
            let name = unsafe String(cString: variable).prefix { $0 != "=" }
            if !names.contains(String(name)) { unsafe kept.append(variable) }
            unsafe entry += 1
        }
        return unsafe kept
    }

    /// Waits until the program has ended. When the terminal stops it, this process stops too, so that its shell
    /// notices.
    func wait() async -> End {
        await withCheckedContinuation { continuation in
            let process = process
            @Sendable func wait() {
                var status: Int32 = 0
                var result: pid_t
                repeat {
                    result = unsafe waitpid(process, &status, WUNTRACED)
                    let isStopped = result == process && status & 0xFF == 0x7F
                    // mutant signals-stop: false for `[SIGTSTP, SIGTTIN, SIGTTOU].contains(status >> 8 & 0xFF)` by
                    //   RunSignalTests
                    if isStopped, [SIGTSTP, SIGTTIN, SIGTTOU].contains(status >> 8 & 0xFF) { kill(getpid(), SIGSTOP) }
                    if isStopped { status = -1 }
                } while result < 0 && errno == EINTR || status == -1
                PassedSignals.end()
                let signal = status & 0x7F
                continuation.resume(
                    returning: result < 0 ? .exited(125) : signal == 0 ? .exited(status >> 8 & 0xFF) : .signaled(signal)
                )
            }
            do throws(SystemError) { try startThread(wait) } catch { wait() }
        }
    }

    /// Returns why a library can't be preloaded into a program, or `nil` if it can as far as its file shows: it is
    /// static, or runs with the rights of another user.
    static func obstacle(_ program: String, path: String) -> String? {
        guard let file = program.contains("/") ? program : programPath(program, in: path) else { return nil }
        var status = stat()
        guard unsafe stat(file, &status) == 0 else { return nil }
        if status.st_mode & (S_ISUID | S_ISGID) != 0, geteuid() != 0 {
            return "\(file) runs with the rights of its owner, so that no library is preloaded into it"
        }
        guard let bytes = try? InputFile.contents(ofFile: file, limit: 1 << 30), bytes.count > 64,
            bytes.starts(with: [0x7F, 0x45, 0x4C, 0x46]), bytes[4] == 2, bytes[5] == 1
        else { return nil }
        func number(_ offset: Int, _ size: Int) -> Int {
            guard offset + size <= bytes.count else { return 0 }
            return (0..<size).reduce(0) { $0 | Int(bytes[offset + $1]) << (8 * $1) }
        }
        let (start, size, count) = (number(32, 8), number(54, 2), number(56, 2))
        guard start > 0, start < bytes.count else { return nil }
        // The interpreter (PT_INTERP) is the loader that preloads libraries.
        let isDynamic = (0..<count).contains { number(start + $0 * size, 4) == 3 }
        // mutant guarded-static: nil by GuardedProgramTests
        return isDynamic ? nil : "\(file) is linked statically, so that no library is preloaded into it"
    }
}

/// The number of this process.
var processNumber: Int32 { getpid() }

/// The path of this process's program (`/proc/self/exe`), or `nil` if it isn't known.
var programFile: String? {
    var buffer = [CChar](repeating: 0, count: 4_096)
    let count = unsafe readlink("/proc/self/exe", &buffer, buffer.count)
    return count > 0 ? String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
}

/// Returns the path of a file that belongs to pinctl: beside this program, in `lib/pinctl` beside its directory, or in
/// a directory of `.build`, where the scripts of a clone write it.
func installedFile(_ name: String, inBuild directory: String) -> String? {
    guard let own = programFile.map(parentDirectory) else { return nil }
    return ["", "/../lib/pinctl", "/../../\(directory)"].map { "\(own)\($0)/\(name)" }
        .first { if case .file = FileKind($0) { true } else { false } }
}

/// Removes a file, if it is there.
func removeFile(_ path: String) { unsafe unlink(path) }

/// Creates a directory that only this user can enter, in `parent`.
func makePrivateDirectory(in parent: String) throws(SystemError) -> String {
    var template = Array("\(parent)/pinctl-XXXXXX".utf8CString)
    guard unsafe mkdtemp(&template) != nil else { throw SystemError(code: errno) }
    return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

/// Removes an empty directory.
func removeDirectory(_ path: String) { unsafe rmdir(path) }

/// Ends the process as the program ended.
func endProcess(as end: GuardedProgram.End) -> Never {
    switch end {
    case .exited(let status): exit(status)
    case .signaled(let number):
        endBySignal(number)
        exit(128 + number)
    }
}
