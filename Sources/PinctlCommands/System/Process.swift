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
        _ = signal(SIGINT) { _ in _exit(ExitCode.interrupted.rawValue) }
        // What Swift's traps raise.
        for trap in [SIGILL, SIGTRAP] { _ = signal(trap) { _ in endWithDefect() } }
        raiseDescriptorLimit()
        let environment = CommandEnvironment(
            variables: { ProcessInfo.processInfo.environment }, now: { Date() })
        let status = await run(
            Array(CommandLine.arguments.dropFirst()), in: environment, output: StandardStreams.output,
            diagnostics: StandardStreams.diagnostics)
        exit(status.rawValue)
    }
}

/// Says that it was no fault of the input, in what a signal handler may call.
private func endWithDefect() -> Never {
    let message: StaticString = "pinctl: internal error: this is a defect of pinctl, please report it\n"
    _ = unsafe write(2, message.utf8Start, message.utf8CodeUnitCount)
    _exit(ExitCode.internalError.rawValue)
}
