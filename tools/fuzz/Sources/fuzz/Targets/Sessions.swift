import Foundation
import PinctlTestPKI

@testable import CertificateTrust
@testable import PinctlBasics
@testable import PinctlHTTPMessages
@testable import PinnedNetworking

extension FuzzTarget {
    /// A whole session, with a server and delegates that do what a script says: the connection pool, redirects, logins,
    /// uploads, downloads and WebSockets. Every task ends exactly once, no call comes in the wrong order, and no
    /// connection is left.
    static let sessions = FuzzTarget(name: "sessions") { bytes in
        // A step can take a millisecond.
        var script = Script(Array(bytes.prefix(512)))
        let answers = ScriptedDelegate(Script(script.bytes(12)))
        do {
            let scene = try ScriptedSession(answers)
            for _ in 0...script.number(below: 3) { scene.start(&script) }
            scene.run(&script)
        } catch {
            preconditionFailure("no server: \(error)")
        }
    }
}

/// A session, its server and its tasks.
private final class ScriptedSession {
    private let server: PolledServer
    private let delegate: ScriptedDelegate
    private let session: URLSession
    private var tasks: [URLSessionTask] = []
    /// The requests that aren't complete, by connection.
    private var requests: [CInt: [UInt8]] = [:]
    /// The connections that have switched to a WebSocket.
    private var webSockets: Set<CInt> = []

    init(_ delegate: ScriptedDelegate) throws {
        self.delegate = delegate
        server = try PolledServer()
        let configuration = URLSessionConfiguration.ephemeral
        configuration.route = (try ServerName("127.0.0.1"), server.port)
        configuration.timeoutIntervalForRequest = 600
        configuration.httpMaximumConnectionsPerHost = 2
        session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    }

    /// Starts a task.
    func start(_ script: inout Script) {
        let kind = script.number(below: 8)
        let scheme = kind >= 6 ? "ws" : "http"
        guard let url = URL(string: "\(scheme)://a.test/\(kind)") else { preconditionFailure("no address") }
        var request = URLRequest(url: url)
        let task: URLSessionTask
        switch kind {
        case 3, 4:
            request.httpMethod = "POST"
            task = session.uploadTask(with: request, from: Data(repeating: 1, count: 1 << script.number(below: 18)))
        case 5: task = session.downloadTask(with: request)
        case 6, 7: task = session.webSocketTask(with: url, protocols: kind == 7 ? ["p"] : [])
        default: task = session.dataTask(with: request)
        }
        delegate.expect(task)
        tasks.append(task)
        task.resume()
    }

    /// Goes on until every task has ended, and then until the session has.
    func run(_ script: inout Script) {
        while !delegate.haveAllEnded { step(&script) }
        if script.isChosen() { session.finishTasksAndInvalidate() } else { session.invalidateAndCancel() }
        while !delegate.isInvalid || !server.connections.isEmpty { _ = server.next() }
        delegate.check()
    }

    private func step(_ script: inout Script) {
        let events = server.next()
        for event in events {
            switch event {
            case .opened(let connection): requests[connection] = []
            case .received(let connection, let bytes): receive(bytes, from: connection, &script)
            case .ended(let connection): forget(connection)
            }
        }
        guard events.isEmpty else { return }
        // Everybody waits.
        if delegate.answerLate() { return }
        guard !script.isAtEnd else {
            for task in tasks { task.resume() }
            for connection in server.connections { end(connection, isReset: false) }
            return
        }
        if script.isChosen(), let connection = server.connections.randomElement(&script) {
            answer(connection, &script)
        } else {
            act(script.element(of: tasks), &script)
        }
    }

    private func receive(_ bytes: [UInt8], from connection: CInt, _ script: inout Script) {
        guard !webSockets.contains(connection) else { return answer(connection, &script) }
        requests[connection, default: []] += bytes
        guard let request = requests[connection], request.contains("\r\n\r\n".utf8) else { return }
        answer(connection, &script)
    }

