/// The first of some names, with the number of the others: `a, b, c and 4 more`.
struct FirstNames: CustomStringConvertible {
    let description: String

    /// `count` is the number of all names, if `names` has only the first of them.
    init(_ names: some Collection<String>, limit: Int = 3, of count: Int? = nil) {
        let shown = names.prefix(limit)
        let more = (count ?? names.count) - shown.count
        description = shown.joined(separator: ", ") + (more > 0 ? " and \(grouped(more)) more" : "")
    }
}

/// Returns a number with a noun, such as `3 files`.
func plural(_ count: Int, _ what: String) -> String { "\(count) \(what)\(count == 1 ? "" : "s")" }

/// Formats a number with commas, such as `1,700`.
func grouped(_ number: Int) -> String {
    var digits = Array(String(number))
    for index in stride(from: digits.count - 3, to: 0, by: -3) { digits.insert(",", at: index) }
    return String(digits)
}
