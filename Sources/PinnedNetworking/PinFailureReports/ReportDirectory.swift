import CertificatePinning
import CertificateTrust
import PinctlBasics

/// A report to be sent.
struct QueuedReport: Sendable {
    /// The file name: the report's day and a digest of its host, port and chain.
    let name: String
    let collector: URL
    let body: [UInt8]
    /// The time of the next attempt.
    var due: Date
    var attempts = 0

    static let attemptLimit = 5

    /// Returns the report with the time of its next attempt, after 1, 8, 64 and 512 minutes. Returns nil after the last
    /// attempt.
    func postponed(at time: Date) -> QueuedReport? {
        guard attempts + 1 < Self.attemptLimit else { return nil }
        var later = self
        later.attempts += 1
        later.due = time.addingTimeInterval(60 * Double(1 << (3 * attempts)))
        return later
    }
}

/// The directory of a ``PinReportSpool``. It has a file for each report. The file of a finished report is empty and
/// stays until its day is over.
struct ReportDirectory: Sendable {
    private let directory: PrivateDirectory
    /// The largest file that is read, in bytes: a body and the JSON around it.
    private static let sizeLimit = 8 * PinFailureReport.bodyLimit
    /// The most file names that are read, since other programs may have put files there.
    private static let nameLimit = 10_000

    init(_ path: String) throws(CredentialStorageError) {
        do throws(PrivateDirectoryError) {
            directory = try PrivateDirectory(path: path, creates: true)
        } catch {
            throw CredentialStorageError(reason: .directory(error), path: path)
        }
    }

    /// The file names of all reports.
    var names: [String] { ((try? directory.names(limit: Self.nameLimit)) ?? []).filter(Self.isName) }

    private static func isName(_ name: String) -> Bool {
        name.utf8.count == 75 && name.utf8.allSatisfy { "0123456789abcdef-".utf8.contains($0) }
    }

    /// Adds new reports, and removes finished reports from other days.
    func add(_ reports: [QueuedReport], limit: Int, today: String) {
        try? directory.change { () throws(PrivateDirectoryError) in
            let names = try directory.names(limit: Self.nameLimit).filter(Self.isName)
            for name in names where !name.hasPrefix(today) {
                if let (bytes, _) = try? directory.contents(of: name, limit: Self.sizeLimit), bytes.isEmpty {
                    try directory.remove(name)
                }
            }
            var count = waiting(limit: limit).count
            for report in reports where !names.contains(report.name) && count < limit {
                try directory.replace(report.name, with: report.file)
                count += 1
            }
        }
    }

    /// Returns the unfinished reports, ordered by day.
    func waiting(limit: Int) -> [QueuedReport] {
        var reports: [QueuedReport] = []
        for name in names.sorted() where reports.count < limit {
            guard let (bytes, _) = try? directory.contents(of: name, limit: Self.sizeLimit), !bytes.isEmpty else {
                continue
            }
            if let report = QueuedReport(name: name, file: bytes) {
                reports.append(report)
            } else {
                // It can't be sent and would take up room forever.
                try? directory.remove(name)
            }
        }
        return reports
    }

    /// Marks a report as finished if it was delivered or its attempts are used up. Otherwise schedules the next
    /// attempt.
    func end(_ report: QueuedReport, isDelivered: Bool, at time: Date) {
        let later = isDelivered ? nil : report.postponed(at: time)
        try? directory.change { () throws(PrivateDirectoryError) in
            try directory.replace(report.name, with: later?.file ?? [])
        }
    }
}

extension QueuedReport {
    fileprivate var file: [UInt8] {
        let json: JSON = [
            "version": 1, "collector": .string(collector.absoluteString), "attempts": .integer(attempts),
            "due": .integer(Int(due.timeIntervalSince1970)), "body": .string(String(decoding: body, as: UTF8.self)),
        ]
        return Array(json.text.utf8)
    }

    /// Parses a file of the directory. Returns nil if this type wouldn't have written it. The collector is checked
    /// again, because the file may come from another version or from an attacker.
    init?(name: String, file: [UInt8]) {
        let document = JSONCReader.read(file, dialect: .json)
        guard document.problems.isEmpty, let root = document.root, root["version"]?.integer == 1,
            let collector = root["collector"]?.string.flatMap({ URL(string: $0) }),
            let attempts = root["attempts"]?.integer, (0..<Self.attemptLimit).contains(attempts),
            let due = root["due"]?.integer, let body = root["body"]?.string,
            body.utf8.count <= PinFailureReport.bodyLimit, Self.isSendable(Array(body.utf8), to: collector)
        else { return nil }
        self.init(
            name: name, collector: collector, body: Array(body.utf8),
            due: Date(timeIntervalSince1970: Double(due)), attempts: attempts)
    }

    /// Returns whether a body is a report, in either format, that may be sent to this collector.
    private static func isSendable(_ body: [UInt8], to collector: URL) -> Bool {
        let document = JSONCReader.read(body, dialect: .json)
        guard document.problems.isEmpty, let root = document.root,
            let host = root["hostname"]?.string.flatMap({ try? ServerName($0) }),
            let noted = root["noted-hostname"]?.string.flatMap({ try? ServerName($0) }),
            let includesSubdomains = root["include-subdomains"]?.bool
        else { return false }
        return PinReportSpool.isReportable(
            collector, host: host, noted: noted, includesSubdomains: includesSubdomains)
    }
}
