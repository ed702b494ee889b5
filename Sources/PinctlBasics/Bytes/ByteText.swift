/// Text assembled as bytes, for lists of a million lines. A string for each part of a line costs more than reading the
/// certificate it describes.
extension String {
    /// Creates the text that `write` appends to an empty array.
    package init(appending write: (inout [UInt8]) -> Void) {
        var text: [UInt8] = []
        write(&text)
        self = String(decoding: text, as: UTF8.self)
    }
}

extension [UInt8] {
    /// Appends a number in decimal.
    package mutating func append(decimal number: Int) {
        var digits = [20 of UInt8](repeating: UInt8(ascii: "0"))
        var start = digits.count
        var rest = number.magnitude
        repeat {
            start -= 1
            digits[start] += UInt8(rest % 10)
            rest /= 10
        } while rest > 0
        if number < 0 { append(UInt8(ascii: "-")) }
        append(copying: digits.span.extracting(start..<digits.count))
    }
}

extension [UInt8] {
    /// Returns the range of a text at or behind an offset, or `nil` if there is none.
    package func firstRange(of text: String, from start: Int = 0) -> Range<Int>? {
        let word = Array(text.utf8)
        let bytes = span
        var index = start
        while index + word.count <= bytes.count {
            var count = 0
            while count < word.count, bytes[index + count] == word[count] { count += 1 }
            if count == word.count { return index..<index + word.count }
            index += 1
        }
        return nil
    }
}
