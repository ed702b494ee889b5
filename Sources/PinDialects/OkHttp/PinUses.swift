import PinctlBasics

/// The places of a program that use the name of a pin, or of a collection with pins, in a way that isn't read.
///
/// Such a place may add the pin to a host: by a function of the program, on a builder that comes from elsewhere, or by
/// a reference to `add`. There are too many ways to read them all, so each of them is noted.
struct PinUses {
    /// The names with their positions.
    private(set) var unread: [(name: String, position: SourcePosition)] = []
    /// Where a pinner is changed, or made by its initializer.
    private(set) var changes: [SourcePosition] = []
    /// The bytes that were read, in order and apart from each other.
    private let ranges: [Range<Int>]

    /// The properties of a collection that don't depend on its pins.
    private static let readers: Set = ["size", "isEmpty", "isNotEmpty", "length"]
    /// The functions that remove elements.
    private static let removals: Set = [
        "clear", "remove", "removeAll", "removeIf", "removeAt", "retainAll", "drop", "minus", "filter", "filterNot",
    ]

    init(_ lexer: SourceLexer, _ calls: SourceCalls, _ constants: inout SourceConstants) {
        ranges = (calls.readRanges + constants.valueRanges()).sorted { $0.lowerBound < $1.lowerBound }
            .reduce(into: []) { merged, range in
                if let last = merged.last, range.lowerBound <= last.upperBound {
                    merged[merged.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
                } else {
                    merged.append(range)
                }
            }
        var known: [String: Bool] = [:]
        var lexer = lexer
        var last: SourceToken?
        while let token = lexer.next() {
            let previous = last
            last = token
            guard let word = token.word else { continue }
            guard word != "import" || !token.startsLine else {
                while let next = lexer.peek(), !next.startsLine, !next.isSign(";") { _ = lexer.next() }
                continue
            }
            let path = lexer.takePath(from: word)
            guard let next = lexer.peek() else { continue }
            if path.last == "CertificatePinner", next.isSign("("), previous?.word != "class",
                previous?.isSign(":") != true
            {
                changes.append(token.position)
            }
            if let index = path.lastIndex(where: { $0 == "pins" || $0 == "getPins" }) {
                var copy = lexer
                copy.skipParentheses()
                let isGetter = index + 1 == path.count && next.isSign("(") && copy.next()?.isSign(".") == true
                let member = isGetter ? copy.next()?.word : index + 1 < path.count ? path[index + 1] : nil
                if let member, Self.removals.contains(member) { changes.append(token.position) }
            }
            guard !contains(token.range.lowerBound) else { continue }
            // A definition or a parameter, and the label of an argument.
            if path.count == 1, next.isSign("=") || next.isSign(":") { continue }
            for index in path.indices {
                let prefix = path[...index]
                let name = prefix.joined(separator: ".")
                let key = "\(constants.scope(at: token.position)):\(name)"
                let holdsPin = known[key] ?? constants.holdsPin(prefix, at: .init(token.position))
                known[key] = holdsPin
                guard holdsPin else { continue }
                if index + 1 == path.count || !Self.readers.contains(path[index + 1]) {
                    unread.append((name, token.position))
                }
                break
            }
        }
    }

    /// Whether what is at an offset was read, as part of a call or as the value of a name.
    func contains(_ offset: Int) -> Bool {
        let index = ranges.firstIndex(notBefore: { $0.lowerBound <= offset })
        return index > 0 && ranges[index - 1].contains(offset)
    }
}
