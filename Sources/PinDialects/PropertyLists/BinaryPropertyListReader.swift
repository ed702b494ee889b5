import CertificatePinning

/// A reader of binary property lists, version `bplist00` (described in CFBinaryPList.c of Apple's CoreFoundation).
///
/// No number in the file is trusted: offsets, counts and references are checked against the file before they are used.
/// An object that is referenced twice counts twice, so that a small file can't expand into a large value.
struct BinaryPropertyListReader {
    /// The maximum number of values in a list, counted once for each reference.
    static let maximumValues = XMLReader.maximumElements

    private let bytes: [UInt8]
    private let offsetSize: Int
    private let referenceSize: Int
    private let objectCount: Int
    private let topObject: Int
    private let tableStart: Int
    private var valueCount = 0
    /// The containers around the current value, to reject one that contains itself.
    private var open: Set<Int> = []
    private var strings: [Int: String] = [:]

    private static let headerSize = 8
    private static let trailerSize = 32

    static func read(_ bytes: [UInt8]) throws(MarkupProblem) -> PropertyList {
        var reader = try BinaryPropertyListReader(bytes)
        return try reader.value(reader.topObject)
    }

    private init(_ bytes: [UInt8]) throws(MarkupProblem) {
        guard bytes.count <= XMLReader.maximumSize else {
            throw Self.problem("has \(bytes.count) bytes, but the limit is \(XMLReader.maximumSize)")
        }
        guard bytes.starts(with: "bplist00".utf8) else { throw Self.problem("has a version other than 00") }
        guard bytes.count >= Self.headerSize + Self.trailerSize else { throw Self.problem("is truncated") }
        let trailer = bytes.count - Self.trailerSize
        func number(at offset: Int) -> UInt64 {
            bytes[(trailer + offset)...].prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
        }
        let (count, top, table) = (number(at: 8), number(at: 16), number(at: 24))
        offsetSize = Int(bytes[trailer + 6])
        referenceSize = Int(bytes[trailer + 7])
        // An object takes at least one byte, so there are fewer objects than bytes.
        guard (1...8).contains(offsetSize), (1...8).contains(referenceSize), count > 0, count < trailer, top < count,
            table >= Self.headerSize, table < trailer, Int(count) <= (trailer - Int(table)) / offsetSize
        else { throw Self.problem("has an invalid trailer") }
        (objectCount, topObject, tableStart) = (Int(count), Int(top), Int(table))
        self.bytes = bytes
    }

    private static func problem(_ what: String, rule: LintRule? = nil) -> MarkupProblem {
        MarkupProblem(
            position: PropertyList.nowhere,
            message: "the binary property list \(what): create it again, or convert it with plutil -convert xml1",
            rule: rule)
    }

    /// Reads a big-endian number of `size` bytes. Returns `nil` if it extends past `end` or doesn't fit into `Int`.
    private func number(at offset: Int, size: Int, before end: Int) -> Int? {
        guard offset >= 0, size >= 0, offset <= end, size <= end - offset else { return nil }
        var number: UInt64 = 0
        for byte in bytes[offset..<offset + size] {
            guard number >> 56 == 0 else { return nil }
            number = number << 8 | UInt64(byte)
        }
        return Int(exactly: number)
    }

    private mutating func value(_ reference: Int) throws(MarkupProblem) -> PropertyList {
        valueCount += 1
        guard valueCount <= Self.maximumValues else { throw Self.problem("has more than \(Self.maximumValues) values") }
        guard open.count < XMLReader.maximumDepth else {
            throw Self.problem("is nested deeper than \(XMLReader.maximumDepth) levels")
        }
        guard reference < objectCount,
            let offset = number(at: tableStart + reference * offsetSize, size: offsetSize, before: bytes.count),
            offset >= Self.headerSize, offset < tableStart
        else { throw Self.problem("refers to a missing object") }
        let (type, low) = (bytes[offset] >> 4, Int(bytes[offset] & 0x0F))
        switch (type, low) {
        case (0, 8): return PropertyList(.bool(false))
        case (0, 9): return PropertyList(.bool(true))
        case (1, 0...4): return PropertyList(.integer(try integer(at: offset + 1, size: 1 << low)))
        case (2, 2), (2, 3), (3, 3):
            try check(1 << low, at: offset + 1)
            return PropertyList(.other(type == 2 ? "a number" : "a date"))
        case (4, _):
            // A slice, because any number of references may lead to the same bytes.
            return PropertyList(.data(bytes[try contents(at: offset, low, width: 1)]))
        case (5, _), (6, _): return PropertyList(.string(try string(reference, at: offset, type, low)))
        case (8, _):
            try check(low + 1, at: offset + 1)
            return PropertyList(.other("a reference"))
        case (0xA, _), (0xD, _): return try container(reference, at: offset, type, low)
        default: throw Self.problem("has an object of an unknown kind, \(bytes[offset])")
        }
    }

