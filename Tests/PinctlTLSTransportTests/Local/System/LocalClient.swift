import PinctlLibC

/// Sends parts to a Unix socket and returns what it receives.
func talk(at path: String, _ parts: [[UInt8]], ends: Bool) -> [UInt8] {
    let client = socket(AF_UNIX, streamSocket, 0)
    defer { close(client) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: Array(path.utf8)) }
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    let result = unsafe withUnsafePointer(to: &address) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe connect(client, $0, size) }
    }
    guard result == 0 else { return [0xEE] }
    var limit = timeval(tv_sec: 2, tv_usec: 0)
    unsafe setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    for part in parts { _ = unsafe send(client, part, part.count, Int32(MSG_NOSIGNAL)) }
    if ends { shutdown(client, Int32(SHUT_WR)) }
    var received: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4_096)
    while true {
        let count = unsafe recv(client, &buffer, buffer.count, 0)
        guard count > 0 else { return received }
        received += buffer[..<count]
    }
}

func fileMode(_ path: String) -> UInt32? {
    var status = stat()
    return unsafe stat(path, &status) == 0 ? UInt32(status.st_mode & 0o777) : nil
}

func removeFile(_ path: String) { unsafe unlink(path) }
