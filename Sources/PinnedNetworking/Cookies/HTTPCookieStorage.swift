import CertificateTrust
import PinctlBasics

/// A store of cookies. A session uses the one that its configuration names
/// (``URLSessionConfiguration/httpCookieStorage``), which is none by default.
///
/// ``shared`` and storages without a directory are in memory only. A storage with a directory keeps the cookies that
/// have an expiry time in a file that only this user can read. See <doc:UseCookies>.
///
/// A storage has at most 3000 cookies, and 50 of each domain.
public final class HTTPCookieStorage: NSObject, Sendable {
    /// The storage of the process, in memory. No session uses it by itself.
    public static let shared = HTTPCookieStorage()

    private struct State: Sendable {
        var jar = CookieJar()
        var policy = HTTPCookie.AcceptPolicy.always
        var file: PrivateFile<SavedCookies>?
        /// The number of changes made through the storage.
        var changeCount = 0
    }

    /// A lock held only briefly, never while a file is read or written.
    private let state: Locked<State>
    /// A lock for changes. It can be held as long as a disk or another process takes.
    private let changing = Locked(())
    private let suffixes: PublicSuffixes
    private let clock: @Sendable () -> Date
    // One thread each, regardless of the number of waiting calls. Reads don't wait for changes.
    private let reads = DispatchQueue(label: "PinnedNetworking.cookies.reads")
    private let changes = DispatchQueue(label: "PinnedNetworking.cookies.changes")

    /// Creates a storage. `clock` returns the current time.
    init(
        file: PrivateFile<SavedCookies>?, suffixes: PublicSuffixes = .system,
        clock: @escaping @Sendable () -> Date = { Date() }
    ) {
        var state = State(file: file)
        if let file { state.jar.replaceSaved(with: file.saved.cookies, at: clock()) }
        self.state = Locked(state)
        self.suffixes = suffixes
        self.clock = clock
    }

    /// Creates an empty storage in memory. It is gone with the last reference to it.
    public override convenience init() { self.init(file: nil) }

    /// Creates a storage with a file in this directory, which is created if missing. Several processes can share it.
    ///
    /// Throws if the directory can't be used: other users have access to the directory or the file or own one of them,
    /// another user could replace the directory, or the file is damaged.
    public convenience init(directory: URL) throws(CredentialStorageError) {
        // A URL other than a file URL gives no path.
        var file = PrivateFile<SavedCookies>(in: directory.isFileURL ? directory.standardizedFileURL.path : "")
        _ = file.change(until: .now + PrivateDirectory.patience) { _ in }
        if let error = file.error { throw error }
        self.init(file: file)
    }

    /// The name of the type. Hosts and names are left out, so that they don't get into logs.
    public override var description: String { "HTTPCookieStorage" }

    /// The reason why the file can't be read or written, or nil. While there is an error, cookies are kept only as long
    /// as the storage exists.
    public var storageError: CredentialStorageError? {
        refresh()
        return state.withLock { $0.file?.error }
    }

    /// The cookies that have not expired, in the order in which they were created. Never nil.
    public var cookies: [HTTPCookie]? {
        refresh()
        let now = clock()
        return state.withLock { $0.jar.entries }.filter { !$0.isExpired(at: now) }.map(\.cookie)
    }

    /// Returns the cookies that a request for a URL carries, longer paths first. Returns nil if no request for the URL
    /// carries any, because it isn't an `http` or `https` URL with a host.
    public func cookies(for url: URL) -> [HTTPCookie]? {
        CookieRequest(url).map(currentCookies)
    }

    /// Returns all cookies, sorted by these descriptors.
    public func sortedCookies(using sortOrder: [NSSortDescriptor]) -> [HTTPCookie] {
        (cookies ?? []).sorted { left, right in
            for descriptor in sortOrder {
                let order = descriptor.compare(left, to: right)
                if order != .orderedSame { return order == .orderedAscending }
            }
            return false
        }
    }

