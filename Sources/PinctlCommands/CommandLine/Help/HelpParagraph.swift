import PinctlBasics

/// A paragraph of a help text: words to wrap, or lines that are kept as they are.
enum HelpParagraph: Sendable, Hashable {
    case words(String)
    case verbatim([String])

    /// Splits lines into paragraphs at empty lines. Lines that begin with a space are verbatim.
    static func all(in lines: [String]) -> [HelpParagraph] {
        var paragraphs: [HelpParagraph] = []
        var isOpen = false
        for line in lines {
            guard !line.isEmpty else {
                isOpen = false
                continue
            }
            switch (paragraphs.last, line.hasPrefix(" ")) {
            case (.words(let text), false) where isOpen: paragraphs[paragraphs.count - 1] = .words("\(text) \(line)")
            case (.verbatim(let held), true) where isOpen: paragraphs[paragraphs.count - 1] = .verbatim(held + [line])
            case (_, true): paragraphs.append(.verbatim([line]))
            case (_, false): paragraphs.append(.words(line))
            }
            isOpen = true
        }
        return paragraphs
    }

    func lines(columns: Int, indent: Int) -> [String] {
        let margin = String(repeating: " ", count: indent)
        return switch self {
        case .words(let text): folded(text, columns: columns - indent).map { margin + $0 }
        case .verbatim(let lines): lines.map { margin + $0 }
        }
    }
}

/// Returns the rows of a table of two columns: the head, padded to `width`, and beside it the text, wrapped to a
/// terminal of `columns`. A head that is wider gets a line of its own.
func tableRow(_ head: String, width: Int, _ text: String, columns: Int) -> [String] {
    let lines = folded(text, columns: columns - width - 2)
    let margin = String(repeating: " ", count: width + 2)
    guard head.width <= width else { return [head] + lines.map { margin + $0 } }
    return ["\(padded(head, width))  \(lines[0])"] + lines.dropFirst().map { margin + $0 }
}

/// Wraps a text into lines of at most `columns` characters. A longer word gets its own line, and the result has at
/// least one line.
func folded(_ text: String, columns: Int) -> [String] {
    var lines: [String] = []
    var line = ""
    for word in text.split(separator: " ") {
        if !line.isEmpty, line.width + 1 + word.width > columns {
            lines.append(line)
            line = ""
        }
        line += (line.isEmpty ? "" : " ") + word
    }
    return lines + [line]
}

/// Wraps a command line into lines of at most `columns` characters that a shell reads as one: each but the last ends
/// with a backslash. It is divided at spaces outside quotes and not after a flag, so a longer word stays whole.
func foldedCommand(_ line: String, columns: Int) -> [String] {
    guard line.width > columns else { return [line] }
    var words: [String] = []
    var quote: Character?
    for part in line.split(separator: " ", omittingEmptySubsequences: false) {
        let isValue = words.last?.hasPrefix("-") == true && words.last?.contains(" ") == false && !part.hasPrefix("-")
        if quote != nil || isValue { words[words.count - 1] += " " + part } else { words.append(String(part)) }
        for character in part where character == "'" || character == "\"" {
            if quote == nil { quote = character } else if quote == character { quote = nil }
        }
    }
    var lines: [String] = []
    var current = ""
    for word in words {
        let longer = current.isEmpty ? word : "\(current) \(word)"
        if !current.isEmpty, longer.width + 2 > columns {
            lines.append(current + " \\")
            current = "    " + word
        } else {
            current = longer
        }
    }
    return lines + [current]
}
