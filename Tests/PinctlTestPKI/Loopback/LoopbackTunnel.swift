import CPinctlOpenSSL
import Glibc

extension LoopbackServer.Connection {
    /// Bytes in transit from one side to the other.
    private struct Lane {
        var waiting: [UInt8] = []
        var sourceHasEnded = false
        var isDone = false
        var count = 0

        /// Reads from one side and writes to the other. Returns whether any bytes moved, or `nil` if a side is gone.
        mutating func move(from read: () -> [UInt8]?, to write: ([UInt8]) -> Int?, end: () -> Void) -> Bool? {
            if isDone { return false }
            if waiting.isEmpty, !sourceHasEnded {
                if let bytes = read() { waiting = bytes } else { sourceHasEnded = true }
            }
            if !waiting.isEmpty {
                guard let written = write(waiting) else { return nil }
                waiting.removeFirst(written)
                count += written
                return written > 0
            }
            guard sourceHasEnded else { return false }
            end()
            isDone = true
            return true
        }
    }

    /// Copies between the client and `target` until both have ended, or the client is gone.
    func copyBothWays(_ target: Int32, withTickets: Bool = false) {
        for descriptor in [socket, target] {
            _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        }
        if let session = unsafe session {
            let mode = SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER
            unsafe _ = SSL_ctrl(session, SSL_CTRL_MODE, Int(mode), nil)
        }
        var up = Lane(waiting: unread)
        var down = Lane()
        unread = []
        while !(up.isDone && down.isDone) {
            guard
                let upMoved = up.move(
                    from: readNow, to: { sendNow($0, on: target) }, end: { shutdown(target, Int32(SHUT_WR)) }),
                let downMoved = down.move(
                    from: { receiveNow(on: target) },
                    to: { bytes in
                        if withTickets { try? sendTicket() }
                        return writeNow(bytes)
                    },
                    end: {
                        closeNotify()
                        shutdown(socket, Int32(SHUT_WR))
                    })
            else { return }
            log.update(identifier) { [up, down] in $0.tunnelled = (up.count, down.count) }
            if upMoved || downMoved { continue }
            // A descriptor without events is left out, except for the client's, because poll reports its end in any
            // case.
            var both = [(socket, up, down), (target, down, up)].map { descriptor, from, to in
                let reads = from.waiting.isEmpty && !from.sourceHasEnded ? POLLIN : 0
                let events = Int16(reads | (to.waiting.isEmpty ? 0 : POLLOUT))
                return pollfd(fd: events == 0 && descriptor == target ? -1 : descriptor, events: events, revents: 0)
            }
            unsafe poll(&both, 2, -1)
            if both[0].revents & Int16(POLLHUP) != 0 { return }
        }
    }

    /// Returns the bytes that have arrived from the client. They are empty if there are none yet, and `nil` at the end.
    private func readNow() -> [UInt8]? {
        guard let session = unsafe session else { return receiveNow(on: socket) }
        var buffer = [UInt8](repeating: 0, count: 16_384)
        ERR_clear_error()
        let count = unsafe SSL_read(session, &buffer, Int32(buffer.count))
        if count > 0 { return Array(buffer.prefix(Int(count))) }
        return unsafe wants(session, count) ? [] : nil
    }

    /// Returns the number of bytes that the client's side accepted, or `nil` if it is broken.
    private func writeNow(_ bytes: [UInt8]) -> Int? {
        guard let session = unsafe session else { return sendNow(bytes, on: socket) }
        ERR_clear_error()
        let count = unsafe SSL_write(session, bytes, Int32(bytes.count))
        if count > 0 { return Int(count) }
        return unsafe wants(session, count) ? 0 : nil
    }
}

private func wants(_ session: OpaquePointer, _ result: Int32) -> Bool {
    let error = unsafe SSL_get_error(session, result)
    return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE
}

private func receiveNow(on descriptor: Int32) -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: 16_384)
    let count = unsafe recv(descriptor, &buffer, buffer.count, 0)
    if count > 0 { return Array(buffer.prefix(count)) }
    return count < 0 && errno == EAGAIN ? [] : nil
}

private func sendNow(_ bytes: [UInt8], on descriptor: Int32) -> Int? {
    let count = unsafe send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    if count >= 0 { return count }
    return errno == EAGAIN ? 0 : nil
}
