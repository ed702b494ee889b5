/// The syntax of comments in a text.
enum CommentSyntax {
    /// `<!-- … -->`
    case markup
    /// `# …`, up to the end of the line.
    case hash
    /// `// …` up to the end of the line, and `/* … */`.
    case program
}

/// An item of a list in a text, with the comments that are about it.
struct ListItem {
    /// The bytes of the item.
    let range: Range<Int>
    /// The comma after the item, if any.
    let comma: Range<Int>?
    /// The start of the first comment directly above or before the item, or of the item.
    let lead: Int
    /// The end of the last comment behind the item on the same line, or of the comma or item.
    let tail: Int
}

/// A text that is added to a list.
struct NewItem {
    /// Returns the text, whose lines after the first are indented by `indent`.
    let text: (_ indent: String) -> String
    /// The comment that is put behind the item if it is alone on its line.
    var remark = ""
}

extension MarkupEdit {
    /// Returns the items of a list, whose text begins at `start` and ends at `end`, with their comments.
    ///
    /// A comment belongs to the item that it follows on the same line, or else to the item that it precedes without a
    /// blank line in between. In a program, a comment between a comma and an item on the same line is about that item.
    func items(
        _ ranges: [Range<Int>], from start: Int, to end: Int, _ syntax: CommentSyntax, hasCommas: Bool = false
    ) -> [ListItem] {
        var items: [ListItem] = []
        for (index, range) in ranges.enumerated() {
            let next = index + 1 < ranges.count ? ranges[index + 1].lowerBound : end
            let comma = hasCommas ? comma(in: range.upperBound..<next, syntax) : nil
            let lead = lead(of: range, after: items.last?.tail ?? start, isFirst: items.isEmpty, syntax)
            let tail = tail(of: range, comma, before: next, isLast: index + 1 == ranges.count, syntax)
            items.append(ListItem(range: range, comma: comma, lead: lead, tail: tail))
        }
        return items
    }

    /// Removes the items of a list that aren't kept, and adds others: in their places, and else behind the last item.
    ///
    /// The comments of a removed item are removed too. A list without items doesn't change.
    mutating func change(
        _ items: [ListItem], keeping isKept: [Bool], adding new: [NewItem], _ syntax: CommentSyntax,
        hasCommas: Bool = false
    ) {
        guard let last = items.last else { return }
        if hasCommas, last.comma == nil, new.count > isKept.count(where: { !$0 }) {
            replace(last.range.upperBound..<last.range.upperBound, with: ",")
        }
        var rest = new[...]
        var lastLeft: Int?
        var end = 0
        for (index, item) in items.enumerated() {
            if isKept[index] {
                lastLeft = index
            } else if let text = rest.popFirst() {
                lastLeft = index
                replace(item, with: text, syntax)
            } else {
                end = remove(item, after: end)
            }
        }
        guard let lastLeft else { return }
        guard lastLeft == items.count - 1 else {
            // The last item needs no comma, unless the list had one there.
            if hasCommas, last.comma == nil, let comma = items[lastLeft].comma { replace(comma, with: "") }
            return
        }
        append(rest, behind: last, previous: items.dropLast().last, syntax, hasCommas: hasCommas)
    }

    /// Removes an item and its comments, and their lines if there is nothing else on them. Returns the end of what is
    /// removed, which begins at `start` or later.
    @discardableResult
    mutating func remove(_ item: ListItem, after start: Int = 0) -> Int {
        // mutant edit-comments: item.range.lowerBound for `item.lead` by KeptLayoutTests
        var (first, last) = (item.lead, item.tail)
        let rest = bytes[last...].prefix(while: \.isBlank).endIndex
        let isLineEnd = rest == bytes.count || isLineEnd(rest)
        if let indent = indentation(at: first) {
            if isLineEnd {
                first -= indent.utf8.count
                last = bytes[rest...].firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? bytes.count
            } else {
                last = rest
            }
        } else {
            first -= blanks(before: first)
        }
        first = max(first, start)
        replace(first..<max(first, last), with: "")
        if let comma = item.comma, !(first..<last).contains(comma.lowerBound) { replace(comma, with: "") }
        return max(first, last)
    }

    /// Replaces an item. Its comments are removed, and its comma stays.
    private mutating func replace(_ item: ListItem, with new: NewItem, _ syntax: CommentSyntax) {
        removeLead(of: item)
        let indent = indentation(at: item.range.lowerBound)
        replace(item.range, with: new.text(indent ?? lineIndentation(at: item.range.lowerBound)))
        let behind = item.comma?.upperBound ?? item.range.upperBound
        if let comma = item.comma, hasComment(item.range.upperBound..<comma.lowerBound, syntax) {
            replace(item.range.upperBound..<comma.lowerBound, with: "")
        }
        let isAlone = indent != nil && behind <= item.tail && isLineEnd(item.tail)
        let remark = isAlone ? new.remark : ""
        if behind < item.tail || !remark.isEmpty { replace(behind..<max(behind, item.tail), with: remark) }
    }

    /// Removes the comments directly above or before an item, and their lines.
    mutating func removeLead(of item: ListItem) {
        guard item.lead < item.range.lowerBound else { return }
        guard let indent = indentation(at: item.range.lowerBound), let first = indentation(at: item.lead) else {
            return replace(item.lead..<item.range.lowerBound, with: "")
        }
        replace(item.lead - first.utf8.count..<item.range.lowerBound - indent.utf8.count, with: "")
    }