    /// Returns the range of the contents of an object with a count. `width` is the size of one item.
    private func contents(at offset: Int, _ low: Int, width: Int) throws(MarkupProblem) -> Range<Int> {
        var (start, count) = (offset + 1, low)
        if low == 0x0F {
            guard start < tableStart, bytes[start] >> 4 == 1, bytes[start] & 0x0F <= 3,
                let long = number(at: start + 1, size: 1 << Int(bytes[start] & 0x0F), before: tableStart)
            else { throw Self.problem("has a count that isn't a number") }
            count = long
            start += 1 + 1 << Int(bytes[start] & 0x0F)
        }
        guard start <= tableStart, count <= (tableStart - start) / width else {
            throw Self.problem("has an invalid count, \(count)")
        }
        return start..<start + count * width
    }

    private func integer(at offset: Int, size: Int) throws(MarkupProblem) -> Int64 {
        try check(size, at: offset)
        // Like CoreFoundation, this takes the last 8 bytes of a 16-byte number. 8-byte numbers are signed, shorter ones
        // unsigned.
        return bytes[offset..<offset + size].reduce(0) { $0 << 8 | Int64($1) }
    }

    private func check(_ size: Int, at offset: Int) throws(MarkupProblem) {
        guard size <= tableStart - offset else { throw Self.problem("is truncated") }
    }

    /// Returns a string, which is decoded only once however often it is referenced.
    private mutating func string(
        _ reference: Int, at offset: Int, _ type: UInt8, _ low: Int
    ) throws(MarkupProblem) -> String {
        if let string = strings[reference] { return string }
        let width = type == 5 ? 1 : 2
        let contents = try contents(at: offset, low, width: width)
        let string: String?
        if width == 1 {
            let isASCII = bytes[contents].allSatisfy { $0 < 0x80 }
            string = isASCII ? String(decoding: bytes[contents], as: UTF8.self) : nil
        } else {
            let units = stride(from: contents.lowerBound, to: contents.upperBound, by: 2).map {
                UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1])
            }
            string = String(validating: units, as: UTF16.self)
        }
        guard let string else { throw Self.problem("has a string that isn't valid text") }
        strings[reference] = string
        return string
    }

    private mutating func container(
        _ reference: Int, at offset: Int, _ type: UInt8, _ low: Int
    ) throws(MarkupProblem) -> PropertyList {
        guard open.insert(reference).inserted else { throw Self.problem("has an object that contains itself") }
        defer { open.remove(reference) }
        let isDictionary = type == 0xD
        let contents = try contents(at: offset, low, width: (isDictionary ? 2 : 1) * referenceSize)
        let count = contents.count / referenceSize
        var values: [PropertyList] = []
        var keys: [String] = []
        for index in 0..<count {
            let place = contents.lowerBound + index * referenceSize
            guard let child = number(at: place, size: referenceSize, before: tableStart) else {
                throw Self.problem("refers to a missing object")
            }
            let value = try value(child)
            if isDictionary, index < count / 2 {
                guard let key = value.string else { throw Self.problem("has a key that isn't a string") }
                keys.append(key)
            } else {
                values.append(value)
            }
        }
        guard isDictionary else { return PropertyList(.array(values)) }
        guard Set(keys).count == keys.count else {
            throw Self.problem("has a duplicate key in a dictionary", rule: .duplicate)
        }
        return PropertyList(.dictionary(zip(keys, values).map { PropertyList.Member($0, $1) }))
    }
}
