import CertificateTrust
import PinctlBasics
import PinctlHTTPMessages
import PinctlTLSTransport

/// One task's FTP download, from the greeting to the last byte. It runs on the event loop.
@TransportActor
final class FTPTransfer: ScriptedTransfer {
    nonisolated let session: URLSession
    nonisolated let task: URLSessionTask
    private let target: FTPTarget
    private var exchange: FTPExchange
    private var control: RequestConnection?
    /// The server of the control connection, or nil without TLS.
    private var server: EvaluatedServer?
    /// The permission to send commands on the control connection, once it is open.
    private var permit: SendPermit?
    private var file: RequestConnection?
    /// Whether the server has sent anything on the control connection besides its part of a TLS handshake.
    private var hasAnswered = false
    private var input = StartTLSInput()
    private var reader = NumberedReply.Reader(isLoose: true)
    private var action = FTPExchange.Action.wait
    private var size: Int64?
    private var received: Int64 = 0
    private var failureCount = 0
    private var refused: URLCredential?
    private var isAnonymousTried = false
    private var given: URLCredential?

    /// The number of refused logins after which the transfer fails.
    private static let loginLimit = 4

    nonisolated init(_ target: FTPTarget, _ task: URLSessionTask, of session: URLSession) throws {
        try Transport.shared.start()
        self.session = session
        self.task = task
        self.target = target
        exchange = FTPExchange(
            path: target.path, isProtected: target.security != .none, isGreeted: target.security == .explicit)
    }

    deinit {
        for connection in [control, file].compactMap(\.self) { TransportActor.execute { connection.close() } }
    }

    // MARK: Response

    /// Logs in and requests the file. Returns when its data begins.
    func open() async throws -> URLResponse {
        do {
            if let request = task.currentRequest { task.beginTransaction(request) }
            task.note { $0.protocolName = "ftp" }
            control = try await openControl()
            task.note { $0.requestStart = Date() }
            action = exchange.begin()
            while true {
                switch action {
                case .send(let bytes):
                    task.limit.progress(to: .sending)
                    try await send(bytes)
                    task.note { record in
                        record.headerBytesSent += Int64(bytes.count)
                        record.requestEnd = Date()
                    }
                    action = try exchange.received(try await reply())
                case .wait: action = try exchange.received(try await reply())
                case .needLogin: action = try await logIn()
                case .connect(let port, let address):
                    bare = try await dial(port, address)
                    action = exchange.connected()
                case .readFile(let size):
                    file = try await openFile()
                    self.size = size
                    await noteLogin()
                    let response = URLResponse(
                        url: target.url.withoutUser ?? target.url, mimeType: nil,
                        expectedContentLength: size.flatMap { Int(exactly: $0) } ?? -1, textEncodingName: nil)
                    task.status.withLock { $0.response = response }
                    task.note { record in
                        record.responseStart = Date()
                        record.response = response
                    }
                    return response
                case .done: throw FTPError.malformedReply("the transfer was complete before it began")
                }
            }
        } catch {
            let shown = control == nil ? .none : server?.approval.identity ?? .none
            close()
            let refusal = (error as? TransportError).flatMap {
                IdentityRefused($0, shown: shown, hasAnswered: hasAnswered)
            }
            throw refusal ?? error
        }
    }

    /// Returns the next part of the file, or nil at its end, after the server has confirmed that the transfer is
    /// complete.
    func readPart() async throws -> ArraySlice<UInt8>? {
        do {
            guard let file else { return nil }
            task.limit.progress(to: .response)
            if let bytes = try await read(file) {
                received += Int64(bytes.count)
                task.noteReceived(bytes.count)
                task.noteDecoded(bytes.count)
                guard received <= size ?? .max else { throw FTPError.truncated("more bytes than the file's size") }
                return bytes[...]
            }
            // mutant ftp-size: true by FTPTests
            guard received == size ?? received else {
                throw FTPError.truncated("\(received) of \(size ?? 0) bytes received")
            }
            file.close()
            self.file = nil
            action = exchange.fileEnded()
            while action != .done { action = try exchange.received(try await reply()) }
            try? await send(Array("QUIT\r\n".utf8))
            close()
            task.note { $0.responseEnd = Date() }
            return nil
        } catch {
            close()
            throw error
        }
    }

