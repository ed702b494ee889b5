/// A valid date and time of the Gregorian calendar in UTC, from year 0 to 9999. There is no 30 February.
package struct CivilTime: Sendable, Hashable {
    package let year: Int
    package let month: Int
    package let day: Int
    package let hour: Int
    package let minute: Int
    package let second: Int

    /// Creates a date and time, or returns `nil` if it doesn't exist. Leap seconds aren't accepted, because
    /// certificates and policies don't contain them.
    package init?(year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int) {
        guard (0...9999).contains(year), (1...12).contains(month), (1...Self.days(in: month, of: year)).contains(day),
            (0...23).contains(hour), (0...59).contains(minute), (0...59).contains(second)
        else { return nil }
        self.year = year
        self.month = month
        self.day = day
        self.hour = hour
        self.minute = minute
        self.second = second
    }

    /// Converts an instant. Returns `nil` outside the years 0 to 9999.
    package init?(secondsSince1970 seconds: Int64) {
        let (days, rest) = seconds.quotientFlooredAndRemainder(by: 86_400)
        guard (-719_528...2_932_896).contains(days) else { return nil }
        // Years have 365.2425 days, counted in eras of 400 years that begin on 1 March of year 0.
        let shifted = Int(days) + 719_468
        let (era, dayOfEra) = shifted.quotientFlooredAndRemainder(by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        self.init(
            year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month: month,
            day: dayOfYear - (153 * shiftedMonth + 2) / 5 + 1,
            hour: Int(rest) / 3_600, minute: Int(rest) / 60 % 60, second: Int(rest) % 60)
    }

    /// The number of seconds since 1970-01-01T00:00:00Z.
    package var secondsSince1970: Int64 {
        let shiftedYear = month <= 2 ? year - 1 : year
        let (era, yearOfEra) = shiftedYear.quotientFlooredAndRemainder(by: 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        let days = era * 146_097 + dayOfEra - 719_468
        return Int64(days) * 86_400 + Int64(hour * 3_600 + minute * 60 + second)
    }

    private static func days(in month: Int, of year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

extension CivilTime: CustomStringConvertible {
    /// The time as RFC 3339 in UTC, such as `2026-11-20T18:48:48Z`.
    package var description: String {
        let colon = UInt8(ascii: ":")
        return String(appending: { text in
            appendDay(to: &text)
            text += [
                UInt8(ascii: "T"), digit(hour / 10), digit(hour), colon, digit(minute / 10), digit(minute), colon,
                digit(second / 10), digit(second), UInt8(ascii: "Z"),
            ]
        })
    }

    /// Appends only the day, such as `2026-11-20`, to `text`.
    package func appendDay(to text: inout [UInt8]) {
        let dash = UInt8(ascii: "-")
        let digits: [10 of UInt8] = [
            digit(year / 1000), digit(year / 100), digit(year / 10), digit(year), dash, digit(month / 10), digit(month),
            dash, digit(day / 10), digit(day),
        ]
        text.append(copying: digits.span)
    }

    /// Returns the last digit of a number as ASCII.
    private func digit(_ number: Int) -> UInt8 { UInt8(ascii: "0") + UInt8(number % 10) }
}

extension BinaryInteger {
    /// Returns the quotient rounded down and the non-negative remainder.
    fileprivate func quotientFlooredAndRemainder(by divisor: Self) -> (Self, Self) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}

/// Calendar days as dialects write them, such as `2026-12-31`. A day means its midnight in UTC.
extension CivilTime {
    /// Creates the first second of a day, or returns `nil` if the text isn't a valid day.
    package init?(day text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.map(\.utf8.count) == [4, 2, 2],
            text.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || $0 == UInt8(ascii: "-") }),
            let year = Int(parts[0]), let month = Int(parts[1]), let day = Int(parts[2])
        else { return nil }
        self.init(year: year, month: month, day: day, hour: 0, minute: 0, second: 0)
    }

    /// The first second of the day, in seconds since 1970-01-01T00:00:00Z.
    package var midnight: Int64 { secondsSince1970 - Int64(hour * 3_600 + minute * 60 + second) }

    /// The day, such as `2026-12-31`.
    package var dayText: String { String(description.prefix(10)) }
}
