import COpenSSL
import Glibc

extension LoopbackServer {
    /// What one connection brought, as far as it has come.
    package struct Record: Sendable {
        /// The server_name extension.
        package internal(set) var serverName: String?
        package internal(set) var handshakeCompleted = false
        package internal(set) var sessionResumed = false
        /// Whether the client asked for early data, which means that it sent some or may have.
        package internal(set) var offeredEarlyData = false
        /// DER, leaf first, once the server has accepted it; a resumed session keeps the leaf alone.
        package internal(set) var clientChain: [[UInt8]] = []
        /// `TLSv1.3`; nil without a ServerHello.
        package internal(set) var protocolVersion: String?
        /// The protocol selected by ALPN.
        package internal(set) var applicationProtocol: String?
        /// Everything that arrived inside TLS, or on plain TCP; not the handshake.
        package internal(set) var applicationBytes: [UInt8] = []
        /// How many bytes the server has written inside TLS, or on plain TCP: the kernel has them.
        package internal(set) var writtenCount = 0
        /// How many bytes went through the tunnel of a proxy.
        package internal(set) var tunnelled = (toTarget: 0, toClient: 0)
        /// The heads and bodies that ``Connection/readRequest()`` found in it.
        package internal(set) var requests: [Request] = []
        /// Alerts from the client, close_notify among them.
        package internal(set) var alerts: [Alert] = []
        /// Why the server's side stopped, when it failed.
        package internal(set) var failure: String?
        package internal(set) var hasEnded = false
    }

    /// RFC 8446, section 6.
    package struct Alert: Sendable, Hashable, CustomStringConvertible {
        /// 1 warning, 2 fatal.
        package let level: UInt8
        package let code: UInt8

        package init(level: UInt8, code: UInt8) {
            self.level = level
            self.code = code
        }

        package static let closeNotify = Alert(level: 1, code: 0)

        /// `unknown CA` (`SSL_alert_desc_string_long`).
        package var description: String { unsafe String(cString: SSL_alert_desc_string_long(Int32(code))) }
    }
}

/// The records of a server, and the sockets that are open.
final class LoopbackLog: Sendable {
    private struct State: Sendable {
        var isStopped = false
        var records: [LoopbackServer.Record] = []
        var sockets: [Int: Int32] = [:]
        var threads: [PosixThread] = []
        var waiting: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

        var endedCount: Int { records.count { $0.hasEnded } }

        mutating func takeWaiting() -> [CheckedContinuation<Void, Never>] {
            let count = isStopped ? Int.max : endedCount
            defer { waiting.removeAll { $0.count <= count } }
            return waiting.filter { $0.count <= count }.map(\.continuation)
        }
    }

    private let state = Locked(State())

    var records: [LoopbackServer.Record] { state.withLock { $0.records } }

    /// Starts a record for a new connection, or says that it comes too late.
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

    /// Closes the socket under the lock, so that ``stop()`` never touches a number that was given away again.
    func close(_ connection: Int) {
        let ready = state.withLock { state in
            if let socket = state.sockets.removeValue(forKey: connection) { Glibc.close(socket) }
            state.records[connection].hasEnded = true
            return state.takeWaiting()
        }
        for continuation in ready { continuation.resume() }
    }

    func add(_ thread: PosixThread) { state.withLock { $0.threads.append(thread) } }

    /// Ends every connection, lets no other begin, and wakes everyone who waits.
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

    /// Waits until `count` connections have ended, or for ``stop()``, which a cancelled task calls; or until it is clear
    /// that they won't.
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

    /// Shorter than a suite's time limit, so that a test reports what it found. Connections end in milliseconds.
    private static let patience = Duration.seconds(30)
}
