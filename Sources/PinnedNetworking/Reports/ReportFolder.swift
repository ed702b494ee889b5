import CertificatePinning
import CertificateTrust

/// A report that is to be sent.
struct QueuedReport: Sendable {
    /// Its day, and what tells it from others of that day.
    let name: String
    let collector: URL
    let body: [UInt8]
    /// When it is to be tried.
    var due: Date
    var attempts = 0

    static let attemptLimit = 5

    /// When it is tried next, or nil when it has been tried enough: after 1, 8 and 64 minutes, then after 8 hours.
    func postponed(at time: Date) -> QueuedReport? {
        guard attempts + 1 < Self.attemptLimit else { return nil }
        var later = self
        later.attempts += 1
        later.due = time.addingTimeInterval(60 * Double(1 << (3 * attempts)))
        return later
    }
}

/// The directory of a ``PinReportSpool``: a file for each report, an empty one for each that is settled until its day is
/// over.
struct ReportFolder: Sendable {
    private let folder: PrivateFolder
    /// A body, and the frame around it as JSON.
    private static let sizeLimit = 8 * PinFailureReport.bodyLimit
    /// Names that are read at the most: others may have put some there.
    private static let nameLimit = 10_000

    init(_ path: String) throws(CredentialStorageError) {
        do throws(PrivateFolderError) {
            folder = try PrivateFolder(path: path, creates: true)
        } catch {
            throw CredentialStorageError(reason: .folder(error), path: path)
        }
    }

    /// Those of every report.
    var names: [String] { ((try? folder.names(limit: Self.nameLimit)) ?? []).filter(Self.isName) }

    private static func isName(_ name: String) -> Bool {
        name.utf8.count == 75 && name.utf8.allSatisfy { "0123456789abcdef-".utf8.contains($0) }
    }

    /// Adds reports that are not there, and removes what is settled and of another day.
    func add(_ reports: [QueuedReport], limit: Int, today: String) {
        try? folder.change { () throws(PrivateFolderError) in
            let names = try folder.names(limit: Self.nameLimit).filter(Self.isName)
            for name in names where !name.hasPrefix(today) {
                if let (bytes, _) = try? folder.contents(of: name, limit: Self.sizeLimit), bytes.isEmpty {
                    try folder.remove(name)
                }
            }
            var count = waiting(limit: limit).count
            for report in reports where !names.contains(report.name) && count < limit {
                try folder.replace(report.name, with: report.file)
                count += 1
            }
        }
    }

    /// The reports that are not settled, the earliest first.
    func waiting(limit: Int) -> [QueuedReport] {
        var reports: [QueuedReport] = []
        for name in names.sorted() where reports.count < limit {
            guard let (bytes, _) = try? folder.contents(of: name, limit: Self.sizeLimit), !bytes.isEmpty else {
                continue
            }
            if let report = QueuedReport(name: name, file: bytes) {
                reports.append(report)
            } else {
                // Nobody can send it, and it would take a place for ever.
                try? folder.remove(name)
            }
        }
        return reports
    }

    /// Settles a report that was taken, or that is not tried again; puts any other off.
    func end(_ report: QueuedReport, isDelivered: Bool, at time: Date) {
        let later = isDelivered ? nil : report.postponed(at: time)
        try? folder.change { () throws(PrivateFolderError) in
            try folder.replace(report.name, with: later?.file ?? [])
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

    /// Reads a file of the directory; nil for what this type wouldn't have written. Where the report goes is checked
    /// again: the file may come from another version, or be the work of somebody else.
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

    /// Whether a body is a report, in either format, that may go to this collector.
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