    /// Sends an answer, some bytes or an end.
    private func answer(_ connection: CInt, _ script: inout Script) {
        guard !script.isAtEnd else { return end(connection, isReset: false) }
        if webSockets.contains(connection) {
            return server.send(script.element(of: Self.frames) ?? script.bytes(8), to: connection)
        }
        switch script.number(below: 20) {
        case 0: end(connection, isReset: true)
        case 1: end(connection, isReset: false)
        case 2: break
        case 3: server.send(script.bytes(1 + script.number(below: 24)), to: connection)
        case 4:
            let answer = script.element(of: Self.answers)
            server.send(Array(answer.prefix(script.number(below: 64))), to: connection)
        case 5, 6, 7:
            guard let answer = handshake(to: connection) else { return end(connection, isReset: false) }
            webSockets.insert(connection)
            let frame = script.isChosen() ? script.element(of: Self.frames) ?? [] : []
            server.send(answer + frame, to: connection)
        default:
            requests[connection] = []
            server.send(script.element(of: Self.answers), to: connection)
        }
    }

    /// An answer to the opening handshake, if one was received.
    private func handshake(to connection: CInt) -> [UInt8]? {
        let request = String(decoding: requests[connection] ?? [], as: UTF8.self)
        let name = "Sec-WebSocket-Key: "
        let line = request.split(separator: "\r\n").first { $0.lowercased().hasPrefix(name.lowercased()) }
        guard let key = line?.dropFirst(name.count), let answer = WebSocketHandshake.answer(to: String(key)) else {
            return nil
        }
        return Array(
            """
            HTTP/1.1 101 Switching\r
            Connection: Upgrade\r
            Upgrade: websocket\r
            Sec-WebSocket-Accept: \(answer)\r
            \r

            """.utf8)
    }

    private func act(_ task: URLSessionTask, _ script: inout Script) {
        let webSocket = task as? URLSessionWebSocketTask
        switch script.number(below: 12) {
        case 0: task.cancel()
        case 1: task.suspend()
        case 2, 3: task.resume()
        case 4, 5: webSocket?.send(.data(Data(repeating: 2, count: 1 << script.number(below: 12)))) { _ in }
        case 6: webSocket?.sendPing { _ in }
        case 7, 8: webSocket?.receive { _ in }
        case 9: webSocket?.cancel(with: .goingAway, reason: Data(script.bytes(2)))
        case 10 where script.number(below: 4) == 0: session.invalidateAndCancel()
        default: break
        }
    }

    private func end(_ connection: CInt, isReset: Bool) {
        server.close(connection, isReset: isReset)
        forget(connection)
    }

    private func forget(_ connection: CInt) {
        requests[connection] = nil
        webSockets.remove(connection)
    }

    private static let answers = [
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc",
        "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "3\r\nabc\r\n",
        "0\r\n\r\n", "HTTP/1.0 200 OK\r\n\r\nuntil the end", "HTTP/1.1 204 None\r\n\r\n",
        "HTTP/1.1 302 There\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 307 There\r\nLocation: http://b.test/\r\nContent-Length: 5\r\n\r\nthere",
        "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"r\"\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 401 No\r\nWWW-Authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth\"\r\nContent-Length: "
            + "0\r\n\r\n",
        "HTTP/1.1 401 No\r\nWWW-Authenticate: NTLM\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"r\"\r\nConnection: close\r\n\r\n",
        "HTTP/1.1 408 Late\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        "HTTP/1.1 206 Part\r\nContent-Range: bytes 0-2/3\r\nContent-Length: 3\r\n\r\nabc",
    ].map { Array($0.utf8) }

    /// Frames of a server; nil stands for bytes of the script.
    private static let frames: [[UInt8]?] = [
        [0x81, 2, 0x61, 0x62], [0x02, 1, 7], [0x80, 1, 8], [0x89, 1, 9], [0x8A, 8, 0, 0, 0, 0, 0, 0, 0, 1],
        [0x88, 2, 3, 0xE8], [0x88, 0], [0x82, 126, 1, 0] + Array(repeating: 5, count: 256), nil,
    ]
}

extension Array {
    fileprivate func randomElement(_ script: inout Script) -> Element? {
        isEmpty ? nil : script.element(of: self)
    }
}

