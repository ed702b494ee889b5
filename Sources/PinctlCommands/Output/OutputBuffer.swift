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
        bytes.append(contentsOf: text.utf8)
        if bytes.count >= Self.capacity { flush() }
    }

    mutating func flush() {
        guard !bytes.isEmpty else { return }
        sink(bytes)
        bytes.removeAll(keepingCapacity: true)
    }
}
