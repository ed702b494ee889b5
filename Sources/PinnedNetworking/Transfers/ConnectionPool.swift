import CertificateTrust
import HTTPMessages
import TLSTransport

/// A session's connections: those that wait for their next request, how many there are to each place, and TLS sessions
/// to resume.
@TransportActor
final class ConnectionPool {
    /// Where connections lead and through what: connections to one place differ only in what they were approved under.
    struct Place: Hashable, Sendable {
        let origin: HTTPOrigin
        let proxy: ProxyConfiguration?
    }

    /// What may be done for a request.
    enum Lease {
        /// Use this connection, which an earlier request left.
        case reuse(PooledConnection)
        /// Open one.
        case open
    }

    private struct Connections {
        /// Last used last.
        var idle: [PooledConnection] = []
        /// All that are open or being opened.
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
    /// Counts ``drop()``: what was leased before it is not taken back.
    private var generation = 0

    /// Places known before those without a connection, and with them their sessions, are forgotten.
    private static let placeLimit = 256
    /// Sessions kept for one place: one for each connection that is usual.
    private static let sessionLimit = 6
    /// How long a connection is kept without a request. Servers close theirs after 5 to 75 seconds.
    private static let idleLimit = Duration.seconds(60)

    nonisolated init(limit: Int) {
        self.limit = max(1, limit)
    }

    deinit { sweep?.cancel() }

    /// Waits for a connection that holds for a request, or for leave to open one. What comes of the lease is to be told:
    /// ``keep(_:at:)`` or ``close(_:at:)``. `holding` is asked anew after every wait.
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

    /// Takes an idle connection that is still good; the latest first, since the server is least likely to have had
    /// enough of it.
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

    /// Takes back a connection that can bear another request.
    func keep(_ connection: PooledConnection, at place: Place) async {
        guard connection.generation == generation else { return await close(connection, at: place) }
        connection.idleSince = .now
        places[place, default: Connections()].idle.append(connection)
        wakeNext(place)
        if sweep == nil { startSweep() }
    }

    /// Ends a lease whose connection is of no use, or was never made.
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

    /// What a new connection belongs to; see ``drop()``.
    var currentGeneration: Int { generation }

    /// A session to resume that was approved in a way that holds for a request; it is not given out again.
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

    /// Forgets every session to resume and closes every connection, those in use when their request has ended.
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

    /// Takes connections out one by one, since each close lets requests lease others of them.
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

/// A connection with all that has to be known to give it to another request.
@TransportActor
final class PooledConnection {
    let connection: any RequestConnection
    /// Nil for `http`.
    let origin: JudgedServer?
    /// Nil without a proxy, and for one that is spoken to in the clear.
    let proxy: JudgedServer?
    /// The credential that opened the proxy's tunnel.
    let proxyCredential: URLCredential?
    let isProxied: Bool
    /// The task that it was opened for.
    let taskIdentifier: Int
    let generation: Int
    /// Who was logged in on it by NTLM or Negotiate, at the server or at the proxy that takes requests.
    var login: ConnectionLogin?
    /// Whether an earlier request went over it.
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

    /// Whether its tunnel is one that a task would open with this credential.
    func holds(_ credential: URLCredential?, for task: URLSessionTask) -> Bool {
        proxyCredential == credential || taskIdentifier == task.taskIdentifier
    }

    /// Whether a request that logs in so, or not at all, may use it: one that carries another user's login may not
    /// (CVE-2014-0015, CVE-2015-3143), nor one that needs none (CVE-2015-3148).
    func holds(_ upcoming: KnownAuthentication?) -> Bool {
        guard let login else { return true }
        guard let upcoming, login.progress.hasProvenUser else { return false }
        return login.mechanism == upcoming.prepared.connectionMechanism && login.credential == upcoming.credential
            && login.space == upcoming.space
    }

    /// The certificate of the TLS server that asks for a login, which is bound to it.
    func certificate(atProxy: Bool) -> X509Certificate? { (atProxy ? proxy : origin)?.trust.presented.leaf }

    func isValid(at time: Date) -> Bool { [origin, proxy].allSatisfy { $0?.isValid(at: time) ?? true } }
}
