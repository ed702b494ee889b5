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
    /// The number of bytes to ask the kernel for.
    private var readSize = firstRead

    /// The read size if much data arrives: two full records.
    private static let readChunk = 32 * 1024
    /// The read size otherwise. It fits most responses, and the allocation isn't returned to the kernel every time.
    private static let firstRead = 4 * 1024

    init(_ socket: consuming Socket) {
        self.socket = consume socket
    }

    /// Reads if the socket is known to be ready.
    mutating func read() -> Socket.Input {
        guard readiness.contains(.reading) else { return .wouldBlock }
        guard let input = socket?.read(atMost: readSize) else { return .wouldBlock }
        switch input {
        // A read at the end of the stream wouldn't block, so there is no end yet.
        case .wouldBlock: readiness.subtract([.reading, .hangUp])
        case .bytes(let bytes):
            let isAll = bytes.count < readSize
            readSize = isAll ? Self.firstRead : Self.readChunk
            // A short read means that everything was read. More bytes will cause another edge (epoll(7)), but an end
            // that is already there won't.
            if isAll, !readiness.contains(.hangUp) { readiness.remove(.reading) }
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

    /// Ends the output and drops the input. Closing a socket with unread bytes resets the connection, and the reset can
    /// overtake the last bytes sent.
    func endWriting() {
        socket?.endWriting()
        for _ in 0..<8 {
            guard case .bytes = socket?.read(atMost: Self.readChunk) else { break }
        }
    }

    mutating func close() { socket = nil }
}
