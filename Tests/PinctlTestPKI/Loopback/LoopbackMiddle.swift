import Glibc

/// A program between a client and a server, for one connection.
struct LoopbackMiddle: Sendable {
    let port: UInt16
    private let listener: Int32
    private let thread: PosixThread

    /// Starts to listen. `relay` gets the sockets of both sides. It returns how the client's connection ends, or `nil`
    /// if a side has ended it.
    init(
        to server: LoopbackServer,
        _ relay: @escaping @Sendable (_ client: Int32, _ server: Int32) -> LoopbackRelay.Ending?
    ) throws(TestPKIError) {
        let (listener, port) = try listenOnLoopback()
        (self.listener, self.port) = (listener, port)
        let target = server.port
        thread = try PosixThread {
            let client = accept(listener, nil, nil)
            guard client >= 0 else { return }
            defer { close(client) }
            guard let server = try? connectOnLoopback(port: target) else { return }
            defer { close(server) }
            var on: Int32 = 1
            unsafe setsockopt(client, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
            if let ending = relay(client, server) { finish(client, server, ending) }
        }
    }

    /// Joins the thread, which runs as long as the client's connection.
    func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
        thread.join()
        close(listener)
    }
}

/// Ends the client's connection as `ending` specifies. If a part of it stays open, the client's bytes are still passed.
private func finish(_ client: Int32, _ server: Int32, _ ending: LoopbackRelay.Ending) {
    if ending == .reset {
        var immediately = linger(l_onoff: 1, l_linger: 0)
        unsafe setsockopt(client, SOL_SOCKET, SO_LINGER, &immediately, socklen_t(MemoryLayout<linger>.size))
        return
    }
    if ending == .close { shutdown(client, Int32(SHUT_WR)) }
    var buffer = [UInt8](repeating: 0, count: 16_384)
    // Unread bytes from the client would turn the close into a reset.
    while case let read = unsafe recv(client, &buffer, buffer.count, 0), read > 0 {
        unsafe send(server, buffer, read, Int32(MSG_NOSIGNAL))
    }
}
