import PinctlBasics

/// The reason why bytes aren't the expected DER.
///
/// Distinguished encoding (X.690, section 10) has one encoding of every value. Any other is rejected, because two
/// readers that interpret a loose encoding differently can disagree on a key.
@nonexhaustive
public enum DERError: Error, Hashable, Sendable {
    /// The bytes end inside an element that starts at `offset` and needs `needed` more bytes.
    case truncated(offset: Int, needed: Int)
    /// DER doesn't allow the length: it is indefinite, longer than necessary, or over four bytes.
    case invalidLength(offset: Int)
    /// The structure requires another element at this position.
    case unexpectedTag(found: UInt8, expected: UInt8, offset: Int)
    /// Bytes are left after the last element.
    case trailingBytes(offset: Int, count: Int)
    /// The type doesn't allow the value, such as month 13.
    case invalidValue(what: String, offset: Int)
}

extension DERError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .truncated(let offset, let needed):
            "DER ends inside the element at byte \(offset), \(needed) bytes short: the file may be cut off"
        case .invalidLength(let offset):
            "invalid DER length at byte \(offset) (BER and padded lengths are rejected): re-encode the file as DER"
        case .unexpectedTag(let found, let expected, let offset):
            "unexpected DER tag 0x\(Hexadecimal.encode([found])) at byte \(offset), expected 0x"
                + Hexadecimal.encode([expected])
        case .trailingBytes(let offset, let count):
            "\(count) bytes of trailing data at byte \(offset): put one DER object in each file, or use PEM for several"
        case .invalidValue(let what, let offset):
            "invalid \(what) at byte \(offset) of the DER"
        }
    }
}

/// The tags of X.509 (X.690, section 8.1.2).
enum DERTag {
    static let boolean: UInt8 = 0x01
    static let integer: UInt8 = 0x02
    static let bitString: UInt8 = 0x03
    static let octetString: UInt8 = 0x04
    static let null: UInt8 = 0x05
    static let objectIdentifier: UInt8 = 0x06
    static let enumerated: UInt8 = 0x0A
    static let utf8String: UInt8 = 0x0C
    static let printableString: UInt8 = 0x13
    static let teletexString: UInt8 = 0x14
    static let ia5String: UInt8 = 0x16
    static let utcTime: UInt8 = 0x17
    static let generalizedTime: UInt8 = 0x18
    static let visibleString: UInt8 = 0x1A
    static let universalString: UInt8 = 0x1C
    static let bmpString: UInt8 = 0x1E
    static let sequence: UInt8 = 0x30
    static let set: UInt8 = 0x31

    /// Returns the tag `[n]`, primitive.
    static func context(_ number: UInt8) -> UInt8 { 0x80 | number }
    /// Returns the tag `[n]`, constructed.
    static func constructedContext(_ number: UInt8) -> UInt8 { 0xA0 | number }
}

/// The position of one element and of its contents. Offsets count from the start of the whole input.
struct DERElement {
    var tag: UInt8
    /// The header and contents.
    var whole: Range<Int>
    var contents: Range<Int>
}

/// A bounds-checked walk over DER, from `position` to `end`.
///
/// The caller keeps the bytes and passes them to every step. The steps are inlined: a pin takes sixteen of them and one
/// short hash, and as calls they cost half as much as the hash.
struct DERCursor {
    var position: Int
    let end: Int

    init(_ range: Range<Int>) {
        position = range.lowerBound
        end = range.upperBound
    }

    var isAtEnd: Bool { position == end }

    /// Returns the next tag without advancing, or `nil` at the end.
    func peek(_ bytes: Span<UInt8>) -> UInt8? {
        position < end ? bytes[position] : nil
    }

    /// Reads one element of any tag and advances past it.
    @inline(__always)
    mutating func next(_ bytes: Span<UInt8>) throws(DERError) -> DERElement {
        let start = position
        guard end - start >= 2 else { throw .truncated(offset: start, needed: 2 - (end - start)) }
        let tag = bytes[start]
        // Tag numbers over 30 take several bytes and don't occur in X.509.
        guard tag & 0x1F != 0x1F else { throw .invalidValue(what: "tag", offset: start) }
        var length = Int(bytes[start + 1])
        var contents = start + 2
        if length >= 0x80 {
            let count = length & 0x7F
            guard (1...4).contains(count) else { throw .invalidLength(offset: start) }
            contents += count
            guard contents <= end else { throw .truncated(offset: start, needed: contents - end) }
            length = 0
            for index in start + 2..<contents { length = length << 8 | Int(bytes[index]) }
            // DER allows only the shortest form: no leading zero, and no long form under 128.
            // mutant der-shortest-length: true for 2 by DERTests
            guard length >= 0x80, bytes[start + 2] != 0 else { throw .invalidLength(offset: start) }
        }
        // mutant der-length: true by DERTests
        guard length <= end - contents else {
            throw .truncated(offset: start, needed: length - (end - contents))
        }
        position = contents + length
        return DERElement(tag: tag, whole: start..<position, contents: contents..<position)
    }

    /// Reads one element, which must have this tag, and advances past it.
    @inline(__always)
    mutating func next(_ tag: UInt8, _ bytes: Span<UInt8>) throws(DERError) -> DERElement {
        guard position < end else { throw .truncated(offset: position, needed: 2) }
        guard bytes[position] == tag else {
            throw .unexpectedTag(found: bytes[position], expected: tag, offset: position)
        }
        return try next(bytes)
    }

    /// Reads one element and advances past it if it has this tag.
    @inline(__always)
    mutating func nextIfPresent(_ tag: UInt8, _ bytes: Span<UInt8>) throws(DERError) -> DERElement? {
        guard peek(bytes) == tag else { return nil }
        return try next(bytes)
    }

    /// Reads a BIT STRING of whole octets, as keys and signatures are (RFC 3279, sections 2.2 and 2.3), and advances
    /// past it. OpenSSL reads the same key if unused bits are zero, which would give one key many pins.
    @inline(__always)
    mutating func nextOctetsInBits(_ bytes: Span<UInt8>) throws(DERError) -> DERElement {
        let bits = try next(DERTag.bitString, bytes)
        // mutant der-unused-bits: true for 2 by DERTests
        guard let unusedBits = bits.contents.first, bytes[unusedBits] == 0 else {
            throw .invalidValue(what: "key or signature (not whole bytes)", offset: bits.whole.lowerBound)
        }
        return bits
    }

    /// Throws if any bytes are left.
    @inline(__always)
    func finish() throws(DERError) {
        // mutant der-trailing: true by DERTests KeyFileTests
        guard position == end else { throw .trailingBytes(offset: position, count: end - position) }
    }
}
