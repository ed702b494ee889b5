import CPinctlOpenSSL

/// Calls `use` with certificates in OpenSSL's own form: the first one, and a stack of the others.
func withCertificates(
    _ chain: [[UInt8]], _ use: (_ leaf: OpaquePointer?, _ others: OpaquePointer) -> Int32
) throws(TestPKIError) {
    let others = try unsafe make("sk_X509_new_reserve") {
        unsafe COpenSSL_sk_X509_new_reserve(Int32(chain.count))
    }
    var certificates: [OpaquePointer] = unsafe []
    defer {
        unsafe COpenSSL_sk_X509_free(others)
        for index in unsafe certificates.indices { unsafe X509_free(certificates[index]) }
    }
    for derBytes in chain {
        let certificate = try unsafe make("d2i_X509") {
            unsafe derBytes.withUnsafeBufferPointer { buffer in
                var input = buffer.baseAddress
                return unsafe d2i_X509(nil, &input, buffer.count)
            }
        }
        unsafe certificates.append(certificate)
    }
    for index in unsafe certificates.indices.dropFirst() {
        unsafe _ = COpenSSL_sk_X509_push(others, certificates[index])
    }
    try check("using a chain") { unsafe use(certificates.first, others) }
}

extension TLSServerContext {
    /// A time within the validity of every minted certificate: 2026-06-01T00:00:00Z.
    private static let time: time_t = 1_780_272_000

    func askForCertificate(_ authentication: LoopbackServer.ClientAuthentication?) throws(TestPKIError) {
        guard let authentication else { return }
        let required = authentication.isRequired ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0
        let late = authentication.isPostponed ? SSL_VERIFY_POST_HANDSHAKE : 0
        unsafe SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER | required | late, nil)
        for issuer in authentication.issuers {
            try unsafe withCertificates([issuer.derBytes]) { issuer, _ in
                unsafe SSL_CTX_add_client_CA(pointer, issuer)
            }
        }
        if authentication.roots.isEmpty {
            unsafe SSL_CTX_set_cert_verify_callback(pointer, { _, _ in 1 }, nil)
        }
        for root in authentication.roots {
            try unsafe withCertificates([root.derBytes]) { root, _ in
                unsafe X509_STORE_add_cert(SSL_CTX_get_cert_store(pointer), root)
            }
        }
        unsafe X509_VERIFY_PARAM_set_time(SSL_CTX_get0_param(pointer), Self.time)
    }

    func resume(_ settings: LoopbackServer.Settings) throws(TestPKIError) {
        // Without a session ID context, a session with a client certificate can't be resumed.
        try check("SSL_CTX_set_session_id_context") { unsafe SSL_CTX_set_session_id_context(pointer, [1], 1) }
        try check("SSL_CTX_set_max_early_data") {
            unsafe SSL_CTX_set_max_early_data(pointer, settings.earlyDataLimit)
        }
        switch settings.resumption {
        case .tickets: break
        case .identifiers: unsafe SSL_CTX_set_options(pointer, COpenSSL_SSL_OP_NO_TICKET())
        case .refused:
            let ignore: SSL_CTX_decrypt_session_ticket_fn = { _, _, _, _, _, _ in
                Int32(SSL_TICKET_RETURN_IGNORE_RENEW)
            }
            try check("SSL_CTX_set_session_ticket_cb") {
                unsafe SSL_CTX_set_session_ticket_cb(pointer, nil, ignore, nil)
            }
            // With early data, a ticket is an identifier, so that it can be used only once.
            let neverFound = SSL_SESS_CACHE_SERVER | SSL_SESS_CACHE_NO_INTERNAL_LOOKUP
            unsafe SSL_CTX_ctrl(pointer, SSL_CTRL_SET_SESS_CACHE_MODE, Int(neverFound), nil)
        case .none:
            unsafe SSL_CTX_set_options(pointer, COpenSSL_SSL_OP_NO_TICKET())
            unsafe SSL_CTX_ctrl(pointer, SSL_CTRL_SET_SESS_CACHE_MODE, Int(SSL_SESS_CACHE_OFF), nil)
            try check("SSL_CTX_set_num_tickets") { unsafe SSL_CTX_set_num_tickets(pointer, 0) }
        }
    }

    /// Uses Diffie-Hellman over a fresh prime of any size.
    func useFiniteField(bits: Int) throws(TestPKIError) {
        let prime = try unsafe make("BN_new") { unsafe BN_new() }
        defer { unsafe BN_free(prime) }
        try check("BN_generate_prime_ex") { unsafe BN_generate_prime_ex(prime, Int32(bits), 0, nil, nil, nil) }
        var octets = [UInt8](repeating: 0, count: (bits + 7) / 8)
        unsafe BN_bn2bin(prime, &octets)
        let parameters = TestDER.sequence(TestDER.integer(octets: [0] + octets), TestDER.integer(2))
        let field = try unsafe make("d2i_KeyParams") {
            unsafe parameters.withUnsafeBufferPointer { buffer in
                var input = buffer.baseAddress
                return unsafe d2i_KeyParams(EVP_PKEY_DH, nil, &input, buffer.count)
            }
        }
        do {
            // This takes ownership of the parameters if it succeeds.
            try check("SSL_CTX_set0_tmp_dh_pkey") { unsafe SSL_CTX_set0_tmp_dh_pkey(pointer, field) }
        } catch {
            unsafe EVP_PKEY_free(field)
            throw error
        }
    }
}