    /// The rule for accepting cookies, ``HTTPCookie/AcceptPolicy/always`` by default. A session has a rule of its own
    /// (``URLSessionConfiguration/httpCookieAcceptPolicy``), and both must accept a cookie.
    public var cookieAcceptPolicy: HTTPCookie.AcceptPolicy {
        get { state.withLock { $0.policy } }
        set {
            let old = state.withLock { state in
                defer { state.policy = newValue }
                return state.policy
            }
            guard old != newValue else { return }
            NotificationCenter.default.post(name: .NSHTTPCookieManagerAcceptPolicyChanged, object: self)
        }
    }

    /// Stores a cookie, and replaces the one with the same name, domain and path. It is ignored if the storage accepts
    /// no cookies, or if it is for all subdomains of a public suffix such as `co.uk`.
    ///
    /// Whether a server may set the cookie isn't checked. ``setCookies(_:for:mainDocumentURL:)`` does that.
    public func setCookie(_ cookie: HTTPCookie) {
        guard cookieAcceptPolicy != .never,
            cookie.content.isHostOnly || !suffixes.contains(cookie.content.host)
        else { return }
        change { jar, now in jar.store(cookie, at: now) }
    }

    /// Stores the cookies of a response from a URL, as the accept policy allows. A cookie is ignored if a server at the
    /// URL can't set it.
    ///
    /// Pass the URL of the document that the request was made for, if there is one, or nil.
    public func setCookies(_ cookies: [HTTPCookie], for url: URL?, mainDocumentURL: URL?) {
        guard let url, let request = CookieRequest(url, mainDocument: mainDocumentURL),
            accepts(request, .always)
        else { return }
        store(cookies.filter { $0.canBeSet(by: request, suffixes) }, from: request)
    }

    /// Removes the cookie with the name, domain and path of this one.
    public func deleteCookie(_ cookie: HTTPCookie) {
        change { jar, _ in jar.remove { $0.cookie.hasSameIdentity(as: cookie) } }
    }

    /// Removes the cookies that were set after a time.
    public func removeCookies(since date: Date) {
        change { jar, _ in jar.remove { $0.stored > date } }
    }

    /// There are no app groups on Linux.
    @available(
        *, unavailable,
        message: "there are no app groups: use HTTPCookieStorage(directory:) with a directory that the programs share"
    )
    public class func sharedCookieStorage(forGroupContainerIdentifier identifier: String) -> HTTPCookieStorage {
        HTTPCookieStorage()
    }
}

// swift-format-ignore: AlwaysUseLowerCamelCase
extension NSNotification.Name {
    /// A notification that the cookies of an ``HTTPCookieStorage``, its object, have changed. It is posted on the
    /// thread that made the change.
    public static let NSHTTPCookieManagerCookiesChanged = NSNotification.Name(
        "NSHTTPCookieManagerCookiesChangedNotification")

    /// A notification that the accept policy of an ``HTTPCookieStorage``, its object, has changed.
    public static let NSHTTPCookieManagerAcceptPolicyChanged = NSNotification.Name(
        "NSHTTPCookieManagerAcceptPolicyChangedNotification")
}

extension HTTPCookieStorage: CustomReflectable {
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

// MARK: Use by a session

extension HTTPCookieStorage {
    /// The most `Set-Cookie` fields of one response that are considered. curl has the same limit.
    static let fieldLimit = 50

    /// Returns the cookies for a request. Another process may have changed the file, which is read on another thread.
    func cookiesToSend(with request: CookieRequest) async -> [HTTPCookie] {
        // The list of public suffixes, which tells whether the document is of the same site, may not have been read
        // yet.
        guard state.withLock({ $0.file != nil }) || request.hasDocument else {
            return found(for: request)
        }
        return await BlockingWork.run(on: reads) { self.currentCookies(for: request) } ?? []
    }

    /// Stores the cookies of a response's `Set-Cookie` fields, on another thread. Observers of the change are called
    /// there too.
    func store(_ fields: [[UInt8]], from request: CookieRequest, _ policy: HTTPCookie.AcceptPolicy) async {
        await BlockingWork.run(on: changes) {
            guard self.accepts(request, policy) else { return }
            let now = self.clock()
            let cookies = fields.prefix(Self.fieldLimit).compactMap { field in
                SetCookie(field).flatMap { HTTPCookie($0, from: request, self.suffixes, at: now) }
            }
            self.store(cookies, from: request)
        }
    }

