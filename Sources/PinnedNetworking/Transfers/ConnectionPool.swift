import CertificateTrust
import PinctlHTTPMessages
import PinctlTLSTransport
import Synchronization

/// The connections of a session: the idle ones, the number of connections for each key, and TLS sessions to resume.
@TransportActor
final class ConnectionPool {
    /// The destination of connections and the proxy they use. Connections with one key differ only in their approvals.
    ///
    /// A class with a stored hash, because each request copies its key and looks it up several times.
    final class Key: Hashable, Sendable {
        let origin: HTTPOrigin
        let proxy: ProxyConfiguration?
        /// Whether the proxy opens a tunnel to the origin. Otherwise it forwards requests, or there is none.
        let isTunneled: Bool
        private let hash: Int

        init(origin: HTTPOrigin, proxy: ProxyConfiguration?, isTunneled: Bool) {
            self.origin = origin
            self.proxy = proxy
            self.isTunneled = isTunneled
            var hasher = Hasher()
            hasher.combine(origin.authority)
            if let proxy { hasher.combine(proxy) }
            hash = hasher.finalize()
        }

        static func == (left: Key, right: Key) -> Bool {
            left === right
                || left.hash == right.hash && left.origin == right.origin && left.proxy == right.proxy
                    && left.isTunneled == right.isTunneled
        }

        func hash(into hasher: inout Hasher) { hasher.combine(hash) }
    }

    /// The permission for a request.
    enum Lease {
        /// Use this connection from an earlier request.
        case reuse(PooledConnection)
        /// Open a new connection.
        case open
    }

    /// A class, so that a change doesn't copy it.
    private final class Connections {
        /// The idle connections, in order of their last use.
        var idle: [PooledConnection] = []
        /// The number of connections that are open or being opened.
        var count = 0
        var waiting: [OnceOnlyAnswer<Void>] = []
        var sessions: [StoredSession] = []
    }

    private struct StoredSession {
        let session: ResumableSession
        let approval: Approval
    }

    private let limit: Int
    private let idleCount = Atomic(0)
    private var groups: [Key: Connections] = [:]
    private var sweep: TransportTimer?
    /// The number of calls of ``drop()``. A connection leased before the last call isn't kept.
    private var generation = 0

    /// The number of known keys at which those without a connection are removed, together with their TLS sessions.
    private static let keyLimit = 256
    /// The maximum number of TLS sessions for one key: one for each connection by default.
    private static let sessionLimit = 6
    /// The time for which an idle connection is kept.
    private let idleLimit: Duration

    /// Creates an empty pool. By default, idle connections are kept for a minute. Servers close theirs after 5 to 75
    /// seconds.
    nonisolated init(limit: Int, idleLimit: Duration = .seconds(60)) {
        self.limit = max(1, limit)
        self.idleLimit = idleLimit
    }

    deinit { sweep?.cancel() }

    /// Waits for a connection that is valid for a request, or for permission to open one. The caller must end the lease
    /// with ``keep(_:for:)`` or ``close(_:for:)``. `matching` is evaluated again after every wait.
    func lease(_ key: Key, matching: () throws -> (PooledConnection) -> Bool) async throws -> Lease {
        while true {
            let matches: (PooledConnection) -> Bool
            do {
                matches = try matching()
            } catch {
                wakeNext(key)
                throw error
            }
            if let connection = takeIdle(key, where: matches) { return .reuse(connection) }
            if (groups[key]?.count ?? 0) < limit {
                if groups.count >= Self.keyLimit { groups = groups.filter { $0.value.count > 0 } }
                group(key).count += 1
                return .open
            }
            let group = group(key)
            if let useless = group.idle.first {
                close(useless, for: key)
                continue
            }
            let turn = OnceOnlyAnswer<Void>()
            group.waiting.append(turn)
            guard await turn.value != nil else {
                wakeNext(key)
                throw CancellationError()
            }
        }
    }

    /// Whether there is any idle connection. It may be for another key.
    nonisolated var hasIdle: Bool { idleCount.load(ordering: .relaxed) > 0 }

    private func group(_ key: Key) -> Connections {
        if let group = groups[key] { return group }
        let group = Connections()
        groups[key] = group
        return group
    }

    /// Takes an idle connection that still works, as ``lease(_:matching:)`` does. Prefers the one used last, since the
    /// server is least likely to have closed it.
    func takeIdle(_ key: Key, where matches: (PooledConnection) -> Bool) -> PooledConnection? {
        guard let group = groups[key] else { return nil }
        while let index = group.idle.lastIndex(where: matches) {
            let connection = group.idle.remove(at: index)
            idleCount.subtract(1, ordering: .relaxed)
            // mutant expired-connection: true for 2 by PolicyChangeTests ConnectionReuseTests
            // mutant bytes-after-response: true for 1 by ConnectionReuseTests/surplus
            if connection.connection.idleState() == .quiet, connection.isValid(at: Date()) {
                connection.isReused = true
                return connection
            }
            close(connection, for: key)
        }
        return nil
    }

    /// Keeps a connection that can be reused.
    func keep(_ connection: PooledConnection, for key: Key) {
        // A peer that doesn't read would make the next request wait, and the settings could be replaced meanwhile.
        // mutant unread-output-kept: true for 2 by ConnectionPoolTests/unread
        // mutant flushed-connection: true for 1 by ConnectionReuseTests/flush
        guard connection.generation == generation, connection.connection.hasSentAll else {
            return close(connection, for: key)
        }
        connection.idleSince = .now
        let group = group(key)
        group.idle.append(connection)
        idleCount.add(1, ordering: .relaxed)
        wakeNext(group)
        if sweep == nil { startSweep() }
    }

