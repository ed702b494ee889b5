import PinctlBasics

/// The date in an `Expires` attribute, parsed as RFC 6265bis requires (section 5.1.1): tokens in any order, of which
/// the first time, day, month and year count.
struct CookieDate {
    private var time: (hour: Int, minute: Int, second: Int)?
    private var day: Int?
    private var month: Int?
    private var year: Int?

    /// Returns the date, or nil if the text isn't one.
    static func parse(_ text: some Collection<UInt8>) -> Date? {
        var date = CookieDate()
        for token in text.split(whereSeparator: isDelimiter) { date.add(token) }
        return date.value
    }

    private mutating func add(_ token: some Collection<UInt8>) {
        if time == nil, let time = Self.time(token) {
            self.time = time
        } else if day == nil, let day = Self.number(token, 1...2) {
            self.day = day
        } else if month == nil, let month = Self.month(token) {
            self.month = month
        } else if year == nil, let year = Self.number(token, 2...4) {
            self.year = year
        }
    }

    private var value: Date? {
        guard let time, let day, let month, var year else { return nil }
        if (70...99).contains(year) { year += 1900 } else if year < 70 { year += 2000 }
        guard year >= 1601,
            let date = CivilTime(
                year: year, month: month, day: day, hour: time.hour, minute: time.minute, second: time.second)
        else { return nil }
        return Date(timeIntervalSince1970: Double(date.secondsSince1970))
    }

    private static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }

    /// Returns the hours, minutes and seconds at the start of a token, which may go on with anything but a digit.
    private static func time(_ token: some Collection<UInt8>) -> (hour: Int, minute: Int, second: Int)? {
        let parts = token.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let hour = number(parts[0], 1...2, isWhole: true),
            let minute = number(parts[1], 1...2, isWhole: true), let second = number(parts[2], 1...2)
        else { return nil }
        return (hour, minute, second)
    }

    /// Returns the number at the start of a token if it has as many digits. Another digit doesn't follow.
    private static func number(
        _ token: some Collection<UInt8>, _ width: ClosedRange<Int>, isWhole: Bool = false
    ) -> Int? {
        let digits = token.prefix(while: isDigit)
        guard width.contains(digits.count), !isWhole || digits.count == token.count else { return nil }
        return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    private static func month(_ token: some Collection<UInt8>) -> Int? {
        let start = token.prefix(3).map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        return months.firstIndex { $0.utf8.elementsEqual(start) }.map { $0 + 1 }
    }

    private static let months = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ]
}
