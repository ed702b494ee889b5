/// The result of one case.
package struct Outcome: Sendable {
    package let id: String
    /// The name of a ``Profile``, or `names` for cases that are the same in all profiles.
    package let profile: String
    package let expected: Verdict
    package let actual: Verdict
    /// The reason, unless the result is a success.
    package let context: String?
    /// The processor time.
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

extension LimboCase {
    package func outcome(_ profile: Profile) -> Outcome {
        let (verdict, context) = evaluate(profile)
        return Outcome(
            id: id, profile: profile.rawValue, expected: expectedResult, actual: verdict, context: context)
    }
}
