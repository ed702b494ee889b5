package import CertificateTrust

extension BareConnection {
    /// Runs a protocol's STARTTLS exchange up to the point where TLS begins. Throws if the server doesn't upgrade to
    /// TLS.
    package borrowing func startTLS(
        _ spoken: StartTLSProtocol, to host: ServerName, limit: Duration
    ) async throws(TransportError) {
        try await startTLS(spoken, to: host, until: Deadline(for: .startTLS, peer: peer, limit: limit))
    }

    /// Runs a protocol's STARTTLS exchange up to the point where TLS begins. `greeting` holds the bytes that the server
    /// has already sent.
    borrowing func startTLS(
        _ spoken: StartTLSProtocol, to host: ServerName, behind greeting: [UInt8] = [], until deadline: Deadline
    ) async throws(TransportError) {
        var greeting = greeting
        var isAnswered = false
        var negotiation = StartTLSNegotiation(spoken, to: host)
        var action = negotiation.opening
        while true {
            switch action {
            case .needMore: break
            case .send(let bytes): try await send(bytes, until: deadline)
            case .sendAndUpgrade(let bytes): return try await send(bytes, until: deadline)
            case .upgrade: return
            }
            let heard: [UInt8]?
            do throws(TransportError) {
                heard = greeting.isEmpty ? try await receive(until: deadline) : greeting
            } catch {
                guard !isAnswered, case .timedOut(.startTLS, let peer, let limit) = error else { throw error }
                throw .timedOut(.greeting, peer: peer, limit: limit)
            }
            greeting = []
            guard let bytes = heard else {
                throw .startTLSUnreadable(peer: peer, spoken, reason: "the server closed the connection")
            }
            guard isAnswered || !HandshakeHead(bytes).isTLS else { throw .startTLSNeedless(peer: peer, spoken) }
            isAnswered = true
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