/// A delegate that answers as a script says, with an account of the calls.
private final class ScriptedDelegate: URLSessionDataDelegate, URLSessionDownloadDelegate, URLSessionWebSocketDelegate {
    private struct State {
        var script: Script
        /// The tasks that haven't ended, and whether they have a response.
        var running: [Int: Bool] = [:]
        /// The answers that are given when everybody waits.
        var late: [@Sendable () -> Void] = []
        var isInvalid = false
        var failure: String?
    }

    private let state: Locked<State>

    init(_ script: Script) { state = Locked(State(script: script)) }

    func expect(_ task: URLSessionTask) { state.withLock { $0.running[task.taskIdentifier] = false } }

    var haveAllEnded: Bool { state.withLock(\.running.isEmpty) }
    var isInvalid: Bool { state.withLock(\.isInvalid) }

    func check() {
        let failure = state.withLock(\.failure)
        precondition(failure == nil, failure ?? "")
    }

    /// Gives one of the late answers, if there is any.
    func answerLate() -> Bool {
        guard let answer = state.withLock({ $0.late.popLast() }) else { return false }
        answer()
        return true
    }

    private func element<Element>(of elements: [Element]) -> Element {
        state.withLock { $0.script.element(of: elements) }
    }

    /// Gives an answer now, late or twice.
    private func give(_ answer: @escaping @Sendable () -> Void) {
        switch state.withLock({ $0.script.number(below: 8) }) {
        case 6: state.withLock { $0.late.append(answer) }
        case 7:
            answer()
            answer()
        default: answer()
        }
    }

    /// Notes a call about a task that must not have ended.
    private func note(_ call: String, _ task: URLSessionTask, _ body: (inout Bool) -> Bool = { _ in true }) {
        state.withLock { state in
            guard var hasResponse = state.running[task.taskIdentifier] else {
                state.failure = "\(call) after the end of a task"
                return
            }
            if !body(&hasResponse) { state.failure = "\(call) out of turn" }
            state.running[task.taskIdentifier] = hasResponse
        }
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        state.withLock { state in
            if state.isInvalid || !state.running.isEmpty { state.failure = "an invalid session goes on" }
            state.isInvalid = true
        }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        note("a challenge", task)
        let disposition = element(
            of: [
                .useCredential, .useCredential, .performDefaultHandling, .cancelAuthenticationChallenge,
                .rejectProtectionSpace,
            ] as [URLSession.AuthChallengeDisposition])
        let credential = element(of: ["u", "v", nil]).map {
            URLCredential(user: $0, password: "p", persistence: .forSession)
        }
        give { completionHandler(disposition, credential) }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        note("a redirect", task)
        // The server speaks nothing else.
        let isPlain = ["http", "ws"].contains(request.url?.scheme ?? "")
        let follows = element(of: [true, true, false]) && isPlain
        give { completionHandler(follows ? request : nil) }
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        note("a response", dataTask) { hasResponse in
            defer { hasResponse = true }
            return !hasResponse
        }
        let disposition = element(of: [.allow, .allow, .cancel, .becomeDownload] as [URLSession.ResponseDisposition])
        give { completionHandler(disposition) }
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didBecome downloadTask: URLSessionDownloadTask
    ) {
        state.withLock { state in
            if state.running.removeValue(forKey: dataTask.taskIdentifier) != true {
                state.failure = "a download without a response"
            }
            state.running[downloadTask.taskIdentifier] = true
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        note("a part of the body", dataTask) { $0 && !data.isEmpty }
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        note("a file", downloadTask) { _ in FileManager.default.fileExists(atPath: location.path) }
    }

    func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask, didOpenWithProtocol protocol: String?
    ) {
        note("an opening", webSocketTask) { hasResponse in
            defer { hasResponse = true }
            return !hasResponse
        }
    }

    func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
        didCloseWith closeCode: URLSessionWebSocketTask.CloseCode, reason: Data?
    ) {
        note("a closing", webSocketTask) { $0 }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        note("an end", task)
        state.withLock { state in
            let hadResponse = state.running.removeValue(forKey: task.taskIdentifier) ?? false
            let isData = !(task is URLSessionDownloadTask)
            if error == nil, isData, !hadResponse { state.failure = "a success without a response" }
        }
    }
}
