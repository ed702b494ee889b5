import Glibc

@testable import PinctlTestPKI

/// A server on loopback without a thread of its own. Whoever holds it decides when it reads, writes and closes.
final class PolledServer {
    enum Event {
        case opened(CInt)
        case received(CInt, [UInt8])
        /// The client has closed the connection, or the connection has failed.
        case ended(CInt)
    }

    let port: UInt16
    private let listener: CInt
    private(set) var connections: [CInt] = []

    init() throws { (listener, port) = try listenOnLoopback() }

    deinit {
        for connection in connections { Glibc.close(connection) }
        Glibc.close(listener)
    }

    /// Waits until something happens, but no longer than a millisecond.
    func next() -> [Event] {
        var polled = ([listener] + connections).map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        guard unsafe poll(&polled, nfds_t(polled.count), 1) > 0 else { return [] }
        var events: [Event] = []
        for entry in polled where entry.revents != 0 {
            if entry.fd == listener {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { continue }
                connections.append(connection)
                events.append(.opened(connection))
            } else {
                var buffer = [UInt8](repeating: 0, count: 65_536)
                let count = unsafe recv(entry.fd, &buffer, buffer.count, CInt(MSG_DONTWAIT))
                if count > 0 {
                    events.append(.received(entry.fd, Array(buffer.prefix(count))))
                } else if count == 0 || errno != EAGAIN {
                    close(entry.fd)
                    events.append(.ended(entry.fd))
                }
            }
        }
        return events
    }

    /// Sends what the kernel takes at once. The rest is lost, as with a connection that breaks.
    func send(_ bytes: [UInt8], to connection: CInt) {
        _ = unsafe Glibc.send(connection, bytes, bytes.count, CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT))
    }

    /// Closes a connection, with a reset instead of an end if `isReset` is true.
    func close(_ connection: CInt, isReset: Bool = false) {
        guard let index = connections.firstIndex(of: connection) else { return }
        connections.remove(at: index)
        if isReset {
            var linger = linger(l_onoff: 1, l_linger: 0)
            unsafe setsockopt(connection, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
        }
        Glibc.close(connection)
    }
}
