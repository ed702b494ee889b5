import CertificateTrust
import PinctlBasics
import PinctlLibC

/// The three standard descriptors, and the handling of missing or failing ones.
enum StandardStreams {
    /// Opens missing descriptors among 0 to 2, so that no file opened later becomes standard output by accident.
    ///
    /// Each is opened for the opposite direction. Reading from standard input, and writing to standard output or error,
    /// then fails and is reported, as on a closed descriptor.
    static func fillGaps() {
        for descriptor in Int32(0)...2 where fcntl(descriptor, F_GETFD) == -1 && errno == EBADF {
            // The system assigns the lowest free number, which is this one.
            _ = unsafe open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY)
        }
    }

    /// The buffer for results. A failed write ends the program.
    static var output: OutputBuffer {
        OutputBuffer { bytes in
            switch write(bytes, to: 1) {
            case 0: break
            case EPIPE:
                // Exit like a program that doesn't handle SIGPIPE: quietly, and with a status that tells the shell the
                // reason.
                _ = signal(SIGPIPE, SIG_DFL)
                _ = raise(SIGPIPE)
                // This is reached only if the signal is blocked.
                exit(128 + SIGPIPE)
            case let code:
                let message = "pinctl: cannot write to standard output: \(systemErrorText(code))\n"
                _ = write(Array(message.utf8), to: 2)
                exit(ExitCode.badInput.rawValue)
            }
        }
    }

    /// The buffer for diagnostics. Failed writes are ignored, since the exit code still reports the outcome.
    static var diagnostics: OutputBuffer { OutputBuffer { _ = write($0, to: 2) } }

    /// Writes all bytes (`write(2)`). Returns 0 or the `errno` of the failure.
    static func write(_ bytes: [UInt8], to descriptor: Int32) -> Int32 { writeAll(bytes, to: descriptor) }
}
