extension Transport {
    /// Returns the newest version that a server offers if it rejected TLS 1.2 and TLS 1.3 with an alert, such as
    /// `TLS 1.0`, or `nil` if it doesn't say.
    ///
    /// A server that knows TLS 1.3 doesn't name a version in its rejection. The answer comes from another connection,
    /// on which a ClientHello for TLS 1.1 is sent and nothing else. Nothing is negotiated, and the connection is
    /// closed.
    package func oldVersion(
        of endpoint: Endpoint, startTLS: StartTLSProtocol? = nil, at address: SocketAddress? = nil,
        through proxy: CleartextProxy? = nil, options: DialOptions = DialOptions(),
        since start: TransportTime = .now
    ) async -> String? {
        let total = total(endpoint, options, since: start)
        do throws(TransportError) {
            let bare = try await reach(
                endpoint, startTLS: startTLS, at: address, through: proxy, options, total: total, onConnect: { _ in })
            let deadline = total.during(.hello, peer: bare.peer)
            try await bare.send(OldClientHello(to: options.indicatedName(for: endpoint.name)).bytes, until: deadline)
            var head: [UInt8] = []
            while head.count < HandshakeHead.versionEnd, let more = try await bare.receive(until: deadline) {
                head += more
            }
            // mutant old-version: (nil as String?) for `HandshakeHead(head).serverHelloVersion` by SituationTests
            return HandshakeHead(head).serverHelloVersion.flatMap { $0 < "TLS 1.2" ? $0 : nil }
        } catch {
            return nil
        }
    }
}

/// A ClientHello for TLS 1.1 (RFC 4346, section 7.4.1.2), which a server answers with the version that it chooses.
private struct OldClientHello {
    let bytes: [UInt8]

    /// ECDHE, DHE and RSA with AES, 3DES and RC4, and TLS_EMPTY_RENEGOTIATION_INFO_SCSV (RFC 5746).
    private static let cipherSuites: [UInt16] = [
        0xC009, 0xC00A, 0xC013, 0xC014, 0x0033, 0x0039, 0x002F, 0x0035, 0xC012, 0x000A, 0xC011, 0x0005, 0x00FF,
    ]
    /// secp256r1, secp384r1, secp521r1 and x25519 (RFC 8422, section 5.1.1).
    private static let groups: [UInt16] = [23, 24, 25, 29]

    init(to name: String?) {
        func vector(_ size: Int, _ bytes: [UInt8]) -> [UInt8] {
            (0..<size).reversed().map { UInt8(truncatingIfNeeded: bytes.count >> (8 * $0)) } + bytes
        }
        func numbers(_ numbers: [UInt16]) -> [UInt8] {
            vector(2, numbers.flatMap { [UInt8($0 >> 8), UInt8(truncatingIfNeeded: $0)] })
        }
        let names = name.map { [0, 0] + vector(2, vector(2, [0] + vector(2, Array($0.utf8)))) } ?? []
        let extensions = names + [0, 10] + vector(2, numbers(Self.groups)) + [0, 11] + vector(2, [1, 0])
        let random = (0..<32).map { _ in UInt8.random(in: .min ... .max) }
        let hello = [3, 2] + random + [0] + numbers(Self.cipherSuites) + [1, 0] + vector(2, extensions)
        bytes = [22, 3, 1] + vector(2, [1] + vector(3, hello))
    }
}
