import PinctlBasics

/// A converter of UTF-16 text (RFC 2781), as Windows programs write it, to UTF-8. It takes chunks of any size.
struct UTF16Text {
    private let isBigEndian: Bool
    /// The bytes of a character that isn't complete yet.
    private var rest: [UInt8] = []

    /// The number of bytes that ``init(recognizing:)`` needs.
    static let headCount = 4

    /// Recognizes UTF-16 by its byte order mark, or by two ASCII characters at its start. Returns `nil` for any other
    /// text.
    init?(recognizing head: ArraySlice<UInt8>) {
        guard head.count >= Self.headCount else { return nil }
        let bytes = Array(head.prefix(Self.headCount))
        func isASCII(_ first: Int) -> Bool {
            [first, first + 2].allSatisfy {
                (0x20..<0x7F).contains(bytes[$0]) || [0x09, 0x0A, 0x0D].contains(bytes[$0])
            }
        }
        switch (bytes[0], bytes[1]) {
        case (0xFF, 0xFE): isBigEndian = false
        case (0xFE, 0xFF): isBigEndian = true
        case (_, 0) where bytes[3] == 0 && isASCII(0): isBigEndian = false
        case (0, _) where bytes[2] == 0 && isASCII(1): isBigEndian = true
        default: return nil
        }
    }

    /// Returns a chunk as UTF-8, without byte order marks. A character whose end is missing waits for the next chunk.
    mutating func utf8(_ chunk: ArraySlice<UInt8>) -> [UInt8] {
        var bytes = rest + chunk
        defer { wipe(&bytes) }
        var count = bytes.count / 2
        func unit(_ index: Int) -> UInt16 {
            let (first, second) = (UInt16(bytes[2 * index]), UInt16(bytes[2 * index + 1]))
            return isBigEndian ? first << 8 | second : second << 8 | first
        }
        if count > 0, UTF16.isLeadSurrogate(unit(count - 1)) { count -= 1 }
        rest = Array(bytes[(2 * count)...])
        let units = (0..<count).map(unit).filter { $0 != 0xFEFF }
        return Array(String(decoding: units, as: UTF16.self).utf8)
    }

    /// Returns a whole text as UTF-8, or `nil` if it isn't UTF-16.
    static func utf8(_ text: [UInt8]) -> [UInt8]? {
        guard var converter = UTF16Text(recognizing: text[...]) else { return nil }
        return converter.utf8(text[...])
    }
}
