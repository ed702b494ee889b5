import CertificateTrust
import PinctlBasics
import PinctlTestPKI
import Testing

@testable import PinnedNetworking

/// PE21: requests that wait on an open connection when the settings that approved it are replaced.
@Suite(.timeLimit(.minutes(10)))
struct ReplacedSettingsTests {
    /// The bytes that wait.
    enum Form: CaseIterable, Sendable {
        /// A long header on a kept connection, which the task's thread began to send.
        case directHead
        /// The same with an observer.
        case observedHead
        case body
        /// A body that waits for the server's 100 response.
        case expectedBody
        /// The next part of a stream.
        case streamedPart
        case message
        case longMessage

        var isWebSocket: Bool { self == .message || self == .longMessage }
        /// Whether another connection may carry the request.
        var isRepeatable: Bool { self == .directHead || self == .observedHead }
    }

    /// What the two sides wait for.
    private struct Flags: Sendable {
        let isReached = Locked(false)
        let isReplaced = Locked(false)

        func reach() { isReached.withLock { $0 = true } }
        func waitForReplacement(_ connection: LoopbackServer.Connection) {
            while !isReplaced.withLock({ $0 }) { connection.pause(.milliseconds(1)) }
        }
    }

    /// More than the kernel takes for a narrow server, and less than a body that waits for the server's approval.
    private static let size = 1_000_000
    private static let expectedSize = 2 << 20
    private static let done = LoopbackServer.Response(body: "done").bytes

    /// Serves one request in this form. A later connection gets its answer at once.
    private static func script(_ form: Form, _ flags: Flags) -> LoopbackServer.Script {
        .handle { connection in
            switch form {
            case .message, .longMessage:
                guard let peer = try WebSocketPeer(connection, rest: WebSocketPeer.frame("go")) else { return }
                flags.waitForReplacement(connection)
                try peer.echo()
            case .directHead, .observedHead:
                while let request = try connection.readRequest() {
                    try connection.write(done)
                    guard request.target == "/first" else { continue }
                    // Otherwise the request may not have begun, and takes another connection under the new settings.
                    connection.waitForInput()
                    flags.reach()
                    flags.waitForReplacement(connection)
                }
            case .body:
                // Otherwise the request may not have begun, and starts again under the new settings.
                connection.waitForInput()
                flags.reach()
                flags.waitForReplacement(connection)
                if try connection.readRequest() != nil { try connection.write(done) }
            case .expectedBody, .streamedPart:
                let end = form == .streamedPart ? "first" : "\r\n\r\n"
                var start: [UInt8] = []
                while !String(decoding: start, as: UTF8.self).contains(end) {
                    guard let bytes = try connection.read() else { return }
                    start += bytes
                }
                flags.reach()
                flags.waitForReplacement(connection)
                if form == .expectedBody { try connection.write(LoopbackServer.Response.head("100 Continue", [])) }
                var count = 0
                while let bytes = try connection.read() {
                    count += bytes.count
                    let isEnd =
                        form == .expectedBody ? count >= expectedSize : bytes.suffix(5) == Array("0\r\n\r\n".utf8)[...]
                    if isEnd { return try connection.write(done) }
                }
            }
        }
    }

    /// Sends the request, and returns the answer.
    private static func send(_ form: Form, over session: URLSession, pipe: String, _ flags: Flags) async throws
        -> String
    {
        let long = String(repeating: "x", count: form == .expectedBody ? expectedSize : size)
        if form.isWebSocket {
            let task = session.webSocketTask(with: try #require(URL(string: "wss://pinned.test/")))
            task.resume()
            #expect(try await task.text() == "go")
            flags.reach()
            if form == .message {
                while !flags.isReplaced.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(1)) }
            }
            task.maximumMessageSize = 2 * size
            try await task.send(.string(form == .message ? "hello" : long))
            _ = try await task.text()
            task.cancel(with: .normalClosure, reason: nil)
            return "done"
        }
        var request = URLRequest(url: try #require(URL(string: "https://pinned.test/")))
        switch form {
        case .directHead, .observedHead:
            #expect(try await session.get("https://pinned.test/first").body == "done")
            request.setValue(long, forHTTPHeaderField: "X-Long")
        case .streamedPart:
            request.httpMethod = "POST"
            request.httpBodyStream = InputStream(fileAtPath: pipe)
        default:
            request.httpMethod = "POST"
            request.httpBody = Data(long.utf8)
        }
        return String(decoding: try await session.data(for: request).0, as: UTF8.self)
    }

