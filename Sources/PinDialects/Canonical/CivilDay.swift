package import CertificateTrust

/// Days of the calendar as dialects write them, `2026-12-31`: a moment is that day's midnight in UTC.
extension CivilTime {
    /// The first second of a day; nil for what is none.
    package init?(day text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.map(\.utf8.count) == [4, 2, 2],
            text.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || $0 == UInt8(ascii: "-") }),
            let year = Int(parts[0]), let month = Int(parts[1]), let day = Int(parts[2])
        else { return nil }
        self.init(year: year, month: month, day: day, hour: 0, minute: 0, second: 0)
    }

    /// The first second of its day, since 1970-01-01T00:00:00Z.
    package var midnight: Int64 { secondsSince1970 - Int64(hour * 3_600 + minute * 60 + second) }

    /// `2026-12-31`.
    package var dayText: String { String(description.prefix(10)) }
}
