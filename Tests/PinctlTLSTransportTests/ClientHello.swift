/// A client's offer in the first record of a handshake (RFC 8446, section 4.1.2).
struct ClientHello {
    private(set) var cipherSuites: [UInt16] = []
    /// The contents of each extension, by its number.
    private(set) var extensions: [UInt16: [UInt8]] = [:]

    /// Parses the record. Returns `nil` for other bytes.
    init?(record: [UInt8]) {
        var reader = Reader(rest: record[...])
        guard reader.take(1) == [22], reader.take(2) != nil, let message = reader.takeBlock(2) else { return nil }
        reader = Reader(rest: message)
        guard reader.take(1) == [1], let hello = reader.takeBlock(3) else { return nil }
        reader = Reader(rest: hello)
        guard reader.take(34) != nil, reader.takeBlock(1) != nil, let suites = reader.takeBlock(2),
            reader.takeBlock(1) != nil, let extensions = reader.takeBlock(2)
        else { return nil }
        cipherSuites = Reader.numbers(suites)
        reader = Reader(rest: extensions)
        while let number = reader.take(2), let contents = reader.takeBlock(2) {
            self.extensions[Reader.numbers(number)[0]] = Array(contents)
        }
    }

    /// The groups of `supported_groups` (RFC 8446, section 4.2.7), in order.
    var groups: [UInt16] { Reader.numbers((extensions[10] ?? []).dropFirst(2)) }

    /// The groups of `key_share` (RFC 8446, section 4.2.8), in order.
    var keyShares: [UInt16] {
        var reader = Reader(rest: (extensions[51] ?? []).dropFirst(2))
        var groups: [UInt16] = []
        while let group = reader.take(2), reader.takeBlock(2) != nil { groups += Reader.numbers(group) }
        return groups
    }

    private struct Reader {
        var rest: ArraySlice<UInt8>

        mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
            guard rest.count >= count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count)
        }

        /// Takes the bytes that follow their length, which has `width` bytes.
        mutating func takeBlock(_ width: Int) -> ArraySlice<UInt8>? {
            guard let length = take(width) else { return nil }
            return take(length.reduce(0) { $0 << 8 | Int($1) })
        }

        static func numbers(_ bytes: ArraySlice<UInt8>) -> [UInt16] {
            let bytes = Array(bytes)
            return stride(from: 0, to: bytes.count - 1, by: 2).map { UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]) }
        }
    }
}
