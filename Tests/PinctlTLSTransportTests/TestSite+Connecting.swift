import CertificateTrust
import FoundationEssentials
import PinctlTLSTransport
import PinctlTestPKI
import Testing

extension TestSite {
    /// A time within the validity of every minted certificate: 2026-06-01T00:00:00Z.
    static let time = Date(timeIntervalSince1970: 1_780_272_000)

    var name: ServerName { get throws { try ServerName(host) } }

    /// Returns the endpoint of the site, routed to the server.
    func endpoint(on server: LoopbackServer) throws -> Endpoint {
        Endpoint(
            name: try name, port: 443, route: Route(host: try ServerName(server.address), port: server.port))
    }

    func path(_ presented: PresentedChain, name: ServerName? = nil) throws -> VerifiedPath {
        let store = TrustStore(certificates: [try X509Certificate(derBytes: root.derBytes)])
        return try ServerTrust(presented: presented, name: name ?? self.name, store: store).evaluate(at: Self.time)
    }

    /// Dials, verifies and accepts.
    func connect(to server: LoopbackServer, _ options: DialOptions = .patient) async throws -> VerifiedConnection {
        try await connect(to: try endpoint(on: server), options)
    }

    /// Dials through a relay, verifies and accepts.
    func connect(via relay: RecordRelay, _ options: DialOptions = .patient) async throws -> VerifiedConnection {
        let route = Route(host: try ServerName(relay.address), port: relay.port)
        return try await connect(to: Endpoint(name: try name, port: 443, route: route), options)
    }

    /// Returns a session for another connection to the server, which answers a request and closes.
    func session(with server: LoopbackServer) async throws -> ResumableSession {
        let connection = try await connect(to: server)
        try await connection.send(request)
        _ = try await connection.receiveAll()
        defer { Task { await connection.close() } }
        return try #require(await connection.session())
    }

    /// Returns the pending connection to a server to which the session was offered.
    func resume(_ session: ResumableSession, with server: LoopbackServer) async throws -> PendingConnection {
        let bare = try await Transport.shared.connect(
            to: try ServerName(server.address), port: server.port, options: .patient)
        return try await bare.secure(as: name, options: .patient, resuming: session)
    }

    private func connect(to endpoint: Endpoint, _ options: DialOptions) async throws -> VerifiedConnection {
        let pending = try await Transport.shared.dial(endpoint, options: options)
        let path = try path(pending.presented)
        return try await pending.accept(path)
    }
}

let request = Array("GET / HTTP/1.1\r\nHost: api.example.test\r\nConnection: close\r\n\r\n".utf8)

extension RequestConnection {
    /// Sends bytes under settings that aren't replaced.
    func send(_ bytes: [UInt8]) async throws(TransportError) {
        _ = try await send(bytes, SendPermit(ApprovalNumber(), number: 0))
    }
}

extension VerifiedConnection {
    /// Receives everything up to close_notify.
    func receiveAll() async throws(TransportError) -> [UInt8] {
        var all: [UInt8] = []
        while let bytes = try await receive() { all += bytes }
        return all
    }
}

extension DialOptions {
    /// Limits that aren't reached even on a machine busy with other tests.
    static let patient: DialOptions = {
        var options = DialOptions()
        options.resolveTimeout = .seconds(600)
        options.connectTimeout = .seconds(600)
        options.handshakeTimeout = .seconds(600)
        options.totalTimeout = .seconds(600)
        return options
    }()

    /// Returns the patient options with this change.
    static func with(_ change: (inout DialOptions) -> Void) -> DialOptions {
        var options = patient
        change(&options)
        return options
    }
}

/// Expects `body` to throw a transport error that `isExpected`.
func expectFailure(
    _ isExpected: (TransportError) -> Bool, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () async throws -> Void
) async {
    do {
        try await body()
        Issue.record("nothing was thrown", sourceLocation: sourceLocation)
    } catch let error as TransportError {
        #expect(isExpected(error), "\(error)", sourceLocation: sourceLocation)
    } catch {
        Issue.record(error, sourceLocation: sourceLocation)
    }
}

/// Expects `body` to throw exactly this error.
func expectFailure(
    _ expected: TransportError, sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
) async {
    let isExpected: (TransportError) -> Bool = { $0 == expected }
    await expectFailure(isExpected, sourceLocation: sourceLocation, body)
}

extension TransportError {
    var isCancelled: Bool { self == .cancelled }
    var isClosed: Bool { if case .closed = self { true } else { false } }
    var isExhausted: Bool { if case .exhausted = self { true } else { false } }
    var isForeignPath: Bool { if case .foreignPath = self { true } else { false } }
    var isHandshakeFailed: Bool { if case .handshakeFailed = self { true } else { false } }
    var isHandshakeTimeout: Bool { if case .timedOut(.handshake, _, _) = self { true } else { false } }
    var isHelloTimeout: Bool { if case .timedOut(.hello, _, _) = self { true } else { false } }
    var isLostDuringHandshake: Bool { if case .lostDuringHandshake = self { true } else { false } }
    var isNotTLS: Bool { if case .notTLS = self { true } else { false } }
    var isOfferRejected: Bool { if case .offerRejected = self { true } else { false } }
    var isOtherVersion: Bool { if case .otherVersion = self { true } else { false } }
    var isProtocolFailure: Bool { if case .protocolFailure = self { true } else { false } }
    var isTruncated: Bool { if case .truncated = self { true } else { false } }
    var isWithoutAddress: Bool { if case .noAddress = self { true } else { false } }
}
