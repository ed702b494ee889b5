import OpenSSLBridge

// The TLS layers of a connection, from the socket upwards.

extension [TLSClientEngine] {
    /// Passes the input of each layer upwards, and returns what it is. `messageLimit` is the value of
    /// ``messageCount`` beyond which no more is read.
    func idleState(messageLimit: Int) -> IdleState {
        var state = IdleState.quiet
        for (index, engine) in enumerated() {
            var input = engine.isEmpty ? .wantsInput : engine.read()
            while input != .wantsInput {
                switch input {
                case .message:
                    guard messageCount <= messageLimit else { return .busy }
                case .bytes(let bytes):
                    // mutant input-before-reuse: .quiet for `.bytes` by KeptConnectionTests
                    guard indices.contains(index + 1) else { return .bytes }
                    guard (try? self[index + 1].feed(bytes.span)) != nil else { return .ended }
                case .wantsInput: break
                case .closed, .failed: return .ended
                }
                input = engine.isEmpty ? .wantsInput : engine.read()
            }
            if !engine.isEmpty { state = .part }
        }
        return state
    }

    /// The number of messages that the peers sent after the handshakes.
    var messageCount: Int { reduce(0) { $0 + $1.messageCount } }

    /// Returns the output of the lowest layer, after passing down the output of every layer above.
    func takeOutput() throws(OpenSSLError) -> [UInt8] {
        for upper in stride(from: count - 1, to: 0, by: -1) {
            let output = self[upper].takeOutput()
            try self[upper - 1].write(output.span)
        }
        return first?.takeOutput() ?? []
    }
}