    @Test(
        "PE21: After the pins are replaced, no byte of a request is sent to a server that they refuse",
        arguments: Form.allCases, [true, false])
    private func replaced(form: Form, isAccepted: Bool) async throws {
        let site = try TestSite.shared.get()
        let directory = try TestDirectory()
        let pipe = directory.path + "/body"
        #expect(try TestCommand.run(["mkfifo", pipe]).status == 0)
        let flags = Flags()
        let server = try LoopbackServer(chain: site.chain, Self.script(form, flags)) { $0.isNarrow = true }
        try await server.run { server in
            let session = try site.session(server, policy: .pinning(site.leaf.key.pin)) {
                if form == .observedHead { $0.serverTrustObserver = { _ in } }
            }
            let work = Task { try await Self.send(form, over: session, pipe: pipe, flags) }
            let writer = form == .streamedPart ? try await BodyWriter.open(pipe) : nil
            writer?.write("first")
            while !flags.isReached.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(1)) }
            // So that the kernel has taken what it can, although the result doesn't depend on it.
            try await Task.sleep(for: .milliseconds(100))
            session.pinning = try .pinning(isAccepted ? site.intermediate.key.pin : unknownPin)
            flags.isReplaced.withLock { $0 = true }
            writer?.write("second")
            writer?.close()
            if isAccepted {
                #expect(try await work.value == "done")
                await session.flush()
                #expect(await server.ended().count == 1)
                return
            }
            let error = await #expect(throws: URLError.self) { try await work.value }
            #expect(error?.code == .serverCertificateUntrusted)
            guard case .mismatch? = error?.pinningError else { throw URLError(.unknown) }
            await session.flush()
            let records = await server.ended(form.isRepeatable ? 2 : 1)
            #expect(records.count == (form.isRepeatable ? 2 : 1))
            let received = records[0].applicationBytes
            #expect(received.count < Self.size)
            // Of what didn't wait for the kernel, nothing arrived.
            switch form {
            case .expectedBody: #expect(received.suffix(4) == Array("\r\n\r\n".utf8)[...])
            case .streamedPart: #expect(!String(decoding: received, as: UTF8.self).contains("second"))
            case .message: #expect(records[0].requests.count == 1 && received.suffix(4) == Array("\r\n\r\n".utf8)[...])
            default: break
            }
            if form.isRepeatable { #expect(records[1].applicationBytes.isEmpty) }
        }
    }

    @Test("PE21: Cleartext isn't sent on after the new pins forbid it for the host", arguments: [true, false])
    func cleartext(isForbidden: Bool) async throws {
        let site = try TestSite.shared.get()
        let flags = Flags()
        let script = LoopbackServer.Script.handle { connection in
            connection.waitForInput()
            flags.reach()
            flags.waitForReplacement(connection)
            if try connection.readRequest() != nil { try connection.write(Self.done) }
        }
        var settings = LoopbackServer.Settings()
        (settings.isPlain, settings.isNarrow, settings.script) = (true, true, script)
        try await LoopbackServer(settings).run { server in
            let session = try site.session(server)
            var request = URLRequest(url: try #require(URL(string: "http://start.test/")))
            request.httpMethod = "POST"
            request.httpBody = Data(repeating: 7, count: Self.size)
            let work = Task { [request] in try await session.data(for: request) }
            while !flags.isReached.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(1)) }
            session.pinning = try .pinning(unknownPin, host: isForbidden ? "start.test" : "other.test")
            flags.isReplaced.withLock { $0 = true }
            if isForbidden {
                let error = await #expect(throws: URLError.self) { try await work.value }
                #expect(error?.code == .appTransportSecurityRequiresSecureConnection)
                #expect(await server.ended()[0].requests.isEmpty)
            } else {
                #expect(try await work.value.0 == Data("done".utf8))
            }
        }
    }

    @Test("PE21: A chain that only a delegate accepted gets no more of a request after the settings are replaced")
    func acceptedByDelegate() async throws {
        let site = try TestSite.shared.get()
        let flags = Flags()
        let server = try LoopbackServer(chain: site.chain, Self.script(.body, flags)) { $0.isNarrow = true }
        try await server.run { server in
            let session = try site.session(server, delegate: SessionHandlerDelegate(acceptServer)) {
                $0.trustStore = TrustStore(certificates: [])
            }
            let directory = try TestDirectory()
            let work = Task { try await Self.send(.body, over: session, pipe: directory.path, flags) }
            while !flags.isReached.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(1)) }
            session.pinning = try .pinning(unknownPin, host: "other.test")
            flags.isReplaced.withLock { $0 = true }
            let error = await #expect(throws: URLError.self) { try await work.value }
            #expect(error?.code == .serverCertificateHasUnknownRoot)
            #expect(await server.ended()[0].requests.isEmpty)
        }
    }

    @Test(
        "PE21: The client's identity isn't shown to a server that was approved under pins replaced in the meantime",
        arguments: [LoopbackServer.TLSVersion.tls12, .tls13], [true, false])
    func identity(version: LoopbackServer.TLSVersion, isReplaced: Bool) async throws {
        let site = try TestSite.shared.get()
        let issuer = try TestCertificate.root("Client Root")
        let identity = try issuer.issue(.client("alice")).identity
        let current = Locked<URLSession?>(nil)
        let next = try PinningPolicy.pinning(unknownPin)
        let delegate = TaskHandlerDelegate { challenge in
            guard challenge.protectionSpace.serverTrust == nil else { return (.performDefaultHandling, nil) }
            if isReplaced { current.withLock { $0?.pinning = next } }
            return (.useCredential, URLCredential(identity: identity, certificates: nil, persistence: .none))
        }
        let server = try LoopbackServer(chain: site.chain) {
            $0.protocolVersions = version...version
            $0.clientAuthentication = .init(issuers: [issuer], roots: [issuer], isRequired: false)
        }
        try await server.run { server in
            let session = try site.session(server, policy: .pinning(site.leaf.key.pin))
            current.withLock { $0 = session }
            guard isReplaced else {
                #expect(try await session.get(delegate: delegate).body == "hello")
                await session.flush()
                #expect(await !server.ended()[0].clientChain.isEmpty)
                return
            }
            #expect(try await session.failure(delegate: delegate).code == .serverCertificateUntrusted)
            await session.flush()
            let records = await server.ended(2)
            #expect(records.map(\.handshakeCompleted) == [false, false])
            #expect(records.allSatisfy { $0.clientChain.isEmpty })
        }
    }

    @Test("Replacing the settings by equal ones neither stops a request nor evaluates the server again")
    func equal() async throws {
        let site = try TestSite.shared.get()
        let (flags, decisions) = (Flags(), Collected<ServerTrustDecision.Connection>())
        let server = try LoopbackServer(chain: site.chain, Self.script(.body, flags)) { $0.isNarrow = true }
        try await server.run { server in
            let session = try site.session(server, policy: .pinning(site.leaf.key.pin)) {
                $0.serverTrustObserver = { decisions.append($0.connection) }
            }
            let directory = try TestDirectory()
            let work = Task { try await Self.send(.body, over: session, pipe: directory.path, flags) }
            while !flags.isReached.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(1)) }
            for _ in 0..<3 { session.pinning = try .pinning(site.leaf.key.pin) }
            flags.isReplaced.withLock { $0 = true }
            #expect(try await work.value == "done")
            #expect(decisions.values == [.new])
        }
    }
}

/// Writes to a named pipe, and waits for nothing but its reader.
final class BodyWriter: Sendable {
    private let file: Locked<FileHandle?>

    private init(_ file: FileHandle) { self.file = Locked(file) }

    static func open(_ path: String) async throws -> BodyWriter {
        let file = await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: FileHandle(forWritingAtPath: path)) }
        }
        return BodyWriter(try #require(file))
    }

    func write(_ text: String) { file.withLock { try? $0?.write(contentsOf: Data(text.utf8)) } }

    func close() {
        file.withLock {
            try? $0?.close()
            $0 = nil
        }
    }
}
