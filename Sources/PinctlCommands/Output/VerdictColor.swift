/// The colors of verdicts. The words mean the same without them. Red is used with blue and yellow, but not with green.
enum VerdictColor {
    private static let words: [(word: String, code: String)] = [
        ("FAIL", "1;31"), ("??", "1;34"), ("ok*", "33"), ("warn", "33"),
    ]
    /// The verdicts after the position in lines of lint: `file:1:2: error[P003] …`.
    private static let marks: [(mark: String, code: String)] = [
        (": error[", "1;31"), (": error:", "1;31"), (": warning[", "33"), (": warning:", "33"),
    ]

    /// Returns the line with its verdict colored if it begins with one or is a lint finding.
    static func colored(_ line: String) -> String {
        for (word, code) in words where line.hasPrefix(word + " ") {
            return "\u{1B}[\(code)m\(word)\u{1B}[0m\(line.dropFirst(word.count))"
        }
        for (mark, code) in marks {
            guard let place = line.firstRange(of: mark) else { continue }
            let word = mark.dropFirst(2).dropLast()
            let start = line.index(place.lowerBound, offsetBy: 2)
            return "\(line[..<start])\u{1B}[\(code)m\(word)\u{1B}[0m\(line[line.index(start, offsetBy: word.count)...])"
        }
        return line
    }
}