    /// Returns the cookies for a request, after reading a changed file.
    func currentCookies(for request: CookieRequest) -> [HTTPCookie] {
        refresh()
        return found(for: request)
    }

    private func found(for request: CookieRequest) -> [HTTPCookie] {
        let now = clock()
        // Reads the list before the lock is taken.
        if request.hasDocument { _ = suffixes.isKnown }
        return state.withLock { $0.jar.cookies(for: request, suffixes, at: now) }
    }

    /// Removes all cookies, on another thread.
    func removeAll() async {
        await BlockingWork.run(on: changes) { self.removeCookies(since: .distantPast) }
    }

    private func accepts(_ request: CookieRequest, _ policy: HTTPCookie.AcceptPolicy) -> Bool {
        [policy, cookieAcceptPolicy].allSatisfy { policy in
            switch policy {
            case .always: true
            case .never: false
            case .onlyFromMainDocumentDomain: request.isFirstParty(suffixes)
            }
        }
    }

    private func store(_ cookies: [HTTPCookie], from request: CookieRequest) {
        guard !cookies.isEmpty else { return }
        change { jar, now in
            cookies.reduce(false) { isChanged, cookie in
                jar.store(cookie, from: request, suffixes, at: now) || isChanged
            }
        }
    }

    /// Reads the file if another process has changed it. Blocks for file access, but never for the lock of another
    /// process.
    private func refresh() {
        while true {
            let before = state.withLock { $0 }
            guard var file = before.file else { return }
            file.refresh()
            var jar = before.jar
            // On a copy, since the event loop waits for the lock. Only the order of use since then is lost.
            let isNew = file.saved != before.file?.saved
            if isNew { jar.replaceSaved(with: file.saved.cookies, at: clock()) }
            let isCurrent = state.withLock { [jar, file] state in
                // A read from before a change in this process is out of date.
                guard state.changeCount == before.changeCount else { return false }
                if isNew { state.jar = jar }
                state.file = file
                return true
            }
            if isCurrent { return }
        }
    }

    /// Changes the cookies and the file, and posts a notification if `body` returns that anything changed.
    private func change(_ body: (inout CookieJar, Date) -> Bool) {
        let deadline = ContinuousClock.now + PrivateDirectory.patience
        let isChanged = changing.withLock { _ in
            let now = clock()
            refresh()
            // Requests that are sent in the meantime find the cookies from before.
            var (jar, file) = state.withLock { ($0.jar, $0.file) }
            jar.removeExpired(at: now)
            guard body(&jar, now) else { return false }
            if let known = file?.saved {
                let wasWritten = file?.change(until: deadline) { saved in
                    if saved != known {
                        // Another process has changed the file since it was read.
                        jar.replaceSaved(with: saved.cookies, at: now)
                        _ = body(&jar, now)
                    }
                    saved = SavedCookies(jar.persistent)
                }
                if wasWritten == true { jar.markSaved() }
            }
            state.withLock { [jar, file] state in
                state.jar = jar
                state.file = file
                state.changeCount += 1
            }
            return true
        }
        guard isChanged else { return }
        NotificationCenter.default.post(name: .NSHTTPCookieManagerCookiesChanged, object: self)
    }
}

// Apple's variants with a task, whose current URL and main document count.
extension HTTPCookieStorage {
    /// Does the same as ``setCookies(_:for:mainDocumentURL:)`` for the task's URL.
    public func storeCookies(_ cookies: [HTTPCookie], for task: URLSessionTask) {
        let request = task.currentRequest
        setCookies(cookies, for: request?.url, mainDocumentURL: request?.mainDocumentURL)
    }

    /// Calls the handler with the cookies that the task's current request carries before it returns.
    public func getCookiesFor(_ task: URLSessionTask, completionHandler: ([HTTPCookie]?) -> Void) {
        completionHandler(request(of: task).map(currentCookies))
    }

    /// Returns the cookies that the task's current request carries.
    public func cookies(for task: URLSessionTask) async -> [HTTPCookie]? {
        guard let request = request(of: task) else { return nil }
        return await cookiesToSend(with: request)
    }

    private func request(of task: URLSessionTask) -> CookieRequest? {
        guard let request = task.currentRequest, let url = request.url else { return nil }
        return CookieRequest(url, mainDocument: request.mainDocumentURL)
    }
}
