extension MarkupEdit {
    /// Returns the items of a collection in YAML with their comments: the elements of a list with their dashes, or the
    /// members of a mapping. Returns `nil` if one of them is written elsewhere, as that of an alias.
    func items(_ values: [Range<Int>], ofYAML collection: Range<Int>, isList: Bool) -> [ListItem]? {
        // mutant literal-elsewhere: true by LiteralEditTests/aliases
        guard values.allSatisfy({ collection.contains($0.lowerBound) && $0.upperBound <= collection.upperBound }),
            zip(values, values.dropFirst()).allSatisfy({ $0.upperBound <= $1.lowerBound })
        else { return nil }
        let first = bytes[collection].first
        if first == UInt8(ascii: "[") || first == UInt8(ascii: "{") {
            return items(values, from: collection.lowerBound, to: collection.upperBound, .hash, hasCommas: true)
        }
        guard let ranges = isList ? dashed(values, from: collection.lowerBound) : values else { return nil }
        return items(ranges, from: startOfKey(above: collection.lowerBound), to: bytes.count, .hash)
    }

    /// Returns the bytes of a list's elements, including their dashes.
    private func dashed(_ elements: [Range<Int>], from start: Int) -> [Range<Int>]? {
        var ranges: [Range<Int>] = []
        for element in elements {
            // Only white space and comments can be before a dash.
            var start = ranges.last?.upperBound ?? start
            while bytes[start] != UInt8(ascii: "-") {
                guard start < element.lowerBound else { return nil }
                let isComment = bytes[start] == UInt8(ascii: "#")
                start = isComment ? bytes[start...].firstIndex { $0.isLineEnd } ?? bytes.count : start + 1
            }
            ranges.append(start..<element.upperBound)
        }
        return ranges
    }

    /// Returns the start of the closest line above an offset that has something else than a comment.
    private func startOfKey(above offset: Int) -> Int {
        var start = startOfLine(1, above: offset)
        while start > 0, let byte = bytes[start...].first(where: { !$0.isBlank }), byte.isLineEnd || byte == 0x23 {
            start = startOfLine(1, above: start)
        }
        return start
    }
}
