/// Why output could not be written.
package enum OutputError: Error, Hashable, Sendable {
    /// The reader went away (`EPIPE`).
    case closedPipe
    /// Any other reason, in the system's words.
    case failed(String)
}

/// Text on its way to one descriptor, gathered so that a hundred thousand lines are some hundred writes.
///
/// After the first failure nothing more is written.
package struct OutputBuffer {
    private var bytes: [UInt8] = []
    private let sink: ([UInt8]) throws(OutputError) -> Void
    private(set) var error: OutputError?

    private static let capacity = 64 * 1024

    package init(to sink: @escaping ([UInt8]) throws(OutputError) -> Void) {
        self.sink = sink
    }

    mutating func write(_ text: String) {
        bytes.append(contentsOf: text.utf8)
        if bytes.count >= Self.capacity { flush() }
    }

    mutating func flush() {
        if error == nil, !bytes.isEmpty {
            do throws(OutputError) { try sink(bytes) } catch { self.error = error }
        }
        bytes.removeAll(keepingCapacity: true)
    }
}
