/// Returns untrusted text for use in a message: in quotes, escaped for display, at most 80 characters. If the text
/// contains a private key, returns only `a private key`.
package func quoted(_ text: String) -> String {
    // mutant secret-arguments: true by InputTests HashTests ArgumentsTests PolicyProblemTests PolicyInCodeTests
    guard !text.contains("PRIVATE KEY-----") else { return "a private key" }
    let head = text.unicodeScalars.prefix(80)
    let isWhole = head.endIndex == text.unicodeScalars.endIndex
    return "\"\(visibleText(String(Substring(head))))\(isWhole ? "" : "…")\""
}

/// Returns a list of choices: `"a"`, `"a" or "b"`, or `"a", "b" or "c"`.
package func alternatives(_ choices: [String]) -> String {
    enumeration(choices.map { "\"\($0)\"" }, "or")
}

/// Returns a list in words: `a`, `a and b`, or `a, b and c`.
package func enumeration(_ words: [String], _ conjunction: String = "and") -> String {
    guard let last = words.last, words.count > 1 else { return words.first ?? "" }
    return words.dropLast().joined(separator: ", ") + " \(conjunction) " + last
}

/// Returns the candidate that `text` probably misspells or contains (`includeSubdomain`). Returns `nil` if none is
/// close, or if there are too many to compare.
package func suggestion(for text: String, among candidates: some Collection<String>) -> String? {
    let typed = text.lowercased()
    guard (2...40).contains(typed.utf8.count), candidates.count <= 200 else { return nil }
    let sorted = candidates.filter { $0.utf8.count <= 40 }.sorted()
    let near = sorted.map { (name: $0, distance: editDistance(Array(typed.utf8), Array($0.lowercased().utf8))) }
        .min { $0.distance < $1.distance }
    if let near, near.distance <= max(1, min(3, typed.utf8.count / 3)) { return near.name }
    return sorted.first { $0.utf8.count >= 6 && typed.contains($0.lowercased().dropLast()) }
}

/// Returns the number of insertions, deletions, replacements and swaps of neighbors that turn one text into the other
/// (the Damerau-Levenshtein distance).
private func editDistance(_ left: [UInt8], _ right: [UInt8]) -> Int {
    var before: [Int] = []
    var row = Array(0...right.count)
    for (i, a) in left.enumerated() {
        var next = [i + 1]
        for (j, b) in right.enumerated() {
            var distance = min(row[j + 1] + 1, next[j] + 1, row[j] + (a == b ? 0 : 1))
            if i > 0, j > 0, a == right[j - 1], b == left[i - 1] { distance = min(distance, before[j - 1] + 1) }
            next.append(distance)
        }
        (before, row) = (row, next)
    }
    return row[right.count]
}

/// Returns untrusted text with every character escaped that isn't shown as itself: control characters, line breaks,
/// bidirectional and zero-width marks (`\u{202E}`). The contents of a certificate must not move the cursor or reorder
/// the output.
package func visibleText(_ text: String) -> String {
    // Most texts are plain ASCII, for which the properties of each character needn't be looked up.
    if isPlainASCII(text.utf8.span) { return text }
    var result: [UInt8] = []
    result.reserveCapacity(text.utf8.count)
    for scalar in text.unicodeScalars {
        if (0x20...0x7E).contains(scalar.value) {
            result.append(UInt8(scalar.value))
            // mutant escapes: false by HashTests HostileReportTests ShowTests
        } else if isInvisible(scalar) {
            result += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}".utf8
        } else {
            result += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
        }
    }
    return String(decoding: result, as: UTF8.self)
}

/// Whether all bytes are printable ASCII.
package func isPlainASCII(_ text: Span<UInt8>) -> Bool {
    // Without an early exit, the compiler vectorizes the loop.
    var isPlain = true
    for index in text.indices { isPlain = (0x20...0x7E).contains(text[index]) && isPlain }
    return isPlain
}

private func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: true
    default: scalar.properties.isDefaultIgnorableCodePoint
    }
}