    private func read(_ file: RequestConnection) async throws -> [UInt8]? {
        do throws(TransportError) {
            return try await file.receive()
        } catch {
            // Many servers end the file's connection without close_notify. The size shows that the file is complete.
            if case .truncated = error, let size, received == size { return nil }
            throw error
        }
    }

    func close() {
        let open = [control, file].compactMap(\.self)
        (control, file) = (nil, nil)
        bare = nil
        for connection in open { connection.close() }
    }

    private func reply() async throws -> NumberedReply {
        task.limit.progress(to: .response)
        while true {
            do throws(StartTLSFailure) {
                if let reply = try reader.next(&input) { return reply }
            } catch {
                throw FTPError.malformedReply("a reply without a code, or too long")
            }
            guard let control, let bytes = try await control.receive() else {
                throw FTPError.malformedReply("the server closed the connection")
            }
            hasAnswered = true
            do throws(StartTLSFailure) { try input.append(bytes) } catch {
                throw FTPError.malformedReply("too many bytes")
            }
        }
    }

    // MARK: Connections

    /// The connection for the file, until the server has confirmed that it sends the file.
    private var bare: BareConnection?
    /// The address and port that the control connection reached.
    private var reached = ""

    private var options: DialOptions {
        var options = task.limit.dialOptions
        options.minimumVersion = session.settings.minimumTLS == .TLSv13 ? .tls13 : .tls12
        options.applicationProtocols = []
        return options
    }

    /// Connects to the server. Starts again if the session's trust settings were replaced during the handshake.
    private func openControl() async throws -> RequestConnection {
        while true {
            _ = try await trust()
            do {
                let connection = try await connectControl()
                let (evaluator, permit) = try await trust()
                self.permit = permit
                // mutant settings-replaced-ftp: false for 2 by FTPTests/replacedPins
                guard let server, evaluator?.hasSettings(of: server.approval) != true else { return connection }
                connection.close()
            } catch is SupersededApproval {}
        }
    }

    /// Sends a command. If the trust settings are replaced before, sends it only if the new ones accept the server too.
    private func send(_ command: [UInt8]) async throws {
        var rest = command
        while let control, let sent = permit, let unsent = try await control.send(rest, sent) {
            let (evaluator, permit) = try await trust()
            // mutant send-approved-again-ftp: false for 2 by FTPTests/replacedDuringLogin
            if let server, evaluator?.hasSettings(of: server.approval) != true { try await evaluator?.confirm(server) }
            self.permit = permit
            rest = Array(unsent)
        }
    }

    private func connectControl() async throws -> RequestConnection {
        task.note { $0.connectStart = Date() }
        defer { task.note { $0.connectEnd = Date() } }
        task.limit.progress(to: .certificate)
        let route = session.settings.route
        let bare = try await Transport.shared.connect(
            to: route?.host ?? target.name, port: route?.port ?? target.port, options: options)
        reached = bare.remoteAddress
        task.note { $0.note(address: reached) }
        if target.security == .explicit {
            try await bare.startTLS(.ftp, to: target.name, limit: options.handshakeTimeout)
        }
        if target.security != .none { task.note { $0.secureStart = Date() } }
        var server: EvaluatedServer?
        let connection = try await protect(bare, as: &server)
        self.server = server
        if let verified = connection as? VerifiedConnection { task.note { $0.note(verified.negotiated) } }
        return connection
    }

    /// Connects to the port of the file. Only the address that the control connection reached is used, since one that
    /// the server names could belong to another host.
    private func dial(_ port: UInt16, _ named: String?) async throws -> BareConnection {
        task.limit.progress(to: .connection)
        let host = reached.prefix { $0 != "]" }.drop { $0 == "[" }
        let address = reached.hasPrefix("[") ? String(host) : String(reached.prefix { $0 != ":" })
        // mutant ftp-address: true by FTPTests
        guard named ?? address == address else { throw FTPError.otherAddress(named: named ?? "", reached: address) }
        return try await Transport.shared.connect(to: try ServerName(address), port: port, options: options)
    }

