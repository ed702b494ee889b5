import PinctlBasics

/// Folding of the lines of results to the width of a terminal.
enum FoldedLine {
    /// The width below which nothing is folded, because a pin with its role doesn't fit.
    private static let minimum = 40

    /// Returns a line in pieces that fit into `columns`, with each further piece indented by two more columns. It is
    /// divided only at spaces, so a pin or a path stays whole, even if it is wider than the terminal.
    static func fold(_ line: String, columns: Int) -> [String] {
        guard line.width > columns, columns >= minimum else { return [line] }
        let indent = line.prefix { $0 == " " }.count
        let hanging = String(repeating: " ", count: min(indent + 2, columns / 4))
        var (pieces, rest, start): ([String], Substring, String) = ([], line.dropFirst(indent), "")
        start = String(line.prefix(indent))
        while start.count + rest.width > columns {
            // The space may be the first character that doesn't fit.
            let room = rest.prefix(width: columns - start.count)
            let isAtSpace = room.endIndex < rest.endIndex && rest[room.endIndex] == " "
            guard let space = isAtSpace ? room.endIndex : room.lastIndex(of: " ") ?? rest.firstIndex(of: " ") else {
                break
            }
            pieces.append(start + rest[..<space].trimmingSpaces)
            rest = rest[space...].drop { $0 == " " }
            start = hanging
        }
        return rest.isEmpty ? pieces : pieces + [start + rest]
    }
}

extension Substring {
    /// Returns the longest beginning that fits into this number of columns.
    fileprivate func prefix(width limit: Int) -> Substring {
        var (end, used) = (startIndex, 0)
        while end < endIndex {
            used += self[end...end].width
            guard used <= limit else { break }
            end = index(after: end)
        }
        return self[..<end]
    }

    /// The text without spaces at its end.
    var trimmingSpaces: Substring {
        var text = self
        while text.last == " " { text.removeLast() }
        return text
    }
}
