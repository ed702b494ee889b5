/// What a text may say at most: far more than any that people write, and little memory.
enum TextLimits {
    /// Rules of a text.
    static let rules = 10_000
    /// Pins of a rule.
    static let pins = 1_000
    /// Notes about a text; what more there is to tell is told when those are gone.
    static let notes = 1_000
}
