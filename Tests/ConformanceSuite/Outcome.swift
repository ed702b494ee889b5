/// What became of one case.
package struct Outcome: Sendable {
    package let id: String
    /// `default`, `strict`, or `names` for what is the same in both.
    package let profile: String
    package let expected: Verdict
    package let actual: Verdict
    package let context: String?
    package let milliseconds: Double?

    package init(
        id: String, profile: String, expected: Verdict, actual: Verdict, context: String? = nil,
        milliseconds: Double? = nil
    ) {
        self.id = id
        self.profile = profile
        self.expected = expected
        self.actual = actual
        self.context = context
        self.milliseconds = milliseconds
    }
}
