public import CertificatePinning
import PinctlBasics
public import PinnedNetworking

/// A program's pinning policy, which the owner of its keys can update without a new release.
///
///     let updater = PolicyUpdater(
///         from: url, keySet: keySet, builtIn: policy, directory: directory) { print($0) }
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
    /// The queue for files, because a disk or another process may keep it waiting.
    private let queue = DispatchQueue(label: "PolicyUpdates")
    private let now: @Sendable () -> Date
    private let observer: @Sendable (PolicyUpdate) -> Void

    private let saved: SavedPolicyBundle
    /// The last bundle that was accepted, if any.
    private var accepted: VerifiedPolicyBundle?
    /// What a new bundle has to continue.
    private var trust: PolicyBundleTrust
    private var inForce = InForce.builtIn
    /// The entity tag of the last bundle that was accepted in this run of the program.
    private var tag: String?

    private enum InForce {
        case builtIn, bundle
        /// The built-in policy with the pins that an expired bundle denied.
        case fallback
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
    ///     the built-in policy, so that no bundle can cut the program off from the next one.
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
        saved = SavedPolicyBundle(directory: directory)
        self.now = now
        self.observer = observer
        trust = PolicyBundleTrust(keySet: keySet, sequence: sequence)
        session = URLSession(configuration: configuration)
        session.pinning = builtIn
    }

    deinit { session.invalidateAndCancel() }

    /// The highest sequence number that was accepted, or that of the built-in policy.
    public var sequence: Int { trust.sequence }

    // MARK: Steps

    /// Puts the bundle in force that an earlier run of the program saved, if there is one and it is valid.
    public func start() async {
        let (saved, trust) = (saved, trust)
        let result = await onQueue { Result { () throws(SavedPolicyBundle.Failure) in try saved.read(by: trust) } }
        do throws(SavedPolicyBundle.Failure) {
            guard let bundle = try result.get(), accept(bundle) else { return }
            apply { .resumed($0) }
        } catch {
            observer(.savedRefused("\(error)"))
        }
    }

    /// Fetches the bundle, and puts it in force if it is newer and valid.
    public func update() async {
        apply()
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

    private func receive(_ json: [UInt8], _ tag: String?) async {
        apply()
        do throws(PolicyBundleError) {
            try await take(PolicyBundle(json: json))
            self.tag = tag
        } catch {
            observer(.refused(error))
        }
    }

    /// Updates now and after every interval, until the task is cancelled. Takes a bundle out of force within a minute
    /// after it has expired.
    public func run(every interval: Duration) async {
        while !Task.isCancelled {
            await update()
            let next = ContinuousClock.now + interval
            while .now < next, !Task.isCancelled {
                // A short sleep, because the wall clock may be set meanwhile.
                try? await Task.sleep(for: min(.seconds(60), next - .now))
                apply()
            }
        }
    }

    // MARK: Bundles

    /// Verifies a bundle, saves it and puts it in force.
    private func take(_ bundle: PolicyBundle) async throws(PolicyBundleError) {
        let (saved, trust, time) = (saved, trust, now())
        let result = await onQueue {
            Result { () throws(SavedPolicyBundle.Failure) in try saved.replace(with: bundle, by: trust, at: time) }
        }
        do throws(SavedPolicyBundle.Failure) {
            guard accept(try result.get()) else { return observer(.unchanged(sequence: self.trust.sequence)) }
            apply { .adopted($0) }
        } catch {
            switch error {
            case .bundle(let error): throw error
            case .folder(let error): observer(.unsaved(sequence: bundle.sequence, "\(error)"))
            }
        }
    }

    /// Returns false if the last bundle that was accepted is as new as this one.
    private func accept(_ bundle: VerifiedPolicyBundle) -> Bool {
        guard accepted.map({ $0.trust.sequence < bundle.trust.sequence }) ?? true else { return false }
        accepted = bundle
        trust = bundle.trust
        return true
    }

    private func onQueue<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in queue.async { continuation.resume(returning: body()) } }
    }

    /// Puts the policy in force that is right at this time. If the last bundle is valid and just came into force, or an
    /// outcome is given, reports that outcome.
    private func apply(_ outcome: ((VerifiedPolicyBundle) -> PolicyUpdate)? = nil) {
        guard let accepted else { return }
        if now() < accepted.bundle.expires {
            guard inForce != .bundle || outcome != nil else { return }
            inForce = .bundle
            store.replace(with: accepted.policy)
            observer(outcome?(accepted) ?? .resumed(accepted))
        } else {
            guard inForce != .fallback else { return }
            inForce = .fallback
            store.replace(with: builtIn.denying(accepted.policy.deny))
            observer(.expired(sequence: accepted.bundle.sequence, at: accepted.bundle.expires))
        }
    }

    // MARK: Fetching

    /// Returns the bundle at the URL with its entity tag, or `nil` if it is the one that was accepted.
    private func fetch() async throws -> ([UInt8], String?)? {
        guard url.scheme?.lowercased() == "https" else {
            throw PolicyFetchError("\(url) isn't an https URL: publish the bundle over https")
        }
        var request = URLRequest(url: url, cachePolicy: .reloadIgnoringLocalCacheData)
        if let tag { request.setValue(tag, forHTTPHeaderField: "If-None-Match") }
        let (bytes, response) = try await session.bytes(for: request)
        guard let response = response as? HTTPURLResponse, response.statusCode == 200 else {
            let status = (response as? HTTPURLResponse)?.statusCode ?? 0
            if status == 304, tag != nil { return nil }
            throw PolicyFetchError("\(url) answered with status \(status): check the URL")
        }
        var body: [UInt8] = []
        for try await byte in bytes {
            guard body.count < PolicyBundle.maximumSize else {
                throw PolicyFetchError("\(url) is larger than \(PolicyBundle.maximumSize) bytes: check the URL")
            }
            body.append(byte)
        }
        return (body, response.value(forHTTPHeaderField: "ETag"))
    }
}

/// The reason why a response isn't a bundle.
struct PolicyFetchError: LocalizedError {
    let errorDescription: String?

    init(_ description: String) { errorDescription = description }
}
