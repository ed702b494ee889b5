import PinctlBasics

/// The lists of digests in a text. All digests of a list are the same kind of thing, so one that is a pin makes the
/// others pins.
struct DigestLists {
    /// The indices of the digests of each list with several of them, in order.
    let lists: [Range<Int>]

    /// Finds the lists of a text, each of which has digests of the same form.
    init(_ shapes: [DigestShape], in text: SearchedText) {
        var lists: [Range<Int>] = []
        var start = 0
        for index in shapes.indices where index > 0 {
            if Self.isNext(shapes[index - 1], shapes[index], in: text) { continue }
            if index - start > 1 { lists.append(start..<index) }
            start = index
        }
        if shapes.count - start > 1 { lists.append(start..<shapes.count) }
        self.lists = lists
    }

    /// The longest part of a text between two digests of a list, without comments.
    private static let longestGap = 300

    private static func isNext(_ first: DigestShape, _ second: DigestShape, in text: SearchedText) -> Bool {
        guard first.form == second.form, first.digest == second.digest else { return false }
        let end = second.range.lowerBound
        guard first.range.upperBound <= end else { return false }
        let comments = text.comments(in: first.range.upperBound..<end)
        guard end - first.range.upperBound - comments.reduce(0, { $0 + $1.count }) <= longestGap else { return false }
        var gap: [UInt8] = []
        var index = first.range.upperBound
        for comment in comments {
            gap += text.bytes[index..<comment.lowerBound]
            index = comment.upperBound
        }
        gap += text.bytes[index..<end]
        if gap.suffix(7).elementsEqual("sha256:".utf8) { gap.removeLast(7) }
        if gap.allSatisfy(isSeparator) { return true }
        // The same member of the next object.
        guard first.form != .hex, isBalanced(gap), let name = text.name(before: second.range.lowerBound) else {
            return false
        }
        return text.name(before: first.range.lowerBound)?.elementsEqual(name) ?? false
    }

    private static func isSeparator(_ byte: UInt8) -> Bool {
        byte.isBlank || byte.isLineEnd || byte.isQuote || ",@\\-".utf8.contains(byte)
    }

    /// Whether a text closes as many brackets as it opens afterwards, and at least one.
    private static func isBalanced(_ text: [UInt8]) -> Bool {
        let opened = text.count { $0 == UInt8(ascii: "{") }
        return opened > 0 && opened == text.count { $0 == UInt8(ascii: "}") }
            && text.firstIndex(of: UInt8(ascii: "}")) ?? 0 < text.firstIndex(of: UInt8(ascii: "{")) ?? 0
            && !text.contains { "()=".utf8.contains($0) }
    }
}