    /// Turns the connection for the file into one that can be read, with TLS if required. Servers start TLS after they
    /// have announced the file. Many accept only the client of the control connection and recognize it by its session
    /// (vsftpd's `require_ssl_reuse`). The session is fetched only now, because TLS 1.3 sends it after the handshake.
    private func openFile() async throws -> RequestConnection {
        guard let way = bare.take() else { throw FTPError.malformedReply("a file that was not requested") }
        var server: EvaluatedServer?
        return try await protect(
            way, as: &server, resuming: (control as? VerifiedConnection)?.session(ofSameTask: true))
    }

    /// Starts TLS on a connection. The server is evaluated like any other with this name.
    private func protect(
        _ bare: consuming BareConnection, as server: inout EvaluatedServer?, resuming stored: ResumableSession? = nil
    ) async throws -> RequestConnection {
        guard let evaluator = try await trust().evaluator else { return bare.cleartext() }
        let pending = try await bare.secure(as: target.name, options: options, resuming: stored)
        let connection = try await evaluator.accept(pending, as: &server)
        task.note { $0.trustDuration = ($0.trustDuration ?? 0) + (server?.evaluationTime ?? 0) }
        return connection
    }

    /// Returns the evaluation of the server by the session's current trust settings, which is nil without TLS, and the
    /// permission to send under them. Throws if they don't allow a connection without TLS.
    private func trust() async throws -> (evaluator: ServerEvaluator?, permit: SendPermit) {
        try await SystemTrustStore.whenRead {
            let trust = session.permittingTrust
            guard target.security == .none else {
                let evaluator = try ServerEvaluator(
                    target.name, port: target.port, protocol: target.security.spaceProtocol, by: trust, for: task,
                    of: session)
                return (evaluator, trust.permit)
            }
            // mutant ftp-pinned: nil for `trust.settings…(to: target.name)` by FTPTests
            if let owner = trust.settings.ownerForbiddingCleartext(to: target.name) {
                throw FTPError.pinnedCleartext(target.name, by: owner)
            }
            return (nil, trust.permit)
        }
    }

    // MARK: Login

    private var space: URLProtectionSpace {
        URLProtectionSpace(
            host: target.name.description, port: Int(target.port), protocol: target.security.spaceProtocol, realm: nil,
            authenticationMethod: NSURLAuthenticationMethodDefault)
    }

    /// Logs in with the user and password from the URL, else with a stored credential, else anonymously unless the URL
    /// has a user. If none applies, or a login was refused, sends a challenge to the delegate.
    private func logIn() async throws -> FTPExchange.Action {
        if !isAnonymousTried {
            isAnonymousTried = true
            if let user = target.user, let password = target.password {
                return try use(URLCredential(user: user, password: password, persistence: .none))
            }
            if let stored = await session.storedCredentials().credential(for: space, user: target.user),
                stored.hasPassword
            {
                return try use(stored)
            }
            if target.user == nil {
                return exchange.logIn(user: "anonymous", password: "anonymous@")
            }
        } else {
            if refused != nil { failureCount += 1 }
        }
        guard failureCount < Self.loginLimit else { throw FTPError.loginRefused }
        let proposed =
            refused ?? target.user.map { URLCredential(kind: .password(user: $0, password: nil), persistence: .none) }
        task.limit.progress(to: .login)
        let challenge = URLAuthenticationChallenge(
            protectionSpace: space, proposedCredential: proposed, previousFailureCount: failureCount,
            failureResponse: nil)
        let answer = try await session.answer(to: challenge, of: task)
        switch answer.disposition {
        case .cancelAuthenticationChallenge: throw FTPError.cancelled
        case .useCredential:
            guard let credential = answer.credential, credential.hasPassword else { throw FTPError.loginRefused }
            given = credential
            return try use(credential)
        case .performDefaultHandling, .rejectProtectionSpace: throw FTPError.loginRefused
        }
    }

    private func use(_ credential: URLCredential) throws -> FTPExchange.Action {
        guard case .password(let user, let password?) = credential.kind,
            !CredentialProblem.hasControlCharacter(user + password), !user.isEmpty
        else { throw FTPError.unusableLogin }
        refused = credential
        return exchange.logIn(user: user, password: password)
    }

    /// Stores the credential from the delegate that the server accepted, according to its persistence.
    private func noteLogin() async {
        if let given { await session.keep(given, for: space) }
    }
}
