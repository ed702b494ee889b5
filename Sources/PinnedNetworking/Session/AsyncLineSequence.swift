/// The lines of a sequence of bytes, as Apple's sequence of this name has them: UTF-8, what is not replaced by U+FFFD,
/// without their ends and without those that are empty.
///
/// Lines end with LF, CR, CR LF, vertical tab, form feed, NEL, U+2028 and U+2029. One of more than 16 MiB is a `URLError`.
public struct AsyncLineSequence<Base: AsyncSequence>: AsyncSequence where Base.Element == UInt8 {
    public typealias Element = String

    private let base: Base

    /// Bytes that a line may have: it is the server who ends it.
    static var limit: Int { 16 << 20 }

    init(_ base: Base) { self.base = base }

    /// Starts to read.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(bytes: base.makeAsyncIterator()) }

    /// Reads the lines.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private var bytes: Base.AsyncIterator
        private var line: [UInt8] = []

        init(bytes: Base.AsyncIterator) { self.bytes = bytes }

        /// The next line that is not empty; nil at the end.
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

        /// How many bytes of the line belong to the end that this byte completes; nil when it completes none.
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
    /// The body as lines; see ``AsyncLineSequence``.
    public var lines: AsyncLineSequence<URLSession.AsyncBytes> { AsyncLineSequence(self) }
}