    /// Ends a lease whose connection can't be reused or wasn't opened.
    func close(_ connection: PooledConnection?, for key: Key) {
        if let connection {
            if let group = groups[key], let index = group.idle.firstIndex(where: { $0 === connection }) {
                group.idle.remove(at: index)
                idleCount.subtract(1, ordering: .relaxed)
            }
            storeSession(of: connection, for: key)
        }
        groups[key]?.count -= 1
        wakeNext(key)
        connection?.connection.close()
        forgetIfEmpty(key)
    }

    /// The generation of a new connection. See ``drop()``.
    var currentGeneration: Int { generation }

    /// Takes a TLS session whose approval is valid for a request. It isn't returned again.
    func takeSession(_ key: Key, where matches: (Approval) -> Bool) -> ResumableSession? {
        guard let group = groups[key], let index = group.sessions.lastIndex(where: { matches($0.approval) }) else {
            return nil
        }
        return group.sessions.remove(at: index).session
    }

    private func storeSession(of connection: PooledConnection, for key: Key) {
        guard let verified = connection.connection as? VerifiedConnection, let session = verified.session(),
            // mutant flushed-session: true for 2 by ConnectionReuseTests/flush
            let approval = connection.origin?.approval, connection.generation == generation
        else { return }
        let group = group(key)
        group.sessions.append(StoredSession(session: session, approval: approval))
        group.sessions = group.sessions.suffix(Self.sessionLimit)
    }

    /// Drops every TLS session and closes every connection. Connections in use are closed when their request has ended.
    func drop() {
        generation += 1
        for (key, group) in groups {
            group.sessions = []
            closeIdle(for: key) { $0.generation < generation }
        }
    }

    private func wakeNext(_ key: Key) {
        if let group = groups[key] { wakeNext(group) }
    }

    private func wakeNext(_ group: Connections) {
        while let next = group.waiting.first {
            group.waiting.removeFirst()
            if next.answer(()) { return }
        }
    }

    private func forgetIfEmpty(_ key: Key) {
        guard let connections = groups[key], connections.count <= 0, connections.sessions.isEmpty,
            connections.waiting.isEmpty
        else { return }
        groups[key] = nil
    }

    private func startSweep() {
        sweep = TransportTimer(at: .now + idleLimit / 2) { [weak self] in
            TransportActor.assumeIsolated { self?.closeIdle() }
        }
    }

    private func closeIdle(for key: Key, where isUseless: (PooledConnection) -> Bool) {
        while let connection = groups[key]?.idle.first(where: isUseless) { close(connection, for: key) }
    }

    private func closeIdle() {
        sweep = nil
        let oldest = TransportTime.now - idleLimit
        for key in groups.keys { closeIdle(for: key) { $0.idleSince <= oldest } }
        if groups.values.contains(where: { !$0.idle.isEmpty }) { startSweep() }
    }
}

/// A connection with the data that decides which requests can reuse it.
@TransportActor
final class PooledConnection {
    let connection: RequestConnection
    let key: ConnectionPool.Key
    /// The permission of the current request to be sent.
    var permit: SendPermit
    /// The origin, or `nil` for `http`.
    let origin: EvaluatedServer?
    /// The proxy, or `nil` without a proxy and for a cleartext proxy.
    let proxy: EvaluatedServer?
    /// The credential that was used to open the proxy's tunnel.
    let proxyCredential: URLCredential?
    let isProxied: Bool
    /// The task for which the connection was opened.
    let taskIdentifier: Int
    let generation: Int
    /// The NTLM or Negotiate login of the connection, at the server or at the proxy that receives the requests.
    var login: (any ConnectionLogin)?
    /// Whether an earlier request used the connection.
    var isReused = false
    var idleSince = TransportTime.now

    nonisolated init(
        _ connection: RequestConnection, _ key: ConnectionPool.Key, _ permit: SendPermit, origin: EvaluatedServer?,
        proxy: EvaluatedServer?, proxyCredential: URLCredential?, isProxied: Bool, taskIdentifier: Int, generation: Int
    ) {
        self.connection = connection
        self.key = key
        self.permit = permit
        self.origin = origin
        self.proxy = proxy
        self.proxyCredential = proxyCredential
        self.isProxied = isProxied
        self.taskIdentifier = taskIdentifier
        self.generation = generation
    }

    /// Whether a task with this credential can use the connection's tunnel.
    func matches(_ credential: URLCredential?, for task: URLSessionTask) -> Bool {
        // mutant tunnel-login: true for `proxyCredential == credential` by ProxyTests/otherLogin
        proxyCredential == credential || taskIdentifier == task.taskIdentifier
    }

    /// Whether a request with this login, or without one, can use the connection.
    func matches(_ upcoming: KnownAuthentication?) -> Bool { login?.matches(upcoming) ?? true }

    func isValid(at time: Date) -> Bool {
        if let origin, !origin.isValid(at: time) { return false }
        // mutant expired-proxy: false for 2 by PolicyChangeTests/expiredProxy
        if let proxy, !proxy.isValid(at: time) { return false }
        return true
    }
}
