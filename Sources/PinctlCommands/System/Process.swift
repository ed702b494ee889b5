package import FoundationEssentials
import Glibc

extension Pinctl {
    /// Runs the command line this process was started with, and ends it.
    package static func main() async -> Never {
        StandardStreams.fillGaps()
        // A write to a closed pipe is to fail, not to kill: sockets are pipes too.
        _ = unsafe signal(SIGPIPE, SIG_IGN)
        _ = unsafe signal(SIGINT) { _ in _exit(ExitStatus.interrupted.rawValue) }
        let environment = CommandEnvironment(
            variable: { name in unsafe getenv(name).map { unsafe String(cString: $0) } }, now: { Date() })
        let outcome = await run(
            Array(CommandLine.arguments.dropFirst()), in: environment, output: StandardStreams.buffer(for: 1),
            diagnostics: StandardStreams.buffer(for: 2))
        if outcome.isPipeClosed {
            // End as a program that knows nothing of pipes does, which is what shells expect in the middle of a line.
            _ = unsafe signal(SIGPIPE, SIG_DFL)
            _ = raise(SIGPIPE)
        }
        exit(outcome.status.rawValue)
    }
}
