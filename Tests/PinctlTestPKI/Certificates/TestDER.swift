/// A writer for DER. It shares nothing with the reader under test.
package enum TestDER {
    /// Returns an element with any tag octet and any contents.
    package static func element(_ tag: UInt8, _ contents: [UInt8]) -> [UInt8] {
        var length: [UInt8] = []
        if contents.count < 0x80 {
            length = [UInt8(contents.count)]
        } else {
            var rest = contents.count
            while rest > 0 {
                length.insert(UInt8(rest & 0xFF), at: 0)
                rest >>= 8
            }
            length.insert(0x80 | UInt8(length.count), at: 0)
        }
        return [tag] + length + contents
    }

    package static func sequence(_ elements: [UInt8]...) -> [UInt8] { element(0x30, elements.flatMap(\.self)) }
    package static func set(_ elements: [UInt8]...) -> [UInt8] { element(0x31, elements.flatMap(\.self)) }
    package static func boolean(_ value: Bool) -> [UInt8] { element(0x01, [value ? 0xFF : 0x00]) }
    package static func octetString(_ contents: [UInt8]) -> [UInt8] { element(0x04, contents) }
    package static func utf8String(_ text: String) -> [UInt8] { element(0x0C, Array(text.utf8)) }

    /// Returns an INTEGER with these contents octets, which may be invalid.
    package static func integer(octets: [UInt8]) -> [UInt8] { element(0x02, octets) }

    /// Returns a non-negative INTEGER.
    package static func integer(_ value: Int) -> [UInt8] {
        var octets = [UInt8(value & 0xFF)]
        var rest = value >> 8
        while rest > 0 {
            octets.insert(UInt8(rest & 0xFF), at: 0)
            rest >>= 8
        }
        return integer(octets: octets[0] < 0x80 ? octets : [0] + octets)
    }

    package static func bitString(_ octets: some Sequence<UInt8>, unusedBits: UInt8 = 0) -> [UInt8] {
        element(0x03, [unusedBits] + octets)
    }

    /// Returns `[number] EXPLICIT`, or an implicit tag on a constructed type.
    package static func constructed(_ number: UInt8, _ contents: [UInt8]) -> [UInt8] {
        element(0xA0 | number, contents)
    }

    /// Returns an implicit `[number]` on a primitive type.
    package static func primitive(_ number: UInt8, _ contents: [UInt8]) -> [UInt8] {
        element(0x80 | number, contents)
    }

    /// Returns an OBJECT IDENTIFIER from its dotted decimal form.
    package static func objectIdentifier(_ dotted: String) -> [UInt8] {
        let arcs = dotted.split(separator: ".").compactMap { Int($0) }
        precondition(arcs.count >= 2, "not an object identifier: \(dotted)")
        var contents: [UInt8] = []
        for arc in [arcs[0] * 40 + arcs[1]] + arcs.dropFirst(2) {
            var octets = [UInt8(arc & 0x7F)]
            var rest = arc >> 7
            while rest > 0 {
                octets.insert(0x80 | UInt8(rest & 0x7F), at: 0)
                rest >>= 7
            }
            contents += octets
        }
        return element(0x06, contents)
    }
}
