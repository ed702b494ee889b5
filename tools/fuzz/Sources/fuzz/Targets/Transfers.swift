import CertificateTrust

@testable import PinctlHTTPMessages
@testable import PinnedNetworking

extension FuzzTarget {
    /// The steps of a transfer in any order, and what servers send meanwhile. A connection is returned exactly once, at
    /// most one is open, and nothing is sent or read without one.
    static let transfers = FuzzTarget(name: "transfers") { bytes in
        var script = Script(bytes)
        var client = ScriptedTransfer()
        while !script.isAtEnd { client.step(&script) }
        client.end()
    }
}

/// A transfer whose caller does anything, with an account of its connections.
private struct ScriptedTransfer {
    private var transfer = TransferState<Int>()
    /// The connections so far. Each has the next number.
    private var count = 0
    /// The connections that were given to the transfer and not returned.
    private var owned: Set<Int> = []
    private var hasHead = false
    private var isOver = false

    /// Takes a connection back.
    private mutating func take(_ connection: Int) {
        precondition(owned.remove(connection) != nil, "connection \(connection) was returned twice, or never given")
    }

    private static let heads: [HTTPRequestHead] = {
        guard let name = try? ServerName("a.test") else { preconditionFailure("a name was refused") }
        let origin = HTTPOrigin(scheme: .https, name: name, port: 443)
        let kinds: [(String, HTTPRequestHead.Body, Bool)] = [
            ("GET", .none, false), ("POST", .length(3), true), ("HEAD", .none, false),
        ]
        let heads = kinds.compactMap { method, body, expectsContinue in
            try? HTTPRequestHead(
                method: method, target: .origin("/"), origin: origin, body: body, expectsContinue: expectsContinue)
        }
        let upgrade = try? HTTPRequestHead(
            method: "GET", target: .origin("/"), origin: origin, webSocket: try WebSocketHandshake([]))
        precondition(heads.count == 3 && upgrade != nil, "a request that is in order was refused")
        return heads + (upgrade.map { [$0] } ?? [])
    }()

    private static let answers = [
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 100 Continue\r\n\r\n",
        "HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        "3\r\nabc\r\n", "0\r\n\r\n", "HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nxyz",
        "HTTP/1.1 204 None\r\nConnection: close\r\n\r\n", "HTTP/1.0 200 OK\r\n\r\nuntil the end",
        "HTTP/1.1 307 There\r\nLocation: /b\r\nContent-Length: 5\r\n\r\n",
    ].map { Array($0.utf8) }

    mutating func step(_ script: inout Script) {
        switch script.number(below: 16) {
        case 0, 1: lease()
        case 2, 3: send(script.element(of: Self.heads), script.element(of: ScriptedLogin.all))
        case 4, 5: receive(script.element(of: Self.answers))
        case 6: receive(script.bytes(1 + script.number(below: 32)))
        case 7: receive(nil)
        case 8: takeEvents(most: 1)
        case 9: takeEvents(most: .max)
        case 10: takePart()
        case 11:
            if let connection = transfer.discardResponse() { take(connection) }
            if transfer.head == nil { hasHead = false }
        case 12:
            if let connection = transfer.endLease() { take(connection) }
        case 13:
            if let (connection, _) = transfer.takeUpgraded() {
                precondition(hasHead, "switched before the server agreed")
                take(connection)
                isOver = true
            }
        case 14: body(script.number(below: 4))
        default:
            if script.number(below: 8) == 0 { end() }
        }
        check()
    }

    /// Ends the transfer, after which no connection is left.
    mutating func end() {
        if let connection = transfer.fail() { take(connection) }
        precondition(owned.isEmpty, "a connection is lost: \(owned)")
        precondition(transfer.fail() == nil && transfer.open == nil)
        isOver = true
    }

    private func check() {
        precondition(owned.count <= 1, "two connections are open")
        precondition(transfer.open == owned.first, "another connection is open than the one it was given")
        precondition(!transfer.wantsRequestBody || !owned.isEmpty, "a body without a connection")
        precondition(!transfer.awaitsGoAhead || !transfer.wantsRequestBody)
        precondition(!isOver || transfer.open == nil, "open after the end")
    }

    private mutating func lease() {
        let connection = transfer.takeHeld() ?? count
        if connection == count { count += 1 }
        do throws(TransferStateError) {
            try transfer.lease(connection)
            precondition(!isOver, "a connection after the end")
            owned.insert(connection)
        } catch {
            // The connection stays with its caller: a held one can't come here, since taking it makes room.
            precondition(error == .leasedTwice && !owned.contains(connection))
        }
    }

    private mutating func send(_ head: HTTPRequestHead, _ login: ScriptedLogin?) {
        let isOpen = transfer.open != nil
        if (try? transfer.send(head, login)) != nil {
            precondition(isOpen && !isOver, "sent without a connection")
            hasHead = false
        }
    }

    private mutating func receive(_ bytes: [UInt8]?) {
        guard let connection = try? transfer.beginRead() else { return }
        precondition(owned.contains(connection), "a read from a connection that isn't its own")
        precondition((try? transfer.beginRead()) == nil, "two reads at once")
        transfer.received(bytes)
    }

    private mutating func takeEvents(most: Int) {
        var left = most
        while left > 0 {
            left -= 1
            let event: TransferState<Int>.Event?
            do throws(HTTPResponseError) { event = try transfer.next() } catch { return end() }
            switch event {
            case nil: return
            case .goAhead: precondition(!hasHead && transfer.wantsRequestBody, "a go-ahead after the head")
            case .head:
                precondition(!hasHead && transfer.head != nil, "a second head")
                hasHead = true
            case .keep(let connection), .close(let connection):
                precondition(hasHead, "an end before the head")
                take(connection)
            case .hold: precondition(hasHead && transfer.open != nil, "nothing is held")
            }
        }
    }

    private mutating func takePart() {
        switch transfer.nextPart() {
        case .bytes(let part): precondition(hasHead && !part.isEmpty, "a body before the head")
        case .end: precondition(hasHead && !transfer.isReadingBody)
        case .unread: break
        }
    }

    private mutating func body(_ choice: Int) {
        switch choice {
        case 0: transfer.stopWaiting()
        case 1: transfer.requestBodyWasSent()
        case 2: transfer.requestBodyFailed(CancellationError())
        default: _ = transfer.bufferedCount
        }
        precondition(choice != 1 || !transfer.wantsRequestBody, "a body that was sent is wanted")
    }
}

/// A login that has got this far.
private final class ScriptedLogin: ConnectionLogin {
    let authentication: KnownAuthentication
    let progress: ConnectionLoginProgress
    let coversLaterRequests = true

    private init(_ progress: ConnectionLoginProgress) throws {
        let name = try ServerName("a.test")
        let party = AuthenticationParty.origin(name, port: 443, protocol: "https")
        let space = URLProtectionSpace(
            host: "a.test", port: 443, protocol: "https", realm: nil,
            authenticationMethod: NSURLAuthenticationMethodNTLM)
        authentication = KnownAuthentication(
            URLCredential(user: "u", password: "p", persistence: .forSession), .connection(.ntlm), in: space,
            for: AuthenticationRequest(party: party, method: "GET", target: "/", user: nil, password: nil))
        self.progress = progress
    }

    /// No login, and one of each kind.
    static let all: [ScriptedLogin?] =
        [nil, nil] + [ConnectionLoginProgress.started, .proven, .complete].map { try? ScriptedLogin($0) }

    func message(after token: [UInt8]?) throws(ConnectionLoginError) -> [UInt8]? { nil }
}
