import CertificateTrust
import PinctlBasics

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
