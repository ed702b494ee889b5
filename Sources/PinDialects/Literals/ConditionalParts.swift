import CertificatePinning
import PinctlBasics

/// The parts of a program in Swift or Objective-C that only some builds have: those between `#if` and `#endif`.
struct ConditionalParts {
    /// The lines between the directives, and the first directive.
    private var parts: [(lines: Range<Int>, directive: String)] = []

    init(_ bytes: [UInt8]) {
        guard bytes.hasAny(of: ["#if"]) else { return }
        var open: [(line: Int, directive: String)] = []
        var before: (directive: String, name: Substring)?
        for (index, bytes) in bytes.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
            let text = String(decoding: bytes, as: UTF8.self)
            let words = text.split(whereSeparator: \.isWhitespace)
            guard let word = words.first, word.hasPrefix("#") else { continue }
            let line = index + 1
            if word.hasPrefix("#if") {
                open.append((line, words.joined(separator: " ")))
            } else if word == "#endif", let begin = open.popLast() {
                // Nested parts are noted as one.
                parts.removeAll { begin.line < $0.lines.lowerBound }
                parts.append((begin.line..<line, begin.directive))
            } else if word == "#define", let before, before.directive == "#ifndef",
                words.dropFirst().first == before.name
            {
                // The header of a file that is included once.
                _ = open.popLast()
            }
            before = words.count > 1 ? (String(word), words[1]) : nil
        }
    }

    /// Returns a note on each part that has pins, since no build has those of all parts.
    func notes(on policy: CanonicalPolicy, path: String) -> [ConversionNote] {
        let lines = policy.rules.flatMap { [$0.location] + $0.pins.map(\.location) }.compactMap { $0?.line }
        return parts.compactMap { part in
            // mutant conditional-parts: false by ConditionalPartTests
            guard lines.contains(where: { part.lines.contains($0) }) else { return nil }
            return ConversionNote(
                .combinationChanged, .either,
                "these pins are only in some builds (\(visibleText(part.directive))), but are read as if every build "
                    + "had them: give each kind of build a file of its own",
                at: PolicyLocation(path: path, line: part.lines.lowerBound, column: 1), rule: .misreadSetting)
        }.prefix(TextLimits.notes).sorted { ($0.location?.line ?? 0) < ($1.location?.line ?? 0) }
    }
}
