/// The lines of a byte sequence, as in Apple's sequence of the same name. The bytes are read as UTF-8, and invalid ones
/// are replaced by U+FFFD. The lines don't include their ends, and empty lines are skipped.
///
/// Lines end with LF, CR, CR LF, vertical tab, form feed, NEL, U+2028 and U+2029. A line of more than 16 MiB throws a
/// `URLError`.
public struct AsyncLineSequence<Base: AsyncSequence>: AsyncSequence where Base.Element == UInt8 {
    public typealias Element = String

    private let base: Base

    /// The maximum size of a line in bytes, since the server decides where a line ends.
    static var limit: Int { 16 << 20 }

    init(_ base: Base) { self.base = base }

    /// Returns an iterator over the lines.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(bytes: base.makeAsyncIterator()) }

    /// An iterator over the lines.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private var bytes: Base.AsyncIterator
        private var line: [UInt8] = []

        init(bytes: Base.AsyncIterator) { self.bytes = bytes }

        /// Returns the next line that isn't empty, or `nil` at the end.
        public mutating func next() async throws -> String? {
            while let byte = try await bytes.next() {
                if let end = endLength(with: byte) {
                    line.removeLast(end)
                    if let text = take() { return text }
                } else {
                    guard line.count < AsyncLineSequence.limit else {
                        throw URLError(.dataLengthExceedsMaximum)
                    }
                    line.append(byte)
                }
            }
            return take()
        }

        /// Returns the number of bytes in the line that belong to the line end which this byte completes, or `nil` if
        /// it completes none.
        private func endLength(with byte: UInt8) -> Int? {
            switch byte {
            case 0x0A, 0x0B, 0x0C, 0x0D: 0
            case 0x85 where line.last == 0xC2: 1
            case 0xA8, 0xA9: line.suffix(2).elementsEqual([0xE2, 0x80]) ? 2 : nil
            default: nil
            }
        }

        private mutating func take() -> String? {
            guard !line.isEmpty else { return nil }
            defer { line.removeAll(keepingCapacity: true) }
            return String(decoding: line, as: UTF8.self)
        }
    }
}

extension AsyncLineSequence: Sendable where Base: Sendable {}

extension URLSession.AsyncBytes {
    /// The lines of the body. See ``AsyncLineSequence``.
    public var lines: AsyncLineSequence<URLSession.AsyncBytes> { AsyncLineSequence(self) }
}
