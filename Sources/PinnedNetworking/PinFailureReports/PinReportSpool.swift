import CertificateTrust
import PinctlBasics
import PinctlTLSTransport

/// A spool that keeps reports of pin failures in a directory and sends them independently of the failed requests.
///
/// Set it as ``URLSessionConfiguration/pinReportSink``. The `reports` of a rule list the collectors. There is one
/// report for each host, port, chain and day, no matter how often a connection fails. At most ``limit`` reports wait,
/// each of at most 64 KiB.
///
/// Reports are sent by POST in a separate session without logins. They go only to `https` collectors with a chain that
/// verifies. A collector can't be an IP address, a local name or a host that the rule covers. The policy that the
/// report is about isn't applied, and redirects aren't followed. A report is tried up to five times within about ten
/// hours. See <doc:PinFailureReports>.
public final class PinReportSpool: PinReportSink {
    /// The format of the reports.
    public enum Format: Sendable {
        /// The JSON format of RFC 7469, section 3.
        case rfc7469
        /// The JSON format that TrustKit's collectors accept.
        case trustKit(ReportingApp)
    }

    /// The most reports that wait. Further ones are dropped.
    public static let limit = 100

    private let format: Format
    private let directory: ReportDirectory
    private let queue = DispatchQueue(label: "PinnedNetworking.reports")
    private let session: URLSession
    private let state: Locked<State>

    private struct State: Sendable {
        /// The names of known reports, sent or not. Those of earlier days may be missing.
        var known: Set<String> = []
        /// Reports that aren't in the directory yet.
        var new: [QueuedReport] = []
        var worker: Task<Void, Never>?
    }

    /// Creates a spool in this directory, which is created if missing. Only this user may have access to it.
    ///
    /// `configuration` is for the session that delivers the reports. Its trust store, proxies and time limits apply,
    /// with at most 30 seconds for a request and 60 for a delivery. Its pins, credential storage, header fields,
    /// observer and report sink are ignored.
    public init(
        directory: URL, format: Format = .rfc7469, configuration: URLSessionConfiguration = .ephemeral
    ) throws {
        let directory = try ReportDirectory(directory.isFileURL ? directory.standardizedFileURL.path : "")
        self.directory = directory
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
        state = Locked(State(known: Set(directory.names)))
        wake()
    }

    deinit { state.withLock { $0.worker }?.cancel() }

    /// Accepts a report, and returns before anything is written or sent.
    public func take(_ report: PinFailureReport) {
        guard let collector = report.rule.reports.first(where: { Self.isReportable($0, report) }) else { return }
        let day = report.time.day
        let chain = report.servedChain.flatMap { $0 }
        guard let key = digest("SHA256", of: Array("\(report.host) \(report.port) ".utf8) + chain) else { return }
        let name = "\(day)-" + Hexadecimal.encode(key)
        let isNew = state.withLock { state in
            // Keeps the set bounded for any number of hosts and chains. Names from earlier days aren't needed.
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

    /// Returns whether a report may be sent to this URL.
    static func isReportable(_ url: URL, _ report: PinFailureReport) -> Bool {
        isReportable(
            url, host: report.host, noted: report.rule.host, includesSubdomains: report.rule.includesSubdomains)
    }

    /// Returns whether a report about a host may be sent to this URL. `noted` is the host of the rule, and
    /// `includesSubdomains` is whether the rule also covers names below it.
    static func isReportable(_ url: URL, host failed: ServerName, noted: ServerName, includesSubdomains: Bool) -> Bool {
        guard url.scheme?.lowercased() == "https", url.user() == nil, url.password() == nil,
            let host = url.host(percentEncoded: false), let name = try? ServerName(host),
            // mutant report-failed-host: true for 2 by PinReportSpoolTests/failedHost
            !name.isIPAddress, name != failed, name != noted,
            !(includesSubdomains && name.isSubdomain(of: noted))
        else { return false }
        let labels = name.labels
        // mutant report-local: true by PinReportSpoolTests/readBack
        return labels.count > 1 && !["localhost", "local", "internal", "home", "lan"].contains(labels.last)
    }

    // MARK: Work

    private func wake() {
        state.withLock { state in
            guard state.worker == nil else { return }
            state.worker = Task { [weak self] in
                // One pass at a time, so that the spool can be released in between.
                while let pause = await self?.pass(), !Task.isCancelled {
                    await Transport.shared.pause(for: pause)
                }
            }
        }
    }

    /// Writes new reports and sends those that are due. Returns how long to wait until the next pass, or nil if no
    /// report is waiting.
    private func pass() async -> Duration? {
        let new = state.withLock { state in
            defer { state.new = [] }
            return state.new
        }
        let waiting = await onDisk { directory in
            directory.add(new, limit: Self.limit, today: Date().day)
            return directory.waiting(limit: Self.limit)
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

    /// Runs `body` on the spool's own queue, so that a slow disk or another process blocks no other work.
    @discardableResult
    private func onDisk<Value: Sendable>(_ body: @escaping @Sendable (ReportDirectory) -> Value) async -> Value? {
        let directory = directory
        return await BlockingWork.run(on: queue) { body(directory) }
    }

    private func deliver(_ report: QueuedReport) async -> Bool {
        var request = URLRequest(url: report.collector)
        request.httpMethod = "POST"
        request.httpBody = Data(report.body)
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        // Only the header counts. The body is dropped with its connection, no matter how long it is.
        guard let (_, response) = try? await session.bytes(for: request) else { return false }
        return ((response as? HTTPURLResponse)?.statusCode).map { (200..<300).contains($0) } ?? false
    }
}

extension PinReportSpool: CustomReflectable {
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// A delegate that returns every redirect as the response.
private final class NoRedirects: URLSessionTaskDelegate {
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest
    ) async -> URLRequest? { nil }
}
