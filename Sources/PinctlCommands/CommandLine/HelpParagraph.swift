/// A part of a help text: words to fold, or lines that stay as they are.
enum HelpParagraph: Sendable, Hashable {
    case words(String)
    case verbatim([String])

    /// Splits lines at the empty ones; those that begin with a space are verbatim.
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

/// The words of a text in lines of at most this many columns, at least one line; a longer word stands alone.
func folded(_ text: String, columns: Int) -> [String] {
    var lines: [String] = []
    var line = ""
    for word in text.split(separator: " ") {
        if !line.isEmpty, line.count + 1 + word.count > columns {
            lines.append(line)
            line = ""
        }
        line += (line.isEmpty ? "" : " ") + word
    }
    return lines + [line]
}
