import CertificateTrust
import HTTPMessages
import TLSTransport

/// The connections of a session: the idle ones, the number of connections to each place, and TLS sessions to resume.
@TransportActor
final class ConnectionPool {
    /// The destination of connections and the proxy they use. Connections to one place differ only in their approvals.
    struct Place: Hashable, Sendable {
        let origin: HTTPOrigin
        let proxy: ProxyConfiguration?
    }

    /// The permission for a request.
    enum Lease {
        /// Use this connection from an earlier request.
        case reuse(PooledConnection)
        /// Open a new connection.
        case open
    }

    private struct Connections {
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
    private var places: [Place: Connections] = [:]
    private var sweep: TransportTimer?
    /// The number of calls of ``drop()``. A connection leased before the last call isn't kept.
    private var generation = 0

    /// The number of known places at which those without a connection are removed, together with their TLS sessions.
    private static let placeLimit = 256
    /// The maximum number of TLS sessions for one place: one for each connection by default.
    private static let sessionLimit = 6
    /// The time for which an idle connection is kept. Servers close theirs after 5 to 75 seconds.
    private static let idleLimit = Duration.seconds(60)

    nonisolated init(limit: Int) {
        self.limit = max(1, limit)
    }

    deinit { sweep?.cancel() }

    /// Waits for a connection that is valid for a request, or for permission to open one. The caller must end the lease
    /// with ``keep(_:at:)`` or ``close(_:at:)``. `holding` is evaluated again after every wait.
    func lease(_ place: Place, holding: () throws -> (PooledConnection) -> Bool) async throws -> Lease {
        while true {
            let holds: (PooledConnection) -> Bool
            do {
                holds = try holding()
            } catch {
                wakeNext(place)
                throw error
            }
            if let connection = await take(place, where: holds) { return .reuse(connection) }
            let connections = places[place, default: Connections()]
            if connections.count < limit {
                if places.count >= Self.placeLimit { places = places.filter { $0.value.count > 0 } }
                places[place, default: Connections()].count += 1
                return .open
            }
            if let useless = connections.idle.first {
                await close(useless, at: place)
                continue
            }
            let turn = OnceOnlyAnswer<Void>()
            places[place]?.waiting.append(turn)
            guard await turn.value != nil else {
                wakeNext(place)
                throw CancellationError()
            }
        }
    }

    /// Takes an idle connection that still works. Prefers the one used last, since the server is least likely to have
    /// closed it.
    private func take(_ place: Place, where holds: (PooledConnection) -> Bool) async -> PooledConnection? {
        while let index = places[place]?.idle.lastIndex(where: holds) {
            guard let connection = places[place]?.idle.remove(at: index) else { return nil }
            if await !connection.connection.hasInput(), connection.isValid(at: Date()) {
                connection.isReused = true
                return connection
            }
            await close(connection, at: place)
        }
        return nil
    }

    /// Keeps a connection that can be reused.
    func keep(_ connection: PooledConnection, at place: Place) async {
        guard connection.generation == generation else { return await close(connection, at: place) }
        connection.idleSince = .now
        places[place, default: Connections()].idle.append(connection)
        wakeNext(place)
        if sweep == nil { startSweep() }
    }

    /// Ends a lease whose connection can't be reused or wasn't opened.
    func close(_ connection: PooledConnection?, at place: Place) async {
        if let connection {
            places[place]?.idle.removeAll { $0 === connection }
            await storeSession(of: connection, at: place)
        }
        places[place]?.count -= 1
        wakeNext(place)
        await connection?.connection.close()
        forgetIfEmpty(place)
    }

    /// The generation of a new connection. See ``drop()``.
    var currentGeneration: Int { generation }

    /// Takes a TLS session whose approval is valid for a request. It isn't returned again.
    func takeSession(_ place: Place, where holds: (Approval) -> Bool) -> ResumableSession? {
        guard let index = places[place]?.sessions.lastIndex(where: { holds($0.approval) }) else { return nil }
        return places[place]?.sessions.remove(at: index).session
    }

