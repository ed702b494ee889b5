package import PinctlFoundation

extension Date {
    /// Parses an RFC 3339 date-time, such as `2026-11-20T18:48:48Z` or one with an offset. A date alone means its first
    /// second in UTC. Returns `nil` for any other text, days that don't exist, and leap seconds.
    package init?(rfc3339 text: String) {
        var scanner = DigitScanner(text)
        guard let year = scanner.number(4), scanner.skip("-"), let month = scanner.number(2), scanner.skip("-"),
            let day = scanner.number(2)
        else { return nil }
        var hour = 0
        var minute = 0
        var second = 0
        var fraction = 0.0
        var offset = 0
        if !scanner.isAtEnd {
            guard scanner.skip("T"), let hours = scanner.number(2), scanner.skip(":"), let minutes = scanner.number(2),
                scanner.skip(":"), let seconds = scanner.number(2)
            else { return nil }
            (hour, minute, second) = (hours, minutes, seconds)
            if scanner.skip(".") {
                guard let digits = scanner.fraction() else { return nil }
                fraction = digits
            }
            guard let minutesEast = scanner.offset() else { return nil }
            offset = minutesEast
        }
        guard scanner.isAtEnd,
            let time = CivilTime(year: year, month: month, day: day, hour: hour, minute: minute, second: second)
        else { return nil }
        self.init(timeIntervalSince1970: Double(time.secondsSince1970 - Int64(offset) * 60) + fraction)
    }

    /// The time as RFC 3339 in UTC, to the second.
    package var rfc3339: String { civilTime?.description ?? "out of range" }

    /// The day alone, in UTC.
    package var day: String { String(appending: appendDay) }

    /// Appends the ``day`` to `text`.
    package func appendDay(to text: inout [UInt8]) {
        guard let civilTime else { return text.append("out of range") }
        civilTime.appendDay(to: &text)
    }

    /// Returns the number of whole seconds since 1970-01-01T00:00:00Z. A time beyond all numbers, such as an infinite
    /// one, has the last number, or the first if it is in the past or not a number.
    package func secondsSince1970(rounded rule: FloatingPointRoundingRule = .down) -> Int64 {
        let seconds = timeIntervalSince1970.rounded(rule)
        return Int64(exactly: seconds) ?? (seconds > 0 ? .max : .min)
    }

    private var civilTime: CivilTime? { CivilTime(secondsSince1970: secondsSince1970()) }
}

/// A scanner for fixed-width numbers at the start of an ASCII text.
private struct DigitScanner {
    private var rest: ArraySlice<UInt8>

    init(_ text: String) { rest = Array(text.utf8)[...] }

    var isAtEnd: Bool { rest.isEmpty }

    /// Skips one character. Letters may be lower case (RFC 3339, section 5.6).
    mutating func skip(_ character: Unicode.Scalar) -> Bool {
        let wanted = UInt8(ascii: character)
        guard let first = rest.first, first == wanted || (wanted >= 0x41 && first == wanted | 0x20) else {
            return false
        }
        rest.removeFirst()
        return true
    }

    mutating func number(_ width: Int) -> Int? {
        guard rest.count >= width, rest.prefix(width).allSatisfy(isDigit) else { return nil }
        defer { rest.removeFirst(width) }
        return rest.prefix(width).reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }

    /// Reads the digits after the decimal point, of which there is at least one.
    mutating func fraction() -> Double? {
        let digits = rest.prefix(while: isDigit)
        guard !digits.isEmpty else { return nil }
        rest.removeFirst(digits.count)
        return digits.reversed().reduce(0.0) { ($0 + Double($1 - 0x30)) / 10 }
    }

    /// Reads `Z`, or hours and minutes east of Greenwich. Returns minutes.
    mutating func offset() -> Int? {
        if skip("Z") { return 0 }
        let sign: Int
        if skip("+") { sign = 1 } else if skip("-") { sign = -1 } else { return nil }
        guard let hours = number(2), skip(":"), let minutes = number(2), hours < 24, minutes < 60 else { return nil }
        return sign * (hours * 60 + minutes)
    }

    private func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}
