import PinctlBasics

/// Pins that a text names as those that are refused.
extension SearchedText {
    /// Whether the name of the value that a pin is part of is one of a list of refused pins: the closest name before it
    /// in its line, or that of the list in lines above. A comment doesn't say it, since it can be about anything.
    func isDenied(at position: Int) -> Bool {
        let own = line(at: position)
        if Self.namesDenied(statement(before: position, inLine: own)) { return true }
        guard let least = indentation(ofLine: own), !hasName(before: position, inLine: own) else { return false }
        for above in stride(from: own - 1, through: max(0, own - Self.longestList), by: -1) {
            guard let indentation = indentation(ofLine: above), !isComment(line: above), indentation < least else {
                continue
            }
            // mutant find-denied-list: false by PinSearchTests/standings
            return Self.namesDenied(statement(before: range(ofLine: above).upperBound, inLine: above))
        }
        return false
    }

    /// The number of lines above a pin in which the name of its list is looked for.
    private static let longestList = 60

    /// Returns the text before a position that belongs to the same value.
    private func statement(before position: Int, inLine line: Int) -> ArraySlice<UInt8> {
        let before = bytes[range(ofLine: line).lowerBound..<position].suffix(Self.longestStatement)
        let end = before.dropLast(before.last.map { "]}".utf8.contains($0) } ?? false ? 1 : 0)
            .lastIndex { "]};".utf8.contains($0) }
        return before[(end.map { $0 + 1 } ?? before.startIndex)...]
    }

    private static let longestStatement = 200

    /// Whether something is before a pin in its line that says what it is.
    private func hasName(before position: Int, inLine line: Int) -> Bool {
        statement(before: position, inLine: line).contains { "=:".utf8.contains($0) }
    }

    private static func namesDenied(_ text: ArraySlice<UInt8>) -> Bool {
        let words = PinWords.words(text)
        // mutant find-denied: false by PinSearchTests/standings
        return words.contains(where: denied.contains)
            || zip(words, words.dropFirst()).contains { ["deny", "block", "black"].contains($0) && $1 == "list" }
    }

    /// The names of lists of what is refused, in texts and in maps.
    static let refusals: Set<String> = ["denied", "denylist", "blocklist", "blacklist", "revoked", "distrusted"]
    /// All words that say so, of which some are a part of other names in maps.
    private static let denied = refusals.union(["deny", "bad", "denylisted", "blocklisted", "blacklisted", "banned"])
}
