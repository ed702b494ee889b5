/// The socket of a connection, with its last known readiness and the output that the kernel hasn't taken.
struct BufferedSocket: ~Copyable, Sendable {
    /// The socket, or nil once closed.
    private var socket: Socket?
    /// The last known readiness. Edges that no call waited for are kept here. Initially a hang-up is assumed, because
    /// an end that came before the socket was watched causes no further edge.
    var readiness: Readiness = [.reading, .writing, .hangUp]
    /// The bytes to be written. The kernel has taken those before `outputStart`.
    private var output: [UInt8] = []
    private var outputStart = 0

    init(_ socket: consuming Socket) {
        self.socket = consume socket
    }

    /// Reads into the front of `buffer` if the socket is known to be ready.
    mutating func read(into buffer: inout [UInt8]) -> Socket.Input {
        guard readiness.contains(.reading) else { return .wouldBlock }
        guard let input = socket?.read(into: &buffer) else { return .wouldBlock }
        switch input {
        // A read at the end of the stream wouldn't block, so there is no end yet.
        case .wouldBlock: readiness.subtract([.reading, .hangUp])
        case .bytes(let count):
            // A short read means that everything was read. More bytes will cause another edge (epoll(7)), but an end
            // that is already there won't.
            if count < buffer.count, !readiness.contains(.hangUp) { readiness.remove(.reading) }
        case .end, .failed: break
        }
        return input
    }

    /// Whether there are bytes to be written.
    var hasOutput: Bool { outputStart < output.count }

    /// Sets the next bytes to be written, after all earlier ones.
    mutating func setOutput(_ bytes: [UInt8]) { (output, outputStart) = (bytes, 0) }

    /// Writes as much as the kernel takes in one call. Returns nil if the socket is closed.
    mutating func write() -> Socket.Output? {
        let result = socket?.write(output.span.extracting(outputStart...))
        switch result {
        case .bytes(let count): outputStart += count
        case .wouldBlock: readiness.remove(.writing)
        case .failed, nil: break
        }
        return result
    }

    /// Ends the output and drops the input, which overwrites `buffer`. Closing a socket with unread bytes resets the
    /// connection, and the reset can overtake the last bytes sent.
    func endWriting(dropping buffer: inout [UInt8]) {
        socket?.endWriting()
        for _ in 0..<8 {
            guard case .bytes = socket?.read(into: &buffer) else { break }
        }
    }

    mutating func close() { socket = nil }
}