    private mutating func append(
        _ new: ArraySlice<NewItem>, behind last: ListItem, previous: ListItem?, _ syntax: CommentSyntax,
        hasCommas: Bool
    ) {
        guard !new.isEmpty else { return }
        let indent = indentation(at: last.range.lowerBound) ?? indentation(at: last.lead)
        let needsLine = indent != nil || endsInLineComment(last, syntax)
        let own = indent ?? lineIndentation(at: last.range.lowerBound)
        var separator = needsLine ? "\n" + own : hasCommas ? " " : ""
        if !needsLine, !hasCommas, let previous, previous.tail <= last.lead {
            separator = String(repeating: " ", count: last.lead - previous.tail)
        }
        var text = ""
        for (index, item) in new.enumerated() {
            let needsComma = hasCommas && (last.comma != nil || index + 1 < new.count)
            text += separator + item.text(own) + (needsComma ? "," : "")
            if needsLine, indent != nil, index + 1 < new.count || isLineEnd(last.tail) { text += item.remark }
        }
        // A comma on the next line is behind the comment.
        let end = max(last.tail, last.comma?.upperBound ?? 0)
        replace(end..<end, with: text)
    }
}

// MARK: - Comments

extension MarkupEdit {
    private func isLineEnd(_ index: Int) -> Bool {
        guard index < bytes.count else { return true }
        if bytes[index] == UInt8(ascii: "\r"), index + 1 < bytes.count { return bytes[index + 1] == UInt8(ascii: "\n") }
        return bytes[index] == UInt8(ascii: "\n")
    }

    private func blanks(before index: Int) -> Int {
        bytes[..<index].reversed().prefix(while: \.isBlank).count
    }

    /// Returns the blanks at the start of the line that contains an offset.
    func lineIndentation(at offset: Int) -> String {
        let blanks = bytes[startOfLine(0, above: offset)..<offset].prefix(while: \.isBlank)
        return String(decoding: blanks, as: UTF8.self)
    }

    /// Returns the end of a comment that begins at an offset, or `nil` if none does.
    private func endOfComment(at start: Int, before end: Int, _ syntax: CommentSyntax) -> Int? {
        let rest = bytes[start..<end]
        func close(_ mark: StaticString, from offset: Int) -> Int {
            let mark = Array("\(mark)".utf8)
            var index = start + offset
            while index + mark.count <= end {
                if rest[index..<index + mark.count].elementsEqual(mark) { return index + mark.count }
                index += 1
            }
            return end
        }
        func line() -> Int {
            let end = rest.firstIndex(of: UInt8(ascii: "\n")) ?? end
            return end > start && bytes[end - 1] == UInt8(ascii: "\r") ? end - 1 : end
        }
        switch syntax {
        case .markup: return rest.starts(with: "<!--".utf8) ? close("-->", from: 4) : nil
        case .hash: return rest.first == UInt8(ascii: "#") ? line() : nil
        case .program:
            if rest.starts(with: "//".utf8) { return line() }
            return rest.starts(with: "/*".utf8) ? close("*/", from: 2) : nil
        }
    }

    /// Returns the comments at the end of a range that nothing but white space separates from its end.
    private func comments(in range: Range<Int>, _ syntax: CommentSyntax) -> [Range<Int>] {
        var comments: [Range<Int>] = []
        var index = range.lowerBound
        while index < range.upperBound {
            if let end = endOfComment(at: index, before: range.upperBound, syntax) {
                comments.append(index..<end)
                index = end
            } else {
                if !isXMLSpace(bytes[index]) { comments.removeAll() }
                index += 1
            }
        }
        return comments
    }

    private func hasComment(_ range: Range<Int>, _ syntax: CommentSyntax) -> Bool {
        !comments(in: range, syntax).isEmpty
    }

    private func endsInLineComment(_ item: ListItem, _ syntax: CommentSyntax) -> Bool {
        guard syntax != .markup, let last = comments(in: item.range.upperBound..<item.tail, syntax).last else {
            return false
        }
        return !bytes[last].starts(with: "/*".utf8)
    }

    private func comma(in range: Range<Int>, _ syntax: CommentSyntax) -> Range<Int>? {
        var index = range.lowerBound
        while index < range.upperBound {
            if let end = endOfComment(at: index, before: range.upperBound, syntax) {
                index = end
            } else if bytes[index] == UInt8(ascii: ",") {
                return index..<index + 1
            } else if isXMLSpace(bytes[index]) {
                index += 1
            } else {
                return nil
            }
        }
        return nil
    }

    private func newlines(in range: Range<Int>) -> Int { bytes[range].count { $0 == UInt8(ascii: "\n") } }

    private func lead(of item: Range<Int>, after start: Int, isFirst: Bool, _ syntax: CommentSyntax) -> Int {
        var lead = item.lowerBound
        guard start < lead else { return lead }
        for comment in comments(in: start..<item.lowerBound, syntax).reversed() {
            guard newlines(in: comment.upperBound..<lead) < 2 else { break }
            // A comment behind the start of the list is about the list, unless all is on one line.
            if isFirst, newlines(in: start..<comment.lowerBound) == 0,
                newlines(in: comment.upperBound..<item.lowerBound) > 0
            {
                break
            }
            lead = comment.lowerBound
        }
        return lead
    }

    private func tail(
        of item: Range<Int>, _ comma: Range<Int>?, before end: Int, isLast: Bool, _ syntax: CommentSyntax
    ) -> Int {
        var tail = item.upperBound
        var index = tail
        while true {
            index = bytes[index..<end].prefix(while: \.isBlank).endIndex
            if index == comma?.lowerBound {
                index += 1
                tail = index
            } else if index < end, let comment = endOfComment(at: index, before: end, syntax) {
                index = comment
                let isBehindComma = comma.map { $0.upperBound <= tail } ?? false
                if syntax == .program, isBehindComma, !isLast {
                    let next = bytes[index..<end].prefix(while: \.isBlank)
                        .endIndex
                    if next == end { return tail }
                }
                tail = index
            } else {
                return tail
            }
        }
    }
}
