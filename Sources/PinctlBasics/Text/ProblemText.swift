/// A text of the form `what is wrong: what to do`, divided at its last colon.
package struct ProblemText: Equatable, Sendable {
    package let problem: String
    /// The part that says what to do, or `nil` if there is none.
    package let remedy: String?

    package init(_ text: String) {
        guard let colon = text.ranges(of: ": ").last else {
            (problem, remedy) = (text, nil)
            return
        }
        (problem, remedy) = (String(text[..<colon.lowerBound]), String(text[colon.upperBound...]))
    }
}
