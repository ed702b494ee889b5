import OpenSSLBridge

// The TLS layers of a connection, from the socket upwards.

extension [TLSClientEngine] {
    /// Passes the input of each layer upwards. Returns whether any of it is plaintext for the reader, an end, or part
    /// of a record.
    func haveInput() -> Bool {
        for (index, engine) in enumerated() {
            var input = engine.isEmpty ? .wantsInput : engine.read()
            while case .bytes(let bytes) = input, indices.contains(index + 1),
                (try? self[index + 1].feed(bytes.span)) != nil
            { input = engine.read() }
            guard input == .wantsInput, engine.isEmpty else { return true }
        }
        return false
    }

    /// Returns the output of the lowest layer, after passing down the output of every layer above.
    func takeOutput() throws(OpenSSLError) -> [UInt8] {
        for upper in indices.dropFirst().reversed() {
            let output = self[upper].takeOutput()
            try self[upper - 1].write(output.span)
        }
        return first?.takeOutput() ?? []
    }
}
