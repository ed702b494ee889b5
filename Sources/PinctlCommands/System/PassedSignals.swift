import PinctlLibC
import Synchronization

/// The treatment of signals with which this process started. A program that it runs gets the same.
struct InitialSignals: Sendable {
    /// The state at the first use, which is the start of `Pinctl.main`.
    static let current = InitialSignals()

    /// The signals that were ignored, such as SIGHUP by `nohup`.
    let ignored: Set<Int32>
    /// The signals that were blocked.
    let mask: sigset_t

    private init() {
        ignored = Set((1...64).filter { Self.isIgnored($0) })
        var mask = sigset_t()
        _ = unsafe pthread_sigmask(SIG_BLOCK, nil, &mask)
        self.mask = mask
    }

    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        // SIG_IGN is the number 1.
        return unsafe sigaction(number, nil, &action) == 0 && action.handlerNumber == 1
    }
}

/// Signals that this process gets in place of a program, and passes on to it.
///
/// The terminal sends its signals to the whole process group, so the program gets those itself. What other processes
/// send to this one alone is passed on.
enum PassedSignals {
    /// The program's process, or 0.
    private static let process = Atomic<Int32>(0)
    /// Signals that wait until the program has started, as bits.
    private static let waiting = Atomic<UInt64>(0)

    /// SIGKILL and SIGSTOP can't be handled, and the others are about this process itself.
    private static let own = [
        SIGKILL, SIGSTOP, SIGCHLD, SIGPIPE, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGTTIN, SIGTTOU,
    ]

    /// Handles signals from now on. Those that were ignored at the start stay ignored.
    static func begin() {
        let ignored = InitialSignals.current.ignored
        // mutant signals-ignored: {} by RunSignalTests
        for number in ignored { _ = signal(number, SIG_IGN) }
        for number in Int32(1)...64 where !ignored.contains(number) && !own.contains(number) {
            var action = unsafe sigaction(informing: passOn)
            action.sa_flags |= SA_RESTART
            // Fails for the C library's own signals.
            _ = unsafe sigaction(number, &action, nil)
        }
    }

    /// Passes signals on to a process, first those that came before.
    static func pass(to process: Int32) {
        self.process.store(process, ordering: .sequentiallyConsistent)
        deliver()
    }

    /// Passes no more signals on, because the process has ended.
    static func end() { process.store(0, ordering: .sequentiallyConsistent) }

    fileprivate static func take(_ number: Int32) {
        waiting.bitwiseOr(1 << UInt64(number - 1), ordering: .sequentiallyConsistent)
        deliver()
    }

    private static func deliver() {
        let process = process.load(ordering: .sequentiallyConsistent)
        guard process > 0 else { return }
        let numbers = waiting.exchange(0, ordering: .sequentiallyConsistent)
        for number in Int32(1)...64 where numbers & 1 << UInt64(number - 1) != 0 { kill(process, number) }
    }
}

/// Passes a signal on that a process sent. The terminal's have reached the program already.
private func passOn(
    _ number: Int32, _ information: UnsafeMutablePointer<siginfo_t>?, _ context: UnsafeMutableRawPointer?
) {
    let code = errno
    if (unsafe information?.pointee.isOfProcess) ?? true { PassedSignals.take(number) }
    errno = code
}

/// A handler that gets what is known about the signal (`SA_SIGINFO`).
private typealias InformedHandler =
    @convention(c) (Int32, UnsafeMutablePointer<siginfo_t>?, UnsafeMutableRawPointer?) -> Void

extension sigaction {
    fileprivate var handlerNumber: Int {
        #if canImport(Darwin)
        unsafe unsafeBitCast(__sigaction_u.__sa_handler, to: Int.self)
        #else
        unsafe unsafeBitCast(__sigaction_handler.sa_handler, to: Int.self)
        #endif
    }

    fileprivate init(informing handler: @escaping InformedHandler) {
        self.init()
        #if canImport(Darwin)
        unsafe __sigaction_u.__sa_sigaction = handler
        #else
        unsafe __sigaction_handler.sa_sigaction = handler
        #endif
        sa_flags = SA_SIGINFO
    }
}

extension siginfo_t {
    /// Whether a process sent the signal, and not the system or a terminal.
    fileprivate var isOfProcess: Bool {
        #if canImport(Darwin)
        unsafe si_code == SI_USER || si_code == SI_QUEUE
        #else
        unsafe si_code <= 0
        #endif
    }
}
