package import CertificateTrust

/// A TLS connection whose server was accepted: the one type that can send. Dropping it closes it.
package final class VerifiedConnection: Sendable {
    /// What it was approved under; a request may only use a connection whose digest is its own.
    package let approval: ApprovalDigest
    /// The accepted path; nil when a delegate accepted the server without one.
    package let path: VerifiedPath?
    /// The address that was reached, `192.0.2.1:443` or `[2001:db8::1]:443`.
    package let remoteAddress: String
    /// What both sides agreed on.
    package let negotiated: NegotiatedTLS

    private let connection: Connection

    init(
        _ connection: Connection, approval: ApprovalDigest, path: VerifiedPath?, remoteAddress: String,
        negotiated: NegotiatedTLS
    ) {
        self.connection = connection
        self.approval = approval
        self.path = path
        self.remoteAddress = remoteAddress
        self.negotiated = negotiated
    }

    deinit {
        connection.loop.execute { [connection] in connection.assumeIsolated { $0.close() } }
    }

    /// Sends all bytes; returns when the kernel has them. One call at a time, since two would interleave.
    package func send(_ bytes: [UInt8]) async throws(TransportError) {
        try await connection.send(bytes)
    }

    /// The next bytes, at least one; nil when the peer closed with close_notify. One call at a time.
    ///
    /// A TCP end without close_notify throws ``TransportError/truncated(peer:)``.
    package func receive() async throws(TransportError) -> [UInt8]? {
        try await connection.receive()
    }

    /// Says close_notify and closes; a `send` or `receive` that waits throws ``TransportError/closed(peer:)``.
    package func close() async {
        await connection.close()
    }
}

/// What a TLS handshake settled.
package struct NegotiatedTLS: Sendable, Hashable {
    /// `TLSv1.3` or `TLSv1.2` (`SSL_get_version`).
    package let version: String
    /// The cipher suite's OpenSSL name (`SSL_CIPHER_get_name`).
    package let cipherSuite: String
    /// The ALPN name, nil when the server chose none.
    package let applicationProtocol: String?
}
