import Glibc

/// Connects to a port of 127.0.0.1, and closes the connection.
func knock(_ port: UInt16) throws(TortureError) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
    let result = unsafe withUnsafePointer(to: &address) { address in
        unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
            unsafe connect(descriptor, address, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
    }
    guard descriptor >= 0, result == 0 else { throw TortureError("the server on port \(port) doesn't accept") }
}

func pauseForMilliseconds(_ count: UInt32) { usleep(count * 1000) }
