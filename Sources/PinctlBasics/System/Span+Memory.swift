import PinctlLibC

extension Array where Element == UInt8 {
    /// Copies the bytes of a span (`memcpy`).
    package init(copying bytes: Span<UInt8>) {
        self = unsafe bytes.withUnsafeBufferPointer { unsafe Array($0) }
    }

    /// Appends a copy of the bytes of a span (`memcpy`).
    package mutating func append(copying bytes: Span<UInt8>) {
        unsafe bytes.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
    }

    /// Appends a string literal. Its bytes are in the program's image and need no lookup.
    package mutating func append(_ text: StaticString) {
        unsafe append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }
}

/// Operations that the C library performs on many bytes at a time. The pointers are valid for the call, and the counts
/// are the spans' own.
extension Span<UInt8> {
    /// Whether both spans have the same bytes (`memcmp`).
    package func elementsEqual(_ other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        return unsafe withUnsafeBytes { left in
            unsafe other.withUnsafeBytes { right in
                guard let left = left.baseAddress, let right = right.baseAddress else { return true }
                return unsafe memcmp(left, right, count) == 0
            }
        }
    }

    /// Returns the index of the first `byte` at or after `start`, or the count if there is none (`memchr`).
    package func firstIndex(of byte: UInt8, from start: Int) -> Int {
        let rest = extracting(start..<count)
        return unsafe rest.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress, let found = unsafe memchr(base, Int32(byte), bytes.count) else {
                return count
            }
            return unsafe start + (UnsafeRawPointer(found) - base)
        }
    }

    /// Whether a string literal is at an index.
    package func has(_ text: StaticString, at index: Int) -> Bool {
        let length = text.utf8CodeUnitCount
        guard index + length <= count else { return false }
        let word = unsafe UnsafeBufferPointer(start: text.utf8Start, count: length)
        for offset in 0..<length where unsafe self[index + offset] != word[offset] { return false }
        return true
    }
}

/// Parts of a span that are read at once. Any bytes are valid integers and vectors, and `unsafeLoadUnaligned` checks
/// its bounds.
extension Span<UInt8> {
    /// Returns four bytes as an integer, the first of which is the lowest.
    func word(at index: Int) -> UInt32 {
        UInt32(littleEndian: unsafe bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt32.self))
    }

    /// Returns up to four bytes as such an integer, in which those behind the end are 0.
    func lastWord(at index: Int) -> UInt32 {
        (index..<Swift.min(index + 4, count)).reversed().reduce(0) { $0 << 8 | UInt32(self[$1]) }
    }

    /// Returns eight bytes.
    func vector(at index: Int) -> SIMD8<UInt8> {
        unsafe bytes.unsafeLoadUnaligned(fromByteOffset: index, as: SIMD8<UInt8>.self)
    }
}

extension SIMDMask<SIMD8<Int8>> {
    /// Whether no element is false. The unsafe operation takes eight bytes as one integer.
    @inline(__always) var isTrueThroughout: Bool {
        unsafe unsafeBitCast(SIMD8<UInt8>(repeating: 0).replacing(with: .max, where: self), to: UInt64.self) == .max
    }
}
