import PinctlBasics

/// The structure of a text by the indentation of its lines: the entries that enclose a line, and those beside it.
///
/// An item of a list in YAML or Markdown, which begins with a hyphen, is an entry that encloses the text behind it.
struct TextStructure {
    /// A line, or an item of a list that begins in it.
    struct Entry {
        let line: Int
        let isItem: Bool
        fileprivate let isComment: Bool
        /// The index of the entry that encloses this one.
        let parent: Int?
        /// The indices of the entries beside this one in the same entry, the closest ones.
        let previous: Int?
        fileprivate(set) var next: Int?
        /// Whether the entry encloses others.
        fileprivate(set) var hasParts = false
    }

    private(set) var entries: [Entry] = []
    private var indices: [Int: Int] = [:]

    /// Finds the structure of a text. A comment stands before what follows it, wherever it begins. `readsComments`
    /// reads comments as the text that they would be without their marks.
    init(_ text: SearchedText, readsComments: Bool = false) {
        /// The entries that enclose the next line, each with its column, from the outermost one.
        var open: [(column: Int, index: Int)] = []
        var comments: [Int] = []
        for line in text.lineStarts.indices {
            guard var column = text.indentation(ofLine: line) else { continue }
            if text.isComment(line: line) {
                guard readsComments else {
                    comments.append(line)
                    continue
                }
                column += Self.mark(ofLine: line, in: text)
            }
            let width = Self.item(inLine: line, of: text, readsComments: readsComments)
            for comment in comments { add(comment, column, isItem: width != nil, text, &open) }
            comments = []
            if let width {
                add(line, column, isItem: true, text, &open)
                column += width
            }
            add(line, column, isItem: false, text, &open)
        }
        for comment in comments { add(comment, 0, isItem: false, text, &open) }
    }

    private mutating func add(
        _ line: Int, _ column: Int, isItem: Bool, _ text: SearchedText, _ open: inout [(column: Int, index: Int)]
    ) {
        var previous: Int?
        while let last = open.last, last.column >= column {
            // The key of a list can begin in the same column as its items.
            if isItem, last.column == column, !entries[last.index].isItem { break }
            // What is further in at the start of an excerpt is beside the rest.
            previous = last.column == column || open.count == 1 ? last.index : nil
            open.removeLast()
        }
        let isComment = text.isComment(line: line)
        let index = entries.count
        let parent = open.last?.index
        if let previous { entries[previous].next = index }
        if let parent, entries[parent].isComment == isComment { entries[parent].hasParts = true }
        entries.append(
            Entry(line: line, isItem: isItem, isComment: isComment, parent: parent, previous: previous))
        indices[line] = index
        open.append((column, index))
    }

    /// Returns the index of the innermost entry that a line begins.
    func index(ofLine line: Int) -> Int? { indices[line] }

    /// Returns the number of columns from the start of a comment to its text.
    private static func mark(ofLine line: Int, in text: SearchedText) -> Int {
        let rest = text.bytes[text.range(ofLine: line)].drop(while: \.isBlank)
        let marks = text.language == .dashes ? "-" : "#/*;"
        let count = rest.starts(with: "<!--".utf8) ? 4 : rest.prefix { marks.utf8.contains($0) }.count
        return count + rest.dropFirst(count).prefix(while: \.isBlank).count
    }

    /// Returns the number of columns from the hyphen of a list's item to its text, or `nil` if a line begins none.
    private static func item(inLine line: Int, of text: SearchedText, readsComments: Bool) -> Int? {
        guard text.language == .script || text.language == .prose else { return nil }
        var rest = text.bytes[text.range(ofLine: line)].drop(while: \.isBlank)
        if readsComments, text.isComment(line: line) { rest = rest.dropFirst(mark(ofLine: line, in: text)) }
        guard rest.first == UInt8(ascii: "-"), rest.dropFirst().first?.isBlank ?? false else { return nil }
        return 1 + rest.dropFirst().prefix(while: \.isBlank).count
    }
}
