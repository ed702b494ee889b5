/// A text of the form `what is wrong: what to do`.
package struct ProblemText: Hashable, Sendable {
    package let problem: String
    /// The part that says what to do, or `nil` if there is none.
    package let remedy: String?

    package init(_ problem: String, remedy: String?) { (self.problem, self.remedy) = (problem, remedy) }

    /// Divides a text at its last colon.
    package init(_ text: String) {
        guard let colon = text.ranges(of: ": ").last else {
            self.init(text, remedy: nil)
            return
        }
        self.init(String(text[..<colon.lowerBound]), remedy: String(text[colon.upperBound...]))
    }
}

extension ProblemText: CustomStringConvertible {
    package var description: String { problem + (remedy.map { ": " + $0 } ?? "") }
}
