import CPinctlOpenSSL

/// Actions of a server after the handshake. They are sent at once, and the client's reaction arrives with the next
/// read.
extension LoopbackServer.Connection {
    /// Presents another chain in later handshakes.
    package func present(_ chain: [TestCertificate]) throws(TestPKIError) {
        guard let session = unsafe session else { return }
        unsafe SSL_certs_clear(session)
        try unsafe withCertificates(chain.map(\.derBytes)) { leaf, others in
            unsafe SSL_use_cert_and_key(session, leaf, chain.first?.key.pointer, others, 1)
        }
    }

    /// Requests another handshake (HelloRequest; RFC 5246, section 7.4.1.1).
    package func requestRenegotiation() throws(TestPKIError) {
        try unsafe start("SSL_renegotiate") { unsafe SSL_renegotiate($0) }
    }

    /// Changes the server's keys, and requests a change of the client's (RFC 8446, section 4.6.3).
    package func updateKeys() throws(TestPKIError) {
        try unsafe start("SSL_key_update") { unsafe SSL_key_update($0, SSL_KEY_UPDATE_REQUESTED) }
    }

    /// Sends another session ticket (RFC 8446, section 4.6.1).
    package func sendTicket() throws(TestPKIError) {
        try unsafe start("SSL_new_session_ticket") { unsafe SSL_new_session_ticket($0) }
    }

    /// Requests a certificate now, which only a client that offered this allows (RFC 8446, section 4.6.2). The
    /// settings' ``LoopbackServer/ClientAuthentication`` must be postponed.
    package func requestCertificate() throws(TestPKIError) {
        awaitsCertificate = true
        try unsafe start("SSL_verify_client_post_handshake") { unsafe SSL_verify_client_post_handshake($0) }
    }

    private func start(_ operation: String, _ announce: (OpaquePointer) -> Int32) throws(TestPKIError) {
        guard let session = unsafe session else { return }
        try check(operation) { unsafe announce(session) }
        try check("SSL_do_handshake") { unsafe SSL_do_handshake(session) }
    }

    func noteClientChain() {
        guard let session = unsafe session, let leaf = unsafe SSL_get0_peer_certificate(session) else { return }
        // On a server, the chain doesn't include the leaf.
        let others = unsafe SSL_get_peer_cert_chain(session)
        var certificates = unsafe [leaf]
        for index in 0..<max(0, unsafe COpenSSL_sk_X509_num(others)) {
            if let certificate = unsafe COpenSSL_sk_X509_value(others, index) {
                unsafe certificates.append(certificate)
            }
        }
        let chain = unsafe certificates.map { certificate in
            var derBytes = [UInt8](repeating: 0, count: Int(unsafe i2d_X509(certificate, nil)))
            unsafe derBytes.withUnsafeMutableBufferPointer { buffer in
                var output = buffer.baseAddress
                unsafe _ = i2d_X509(certificate, &output)
            }
            return derBytes
        }
        log.update(identifier) { $0.clientChain = chain }
    }
}
