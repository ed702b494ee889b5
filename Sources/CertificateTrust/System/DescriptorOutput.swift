import Glibc

/// Writes all bytes (`write(2)`); 0 or the `errno` that stopped it.
package func writeAll(_ bytes: [UInt8], to descriptor: Int32) -> Int32 {
    var start = 0
    while start < bytes.count {
        let count = unsafe bytes[start...].withUnsafeBytes { rest in
            unsafe Glibc.write(descriptor, rest.baseAddress, rest.count)
        }
        if count >= 0 {
            start += count
        } else if errno == EAGAIN {
            // Somebody who shares the terminal or the pipe made it non-blocking.
            var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            _ = unsafe poll(&request, 1, -1)
        } else if errno != EINTR {
            return errno
        }
    }
    return 0
}
