import Glibc

/// A server on a free port of the loopback interface that serves any chain and logs what it receives.
///
/// Each connection has its own thread. All threads have ended when ``stop()`` returns.
///
///     try await LoopbackServer(chain: [leaf, intermediate]).run { server in
///         … connect to 127.0.0.1, server.port …
///         #expect(await server.ended(1)[0].applicationBytes.isEmpty)
///     }
package final class LoopbackServer: Sendable {
    /// The server's behaviour on each connection.
    package enum Script: Sendable {
        /// Answers requests with the same response until the client ends.
        case respond(Response)
        case answer(@Sendable (Request) -> Response)
        case handle(@Sendable (Connection) throws -> Void)
        /// Reads and never answers, not even with a ServerHello.
        case stall
        case closeAfterAccept
        /// Closes without close_notify.
        case closeAfterHandshake
    }

    package enum TLSVersion: Int32, Comparable, Sendable {
        case tls10 = 0x0301
        case tls11, tls12, tls13

        package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    package struct Settings: Sendable {
        /// The certificates in DER, in the order in which they are sent. The list is empty for anonymous suites.
        package var chain: [[UInt8]] = []
        /// The key of the first certificate.
        package var key: TestKey?
        /// A chain with a key of another kind, for clients that request it.
        package var otherChain: [TestCertificate] = []
        /// The OCSP response in DER for clients that request one. It is empty for none.
        package var staple: [UInt8] = []
        /// The SignedCertificateTimestampList for clients that request one. It is empty for none.
        package var timestamps: [UInt8] = []
        /// Whether the server works without TLS.
        package var isPlain = false
        package var script = Script.respond(Response(body: "hello"))
        package var isIPv6 = false
        package var protocolVersions = TLSVersion.tls12...TLSVersion.tls13
        package var cipherList = "ALL:@SECLEVEL=0"
        /// The protocols in order of preference. With an empty list, none is selected.
        package var applicationProtocols: [String] = []
        /// A protocol that is selected whatever the client offers.
        package var forcedApplicationProtocol: String?
        package var sendsCloseNotify = true
        /// Whether each connection ends with a reset, also after a failed handshake.
        package var resetsAtEnd = false
        /// The maximum number of bytes in a record, at least 512.
        package var recordLimit: Int?
        /// The chain that is presented from the second connection on, if any. Sessions of the first chain are still
        /// resumed.
        package var laterChain: [TestCertificate] = []
        /// The request for a client certificate, if any.
        package var clientAuthentication: ClientAuthentication?
        package var resumption = Resumption.tickets
        /// The number of bytes that a ticket allows as early data. The server skips early data.
        package var earlyDataLimit: UInt32 = 0
        /// The size of the prime in DHE suites. `nil` disables these suites.
        package var finiteFieldBits: Int?
        /// The groups for `SSL_CTX_set1_groups_list`. `nil` means OpenSSL's default.
        package var groups: String?
        package var expectation = Expectation.met
        /// Whether to announce short segments and a small window, so that the first part of a body waits for the server
        /// to read.
        package var isNarrow = false
        /// Whether nothing is sent before ``Connection/uncork()``, or for a fifth of a second.
        package var isCorked = false

        package init() {}
    }

    package let port: UInt16
    /// The address `127.0.0.1` or `::1`.
    package let address: String

    private let listener: Int32
    private let log = LoopbackLog()

    package init(_ settings: Settings) throws(TestPKIError) {
        let context: TLSServerContext? = if settings.isPlain { nil } else { try TLSServerContext(settings) }
        address = settings.isIPv6 ? "::1" : "127.0.0.1"
        (listener, port) = try listenOnLoopback(isIPv6: settings.isIPv6)
        if settings.isNarrow {
            for (level, option, value) in [(Int32(IPPROTO_TCP), TCP_MAXSEG, Int32(300)), (SOL_SOCKET, SO_RCVBUF, 1)] {
                var value = value
                unsafe setsockopt(listener, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
            }
        }
        let (listener, log) = (listener, log)
        do {
            log.add(try PosixThread { acceptConnections(listener, log, context, settings) })
        } catch {
            close(listener)
            throw error
        }
    }

    /// Serves `chain` unchanged, with the key of its first certificate.
    package convenience init(
        chain: [TestCertificate], _ script: Script = .respond(Response(body: "hello")),
        adjusting adjust: (inout Settings) -> Void = { _ in }
    ) throws(TestPKIError) {
        var settings = Settings()
        settings.chain = chain.map(\.derBytes)
        settings.key = chain.first?.key
        settings.script = script
        adjust(&settings)
        try self.init(settings)
    }

    /// Serves without TLS.
    package convenience init(plain script: Script) throws(TestPKIError) {
        var settings = Settings()
        settings.isPlain = true
        settings.script = script
        try self.init(settings)
    }

    deinit { stop() }

    /// Ends every connection and joins every thread. Further calls have no effect.
    package func stop() {
        log.stop()
        // The first thread accepts connections and adds the other threads. The call that takes it owns the listener.
        var threads = log.takeThreads()
        guard !threads.isEmpty else { return }
        shutdown(listener, Int32(SHUT_RDWR))
        while !threads.isEmpty {
            for thread in threads { thread.join() }
            threads = log.takeThreads()
        }
        close(listener)
    }

    /// Runs `body` with the server and then stops the server.
    package func run<Result>(_ body: (LoopbackServer) async throws -> Result) async rethrows -> Result {
        defer { stop() }
        return try await body(self)
    }

    /// A record for each connection, in order of arrival.
    package var records: [Record] { log.records }

    /// All application bytes of all connections, in the order of the connections.
    package var applicationBytes: [UInt8] { records.flatMap(\.applicationBytes) }

    /// Returns the records once the first `count` connections have ended, which they do when the client has closed its
    /// side. A test that looks at the first record would otherwise read it too early if a later connection ends first.
    /// Returns immediately if the server is stopped or the waiting task is cancelled. There are at least `count`
    /// records. If a connection never came or didn't end, the `failure` of its record says so, and no test waits until
    /// its suite's time limit.
    package func ended(_ count: Int = 1) async -> [Record] {
        await log.ended(count)
        var records = records
        for index in records.indices where !records[index].hasEnded && records[index].failure == nil {
            records[index].failure = "the connection did not end"
        }
        while records.count < count {
            var missing = Record()
            missing.failure = "the connection never came"
            records.append(missing)
        }
        return records
    }
}

/// Returns a socket on a free port with a queue of this length, and the port. Without a queue, the socket doesn't
/// listen and connections are refused.
func listenOnLoopback(isIPv6: Bool = false, queue: Int32? = 128) throws(TestPKIError) -> (Int32, UInt16) {
    let listener = socket(isIPv6 ? AF_INET6 : AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard listener >= 0 else { throw .system("socket") }
    var storage = sockaddr_storage()
    var length = socklen_t(0)
    let bound = unsafe withUnsafeMutableBytes(of: &storage) { bytes in
        if isIPv6 {
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_addr = in6addr_loopback
            length = socklen_t(MemoryLayout<sockaddr_in6>.size)
            unsafe bytes.storeBytes(of: address, as: sockaddr_in6.self)
        } else {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
            length = socklen_t(MemoryLayout<sockaddr_in>.size)
            unsafe bytes.storeBytes(of: address, as: sockaddr_in.self)
        }
        let address = unsafe bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self)
        return unsafe bind(listener, address, length) == 0 && (queue.map { listen(listener, $0) } ?? 0) == 0
            && getsockname(listener, address, &length) == 0
    }
    guard bound else {
        let error = TestPKIError.system("bind")
        close(listener)
        throw error
    }
    // The port is at the same offset in both families.
    let port = unsafe withUnsafeBytes(of: storage) { unsafe $0.loadUnaligned(fromByteOffset: 2, as: UInt16.self) }
    return (listener, UInt16(bigEndian: port))
}

private func acceptConnections(
    _ listener: Int32, _ log: LoopbackLog, _ context: TLSServerContext?, _ settings: LoopbackServer.Settings
) {
    while true {
        let socket = accept(listener, nil, nil)
        if socket < 0 {
            if errno == EINTR || errno == ECONNABORTED { continue }
            guard errno == EMFILE else { return }
            // accept needs a descriptor even while it waits, and tests use all of them up for a while.
            usleep(10_000)
            continue
        }
        _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
        // Written bytes are sent at once, without waiting for the client's next bytes.
        var on: Int32 = 1
        unsafe setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        guard let identifier = log.open(socket) else {
            close(socket)
            return
        }
        if settings.isCorked { cork(socket, true) }
        do {
            log.add(try PosixThread { serve(identifier, socket, log, context, settings) })
        } catch {
            log.close(identifier)
        }
    }
}

/// Holds back what is sent, or ends that (`TCP_CORK`).
func cork(_ socket: Int32, _ isCorked: Bool) {
    var value: Int32 = isCorked ? 1 : 0
    unsafe setsockopt(socket, Int32(IPPROTO_TCP), TCP_CORK, &value, socklen_t(MemoryLayout<Int32>.size))
}

private func serve(
    _ identifier: Int, _ socket: Int32, _ log: LoopbackLog, _ context: TLSServerContext?,
    _ settings: LoopbackServer.Settings
) {
    defer { log.close(identifier) }
    do {
        let connection = try LoopbackServer.Connection(
            identifier: identifier, socket: socket, log: log, context: context, settings)
        defer { if settings.resetsAtEnd { connection.prepareReset() } else { connection.finish() } }
        switch settings.script {
        case .stall: return connection.discardUntilEnd()
        case .closeAfterAccept: return
        default: try connection.handshake()
        }
        switch settings.script {
        case .respond(let response): try connection.answer { _ in response }
        case .answer(let response): try connection.answer(response)
        case .handle(let handler): try handler(connection)
        case .stall, .closeAfterAccept, .closeAfterHandshake: return
        }
        if settings.sendsCloseNotify { connection.closeNotify() }
    } catch {
        log.update(identifier) { $0.failure = "\(error)" }
    }
}
