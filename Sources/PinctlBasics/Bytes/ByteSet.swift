/// A set of bytes: the letters from `a` in both cases, and up to four ranges of others.
package struct ByteSet: Sendable {
    private let table: [Bool]
    /// The first byte of each range, eight times, and the number of others in it. The first range has the letters.
    private let starts: [5 of SIMD8<UInt8>]
    private let lengths: [5 of SIMD8<UInt8>]

    /// Creates a set of the letters up to a small one, and of bytes from one to another of each pair.
    package init(lettersTo last: UInt8, _ others: ClosedRange<UInt8>...) {
        let letters = UInt8(ascii: "a")...max(last, UInt8(ascii: "a"))
        let ranges = [letters] + others.prefix(4)
        table = (0...UInt8.max).map { byte in
            letters.contains(byte | 0x20) && byte >= 0x40 || ranges.contains { $0.contains(byte) }
        }
        // A range can count twice.
        starts = [5 of SIMD8<UInt8>] { SIMD8(repeating: ranges[min($0, ranges.count - 1)].lowerBound) }
        lengths = [5 of SIMD8<UInt8>] {
            SIMD8(repeating: UInt8(ranges[min($0, ranges.count - 1)].count - 1))
        }
    }

    package func contains(_ byte: UInt8) -> Bool { table[Int(byte)] }

    /// Returns whether eight bytes are all in the set.
    @inline(__always)
    private func contains(_ bytes: SIMD8<UInt8>) -> Bool {
        var found = (bytes | SIMD8(repeating: 0x20)) &- starts[0] .<= lengths[0]
        for index in 1..<5 { found .|= bytes &- starts[index] .<= lengths[index] }
        return found.isTrueThroughout
    }

    /// Returns the bytes of the set in a row around a position that has one.
    package func run(around position: Int, in bytes: Span<UInt8>) -> Range<Int> {
        let table = table.span.extracting(0..<256)
        var (start, end) = (position, position + 1)
        while start > 0, table[Int(bytes[start - 1])] { start -= 1 }
        while end < bytes.count, table[Int(bytes[end])] { end += 1 }
        return start..<end
    }

    /// Returns whether there are so many bytes of the set in a row, at least eight, for which a predicate holds.
    ///
    /// Looks at eight bytes at a time, at such a distance that each of these runs has eight of them, and at more only
    /// around those that are all in the set.
    package func hasRun(of count: Int, in bytes: Span<UInt8>, where isMeant: (Range<Int>) -> Bool) -> Bool {
        var index = 0
        while index + 8 <= bytes.count {
            guard contains(bytes.vector(at: index)) else {
                index += count - 7
                continue
            }
            let run = run(around: index, in: bytes)
            if run.count >= count, isMeant(run) { return true }
            index = run.upperBound + 1
        }
        return false
    }
}
