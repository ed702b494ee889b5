import CertificatePinning
import PinctlBasics

extension CanonicalPin {
    /// The maximum length of a name in characters. A longer comment describes more than a pin.
    private static let longestName = 64

    /// Returns the name that a comment or a constant gives a pin, or `nil` if no pin of a policy can have the name.
    static func name(in text: String) -> String? {
        guard text.utf8.count <= 4 * longestName else { return nil }
        let words = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        let isName =
            (1...longestName).contains(words.count) && !words.contains("/") && !words.hasPrefix("x-")
            && visibleText(words) == words
        return isName ? words : nil
    }
}
