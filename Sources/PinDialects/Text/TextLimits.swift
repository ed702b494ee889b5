/// The limits on the contents of a text: far above anything that people write, yet small enough to need little memory.
enum TextLimits {
    /// The maximum number of rules in a text.
    static let rules = 10_000
    /// The maximum number of pins in a rule.
    static let pins = 1_000
    /// The maximum number of notes about a text. Further notes appear once these are fixed.
    static let notes = 1_000
}
