import CPinctlOpenSSL

/// The configuration shared by all client connections (`SSL_CTX`): versions, ciphers, limits and callbacks.
///
/// The context itself trusts no server. The answer given to each ``TLSClientEngine`` decides whether a server is
/// accepted.
@safe package final class TLSContext: @unchecked Sendable {
    // Sendable because it is configured in init and never changed. SSL_new counts its reference atomically.
    let pointer: OpaquePointer

    /// The largest Certificate message that is read, in bytes. It is OpenSSL's own default, fixed here.
    private static let maximumCertificateList = 100 * 1024

    /// The cipher suites of TLS 1.2, as `SSL_set_cipher_list` takes them.
    ///
    /// Key exchange without forward secrecy, without a certificate or with a shared secret isn't offered. Neither is
    /// finite-field DHE, where the server chooses the prime. A prime of 10,000 bits costs over a second before the
    /// server is authenticated.
    package static let cipherList = "DEFAULT:!aNULL:!eNULL:!kRSA:!kDHE:!PSK:!SRP"

    /// The key exchange groups, as `SSL_CTX_set1_groups_list` takes them. The first list that OpenSSL accepts is used:
    /// the hybrid group needs OpenSSL 3.5, and X25519 is missing in some FIPS providers.
    ///
    /// The asterisks mark the groups that get a key share. The share for X25519 beside the hybrid one saves a second
    /// round trip with servers that don't support the hybrid group.
    private static let groupLists = [
        "*X25519MLKEM768:*X25519:P-256:P-384:P-521", "X25519:P-256:P-384:P-521", "P-256:P-384:P-521",
    ]

    /// The names of the groups that are offered, the preferred one first.
    package let groups: [String]

    package init() throws(OpenSSLError) {
        if let incompatibility = OpenSSLLibrary.incompatibility { throw incompatibility }
        OpenSSLError.clear()
        guard TLSVerdict.index >= 0, TLSIdentityAnswer.index >= 0, TLSTimestamps.index >= 0,
            TLSMessageCount.index >= 0,
            let pointer = unsafe SSL_CTX_new_ex(LibraryContext.pointer, nil, TLS_client_method())
        else { throw OpenSSLError.take() }
        unsafe self.pointer = pointer

        // Level 2 means 112 bits: no RC4, no 3DES.
        unsafe SSL_CTX_set_security_level(pointer, 2)
        guard unsafe COpenSSL_SSL_CTX_set_min_proto_version(pointer, TLS1_2_VERSION) == 1,
            // mutant weak-ciphers: "ALL:@SECLEVEL=0" for `Self.cipherList` by HandshakeAttackTests
            //   PinctlTLSTransportTests.KeyExchangeTests FailureTests
            unsafe SSL_CTX_set_cipher_list(pointer, Self.cipherList) == 1,
            unsafe TLSTimestamps.request(on: pointer),
            let list = Self.groupLists.first(where: { unsafe COpenSSL_SSL_CTX_set1_groups_list(pointer, $0) == 1 })
        else {
            let error = OpenSSLError.take()
            unsafe SSL_CTX_free(pointer)
            throw error
        }
        groups = list.split(separator: ":").map { String($0.drop { $0 == "*" }) }
        OpenSSLError.clear()
        // A renegotiation could change the certificate. OpenSSL caches no sessions: the caller names the session to
        // resume.
        // mutant no-renegotiation: {} by RecordAttackTests
        _ = unsafe SSL_CTX_set_options(pointer, COpenSSL_SSL_OP_NO_RENEGOTIATION())
        unsafe COpenSSL_SSL_CTX_set_session_cache_mode(pointer, Int(SSL_SESS_CACHE_OFF))
        unsafe COpenSSL_SSL_CTX_set_max_cert_list(pointer, Self.maximumCertificateList)
        unsafe COpenSSL_SSL_CTX_set_mode(pointer, Int(SSL_MODE_RELEASE_BUFFERS))
        // Otherwise one read processes as many messages without data as the peer sends.
        unsafe COpenSSL_SSL_CTX_clear_mode(pointer, Int(SSL_MODE_AUTO_RETRY))
        unsafe SSL_CTX_set_msg_callback(pointer, countMessage)

        unsafe SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER, nil)
        unsafe SSL_CTX_set_cert_verify_callback(pointer, askForVerdict, nil)
        unsafe SSL_CTX_set_cert_cb(pointer, askForIdentity, nil)
    }

    deinit { unsafe SSL_CTX_free(pointer) }
}

