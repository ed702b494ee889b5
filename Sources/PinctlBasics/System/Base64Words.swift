/// A Base64 decoder for eight characters at a time, with one bounds check for all of them.
///
/// The unsafe operations read and write eight bytes as one integer. Any eight bytes are a valid integer, and
/// `unsafeLoadUnaligned` and `storeBytes` check their bounds.
enum Base64Words {
    /// The number of extra bytes that writing a word needs. A word is written as eight bytes, of which the first six
    /// count.
    static let slack = 2

    /// Decodes words of eight characters and skips line feeds until something else appears. Advances `index` in
    /// `characters` and `position` in `output`, and returns the number of line feeds.
    static func decode(
        _ characters: Span<UInt8>, from index: inout Int, into output: inout MutableSpan<UInt8>, at position: inout Int
    ) -> Int {
        let input = unsafe characters.bytes
        var output = unsafe output.mutableBytes
        // The constant count removes the bounds check of each lookup.
        let table = Base64.pairs
        let pairs = table.span.extracting(0..<0x1_0000)
        let lastIndex = input.byteCount - 8
        let lastPosition = output.byteCount - 6 - slack
        var lines = 0
        var from = index
        var to = position
        while true {
            while from <= lastIndex, to <= lastPosition {
                let word = UInt64(
                    littleEndian: unsafe input.unsafeLoadUnaligned(fromByteOffset: from, as: UInt64.self))
                let a = pairs[Int(word & 0xFFFF)]
                let b = pairs[Int(word >> 16 & 0xFFFF)]
                let c = pairs[Int(word >> 32 & 0xFFFF)]
                let d = pairs[Int(word >> 48)]
                guard a | b | c | d != Base64.noPair else { break }
                let bytes = UInt64(a) << 52 | UInt64(b) << 40 | UInt64(c) << 28 | UInt64(d) << 16
                output.storeBytes(of: bytes.bigEndian, toByteOffset: to, as: UInt64.self)
                from += 8
                to += 6
            }
            guard from < characters.count, characters[from] == 0x0A else { break }
            lines += 1
            from += 1
        }
        index = from
        position = to
        return lines
    }
}
