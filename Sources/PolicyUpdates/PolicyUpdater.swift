public import CertificatePinning
import PinctlBasics
import PinctlTLSTransport
public import PinnedNetworking

/// A program's pinning policy, which the owner of its keys can update without a new release.
///
///     let updater = PolicyUpdater(
///         from: url, keySet: keySet, builtIn: policy, directory: directory
///     ) { print($0) }
///     await updater.start()
///     updater.store.observe { [weak session] policy in session?.pinning = policy }
///     Task { await updater.run(every: .seconds(6 * 3_600)) }
///
/// A bundle is in force only after it was verified and saved. Whatever else happens, the policy in force stays, until
/// its bundle expires. Then the built-in policy applies again, with everything that the bundle denied.
public actor PolicyUpdater {
    /// The policy in force.
    public nonisolated let store: PolicyStore

    private let url: URL
    private let builtIn: PinningPolicy
    private let session: URLSession
    private let saved: SavedPolicyBundles
    /// The queue for files, because a disk or another process may keep it waiting.
    private let queue = DispatchQueue(label: "PolicyUpdates")
    private let now: @Sendable () -> Date
    private let observer: @Sendable (PolicyUpdate) -> Void

    /// The trust of a program without a saved bundle.
    private let firstTrust: PolicyBundleTrust
    private var bundles = SavedPolicyBundles.Bundles()
    private var inForce = InForce.builtIn
    /// The entity tag of the last bundle that was accepted in this run of the program.
    private var tag: String?
    /// The policy of the staged bundle, if there is one.
    private nonisolated let trial = Locked<PinningPolicy?>(nil)

    /// The longest time for one fetch, in seconds: ten minutes. A server that sends slowly can't delay the next one
    /// more.
    private static let longestFetch = 600.0

    private enum InForce: Equatable {
        case builtIn
        case bundle(sequence: Int)
        /// The built-in policy with the pins that an expired bundle denied.
        case fallback(sequence: Int)
    }

    /// Creates an updater, whose store has the built-in policy.
    ///
    /// - Parameters:
    ///   - url: The URL of the bundle, `https`.
    ///   - keySet: The key set that the program was built with.
    ///   - builtIn: The policy that the program was built with.
    ///   - sequence: The sequence number of the bundle with the built-in policy. Older bundles are refused. The default
    ///     is 0, for a policy that was never published.
    ///   - directory: The absolute path of a directory of this user's own, which is created with mode 0700.
    ///   - configuration: The configuration of the session that fetches bundles. Its servers are always checked against
    ///     the built-in policy, so that no bundle can cut the program off from the next one. A fetch ends after ten
    ///     minutes at the latest.
    ///   - now: The current time.
    ///   - observer: Receives every outcome, in order.
    public init(
        from url: URL, keySet: PolicyKeySet, builtIn: PinningPolicy, sequence: Int = 0, directory: String,
        configuration: URLSessionConfiguration = .default, now: @escaping @Sendable () -> Date = { Date() },
        observer: @escaping @Sendable (PolicyUpdate) -> Void
    ) {
        store = PolicyStore(builtIn)
        self.url = url
        self.builtIn = builtIn
        saved = SavedPolicyBundles(directory: directory)
        self.now = now
        self.observer = observer
        firstTrust = PolicyBundleTrust(keySet: keySet, sequence: sequence)
        session = URLSession(configuration: Self.limited(configuration))
        // mutant update-pinned: {} by PolicyFetchTests
        session.pinning = builtIn
    }

    deinit { session.invalidateAndCancel() }

    /// Returns the configuration with the limit on the time for a fetch.
    static func limited(_ configuration: URLSessionConfiguration) -> URLSessionConfiguration {
        let limited = configuration.copy() as? URLSessionConfiguration ?? configuration
        // mutant fetch-limit: limited.timeoutIntervalForResource by PolicyFetchTests/longestFetch
        limited.timeoutIntervalForResource = min(limited.timeoutIntervalForResource, longestFetch)
        return limited
    }

    /// The highest sequence number that was accepted, or that of the built-in policy.
    public var sequence: Int { trust.sequence }

    /// The trust that a new bundle has to continue.
    private var trust: PolicyBundleTrust { bundles.latest?.trust ?? firstTrust }

    // MARK: Steps

    /// Puts the bundle in force that an earlier run of the program saved, if there is one and it is valid.
    public func start() async {
        let trust = firstTrust
        do throws(SavedPolicyBundles.Failure) {
            try await onQueue { saved throws(SavedPolicyBundles.Failure) in try saved.read(by: trust) }
            await apply()
        } catch {
            observer(.savedRefused("\(error)"))
        }
    }

    /// Fetches the bundle, and puts it in force if it is newer and valid.
    public func update() async {
        await apply()
        let (bytes, tag): ([UInt8], String?)
        do {
            guard let fetched = try await fetch() else { return observer(.unchanged(sequence: trust.sequence)) }
            (bytes, tag) = fetched
        } catch {
            return observer(.unreachable(error.localizedDescription))
        }
        await receive(bytes, tag)
    }

    /// Puts a bundle in force that was received by other means, such as a push message, if it is newer and valid.
    public func receive(_ json: [UInt8]) async { await receive(json, nil) }

    /// Updates now and after every interval, until the task is cancelled. Takes a bundle out of force within a minute
    /// after it has expired, also while a server keeps an update waiting.
    public func run(every interval: Duration) async {
        // A short interval, because the wall clock may be set meanwhile.
        await run(every: interval, checkingExpiryEvery: .seconds(60))
    }

    func run(every interval: Duration, checkingExpiryEvery shorter: Duration) async {
        await withTaskGroup { group in
            group.addTask { await self.step(every: interval) { await self.update() } }
            // mutant update-slow: {} by PolicyFetchTests
            group.addTask { await self.step(every: shorter) { await self.apply() } }
        }
    }

    private func step(every interval: Duration, _ work: @Sendable () async -> Void) async {
        while !Task.isCancelled {
            await work()
            let next = ContinuousClock.now + interval
            while .now < next, !Task.isCancelled {
                await Transport.shared.pause(for: next - .now)
                // Without a free descriptor, the pause ends at once.
                if .now < next, !Task.isCancelled { await blockForASecond() }
            }
        }
    }

    /// Reports a server that the staged bundle, if there is one, would refuse. Call it from the session's
    /// `serverTrustObserver`.
    ///
    /// It judges the path that the policy in force accepted, so a server with several valid paths may be reported
    /// although another one has the new pins.
    public nonisolated func observe(_ decision: ServerTrustDecision) {
        guard let policy = trial.withLock({ $0 }), case .accepted(let accepted) = decision.outcome else { return }
        do throws(PinningError) {
            _ = try policy.decide(accepted.path, port: decision.port, at: now())
        } catch {
            observer(.wouldRefuse(error))
        }
    }

    // MARK: Bundles

    private func receive(_ json: [UInt8], _ tag: String?) async {
        await apply()
        let (trust, first, known, time) = (trust, firstTrust, bundles, now())
        do throws(PolicyBundleError) {
            let bundle = try PolicyBundle(json: json)
            do throws(SavedPolicyBundles.Failure) {
                try await onQueue { saved throws(SavedPolicyBundles.Failure) in
                    try saved.accept(bundle, after: known, by: first, at: time)
                }
            } catch {
                switch error {
                case .bundle(let error): throw error
                case .directory(let error): return observer(.unsaved(sequence: bundle.sequence, "\(error)"))
                }
            }
            self.tag = tag
            if self.trust == trust { return observer(.unchanged(sequence: trust.sequence)) }
            if let staged = bundles.staged { observer(.staged(staged)) }
            await apply(isNew: bundles.staged == nil)
        } catch {
            observer(.refused(error))
        }
    }

    /// Puts the policy in force that is right at this time, and reports it if it is another one.
    private func apply(isNew: Bool = false) async {
        let time = now()
        if let rollout = bundles.staged?.bundle.rollout, time >= rollout.until {
            let (first, known) = (firstTrust, bundles)
            do throws(SavedPolicyBundles.Failure) {
                try await onQueue { saved throws(SavedPolicyBundles.Failure) in
                    try saved.promote(after: known, by: first, at: time)
                }
                return await apply(isNew: true)
            } catch {
                observer(.unsaved(sequence: self.trust.sequence, "\(error)"))
            }
        }
        trial.withLock { $0 = bundles.staged?.policy }
        guard let current = bundles.current else { return }
        let sequence = current.bundle.sequence
        // mutant update-fallback: true by PolicyUpdaterTests
        if now() < current.bundle.expires {
            guard inForce != .bundle(sequence: sequence) else { return }
            inForce = .bundle(sequence: sequence)
            store.replace(with: current.policy)
            observer(isNew ? .adopted(current) : .resumed(current))
        } else {
            guard inForce != .fallback(sequence: sequence) else { return }
            inForce = .fallback(sequence: sequence)
            // mutant update-denied: builtIn for `builtIn.denying(current.policy.deny)` by PolicyUpdaterTests
            store.replace(with: builtIn.denying(current.policy.deny))
            observer(.expired(sequence: sequence, at: current.bundle.expires))
        }
    }

    /// Works with the files and then has the bundles in them, unless later ones came first.
    private func onQueue(
        _ body:
            @escaping @Sendable (SavedPolicyBundles) throws(SavedPolicyBundles.Failure)
            -> SavedPolicyBundles.Bundles
    ) async throws(SavedPolicyBundles.Failure) {
        let saved = saved
        let result = await withCheckedContinuation { continuation in
            queue.async {
                continuation.resume(
                    returning: Result { () throws(SavedPolicyBundles.Failure) in try body(saved) })
            }
        }
        bundles = bundles.merged(with: try result.get())
    }

    private func blockForASecond() async {
        await withCheckedContinuation { continuation in
            queue.async {
                Thread.sleep(forTimeInterval: 1)
                continuation.resume()
            }
        }
    }

    // MARK: Fetching

    /// Returns the bundle at the URL with its entity tag, or `nil` if it is the one that was accepted.
    private func fetch() async throws -> ([UInt8], String?)? {
        // mutant update-tls: true by PolicyFetchTests
        guard url.scheme?.lowercased() == "https" else {
            throw PolicyFetchError("\(url) isn't an https URL: publish the bundle over https")
        }
        var request = URLRequest(url: url, cachePolicy: .reloadIgnoringLocalCacheData)
        // An expired bundle is fetched anew, whatever its entity tag is.
        // mutant update-tag-expired: false for `hasExpired` by PolicyFetchTests
        let known = hasExpired ? nil : tag
        if let known { request.setValue(known, forHTTPHeaderField: "If-None-Match") }
        let (bytes, response) = try await session.bytes(for: request)
        guard let response = response as? HTTPURLResponse, response.statusCode == 200 else {
            let status = (response as? HTTPURLResponse)?.statusCode ?? 0
            if status == 304, known != nil { return nil }
            throw PolicyFetchError("\(url) answered with status \(status): check the URL")
        }
        var body: [UInt8] = []
        for try await byte in bytes {
            // mutant update-size: true by PolicyFetchTests
            guard body.count < PolicyBundle.maximumSize else {
                throw PolicyFetchError("\(url) is larger than \(PolicyBundle.maximumSize) bytes: check the URL")
            }
            body.append(byte)
        }
        // mutant update-tag: response.value(forHTTPHeaderField: "ETag") for `response…entityTag)` by PolicyFetchTests
        return (body, response.value(forHTTPHeaderField: "ETag").flatMap(Self.entityTag))
    }

    private var hasExpired: Bool { bundles.latest.map { now() >= $0.bundle.expires } ?? false }

    /// Returns a field's value if it is one entity tag (RFC 9110, section 8.8.3) that isn't long. Servers would answer
    /// `*` or a list with 304 to bundles that the program doesn't have, and an overlong one with an error.
    private static func entityTag(_ value: String) -> String? {
        let opaque = (value.hasPrefix("W/") ? value.dropFirst(2) : value[...]).utf8
        guard (2...256).contains(opaque.count), opaque.first == UInt8(ascii: "\""), opaque.last == UInt8(ascii: "\""),
            opaque.dropFirst().dropLast().allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\"") })
        else { return nil }
        return value
    }
}

/// The reason why a response isn't a bundle.
struct PolicyFetchError: LocalizedError {
    let errorDescription: String?

    init(_ description: String) { errorDescription = description }
}
