/// A search for any of several words in ASCII, whatever their case, that looks at few of the bytes.
///
/// It skips as many bytes as two neighboring bytes allow (Wu and Manber, "A Fast Algorithm for Multi-Pattern
/// Searching", 1994).
struct WordSearch: Sendable {
    /// The words, in which the case of letters is folded.
    private let words: [[UInt8]]
    /// The length of the shortest word.
    private let length: Int
    /// The number of bytes to skip behind two bytes with this hash.
    private let shifts: [UInt8]
    /// The indices of the words whose first ``length`` bytes end in two bytes with this hash.
    private let candidates: [[Int]]

    private static let size = 4_096

    /// Creates a search for words of two bytes or more.
    init(_ words: [String]) {
        let words = words.map { $0.utf8.map { $0 | 0x20 } }
        let length = words.map(\.count).min() ?? 2
        var shifts = [UInt8](repeating: UInt8(clamping: length - 1), count: Self.size)
        var candidates = [[Int]](repeating: [], count: Self.size)
        for (index, word) in words.enumerated() {
            for end in 1..<length {
                let hash = Self.hash(word[end - 1], word[end])
                shifts[hash] = min(shifts[hash], UInt8(clamping: length - 1 - end))
                if end == length - 1 { candidates[hash].append(index) }
            }
        }
        (self.words, self.length, self.shifts, self.candidates) = (words, length, shifts, candidates)
    }

    private static func hash(_ first: UInt8, _ second: UInt8) -> Int {
        (Int(first | 0x20) << 5 ^ Int(second | 0x20)) & (size - 1)
    }

    /// Returns whether the bytes contain one of the words.
    func isIn(_ bytes: [UInt8]) -> Bool {
        let (span, table) = (bytes.span, shifts.span)
        var index = length - 1
        while index < span.count {
            let hash = Self.hash(span[index - 1], span[index])
            let shift = Int(table[hash])
            guard shift == 0 else {
                index += shift
                continue
            }
            let start = index - length + 1
            for candidate in candidates[hash] {
                let word = words[candidate]
                guard start + word.count <= span.count else { continue }
                var count = 0
                while count < word.count, span[start + count] | 0x20 == word[count] { count += 1 }
                if count == word.count { return true }
            }
            index += 1
        }
        return false
    }
}