    private func storeSession(of connection: PooledConnection, at place: Place) async {
        guard let verified = connection.connection as? VerifiedConnection, let session = await verified.session(),
            connection.generation == generation
        else { return }
        let sessions = (places[place]?.sessions ?? []) + [StoredSession(session: session, approval: verified.approval)]
        places[place, default: Connections()].sessions = sessions.suffix(Self.sessionLimit)
    }

    /// Drops every TLS session and closes every connection. Connections in use are closed when their request has ended.
    func drop() async {
        generation += 1
        for place in places.keys {
            places[place]?.sessions = []
            await closeIdle(at: place) { $0.generation < generation }
        }
    }

    private func wakeNext(_ place: Place) {
        while let next = places[place]?.waiting.first {
            places[place]?.waiting.removeFirst()
            if next.answer(()) { return }
        }
    }

    private func forgetIfEmpty(_ place: Place) {
        guard let connections = places[place], connections.count <= 0, connections.sessions.isEmpty,
            connections.waiting.isEmpty
        else { return }
        places[place] = nil
    }

    private func startSweep() {
        sweep = TransportTimer(at: .now + Self.idleLimit / 2) { [weak self] in
            Task { @TransportActor in await self?.closeIdle() }
        }
    }

    /// Takes connections out one by one, since other requests can lease connections during each close.
    private func closeIdle(at place: Place, where isUseless: (PooledConnection) -> Bool) async {
        while let connection = places[place]?.idle.first(where: isUseless) { await close(connection, at: place) }
    }

    private func closeIdle() async {
        sweep = nil
        let oldest = ContinuousClock.now - Self.idleLimit
        for place in places.keys { await closeIdle(at: place) { $0.idleSince <= oldest } }
        if places.values.contains(where: { !$0.idle.isEmpty }) { startSweep() }
    }
}

/// A connection with the data that decides which requests can reuse it.
@TransportActor
final class PooledConnection {
    let connection: any RequestConnection
    /// The origin, or `nil` for `http`.
    let origin: JudgedServer?
    /// The proxy, or `nil` without a proxy and for a cleartext proxy.
    let proxy: JudgedServer?
    /// The credential that was used to open the proxy's tunnel.
    let proxyCredential: URLCredential?
    let isProxied: Bool
    /// The task for which the connection was opened.
    let taskIdentifier: Int
    let generation: Int
    /// The NTLM or Negotiate login of the connection, at the server or at the proxy that receives the requests.
    var login: ConnectionLogin?
    /// Whether an earlier request used the connection.
    var isReused = false
    var idleSince = ContinuousClock.now

    nonisolated init(
        _ connection: any RequestConnection, origin: JudgedServer?, proxy: JudgedServer?,
        proxyCredential: URLCredential?, isProxied: Bool, taskIdentifier: Int, generation: Int
    ) {
        self.connection = connection
        self.origin = origin
        self.proxy = proxy
        self.proxyCredential = proxyCredential
        self.isProxied = isProxied
        self.taskIdentifier = taskIdentifier
        self.generation = generation
    }

    /// Whether a task with this credential can use the connection's tunnel.
    func holds(_ credential: URLCredential?, for task: URLSessionTask) -> Bool {
        proxyCredential == credential || taskIdentifier == task.taskIdentifier
    }

    /// Whether a request with this login, or without one, can use the connection. It can't if the connection has
    /// another user's login (CVE-2014-0015, CVE-2015-3143), or if the connection has a login and the request doesn't
    /// need one (CVE-2015-3148).
    func holds(_ upcoming: KnownAuthentication?) -> Bool {
        guard let login else { return true }
        guard let upcoming, login.progress.hasProvenUser else { return false }
        return login.mechanism == upcoming.prepared.connectionMechanism && login.credential == upcoming.credential
            && login.space == upcoming.space
    }

    /// Returns the certificate of the TLS server that requires a login. The login is bound to it.
    func certificate(atProxy: Bool) -> X509Certificate? { (atProxy ? proxy : origin)?.trust.presented.leaf }

    func isValid(at time: Date) -> Bool { [origin, proxy].allSatisfy { $0?.isValid(at: time) ?? true } }
}
