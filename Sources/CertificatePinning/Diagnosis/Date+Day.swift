import CertificateTrust
import FoundationEssentials

extension Date {
    /// The day in UTC, `2026-11-21`.
    var day: String {
        let time = CivilTime(secondsSince1970: Int64(timeIntervalSince1970.rounded(.down)))
        return time.map { String($0.description.prefix(10)) } ?? "a day outside the calendar"
    }
}
