import PinctlBasics
public import PinctlFoundation

/// The logs of Certificate Transparency that browsers recognize, in the format of Google's list, version 3.
///
/// Nothing is fetched. A list ages: logs are added and retired, so a program that requires transparency needs a way to
/// replace it. Google doesn't permit programs other than Chrome to enforce its own list: use one that you publish
/// yourself.
public struct TransparencyLogList: Sendable {
    /// The time when the list was published: its `log_list_timestamp`.
    public let published: Date
    /// The number of logs in the list whose timestamps can count. Logs whose private keys are public aren't counted.
    public var logCount: Int { logs.values.count { !$0.isMimic } }
    /// The SHA-256 of the file, 32 bytes.
    package let digest: [UInt8]
    private let logs: [[UInt8]: TransparencyLog]

    /// The age from which a list proves nothing, 70 days. Chrome stops to enforce transparency when its list has that
    /// age (its "CT Enforcement Timeout").
    static let maximumAge: TimeInterval = 70 * 86_400
    /// The limit on logs. Google's list of all logs that ever existed has fewer than 300.
    static let maximumLogs = 2_000

    init(published: Date, logs: [TransparencyLog], digest: [UInt8]) {
        self.published = published
        self.digest = digest
        self.logs = Dictionary(logs.map { ($0.identifier, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Reads a list from a file, at most 8 MiB.
    ///
    /// Throws if the file can't be read or isn't such a list. Keys that the format doesn't define are ignored.
    public init(contentsOfFile path: String) throws(TransparencyLogListError) {
        let bytes: [UInt8]
        do throws(InputFileError) {
            bytes = try InputFile.contents(ofFile: path, limit: JSONCReader.maximumSize)
        } catch {
            throw TransparencyLogListError(path: path, line: nil, reason: error.description)
        }
        try self.init(json: bytes, path: path)
    }

    /// Reads a list from its text. `path` is its name in errors.
    public init(json bytes: [UInt8], path: String = "log list") throws(TransparencyLogListError) {
        try self.init(json: bytes, path: path, mimics: TransparencyLog.mimics)
    }

    /// Reads a list in which the logs with these identifiers are mimics.
    init(json bytes: [UInt8], path: String, mimics: Set<[UInt8]>) throws(TransparencyLogListError) {
        self = try TransparencyLogListReader(path: path, mimics: mimics).list(bytes)
    }

    /// Returns the log with this identifier, the SHA-256 of its key.
    package func log(_ identifier: [UInt8]) -> TransparencyLog? { logs[identifier] }

    /// The time from which the list is too old to prove anything.
    package var end: Date { published.addingTimeInterval(Self.maximumAge) }

    /// Whether the list is too old to prove anything at `time`.
    func isOutdated(at time: Date) -> Bool { time >= end }
}

extension TransparencyLogList: CustomStringConvertible {
    /// The number of logs and the day of publication, such as `62 logs of 2026-11-02`.
    public var description: String { "\(logCount) logs of \(published.day)" }
}

/// The reason why a list of logs couldn't be read.
public struct TransparencyLogListError: Error, Hashable, Sendable {
    /// The path of the file, as given by the caller.
    public let path: String
    /// The line of the error, or `nil` if it isn't in one line.
    public let line: Int?
    /// The problem and its remedy.
    public let reason: String
}

extension TransparencyLogListError: CustomStringConvertible {
    public var description: String { "\(visibleText(path))\(line.map { ":\($0)" } ?? ""): \(reason)" }
}
