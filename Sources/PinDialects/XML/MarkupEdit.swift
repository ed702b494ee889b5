import CertificatePinning

/// A set of changes to a text with markup that leave every other byte as it is.
struct MarkupEdit {
    let bytes: [UInt8]
    private let usualStep: String
    private var replacements: [(range: Range<Int>, text: String)] = []

    /// Creates an edit. `usualStep` is the indentation step to use if the file doesn't show one.
    init(_ bytes: [UInt8], usualStep: String) {
        self.bytes = bytes
        self.usualStep = usualStep
    }

    /// Replaces a range with text. Ranges must not overlap. Texts at the same place are inserted in the order of the
    /// calls.
    mutating func replace(_ range: Range<Int>, with text: String) {
        replacements.append((range, text))
    }

    /// Inserts lines before the end tag of an element, which gets an end tag if it has none.
    ///
    /// `lines` receives the indentation of the lines and the step for each further level. The text it returns must not
    /// end in a line end.
    mutating func append(
        to element: Range<Int>, name: String,
        lines: (_ indent: String, _ step: String) throws(DialectWriteError) -> String
    ) throws(DialectWriteError) {
        let isEmptyTag = bytes[..<element.upperBound].suffix(2).elementsEqual("/>".utf8)
        let start = isEmptyTag ? element.lowerBound : endTag(of: element)
        let indent = indentation(at: start)
        let step = step(in: element, from: indent ?? "")
        let text = try lines((indent ?? "") + step, step)
        if isEmptyTag {
            let slash = element.upperBound - 2
            replace(slash..<element.upperBound, with: ">\n\(text)\n\(indent ?? "")</\(name)>")
        } else if let indent {
            replace(start - indent.utf8.count..<start - indent.utf8.count, with: text + "\n")
        } else {
            replace(start..<start, with: "\n\(text)\n")
        }
    }

    /// The text with all replacements applied.
    var result: [UInt8] {
        var result: [UInt8] = []
        var index = 0
        let ordered = replacements.enumerated().sorted { left, right in
            let (first, second) = (left.element.range, right.element.range)
            return (first.lowerBound, first.upperBound, left.offset) < (
                second.lowerBound, second.upperBound, right.offset
            )
        }
        for (range, text) in ordered.map(\.element) {
            // The result is read again, which finds ranges that overlap in spite of everything.
            if index < range.lowerBound { result += bytes[index..<range.lowerBound] }
            result += text.contains("\n") ? text.replacing("\n", with: lineEnd(at: range.lowerBound)).utf8 : text.utf8
            index = max(index, range.upperBound)
        }
        return result + bytes[index...]
    }

    /// Returns the line end of the line with an offset, or else of the line above.
    private func lineEnd(at offset: Int) -> String {
        let newline = UInt8(ascii: "\n")
        // mutant edit-line-end: bytes.firstIndex(of: newline) for `bytes[offset...].firstIndex(of: newline)` by
        //   LiteralEditTests/lineEnds
        let end = bytes[offset...].firstIndex(of: newline) ?? bytes[..<offset].lastIndex(of: newline)
        return end.map { bytes[..<$0].last == UInt8(ascii: "\r") } ?? false ? "\r\n" : "\n"
    }

    /// Returns the blanks between the start of the line and an offset, or `nil` if there is anything else.
    func indentation(at offset: Int) -> String? {
        let blanks = bytes[startOfLine(0, above: offset)..<offset]
        guard blanks.allSatisfy(\.isBlank) else { return nil }
        return String(decoding: blanks, as: UTF8.self)
    }

    /// Returns the start of the line that is `count` lines above the one with an offset.
    func startOfLine(_ count: Int, above offset: Int) -> Int {
        var end = offset
        for _ in 0..<max(0, count) { end = bytes[..<end].lastIndex(of: UInt8(ascii: "\n")) ?? 0 }
        return (bytes[..<end].lastIndex(of: UInt8(ascii: "\n")) ?? -1) + 1
    }

    /// Returns the indentation of the lines inside an element, relative to the element itself.
    func step(in element: Range<Int>, from indent: String) -> String {
        var index = element.lowerBound
        while let end = bytes[index..<element.upperBound].firstIndex(of: UInt8(ascii: "\n")) {
            index = end + 1
            let blanks = bytes[index..<element.upperBound].prefix(while: \.isBlank)
            let line = String(decoding: blanks, as: UTF8.self)
            if line.utf8.count > indent.utf8.count, line.hasPrefix(indent) {
                return String(line.dropFirst(indent.count))
            }
        }
        return usualStep
    }

    private func endTag(of element: Range<Int>) -> Int {
        bytes[element].lastIndex(of: UInt8(ascii: "<")) ?? element.upperBound
    }
}

extension DialectWriteError {
    /// Creates an error for a file that can't be read, and so can't be changed.
    init(_ error: PolicyFileError) {
        let first = error.problems.first
        self.init(first?.message ?? "the file cannot be read", at: first?.location)
    }
}