/// The answer to a server's certificate, stored as an integer in the SSL's ex_data so that C owns no object.
enum TLSVerdict: Int {
    /// The initial state of an SSL: ex_data holds NULL.
    case undecided = 0
    case accepted = 1
    case refused = 2

    /// The ex_data index, negative if OpenSSL couldn't allocate one.
    static let index = COpenSSL_SSL_get_ex_new_index()

    /// Reads the verdict on a connection. An unknown number is a refusal.
    init(of ssl: OpaquePointer) {
        let number = unsafe Int(bitPattern: SSL_get_ex_data(ssl, Self.index))
        self = TLSVerdict(rawValue: number) ?? .refused
    }

    /// Records the verdict. Returns false if OpenSSL can't store it.
    func note(on ssl: OpaquePointer) -> Bool {
        unsafe SSL_set_ex_data(ssl, Self.index, UnsafeMutableRawPointer(bitPattern: rawValue)) == 1
    }
}

/// The callback that replaces OpenSSL's chain verification (`SSL_CTX_set_cert_verify_callback`).
///
/// Returning 1 lets the handshake continue, so suspended, accepted and refused each have exactly one exit.
private let askForVerdict: @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> CInt = { store, _ in
    guard let store = unsafe store,
        let ssl = unsafe X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx())
    else { return 0 }
    switch unsafe TLSVerdict(of: OpaquePointer(ssl)) {
    case .undecided:
        // 1 without the retry flag would accept the server.
        // mutant undecided-server: { return 1 } by TLSClientEngineTests HandshakeTests
        return unsafe COpenSSL_SSL_set_retry_verify(OpaquePointer(ssl)) == 1 ? 1 : 0
    case .accepted:
        unsafe X509_STORE_CTX_set_error(store, X509_V_OK)
        return 1
    case .refused:
        // mutant refused-server: { return 1 } for `unsafe…return 0` by TLSClientEngineTests HandshakeTests
        unsafe X509_STORE_CTX_set_error(store, X509_V_ERR_CERT_REJECTED)
        return 0
    }
}

/// The number of handshake messages from the peer, also those after the handshake, in the SSL's ex_data.
enum TLSMessageCount {
    /// The ex_data index, negative if OpenSSL couldn't allocate one.
    static let index = COpenSSL_SSL_get_ex_new_index()

    static func value(of ssl: OpaquePointer) -> Int { unsafe Int(bitPattern: SSL_get_ex_data(ssl, index)) }
}

/// The callback for everything that is sent and received (`SSL_CTX_set_msg_callback`).
private let countMessage:
    @convention(c) (
        CInt, CInt, CInt, UnsafeRawPointer?, Int, OpaquePointer?, UnsafeMutableRawPointer?
    ) -> Void = { isSent, _, kind, _, _, ssl, _ in
        guard isSent == 0, kind == SSL3_RT_HANDSHAKE, let ssl = unsafe ssl else { return }
        let count = unsafe TLSMessageCount.value(of: ssl) + 1
        unsafe _ = SSL_set_ex_data(ssl, TLSMessageCount.index, UnsafeMutableRawPointer(bitPattern: count))
    }

/// The mark of an answered certificate request: the SSL's ex_data holds 1 once it is answered, and NULL before.
enum TLSIdentityAnswer {
    /// The ex_data index, negative if OpenSSL couldn't allocate one.
    static let index = COpenSSL_SSL_get_ex_new_index()
}

/// The callback for the server's certificate request (`SSL_CTX_set_cert_cb`). It returns -1 to suspend the handshake
/// until there is an answer.
private let askForIdentity: @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> CInt = { ssl, _ in
    unsafe SSL_get_ex_data(ssl, TLSIdentityAnswer.index) == nil ? -1 : 1
}
