import Glibc

/// Another program that is run to its end.
///
/// Its three standard files are files and not pipes, so that nothing blocks, however much is written, and no SIGPIPE
/// occurs.
package enum TestCommand {
    package struct Result: Sendable {
        /// The exit status, or 128 plus the number of the signal.
        package let status: Int32
        package let output: [UInt8]
        package let errors: [UInt8]

        /// Both outputs as text.
        package var text: String { String(decoding: output + errors, as: UTF8.self) }
    }

    /// Returns whether `program` is in PATH and exits with 0.
    package static func isPresent(_ program: String, _ arguments: String...) -> Bool {
        (try? run([program] + arguments))?.status == 0
    }

    /// Runs `command`, whose first element is looked up in PATH. Its environment has PATH, the options of sanitizers,
    /// coverage and tools/mutate, and `environment`.
    package static func run(
        _ command: [String], input: String = "", environment: [String] = ["LC_ALL=C"]
    ) throws(TestPKIError) -> Result {
        let (standardInput, output, errors) = (try ScratchFile(), try ScratchFile(), try ScratchFile())
        try standardInput.write(Array(input.utf8))
        let child = try spawn(
            command, files: [standardInput, output, errors].map(\.descriptor), environment: environment)
        return Result(status: wait(for: child), output: try output.contents(), errors: try errors.contents())
    }

    /// Starts `command` with these standard files and without blocked signals.
    package static func spawn(
        _ command: [String], files: [Int32], environment: [String]
    ) throws(TestPKIError) -> Int32 {
        closesInheritedOnExec
        let path = unsafe "PATH=" + (getenv("PATH").map { unsafe String(cString: $0) } ?? "/usr/bin:/bin")
        var instruments: [String] = []
        for name in ["ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "LLVM_PROFILE_FILE", "PINCTL_MUTATION"] {
            // If a variable is set twice, a program reads the first one.
            guard !environment.contains(where: { $0.hasPrefix(name + "=") }), let value = unsafe getenv(name) else {
                continue
            }
            instruments.append(unsafe "\(name)=\(String(cString: value))")
        }
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        for (number, file) in files.enumerated() {
            unsafe posix_spawn_file_actions_adddup2(&actions, file, Int32(number))
        }
        // A test may run on a thread that blocks every signal, and children inherit that.
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var noSignals = sigset_t()
        unsafe sigemptyset(&noSignals)
        unsafe posix_spawnattr_setsigmask(&attributes, &noSignals)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))

        let program = command.first ?? ""
        var child = pid_t()
        let error = unsafe withCStrings(command) { arguments in
            unsafe withCStrings([path] + instruments + environment) { variables in
                unsafe posix_spawnp(&child, program, &actions, &attributes, arguments, variables)
            }
        }
        guard error == 0 else { throw .system(program, error) }
        return child
    }

    /// Marks the descriptors that this process inherited, once, so that its children don't inherit them. `swift test`
    /// passes on a dozen sockets, which would count in the limit of a child with few descriptors.
    private static let closesInheritedOnExec: Void = {
        for descriptor in Int32(3)..<256 { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    }()

    /// Waits for a child to end. Returns its exit status, or 128 plus the number of the signal.
    static func wait(for child: pid_t) -> Int32 {
        var status: Int32 = 0
        while unsafe waitpid(child, &status, 0) < 0 {
            guard errno == EINTR else { return -1 }
        }
        return status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F
    }

    private static func withCStrings<Result>(
        _ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
    ) -> Result {
        let pointers = unsafe strings.map { unsafe strdup($0) }
        defer { for index in unsafe pointers.indices { unsafe free(pointers[index]) } }
        return unsafe body(pointers + [nil])
    }
}

/// A file without a name.
final class ScratchFile: Sendable {
    let descriptor: Int32

    init() throws(TestPKIError) {
        var template = Array("/tmp/testpki-XXXXXX".utf8CString)
        descriptor = unsafe mkstemp(&template)
        guard descriptor >= 0 else { throw .system("mkstemp") }
        unsafe unlink(template)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }

    deinit { close(descriptor) }

    func write(_ bytes: [UInt8]) throws(TestPKIError) {
        guard unsafe pwrite(descriptor, bytes, bytes.count, 0) == bytes.count else { throw .system("pwrite") }
    }

    func contents() throws(TestPKIError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Int(lseek(descriptor, 0, SEEK_END)))
        guard unsafe pread(descriptor, &bytes, bytes.count, 0) == bytes.count else { throw .system("pread") }
        return bytes
    }
}
