import CertificateTrust
import TLSTransport

/// Keeps reports of pin failures in a directory and sends them from there, beside the requests that failed.
///
/// Set it as ``URLSessionConfiguration/pinReportSink``. A rule's `reports` say where to. Of one host, chain and day there
/// is one report, whatever fails how often; at most ``limit`` wait, each of at most 64 KiB. They go by POST, over a
/// session of their own: to `https` with a chain that verifies, never to an address, to a name of this machine or to a
/// host that the rule reaches, never under the policy that they report on, without logins, and redirects are not
/// followed. What cannot be delivered is tried five times, over a day. See <doc:PinFailureReports>.
public final class PinReportSpool: PinReportSink {
    /// What is sent.
    public enum Format: Sendable {
        /// The JSON of RFC 7469, section 3.
        case rfc7469
        /// The JSON that TrustKit's collectors read.
        case trustKit(ReportingApp)
    }

    /// Reports that wait at the most; what comes beyond is dropped.
    public static let limit = 100

    private let format: Format
    private let folder: ReportFolder
    private let queue = DispatchQueue(label: "PinnedNetworking.reports")
    private let session: URLSession
    private let state: Locked<State>

    private struct State: Sendable {
        /// The reports of today, sent or not.
        var known: Set<String> = []
        /// What is not in the folder yet.
        var new: [QueuedReport] = []
        var worker: Task<Void, Never>?
    }

    /// A spool in this directory, which is made where it is missing, and must be this user's alone.
    ///
    /// `configuration` is that of the session which delivers: its trust store, its proxies and time limits count. Its
    /// pins, storage, header fields, observer and report sink do not.
    public init(
        directory: URL, format: Format = .rfc7469, configuration: URLSessionConfiguration = .ephemeral
    ) throws {
        let folder = try ReportFolder(directory.isFileURL ? directory.standardizedFileURL.path : "")
        self.folder = folder
        self.format = format
        var settings = configuration.snapshot
        settings.trust.pinning = nil
        settings.reportSink = nil
        settings.observer = nil
        settings.credentialStorage = nil
        settings.additionalFields = nil
        settings.requestTimeout = min(settings.requestTimeout, 30)
        settings.resourceTimeout = min(settings.resourceTimeout, 60)
        session = URLSession(
            configuration: URLSessionConfiguration(settings: settings), delegate: NoRedirects(), delegateQueue: nil)
        state = Locked(State(known: Set(folder.names)))
        wake()
    }

    deinit { state.withLock { $0.worker }?.cancel() }

    /// Notes a report, and returns before anything is written or sent.
    public func take(_ report: PinFailureReport) {
        guard let collector = report.rule.reports.first(where: { Self.isReportable($0, report) }) else { return }
        let day = report.time.day
        let chain = report.servedChain.flatMap { $0 }
        guard let key = digest("SHA256", of: Array("\(report.host) \(report.port) ".utf8) + chain) else { return }
        let name = "\(day)-" + key.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        let isNew = state.withLock { state in
            // Bounded, whatever hosts and chains there are: of days that are over nothing has to be known.
            if state.known.count >= 10 * Self.limit {
                state.known = state.known.filter { $0.hasPrefix(day) }
            }
            guard state.known.count < 10 * Self.limit, state.new.count < Self.limit,
                state.known.insert(name).inserted
            else { return false }
            let body =
                switch format {
                case .rfc7469: report.rfc7469Body()
                case .trustKit(let app): report.trustKitBody(for: app)
                }
            state.new.append(QueuedReport(name: name, collector: collector, body: body, due: report.time))
            return true
        }
        if isNew { wake() }
    }

    /// Whether a report may go there.
    static func isReportable(_ url: URL, _ report: PinFailureReport) -> Bool {
        isReportable(
            url, host: report.host, noted: report.rule.host, includesSubdomains: report.rule.includesSubdomains)
    }

    /// The same by what a report says: the host, that of its rule, and whether that means the names below it too.
    static func isReportable(_ url: URL, host failed: ServerName, noted: ServerName, includesSubdomains: Bool) -> Bool {
        guard url.scheme?.lowercased() == "https", url.user() == nil, url.password() == nil,
            let host = url.host(percentEncoded: false), let name = try? ServerName(host),
            !name.isIPAddress, name != failed, name != noted,
            !(includesSubdomains && name.isSubdomain(of: noted))
        else { return false }
        let labels = name.labels
        return labels.count > 1 && !["localhost", "local", "internal", "home", "lan"].contains(labels.last)
    }

    // MARK: Work

    private func wake() {
        state.withLock { state in
            guard state.worker == nil else { return }
            state.worker = Task { [weak self] in
                // One pass a time, so that the spool can go.
                while let pause = await self?.pass(), !Task.isCancelled {
                    await Transport.shared.pause(for: pause)
                }
            }
        }
    }

    /// Writes what is new and sends what is due; how long to wait for the next time, nil when nothing waits.
    private func pass() async -> Duration? {
        let new = state.withLock { state in
            defer { state.new = [] }
            return state.new
        }
        let waiting = await onDisk { folder in
            folder.add(new, limit: Self.limit, today: Date().day)
            return folder.waiting(limit: Self.limit)
        }
        for report in waiting ?? [] where report.due <= Date() {
            guard !Task.isCancelled else { return nil }
            let isDelivered = await deliver(report)
            await onDisk { $0.end(report, isDelivered: isDelivered, at: Date()) }
        }
        let next = await onDisk { $0.waiting(limit: Self.limit).map(\.due).min() } ?? nil
        return state.withLock { state in
            if !state.new.isEmpty { return .zero }
            guard let next else {
                state.worker = nil
                return nil
            }
            return .seconds(max(1, min(next.timeIntervalSinceNow, 60)))
        }
    }

    /// Works on the directory, where other processes, and slow disks, keep nobody else waiting.
    @discardableResult
    private func onDisk<Value: Sendable>(_ body: @escaping @Sendable (ReportFolder) -> Value) async -> Value? {
        let folder = folder
        return await BlockingWork.run(on: queue) { body(folder) }
    }

    private func deliver(_ report: QueuedReport) async -> Bool {
        var request = URLRequest(url: report.collector)
        request.httpMethod = "POST"
        request.httpBody = Data(report.body)
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        // The header is all that counts: a body is dropped with its connection, however long it would be.
        guard let (_, response) = try? await session.bytes(for: request) else { return false }
        return ((response as? HTTPURLResponse)?.statusCode).map { (200..<300).contains($0) } ?? false
    }
}

extension PinReportSpool: CustomReflectable {
    /// Shows nothing.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Takes every redirect for the answer.
private final class NoRedirects: URLSessionTaskDelegate {
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest
    ) async -> URLRequest? { nil }
}
