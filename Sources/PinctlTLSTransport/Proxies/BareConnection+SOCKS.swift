package import CertificateTrust

extension BareConnection {
    /// Asks the SOCKS proxy at the other end to connect to a host. This then is a connection to that host.
    package borrowing func requestHost(
        _ name: ServerName, port: UInt16, from version: SOCKSHandshake.Version, login: SOCKSHandshake.Login?,
        limit: Duration
    ) async throws(TransportError) {
        _ = try await requestHost(
            name, port: port, from: version, login: login, until: Deadline(for: .relay, peer: peer, limit: limit))
    }

    /// Asks for a host, and returns the first bytes of a host that speaks first.
    borrowing func requestHost(
        _ name: ServerName, port: UInt16, from version: SOCKSHandshake.Version, login: SOCKSHandshake.Login?,
        hostSpeaksFirst: Bool = false, until deadline: Deadline
    ) async throws(TransportError) -> [UInt8] {
        var handshake = try heard { () throws(SOCKSError) in
            try SOCKSHandshake(version, to: .init(name), port: port, login: login, hostSpeaksFirst: hostSpeaksFirst)
        }
        guard await !hasEarlyBytes() else {
            throw .relayRefused(peer: peer, reason: .malformedReply("bytes before the request"))
        }
        while true {
            switch try heard({ () throws(SOCKSError) in try handshake.next() }) {
            case .done: return handshake.greeting
            case .send(let bytes): try await send(bytes, until: deadline)
            case .wantsInput:
                guard let bytes = try await receive(until: deadline) else {
                    throw .relayRefused(peer: peer, reason: .truncatedReply)
                }
                handshake.receive(bytes)
            }
        }
    }

    private func heard<Value>(_ body: () throws(SOCKSError) -> Value) throws(TransportError) -> Value {
        do throws(SOCKSError) { return try body() } catch { throw .relayRefused(peer: peer, reason: error) }
    }
}
