import CPinctlOpenSSL
import Glibc

extension LoopbackServer {
    /// The data and events of one connection so far.
    package struct Record: Sendable {
        /// The name in the server_name extension.
        package internal(set) var serverName: String?
        package internal(set) var handshakeCompleted = false
        package internal(set) var sessionResumed = false
        /// Whether the client asked for early data, which means that it sent some or may have.
        package internal(set) var offeredEarlyData = false
        /// The client's chain in DER, leaf first, once the server has accepted it. A resumed session keeps only the
        /// leaf.
        package internal(set) var clientChain: [[UInt8]] = []
        /// The version, such as `TLSv1.3`. `nil` without a ServerHello.
        package internal(set) var protocolVersion: String?
        /// The protocol selected by ALPN.
        package internal(set) var applicationProtocol: String?
        /// All bytes received inside TLS, or on plain TCP, without the handshake.
        package internal(set) var applicationBytes: [UInt8] = []
        /// The number of bytes that the server has written inside TLS, or on plain TCP. The kernel has accepted them.
        package internal(set) var writtenCount = 0
        /// The number of bytes that passed through the tunnel of a proxy.
        package internal(set) var tunnelled = (toTarget: 0, toClient: 0)
        /// The requests that ``Connection/readRequest()`` found in the received bytes.
        package internal(set) var requests: [Request] = []
        /// Alerts from the client, including close_notify.
        package internal(set) var alerts: [Alert] = []
        /// The reason why the server's side stopped, if it failed.
        package internal(set) var failure: String?
        package internal(set) var hasEnded = false
    }

    /// A TLS alert (RFC 8446, section 6).
    package struct Alert: Sendable, Hashable, CustomStringConvertible {
        /// The alert level: 1 for warning, 2 for fatal.
        package let level: UInt8
        package let code: UInt8

        package init(level: UInt8, code: UInt8) {
            self.level = level
            self.code = code
        }

        package static let closeNotify = Alert(level: 1, code: 0)

        /// The alert's text, such as `unknown CA` (`SSL_alert_desc_string_long`).
        package var description: String { unsafe String(cString: SSL_alert_desc_string_long(Int32(code))) }
    }
}

/// The records of a server, and its open sockets.
final class LoopbackLog: Sendable {
    private struct State: Sendable {
        var isStopped = false
        var records: [LoopbackServer.Record] = []
        var sockets: [Int: Int32] = [:]
        var threads: [PosixThread] = []
        var waiting: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

        mutating func takeWaiting() -> [CheckedContinuation<Void, Never>] {
            let count = isStopped ? Int.max : records.prefix { $0.hasEnded }.count
            defer { waiting.removeAll { $0.count <= count } }
            return waiting.filter { $0.count <= count }.map(\.continuation)
        }
    }

    private let state = Locked(State())

    var records: [LoopbackServer.Record] { state.withLock { $0.records } }

    /// Starts a record for a new connection. Returns `nil` if the server has stopped.
    func open(_ socket: Int32) -> Int? {
        state.withLock { state in
            guard !state.isStopped else { return nil }
            state.records.append(LoopbackServer.Record())
            state.sockets[state.records.count - 1] = socket
            return state.records.count - 1
        }
    }

    func update(_ connection: Int, _ change: (inout LoopbackServer.Record) -> Void) {
        state.withLock { change(&$0.records[connection]) }
    }

    /// Closes the socket under the lock, so that ``stop()`` never touches a descriptor number that is in use again.
    func close(_ connection: Int) {
        let ready = state.withLock { state in
            if let socket = state.sockets.removeValue(forKey: connection) { Glibc.close(socket) }
            state.records[connection].hasEnded = true
            return state.takeWaiting()
        }
        for continuation in ready { continuation.resume() }
    }

    func add(_ thread: PosixThread) { state.withLock { $0.threads.append(thread) } }

    /// Ends every connection, prevents new ones, and wakes all waiting tasks.
    func stop() {
        let ready = state.withLock { state in
            state.isStopped = true
            for socket in state.sockets.values { shutdown(socket, Int32(SHUT_RDWR)) }
            return state.takeWaiting()
        }
        for continuation in ready { continuation.resume() }
    }

    func takeThreads() -> [PosixThread] {
        state.withLock { state in
            defer { state.threads = [] }
            return state.threads
        }
    }

    /// Waits until the first `count` connections have ended, until ``stop()``, which a cancelled task calls, or until
    /// it is clear that they won't end.
    func ended(_ count: Int) async {
        let patience = Task {
            try await Task.sleep(for: Self.patience)
            let ready = state.withLock { state in
                state.waiting.indices.filter { state.waiting[$0].count == count }
                    .reversed().map { state.waiting.remove(at: $0).continuation }
            }
            for continuation in ready { continuation.resume() }
        }
        defer { patience.cancel() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let ready = state.withLock { state in
                    state.waiting.append((count, continuation))
                    return state.takeWaiting()
                }
                for continuation in ready { continuation.resume() }
            }
        } onCancel: {
            stop()
        }
    }

    /// The longest wait for connections to end, which takes them milliseconds. It is shorter than a suite's time
    /// limit, so that a test reports what it found.
    private static let patience = Duration.seconds(30)
}
