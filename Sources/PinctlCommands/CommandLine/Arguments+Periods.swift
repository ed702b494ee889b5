import PlatformFoundation

extension Arguments {
    /// Returns a period such as `100d`, `12w` or `36h` in seconds, or `nil` without the flag. `0` needs no unit.
    func period(_ flag: Flag) throws(UsageError) -> TimeInterval? {
        guard let text = self[flag] else { return nil }
        guard let period = Self.period(text) else {
            throw .invalidValue(
                flag, reason: "\"\(text)\" isn't a period: write 100d for days, 12w for weeks, 36h for hours")
        }
        return period
    }

    private static func period(_ text: String) -> TimeInterval? {
        let digits = text.prefix { ("0"..."9").contains($0) }
        // With five digits, a date that many weeks away can still be written.
        guard (1...5).contains(digits.utf8.count), let number = Int(digits) else { return nil }
        switch text.dropFirst(digits.count) {
        case "h": return TimeInterval(number * 3_600)
        case "d": return TimeInterval(number * 86_400)
        case "w": return TimeInterval(number * 7 * 86_400)
        case "" where number == 0: return 0
        default: return nil
        }
    }
}
