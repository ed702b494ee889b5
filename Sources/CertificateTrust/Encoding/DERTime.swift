import PinctlBasics

/// The two time types of a certificate (RFC 5280, section 4.1.2.5): UTC, to the second, without fractions.
enum DERTime {
    /// Parses the UTCTime or GeneralizedTime that fills `range`. Returns seconds since 1970.
    static func seconds(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(DERError) -> Int64 {
        var cursor = DERCursor(range)
        let element = try cursor.next(bytes)
        let digits: Int
        switch element.tag {
        case DERTag.utcTime: digits = 12
        case DERTag.generalizedTime: digits = 14
        default:
            throw .unexpectedTag(found: element.tag, expected: DERTag.utcTime, offset: range.lowerBound)
        }
        let invalid = DERError.invalidValue(what: "time", offset: range.lowerBound)
        let start = element.contents.lowerBound
        guard element.contents.count == digits + 1, bytes[start + digits] == UInt8(ascii: "Z") else {
            let isFraction = element.contents.contains { ".,".utf8.contains(bytes[$0]) }
            let isShort = element.contents.count == digits - 1 && bytes[start + digits - 2] == UInt8(ascii: "Z")
            let reason =
                isFraction
                ? "time (with a fraction of a second, which RFC 5280 forbids)"
                : isShort
                    ? "time (without seconds, which RFC 5280 requires)"
                    : "time (not as RFC 5280 requires: \(digits) digits and Z)"
            throw .invalidValue(what: reason, offset: range.lowerBound)
        }
        /// Returns the two-digit field with this number, counted from the seconds at the end. Returns a number that is
        /// never valid if they aren't digits.
        func field(_ number: Int) -> Int {
            let first = start + digits - 2 * number
            let (tens, ones) = (bytes[first] &- UInt8(ascii: "0"), bytes[first + 1] &- UInt8(ascii: "0"))
            return tens < 10 && ones < 10 ? 10 * Int(tens) + Int(ones) : -10_000
        }
        let year = field(6)
        // Two-digit years are 1950 to 2049.
        let century = digits == 14 ? field(7) : year < 50 ? 20 : 19
        guard
            let seconds = CivilTime(
                year: 100 * century + year, month: field(5), day: field(4), hour: field(3), minute: field(2),
                second: field(1)
            )?.secondsSince1970
        else { throw invalid }
        return seconds
    }
}
