/// A client of a local server. All of it is used on the event loop alone, one call at a time.
final class LocalClient: @unchecked Sendable {
    let socket: Socket
    private var input: [UInt8] = []
    private var output: [UInt8] = []
    private var hasEnded = false
    private var hasFailed = false
    /// Whether an answer is being computed.
    var isWaiting = false
    /// The time at which the first byte of an incomplete frame arrived.
    private(set) var frameStart: TransportTime?

    init(_ socket: consuming Socket) { self.socket = socket }

    /// Whether nothing more is to be done for it.
    var isFinished: Bool { hasFailed || hasEnded && !isWaiting && output.isEmpty }

    /// Reads until nothing is left, or one frame is surely complete.
    func receive(upTo limit: Int) {
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while !hasEnded, input.count < limit {
            switch socket.read(into: &buffer) {
            case .bytes(let count): input += buffer[..<count]
            case .wouldBlock: return
            case .end: hasEnded = true
            case .failed: (hasEnded, hasFailed) = (true, true)
            }
        }
    }

    /// Takes the next frame, if it is complete or too long. Its bytes are `nil` if it is too long.
    func nextFrame(limit: Int) -> (bytes: [UInt8]?, Void)? {
        guard !input.isEmpty else {
            frameStart = nil
            return nil
        }
        guard input.count >= 4 else {
            frameStart = frameStart ?? .now
            return nil
        }
        let length = input[..<4].reduce(0) { $0 << 8 | Int($1) }
        // mutant local-length: false by LocalServerTests
        guard length <= limit else {
            input = []
            hasEnded = true
            return (nil, ())
        }
        guard input.count >= 4 + length else {
            frameStart = frameStart ?? .now
            return nil
        }
        let frame = Array(input[4..<4 + length])
        input.removeFirst(4 + length)
        frameStart = nil
        return (frame, ())
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
        input = []
        hasEnded = true
    }
}
