/// A client of a local server. All of it is used on the event loop alone, one call at a time.
final class LocalClient: @unchecked Sendable {
    /// A frame, without its length.
    enum Frame {
        case whole([UInt8])
        /// The frame is longer than the limit, so that it isn't read.
        case tooLong
    }

    let socket: Socket
    private var input: [UInt8] = []
    /// The index of the first byte in `input` that isn't handled.
    private var start = 0
    private var hasSentFrame = false
    private var output: [UInt8] = []
    private var hasEnded = false
    private var hasFailed = false
    /// Whether an answer is being computed.
    var isWaiting = false
    /// The time from which a frame is awaited: that of its first byte, or of the connection for the first frame.
    private(set) var frameStart: TransportTime? = .now
    /// The bytes that were read last, for all clients.
    private static let scratch = Scratch()

    private final class Scratch: @unchecked Sendable {
        var bytes = [UInt8](repeating: 0, count: 64 << 10)
    }

    /// The size of the answers that a client may leave unread before its questions wait.
    private static let mostOutput = 64 << 10

    init(_ socket: consuming Socket) { self.socket = socket }

    /// Whether nothing more is to be done for it.
    var isFinished: Bool { hasFailed || hasEnded && !isWaiting && output.isEmpty }

    /// Reads until nothing is left, or one frame is surely complete. Returns whether there may be more to read. A
    /// client that leaves answers unread isn't read from until it is ready for more of them.
    func receive(upTo limit: Int) -> Bool {
        if start == input.count { input.removeAll(keepingCapacity: true) } else { input.removeFirst(start) }
        start = 0
        while !hasEnded, input.count < limit, output.count < Self.mostOutput {
            switch socket.read(into: &Self.scratch.bytes) {
            case .bytes(let count): input += Self.scratch.bytes[..<count]
            case .wouldBlock: return false
            case .end: hasEnded = true
            case .failed: (hasEnded, hasFailed) = (true, true)
            }
        }
        return !hasEnded && output.count < Self.mostOutput
    }

    /// Takes the next frame, if it is complete or too long.
    func nextFrame(limit: Int) -> Frame? {
        let count = input.count - start
        guard count > 0 else {
            if hasSentFrame { frameStart = nil }
            return nil
        }
        guard count >= 4 else {
            frameStart = frameStart ?? .now
            return nil
        }
        let length = input[start..<start + 4].reduce(0) { $0 << 8 | Int($1) }
        // mutant local-length: false by LocalServerTests
        guard length <= limit else {
            end()
            return .tooLong
        }
        guard count >= 4 + length else {
            frameStart = frameStart ?? .now
            return nil
        }
        let frame = Array(input[start + 4..<start + 4 + length])
        start += 4 + length
        (frameStart, hasSentFrame) = (nil, true)
        return .whole(frame)
    }

    func send(_ answer: [UInt8]) {
        output += (0..<4).map { UInt8(truncatingIfNeeded: answer.count >> (24 - 8 * $0)) } + answer
        flush()
    }

    func flush() {
        while !output.isEmpty, !hasFailed {
            switch socket.write(output.span) {
            case .bytes(let count): output.removeFirst(count)
            case .wouldBlock: return
            case .failed: (hasEnded, hasFailed) = (true, true)
            }
        }
    }

    /// Ends the connection when the answers are sent.
    func end() {
        (input, start) = ([], 0)
        hasEnded = true
    }
}
