import CertificateTrust
import FoundationEssentials
import Glibc

extension Pinctl {
    /// Runs the command line this process was started with, and ends it.
    package static func main() async -> Never {
        StandardStreams.fillGaps()
        // A write to a closed pipe is to fail, not to kill: connections break in the same way.
        _ = signal(SIGPIPE, SIG_IGN)
        // The Swift runtime takes this one for a crash: it prints memory, and goes on.
        _ = signal(SIGQUIT, SIG_DFL)
        for end in [SIGINT, SIGTERM] { _ = signal(end, endAtOnce) }
        // What Swift's traps raise.
        for trap in [SIGILL, SIGTRAP] { _ = signal(trap) { _ in endWithDefect() } }
        raiseDescriptorLimit()
        let environment = CommandEnvironment(
            variables: { ProcessInfo.processInfo.environment }, now: { Date() }, terminal: .ofProcess,
            suffixWarning: { SystemSuffixList.warning(at: $0) })
        let status = await run(
            Array(CommandLine.arguments.dropFirst()), in: environment, output: StandardStreams.output,
            diagnostics: StandardStreams.diagnostics)
        exit(status.rawValue)
    }
}

/// Ends by the signal itself, so that a shell knows why and stops its script too. A line of progress is wiped first, or
/// the prompt would stand behind it.
private func endAtOnce(_ number: Int32) {
    if isatty(2) == 1 {
        let wipe: StaticString = "\r\u{1B}[K"
        _ = unsafe write(2, wipe.utf8Start, wipe.utf8CodeUnitCount)
    }
    _ = signal(number, SIG_DFL)
    _ = raise(number)
}

/// Says that it was no fault of the input, in what a signal handler may call.
private func endWithDefect() -> Never {
    let message: StaticString = "pinctl: internal error: this is a defect of pinctl, please report it\n"
    _ = unsafe write(2, message.utf8Start, message.utf8CodeUnitCount)
    _exit(ExitCode.internalError.rawValue)
}
