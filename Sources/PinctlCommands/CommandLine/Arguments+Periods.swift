import PinctlFoundation

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

    /// Returns the period or share of `--warn-within`, or the default.
    func warningPeriod() throws(UsageError) -> WarningPeriod {
        guard let text = self[.warnWithin] else { return .usual }
        if let seconds = Self.period(text) { return .seconds(seconds) }
        guard text.last == "%", let percent = Self.percentage(text.dropLast()) else {
            throw .invalidValue(
                .warnWithin,
                reason: "\"\(text)\" isn't a period or a share: write 14d for days, 36h for hours, 33% of the lifetime")
        }
        return .share(percent)
    }

    /// Returns a number from 0 to 100 such as `3` or `0.5`, or `nil` for any other text.
    static func percentage(_ text: Substring) -> Double? {
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2E }), let percent = Double(text),
            (0...100).contains(percent)
        else { return nil }
        return percent
    }

    static func period(_ text: String) -> TimeInterval? {
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
