import CPinctlOpenSSL
import Glibc

extension LoopbackServer {
    /// An accepted connection, on its own thread.
    @safe package final class Connection {
        /// The position of its record in ``LoopbackServer/records``.
        package let identifier: Int
        let log: LoopbackLog
        let expectation: Expectation
        let socket: Int32
        let session: OpaquePointer?
        var unread: [UInt8] = []
        /// The secret that encrypts the server's records in TLS 1.3.
        var trafficSecret: [UInt8] = []
        /// Whether the server requested a certificate after the handshake.
        var awaitsCertificate = false

        init(
            identifier: Int, socket: Int32, log: LoopbackLog, context: TLSServerContext?, _ settings: Settings
        ) throws(TestPKIError) {
            self.identifier = identifier
            self.log = log
            self.socket = socket
            expectation = settings.expectation
            guard let context else {
                unsafe session = nil
                return
            }
            let session = try unsafe make("SSL_new") { unsafe SSL_new(context.pointer) }
            unsafe self.session = unsafe session
            try check("SSL_set_fd") { unsafe SSL_set_fd(session, socket) }
            try check("SSL_set_ex_data") {
                unsafe SSL_set_ex_data(session, 0, Unmanaged.passUnretained(self).toOpaque())
            }
            if identifier > 0, !settings.laterChain.isEmpty { try present(settings.laterChain) }
        }

        deinit { unsafe SSL_free(session) }

        func received(_ alert: Alert) { log.update(identifier) { $0.alerts.append(alert) } }

        /// Runs the TLS handshake, if the server uses TLS.
        func handshake() throws(TestPKIError) {
            guard let session = unsafe session else { return }
            ERR_clear_error()
            let done = unsafe SSL_accept(session)
            let failure = done == 1 ? nil : TestPKIError.openSSL("SSL_accept")
            var name: UnsafePointer<UInt8>?
            var count: UInt32 = 0
            unsafe SSL_get0_alpn_selected(session, &name, &count)
            let selected = unsafe UnsafeBufferPointer(start: name, count: Int(count))
            log.update(identifier) { record in
                record.serverName = unsafe SSL_get_servername(session, TLSEXT_NAMETYPE_host_name)
                    .map { unsafe String(cString: $0) }
                record.handshakeCompleted = done == 1
                record.sessionResumed = unsafe SSL_session_reused(session) == 1
                record.offeredEarlyData = unsafe SSL_get_early_data_status(session) != SSL_EARLY_DATA_NOT_SENT
                if unsafe SSL_get_current_cipher(session) != nil {
                    record.protocolVersion = unsafe String(cString: SSL_get_version(session))
                }
                if count > 0 { record.applicationProtocol = unsafe String(decoding: selected, as: UTF8.self) }
            }
            if let failure { throw failure }
            noteClientChain()
        }

        /// Returns the next bytes, or `nil` when the client has ended, with or without close_notify.
        package func read() throws(TestPKIError) -> [UInt8]? {
            if unread.isEmpty, try !fill() { return nil }
            defer { unread = [] }
            return unread
        }

        /// Appends the next bytes to `unread`. Returns whether there were any before the end.
        func fill() throws(TestPKIError) -> Bool {
            var buffer = [UInt8](repeating: 0, count: 16_384)
            ERR_clear_error()
            let count =
                if let session = unsafe session {
                    Int(unsafe SSL_read(session, &buffer, Int32(buffer.count)))
                } else {
                    unsafe recv(socket, &buffer, buffer.count, 0)
                }
            if awaitsCertificate { noteClientChain() }
            guard count > 0 else { return false }
            log.update(identifier) { $0.applicationBytes += buffer.prefix(count) }
            unread += buffer.prefix(count)
            return true
        }

        /// Writes inside TLS, if the server uses TLS.
        package func write(_ bytes: [UInt8]) throws(TestPKIError) {
            guard !bytes.isEmpty else { return }
            guard let session = unsafe session else { return try writeBelow(bytes) }
            try check("SSL_write") {
                var written = 0
                return unsafe SSL_write_ex(session, bytes, bytes.count, &written)
            }
            log.update(identifier) { $0.writtenCount += bytes.count }
        }

        /// Writes below TLS in any case.
        package func writeBelow(_ bytes: [UInt8]) throws(TestPKIError) {
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = unsafe rest.withUnsafeBytes { unsafe send(socket, $0.baseAddress, $0.count, 0) }
                guard count > 0 else { throw .system("send") }
                log.update(identifier) { $0.writtenCount += count }
                rest = rest.dropFirst(count)
            }
        }

        /// Waits for this duration, or less if the server stops or the connection breaks.
        package func pause(_ duration: Duration) {
            var descriptor = pollfd(fd: socket, events: 0, revents: 0)
            unsafe poll(&descriptor, 1, milliseconds(duration))
        }

        /// Waits until there is input, for at most this duration, and doesn't read it. Returns whether there is any.
        @discardableResult
        package func waitForInput(atMost limit: Duration? = nil) -> Bool {
            var descriptor = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
            return unsafe poll(&descriptor, 1, limit.map(milliseconds) ?? -1) > 0
        }

        /// Sends close_notify. Reading is still possible.
        package func closeNotify() {
            ERR_clear_error()
            if let session = unsafe session { unsafe SSL_shutdown(session) }
        }

        /// Sends what was held back.
        package func uncork() { cork(socket, false) }

        /// Ends the sending direction of TCP. Reading is still possible.
        package func endWriting() { shutdown(socket, Int32(SHUT_WR)) }

        /// Ends the sending direction of TCP, and waits until the client has ended too. All input until then is logged.
        func finish() {
            endWriting()
            while (try? fill()) == true { unread = [] }
            discardUntilEnd()
        }

        /// Makes the close of the socket reset the connection.
        func prepareReset() {
            var immediately = linger(l_onoff: 1, l_linger: 0)
            unsafe setsockopt(socket, SOL_SOCKET, SO_LINGER, &immediately, socklen_t(MemoryLayout<linger>.size))
        }

        /// Reads the socket below TLS until the client ends.
        func discardUntilEnd() {
            var buffer = [UInt8](repeating: 0, count: 16_384)
            while unsafe recv(socket, &buffer, buffer.count, 0) > 0 {}
        }
    }
}
