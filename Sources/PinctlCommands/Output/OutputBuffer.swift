/// Text on its way to one descriptor, gathered so that a hundred thousand lines are some hundred writes.
package struct OutputBuffer {
    private var bytes: [UInt8] = []
    private let sink: ([UInt8]) -> Void

    private static let capacity = 64 * 1024

    /// The sink takes all it is given, or ends the program.
    package init(to sink: @escaping ([UInt8]) -> Void) {
        self.sink = sink
    }

    mutating func write(_ text: String) {
        write { $0 += text.utf8 }
    }

    /// Takes what `body` appends to the bytes that wait, which are not all its own.
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
