import Glibc

/// The three descriptors every program is given, and what to do where one is missing.
enum StandardStreams {
    /// Fills the gaps among descriptors 0 to 2, so that no file opened later becomes standard output by accident.
    ///
    /// A gap is filled the wrong way round: reading from what should be read, and writing to what should be written,
    /// fails and is reported, as it would on the closed descriptor.
    static func fillGaps() {
        for descriptor in Int32(0)...2 where fcntl(descriptor, F_GETFD) == -1 && errno == EBADF {
            // The lowest free number is given out, which is this one.
            _ = unsafe open("/dev/null", (descriptor == 0 ? O_WRONLY : O_RDONLY) | O_CLOEXEC)
        }
    }

    /// Writes all bytes (`write(2)`).
    static func write(_ bytes: [UInt8], to descriptor: Int32) throws(OutputError) {
        var start = 0
        while start < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { buffer in
                unsafe Glibc.write(descriptor, buffer.baseAddress! + start, buffer.count - start)
            }
            if count >= 0 {
                start += count
                continue
            }
            switch errno {
            case EINTR: continue
            case EAGAIN:
                // Somebody who shares the terminal or the pipe made it non-blocking.
                var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = unsafe poll(&request, 1, -1)
            case EPIPE: throw .closedPipe
            case let code: throw .failed(unsafe String(cString: strerror(code)))
            }
        }
    }

    static func buffer(for descriptor: Int32) -> OutputBuffer {
        OutputBuffer { (bytes: [UInt8]) throws(OutputError) in try write(bytes, to: descriptor) }
    }
}
