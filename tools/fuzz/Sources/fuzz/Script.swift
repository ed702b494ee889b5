/// Decisions read from bytes, so that a fuzzer that changes bytes changes decisions. When the bytes run out, every
/// number is 0.
struct Script {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    var isAtEnd: Bool { rest.isEmpty }

    /// Returns the next byte.
    mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

    /// Returns a number below `bound`, which is at most 256.
    mutating func number(below bound: Int) -> Int { Int(byte()) % bound }

    /// Returns an element.
    mutating func element<Element>(of elements: [Element]) -> Element { elements[number(below: elements.count)] }

    /// Returns the elements whose bits are set in the next byte.
    mutating func subset<Element>(of elements: [Element]) -> [Element] {
        let bits = byte()
        return elements.enumerated().filter { bits >> UInt8($0.offset & 7) & 1 == 1 }.map(\.element)
    }

    mutating func isChosen() -> Bool { byte() & 1 == 1 }

    /// Returns up to `count` bytes.
    mutating func bytes(_ count: Int) -> [UInt8] {
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }
}
