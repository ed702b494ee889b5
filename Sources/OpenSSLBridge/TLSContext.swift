import COpenSSL

/// What all client connections have in common (`SSL_CTX`): versions, ciphers, limits, and a verification that asks.
///
/// It trusts nobody by itself: whether a server is accepted is the answer given to each ``TLSClientEngine``.
@safe package final class TLSContext: @unchecked Sendable {
    // Sendable because it is configured in init and never changed; SSL_new counts its reference atomically.
    let pointer: OpaquePointer

    /// The largest Certificate message that is read, in bytes; OpenSSL's own default, fixed here.
    private static let maximumCertificateList = 100 * 1024

    /// The cipher suites of TLS 1.2, in the words of `SSL_set_cipher_list`.
    ///
    /// Key exchange without forward secrecy, without a certificate or by shared secret is not offered. Neither is
    /// finite-field DHE: the server chooses its prime, and one of 10,000 bits costs over a second before anybody knows
    /// who the server is.
    package static let cipherList = "DEFAULT:!aNULL:!eNULL:!kRSA:!kDHE:!PSK:!SRP"

    /// The groups of the key exchange in the words of `SSL_CTX_set1_groups_list`, as many of them as OpenSSL has: the
    /// hybrid one needs 3.5, and X25519 is missing under some FIPS providers. The first list that is taken counts.
    ///
    /// The star sends a key share beside the hybrid one, so that a server without it needs no second round trip.
    private static let groupLists = [
        "*X25519MLKEM768:*X25519:P-256:P-384:P-521", "X25519:P-256:P-384:P-521", "P-256:P-384:P-521",
    ]

    package init() throws(OpenSSLError) {
        OpenSSLError.clear()
        guard TLSVerdict.index >= 0, TLSIdentityAnswer.index >= 0,
            let pointer = unsafe SSL_CTX_new(TLS_client_method())
        else { throw OpenSSLError.take() }
        unsafe self.pointer = pointer

        // Level 2 is 112 bits: no RC4, no 3DES.
        unsafe SSL_CTX_set_security_level(pointer, 2)
        guard unsafe COpenSSL_SSL_CTX_set_min_proto_version(pointer, TLS1_2_VERSION) == 1,
            unsafe SSL_CTX_set_cipher_list(pointer, Self.cipherList) == 1,
            Self.groupLists.contains(where: { unsafe COpenSSL_SSL_CTX_set1_groups_list(pointer, $0) == 1 })
        else { throw OpenSSLError.take() }
        OpenSSLError.clear()
        // A renegotiation could change the certificate. OpenSSL keeps no session: who resumes one says which.
        _ = unsafe SSL_CTX_set_options(pointer, COpenSSL_SSL_OP_NO_RENEGOTIATION())
        unsafe COpenSSL_SSL_CTX_set_session_cache_mode(pointer, Int(SSL_SESS_CACHE_OFF))
        unsafe COpenSSL_SSL_CTX_set_max_cert_list(pointer, Self.maximumCertificateList)
        unsafe COpenSSL_SSL_CTX_set_mode(pointer, Int(SSL_MODE_RELEASE_BUFFERS))

        unsafe SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER, nil)
        unsafe SSL_CTX_set_cert_verify_callback(pointer, askForVerdict, nil)
        unsafe SSL_CTX_set_cert_cb(pointer, askForIdentity, nil)
    }

    deinit { unsafe SSL_CTX_free(pointer) }
}

/// The answer to a server's certificate, kept as an integer in the SSL's ex_data so that C owns no object.
enum TLSVerdict: Int {
    /// What an SSL starts with: ex_data holds NULL.
    case undecided = 0
    case accepted = 1
    case refused = 2

    /// The ex_data slot, negative when OpenSSL has none to give.
    static let index = COpenSSL_SSL_get_ex_new_index()

    /// The verdict on a connection; an unknown number is a refusal.
    init(of ssl: OpaquePointer) {
        let number = unsafe Int(bitPattern: SSL_get_ex_data(ssl, Self.index))
        self = TLSVerdict(rawValue: number) ?? .refused
    }

    /// Notes the verdict; false when OpenSSL cannot hold it.
    func note(on ssl: OpaquePointer) -> Bool {
        unsafe SSL_set_ex_data(ssl, Self.index, UnsafeMutableRawPointer(bitPattern: rawValue)) == 1
    }
}

/// Stands where OpenSSL would verify the chain (`SSL_CTX_set_cert_verify_callback`).
///
/// Returning 1 lets the handshake go on, so each outcome has its one exit: suspended, accepted, refused.
private let askForVerdict: @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> CInt = { store, _ in
    guard let store = unsafe store,
        let ssl = unsafe X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx())
    else { return 0 }
    switch unsafe TLSVerdict(of: OpaquePointer(ssl)) {
    case .undecided:
        // 1 without the retry flag set would accept.
        return unsafe COpenSSL_SSL_set_retry_verify(OpaquePointer(ssl)) == 1 ? 1 : 0
    case .accepted:
        unsafe X509_STORE_CTX_set_error(store, X509_V_OK)
        return 1
    case .refused:
        unsafe X509_STORE_CTX_set_error(store, X509_V_ERR_CERT_REJECTED)
        return 0
    }
}

/// Whether it was answered which certificate to send: the SSL's ex_data holds 1 then, else NULL.
enum TLSIdentityAnswer {
    /// The ex_data slot, negative when OpenSSL has none to give.
    static let index = COpenSSL_SSL_get_ex_new_index()
}

/// Called when the server has asked for a certificate (`SSL_CTX_set_cert_cb`): -1 suspends until there is an answer.
private let askForIdentity: @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> CInt = { ssl, _ in
    unsafe SSL_get_ex_data(ssl, TLSIdentityAnswer.index) == nil ? -1 : 1
}
