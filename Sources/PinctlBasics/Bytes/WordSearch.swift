/// A search for any of several words in ASCII, whatever their case, that looks at few of the bytes.
///
/// It looks up two to four bytes at a time in a table of the parts of the words. The distance between these places is
/// such that each word has one of them, and a lookup doesn't wait for the one before it.
package struct WordSearch: Sendable {
    /// The words one after another, in which the case of letters is folded.
    private let text: [UInt8]
    /// The distance between the places that are looked up.
    private let step: Int
    /// The bits of a place's bytes that count.
    private let mask: UInt32
    /// The number of the list of words that have bytes with this hash, or 0.
    private let lists: [UInt16]
    /// The places of each list, one list after another, and the index at which each list begins and the last one ends.
    private let places: [Place]
    private let starts: [Int]

    /// A word that has the bytes of a list at an offset.
    private struct Place {
        let word: Int
        let offset: Int
        /// The positions of the word in the text of all words.
        let range: Range<Int>
    }

    private static let hashBits = 13
    /// The bit in which small and capital letters differ.
    private static let caseBits: UInt32 = 0x2020_2020

    /// Creates a search for words of two bytes or more.
    package init(_ words: [String]) {
        let words = words.map { $0.utf8.map { $0 | 0x20 } }
        let length = words.map(\.count).min() ?? 2
        // More bytes are found by chance less often, and fewer let more of the text be skipped.
        let width = length >= 7 ? 4 : length >= 4 ? 3 : 2
        let step = max(1, length - width + 1)
        let mask = UInt32.max >> UInt32(32 - 8 * width) & ~Self.caseBits
        var lists = [UInt16](repeating: 0, count: 1 << Self.hashBits)
        var places: [[Place]] = [[]]
        var text: [UInt8] = []
        for (index, word) in words.enumerated() {
            let range = text.count..<text.count + word.count
            text += word
            for offset in 0..<min(step, word.count) {
                let hash = Self.hash(word.span.lastWord(at: offset) & mask)
                if lists[hash] == 0 {
                    lists[hash] = UInt16(clamping: places.count)
                    places.append([])
                }
                places[Int(lists[hash])].append(Place(word: index, offset: offset, range: range))
            }
        }
        starts = places.reduce(into: [0]) { $0.append($0[$0.count - 1] + $1.count) }
        (self.text, self.step, self.mask, self.lists, self.places) = (text, step, mask, lists, Array(places.joined()))
    }

    private static func hash(_ bytes: UInt32) -> Int { Int((bytes &* 0x9E37_79B1) >> UInt32(32 - hashBits)) }

    /// Returns whether the bytes contain one of the words.
    package func isIn(_ bytes: [UInt8]) -> Bool { isIn(bytes.span) }

    /// Returns whether the bytes contain one of the words.
    package func isIn(_ bytes: Span<UInt8>) -> Bool { hasWord(in: bytes) { _, _ in true } }

    /// Returns whether a predicate holds for one of the words in the bytes, of which it gets the index and the range.
    package func hasWord(in bytes: Span<UInt8>, where isMeant: (Int, Range<Int>) -> Bool) -> Bool {
        // The constant count removes the bounds check of each lookup.
        let table = lists.span.extracting(0..<(1 << Self.hashBits))
        let (step, mask) = (step, mask)
        func isFound(at index: Int, _ word: UInt32) -> Bool {
            let list = table[Self.hash(word & mask)]
            return list != 0 && hasWord(in: bytes, at: index, Int(list), where: isMeant)
        }
        var index = 0
        let last = bytes.count - 4
        while index <= last {
            if isFound(at: index, bytes.word(at: index)) { return true }
            index += step
        }
        while index < bytes.count {
            if isFound(at: index, bytes.lastWord(at: index)) { return true }
            index += step
        }
        return false
    }

    /// Returns whether one of the words of a list is around a position, where it has the bytes of the list.
    private func hasWord(
        in bytes: Span<UInt8>, at index: Int, _ list: Int, where isMeant: (Int, Range<Int>) -> Bool
    ) -> Bool {
        let (places, text) = (places.span, text.span)
        for number in starts[list]..<starts[list + 1] {
            let place = places[number]
            let (start, length) = (index - place.offset, place.range.count)
            guard start >= 0, start + length <= bytes.count else { continue }
            var count = 0
            while count < length, bytes[start + count] | 0x20 == text[place.range.lowerBound + count] { count += 1 }
            if count == length, isMeant(place.word, start..<start + length) { return true }
        }
        return false
    }
}
