import PinctlLibC

/// Writes all bytes (`write(2)`). Returns 0, or the `errno` of the write that failed.
package func writeAll(_ bytes: [UInt8], to descriptor: Int32) -> Int32 {
    var start = 0
    while start < bytes.count {
        let count = unsafe bytes[start...].withUnsafeBytes { rest in
            unsafe PinctlLibC.write(descriptor, rest.baseAddress, rest.count)
        }
        if count >= 0 {
            start += count
        } else if errno == EAGAIN {
            // Another process that shares the terminal or pipe made it non-blocking.
            var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            _ = unsafe poll(&request, 1, -1)
        } else if errno != EINTR {
            return errno
        }
    }
    return 0
}
