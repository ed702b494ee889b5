import CertificateTrust

extension BareConnection {
    /// Speaks a protocol up to the point where TLS begins.
    borrowing func startTLS(
        _ spoken: StartTLSProtocol, to host: ServerName, until deadline: Deadline
    ) async throws(TransportError) {
        var negotiation = StartTLSNegotiation(spoken, to: host)
        var action = negotiation.opening
        while true {
            switch action {
            case .needMore: break
            case .send(let bytes): try await send(bytes, until: deadline)
            case .sendAndUpgrade(let bytes): return try await send(bytes, until: deadline)
            case .upgrade: return
            }
            guard let bytes = try await receive(until: deadline) else {
                throw .startTLSUnreadable(peer: peer, spoken, reason: "the server closes the connection")
            }
            do throws(StartTLSFailure) {
                action = try negotiation.receive(bytes)
            } catch {
                switch error {
                case .notOffered: throw .startTLSNotOffered(peer: peer, spoken)
                case .refused(let answer): throw .startTLSRefused(peer: peer, spoken, answer: answer)
                case .unreadable(let reason): throw .startTLSUnreadable(peer: peer, spoken, reason: reason)
                }
            }
        }
    }
}
