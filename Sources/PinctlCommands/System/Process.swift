import CertificateTrust
import PinctlFoundation
import PinctlLibC
import PinctlTLSTransport
import Synchronization

extension Pinctl {
    /// Runs the command line of this process, and exits. `commit` is the first 16 hexadecimal digits of the commit that
    /// the program was built from, or 0 if it isn't known.
    package static func main(commit: UInt64) async -> Never {
        _ = InitialSignals.current
        StandardStreams.fillGaps()
        // A write to a closed pipe should fail instead of killing the process, and so should a write to a broken
        // connection.
        _ = signal(SIGPIPE, SIG_IGN)
        // The Swift runtime treats SIGQUIT as a crash: it prints memory and continues.
        _ = signal(SIGQUIT, SIG_DFL)
        for end in [SIGINT, SIGTERM] { _ = signal(end, endAtOnce) }
        // The signals that Swift's traps raise.
        for trap in [SIGILL, SIGTRAP] { _ = signal(trap) { _ in endWithDefect() } }
        raiseDescriptorLimit()
        if let problem = threadProblem ?? OpenSSLVersion.problem {
            _ = StandardStreams.write(Array("pinctl: \(problem)\n".utf8), to: 2)
            exit(ExitCode.badInput.rawValue)
        }
        // Swift reads them from /proc.
        let words = CommandLine.arguments
        guard !words.isEmpty else {
            _ = StandardStreams.write(
                Array(
                    "pinctl: cannot read its arguments from /proc/self/cmdline: mount /proc, or close some files\n".utf8
                ),
                to: 2)
            exit(ExitCode.badInput.rawValue)
        }
        if let problem = namespaceProblem {
            _ = StandardStreams.write(Array("pinctl: \(problem)\n".utf8), to: 2)
            exit(ExitCode.badInput.rawValue)
        }
        let environment = CommandEnvironment(
            commit: commit, variables: { processEnvironment }, now: { Date() }, terminal: .ofProcess,
            isInterrupted: { Interruption.isPending }, useSuffixes: { SystemSuffixList.use(contentsOfFile: $0) },
            suffixWarning: { SystemSuffixList.warning(at: $0, whenUsed: $1) })
        let status = await run(
            Array(words.dropFirst()), in: environment, output: StandardStreams.output,
            diagnostics: StandardStreams.diagnostics)
        if status == .interrupted { Interruption.endProgram() }
        exit(status.rawValue)
    }
}

/// The reason why the process can't have its threads, or nil if it can. They are at most eight at a time, unless there
/// is much to do.
private var threadProblem: String? {
    do throws(SystemError) {
        try requireThreads(8)
        return nil
    } catch {
        return "cannot create threads: \(error): raise the limit on memory (ulimit -v) or on processes (ulimit -u)"
    }
}

/// The reason why libdispatch would trap, or nil if it won't. Once a second, it opens `/proc/self/task/TID/stat` of its
/// threads. In a namespace of processes with the `/proc` of another one, that file doesn't exist.
private var namespaceProblem: String? {
    #if os(Linux)
    // The first thread has the number of the process.
    let path = "/proc/self/task/\(getpid())/stat"
    guard unsafe access(path, R_OK) != 0, errno == ENOENT else { return nil }
    return "/proc belongs to another namespace of processes, so it lacks \(path): mount it again (with unshare, add "
        + "--mount-proc)"
    #else
    return nil
    #endif
}

/// Ends the process by a signal. Swift's threads block all signals.
func endBySignal(_ number: Int32) {
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    unsafe sigaddset(&signals, number)
    _ = signal(number, SIG_DFL)
    _ = unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    _ = raise(number)
}

/// Exits through the signal itself, so that a shell knows the reason and stops its script too. A progress line is
/// erased first, so that the prompt doesn't follow it.
private func endAtOnce(_ number: Int32) {
    if isatty(2) == 1 {
        let wipe: StaticString = "\r\u{1B}[K"
        _ = unsafe write(2, wipe.utf8Start, wipe.utf8CodeUnitCount)
    }
    _ = signal(number, SIG_DFL)
    _ = raise(number)
}

/// Reports that the fault isn't in the input, using only functions allowed in a signal handler.
private func endWithDefect() -> Never {
    let message: StaticString = "pinctl: internal error: this is a bug in pinctl, please report it\n"
    _ = unsafe write(2, message.utf8Start, message.utf8CodeUnitCount)
    _exit(ExitCode.internalError.rawValue)
}

extension Terminal {
    /// The terminal of this process, if any.
    static var ofProcess: Terminal {
        Terminal(
            columns: isatty(1) == 1 ? columns(of: 1) : nil,
            // The reader of a pipe may write to the same terminal, behind a line that is still there.
            showsProgress: isatty(2) == 1 && !isPipe(1) && ProcessInfo.processInfo.environment["TERM"] != "dumb")
    }

    private static func isPipe(_ descriptor: Int32) -> Bool {
        var status = stat()
        return unsafe fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
    }

    /// Returns the width from the terminal (`TIOCGWINSZ`), or else from the environment, or else 80.
    private static func columns(of descriptor: Int32) -> Int {
        var size = winsize()
        if unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 { return Int(size.ws_col) }
        let text = ProcessInfo.processInfo.environment["COLUMNS"] ?? ""
        return Int(text).flatMap { (1...10_000).contains($0) ? $0 : nil } ?? 80
    }
}

/// Ctrl-C (SIGINT), and SIGTERM if asked for, for commands that do something before they end.
enum Interruption {
    /// The time of the first SIGINT in milliseconds of the monotonic clock, or 0.
    fileprivate static let firstTime = Atomic(0)
    fileprivate static let number = Atomic(SIGINT)
    private static let isHandled = Atomic(false)

    /// Whether the user has pressed Ctrl-C. From the first call on, the first SIGINT only sets this, and the caller
    /// ends the command. A later one ends the program.
    static var isPending: Bool {
        if !isHandled.exchange(true, ordering: .relaxed) {
            _ = signal(SIGINT, noteInterruption)
        }
        return firstTime.load(ordering: .relaxed) != 0
    }

    /// Lets SIGTERM do the same, for a command that has to clean up.
    static func includeTermination() { _ = signal(SIGTERM, noteInterruption) }

    /// Ends the program through the signal itself, so that a shell knows the reason and stops its script too.
    static func endProgram() {
        endBySignal(number.load(ordering: .relaxed))
    }
}

/// Notes the first signal, and ends the program at the next one. Signals within a second are one: `timeout` and other
/// wrappers send the signal to the program and once more to its process group.
private func noteInterruption(_ number: Int32) {
    var time = timespec()
    _ = unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    let now = time.tv_sec * 1000 + time.tv_nsec / 1_000_000
    Interruption.number.store(number, ordering: .relaxed)
    let (isFirst, first) = Interruption.firstTime.compareExchange(expected: 0, desired: now, ordering: .relaxed)
    guard !isFirst, now > first + 1000 else { return }
    _ = signal(number, SIG_DFL)
    _ = raise(number)
}
