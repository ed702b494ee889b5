/// A buffer for the text of one descriptor, so that a hundred thousand lines need only a few hundred writes.
package struct OutputBuffer {
    private var bytes: [UInt8] = []
    private let sink: ([UInt8]) -> Void

    private static let capacity = 64 * 1024

    /// Creates a buffer. The sink must accept all bytes or end the program.
    package init(to sink: @escaping ([UInt8]) -> Void) {
        self.sink = sink
    }

    mutating func write(_ text: String) {
        write { $0 += text.utf8 }
    }

    /// Adds the bytes that `body` appends to the buffer, which may contain earlier bytes.
    mutating func write(_ body: (inout [UInt8]) -> Void) {
        body(&bytes)
        if bytes.count >= Self.capacity { flush() }
    }

    mutating func flush() {
        guard !bytes.isEmpty else { return }
        sink(bytes)
        bytes.removeAll(keepingCapacity: true)
    }
}
