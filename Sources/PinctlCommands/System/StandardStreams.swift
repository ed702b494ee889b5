import CertificateTrust
import Glibc

/// The three descriptors every program is given, and what to do where one is missing or fails.
enum StandardStreams {
    /// Fills the gaps among descriptors 0 to 2, so that no file opened later becomes standard output by accident.
    ///
    /// A gap is filled the wrong way round: reading from what should be read, and writing to what should be written,
    /// fails and is reported, as it would on the closed descriptor.
    static func fillGaps() {
        for descriptor in Int32(0)...2 where fcntl(descriptor, F_GETFD) == -1 && errno == EBADF {
            // The lowest free number is given out, which is this one.
            _ = unsafe open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY)
        }
    }

    /// Results: what cannot be written ends the program.
    static var output: OutputBuffer {
        OutputBuffer { bytes in
            switch write(bytes, to: 1) {
            case 0: break
            case EPIPE:
                // End as a program that knows nothing of pipes does: quietly, and so that the shell knows why.
                _ = signal(SIGPIPE, SIG_DFL)
                _ = raise(SIGPIPE)
                // The signal is blocked.
                exit(128 + SIGPIPE)
            case let code:
                let message = "pinctl: standard output cannot be written: \(systemErrorText(code))\n"
                _ = write(Array(message.utf8), to: 2)
                exit(ExitCode.badInput.rawValue)
            }
        }
    }

    /// What went wrong: when nobody can be told, the exit code still tells.
    static var diagnostics: OutputBuffer { OutputBuffer { _ = write($0, to: 2) } }

    /// Writes all bytes (`write(2)`); 0 or the `errno` that stopped it.
    static func write(_ bytes: [UInt8], to descriptor: Int32) -> Int32 { writeAll(bytes, to: descriptor) }
}
