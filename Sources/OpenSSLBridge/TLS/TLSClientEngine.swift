import CPinctlOpenSSL

/// One TLS client connection (`SSL`) without I/O. The owner feeds in and takes out ciphertext, and reads and writes
/// plaintext.
///
/// The handshake stops at the server's certificate with ``Action/askTrust`` and continues after ``accept()`` or
/// ``refuse()``. It stops again with ``Action/askIdentity`` if the server requests a client certificate. For a resumed
/// session it also asks, about the chain that the server presented in the first handshake. In that case hold back the
/// output until the answer, because it contains the client's last flight.
///
/// Confined to one owner. The owner transports the ciphertext, for example over a socket or to another engine.
@safe package final class TLSClientEngine {
    /// The state of the handshake: the input it waits for, or its end. There can be output in every state.
    package enum Action: Sendable, Hashable {
        /// The handshake needs more ciphertext from the peer.
        case wantsInput
        /// The handshake needs an answer to ``presentedCertificates``.
        case askTrust
        /// The handshake needs an answer to the server's request for a certificate: ``identify(as:)``.
        case askIdentity
        /// The handshake is done and the server was accepted.
        case established
        /// The peer sent close_notify.
        case closed
        /// The handshake failed. The output holds the alert for the peer, if OpenSSL made one.
        case failed(OpenSSLError)
    }

    /// The result of ``read()``.
    package enum Input: Sendable, Hashable {
        /// At least one byte of plaintext.
        case bytes([UInt8])
        /// Work without plaintext, such as for a ticket, a key update or a HelloRequest. There may be more input.
        case message
        /// More ciphertext from the peer is needed.
        case wantsInput
        /// The peer sent close_notify.
        case closed
        /// The connection failed. The output holds the alert for the peer, if OpenSSL made one.
        case failed(OpenSSLError)
    }

    private let ssl: OpaquePointer
    // Owned by `ssl`.
    private let incoming: OpaquePointer
    private let outgoing: OpaquePointer
    private let offeredProtocols: [String]
    private let receivedTimestamps = TLSTimestamps()
    /// The timestamps of the first handshake of the session that was offered.
    private let sessionTimestamps: [UInt8]?
    private let offersSession: Bool
    private var hasAsked = false
    // SSL_is_init_finished becomes false again while a ticket or a key update has arrived in part.
    private var isEstablished = false
    /// The number of messages that the handshake consisted of.
    private var handshakeMessageCount = 0
    /// The value of ``messageCount`` after the last read.
    private var knownMessageCount = 0
    /// The end of input, found after plaintext that was returned first.
    private var readEnd: Input?

    /// The most plaintext that one ``read()`` returns, in bytes.
    private static let readLimit = 64 * 1024
    /// The least plaintext that one ``read()`` makes room for, in bytes.
    private static let leastRead = 512

    /// Creates the client side of a connection.
    ///
    /// - Parameters:
    ///   - serverName: the hostname for SNI. Nil sends none, as for IP addresses (RFC 6066, section 3).
    ///   - applicationProtocols: ALPN names of 1 to 255 bytes, in order of preference. Empty sends no ALPN.
    ///   - signatureAlgorithms: a list as `SSL_set1_sigalgs_list` takes it. Nil offers OpenSSL's default.
    ///   - cipherList: for TLS 1.2, a list as `SSL_set_cipher_list` takes it. Nil offers the context's list.
    ///   - minimumVersion: the oldest version to offer.
    ///   - maximumVersion: the newest version to offer. Nil offers up to the newest that OpenSSL supports.
    ///   - requestsStaple: whether to ask for an OCSP response with the certificate (RFC 6066, section 8).
    ///   - session: a session to resume, if the server agrees (`SSL_set_session`).
    package init(
        context: TLSContext, serverName: String?, applicationProtocols: [String], signatureAlgorithms: String? = nil,
        cipherList: String? = nil, minimumVersion: TLSVersion = .tls12, maximumVersion: TLSVersion? = nil,
        requestsStaple: Bool = false, session: TLSSession? = nil
    ) throws(OpenSSLError) {
        OpenSSLError.clear()
        guard let ssl = unsafe SSL_new(context.pointer) else { throw OpenSSLError.take() }
        guard let incoming = unsafe BIO_new(BIO_s_mem()), let outgoing = unsafe BIO_new(BIO_s_mem()) else {
            unsafe SSL_free(ssl)
            throw OpenSSLError.take()
        }
        unsafe SSL_set_bio(ssl, incoming, outgoing)
        unsafe SSL_set_connect_state(ssl)
        unsafe self.ssl = ssl
        unsafe self.incoming = incoming
        unsafe self.outgoing = outgoing
        offeredProtocols = applicationProtocols
        offersSession = session != nil
        sessionTimestamps = session?.timestamps
        guard unsafe receivedTimestamps.attach(to: ssl) else { throw OpenSSLError.take() }

        // mutant old-versions: 0x0301 for `minimumVersion.rawValue` by FailureTests HandshakeAttackTests HandshakeTests
        guard unsafe COpenSSL_SSL_set_min_proto_version(ssl, minimumVersion.rawValue) == 1 else {
            throw OpenSSLError.take()
        }
        if let maximumVersion {
            guard unsafe COpenSSL_SSL_set_max_proto_version(ssl, maximumVersion.rawValue) == 1 else {
                throw OpenSSLError.take()
            }
        }
        if let cipherList {
            guard unsafe SSL_set_cipher_list(ssl, cipherList) == 1 else { throw OpenSSLError.take() }
        }
        if requestsStaple {
            guard unsafe COpenSSL_SSL_request_staple(ssl) == 1 else { throw OpenSSLError.take() }
        }
        if let session {
            guard unsafe SSL_set_session(ssl, session.pointer) == 1 else { throw OpenSSLError.take() }
        }
        if let serverName {
            guard unsafe COpenSSL_SSL_set_tlsext_host_name(ssl, serverName) == 1 else { throw OpenSSLError.take() }
        }
        if let signatureAlgorithms {
            guard unsafe COpenSSL_SSL_set1_sigalgs_list(ssl, signatureAlgorithms) == 1 else {
                throw OpenSSLError.take()
            }
        }
        let protocols = try Self.wireFormat(applicationProtocols)
        // Unlike the other functions, this one returns 0 for success.
        guard unsafe protocols.isEmpty || SSL_set_alpn_protos(ssl, protocols, CUnsignedInt(protocols.count)) == 0
        else { throw OpenSSLError.take() }
    }

    deinit { unsafe SSL_free(ssl) }

    /// Returns each name preceded by its length (RFC 7301, section 3.1).
    private static func wireFormat(_ protocols: [String]) throws(OpenSSLError) -> [UInt8] {
        var wire: [UInt8] = []
        for name in protocols {
            guard (1...255).contains(name.utf8.count) else {
                throw OpenSSLError(code: 0, reason: "an ALPN protocol name must have 1 to 255 bytes")
            }
            wire.append(UInt8(name.utf8.count))
            wire += name.utf8
        }
        return wire
    }
}

// MARK: Handshake

extension TLSClientEngine {
    /// Continues the handshake as far as possible without more input (`SSL_do_handshake`).
    package func step() -> Action {
        OpenSSLError.clear()
        let result = unsafe SSL_do_handshake(ssl)
        switch unsafe SSL_get_error(ssl, result) {
        case SSL_ERROR_NONE:
            // mutant resumption-asks: { hasAsked = true; _ = unsafe TLSVerdict.accepted.note(on: ssl) } by
            //   ResumptionAttackTests
            if isResumed, offersSession, unsafe TLSVerdict(of: ssl) == .undecided { return askTrust() }
            // A completed handshake is rejected if trust was never asked about or the answer wasn't an acceptance.
            guard result == 1, hasAsked, unsafe TLSVerdict(of: ssl) == .accepted else {
                return .failed(OpenSSLError(code: 0, reason: "the server was not accepted"))
            }
            // Not every OpenSSL 3 compares the choice with the offer.
            guard applicationProtocol.map(offeredProtocols.contains) ?? true else {
                return .failed(OpenSSLError(code: 0, reason: "the server chose an ALPN protocol that was not offered"))
            }
            isEstablished = true
            handshakeMessageCount = unsafe TLSMessageCount.value(of: ssl)
            return .established
        case SSL_ERROR_WANT_READ:
            return .wantsInput
        case SSL_ERROR_WANT_RETRY_VERIFY:
            return askTrust()
        case SSL_ERROR_WANT_X509_LOOKUP:
            return .askIdentity
        case SSL_ERROR_ZERO_RETURN:
            return .closed
        default:
            return .failed(OpenSSLError.take())
        }
    }

    private func askTrust() -> Action {
        guard unsafe COpenSSL_sk_X509_num(SSL_get_peer_cert_chain(ssl)) > 0 else {
            return .failed(OpenSSLError(code: 0, reason: "the server sent no certificate"))
        }
        hasAsked = true
        return .askTrust
    }

    /// Accepts the server. Has no effect unless ``Action/askTrust`` was returned and hasn't been answered.
    package func accept() {
        guard hasAsked, unsafe TLSVerdict(of: ssl) == .undecided else { return }
        // If the answer can't be recorded, the question stays open and the handshake doesn't continue.
        _ = unsafe TLSVerdict.accepted.note(on: ssl)
    }

    /// Refuses the server. The next ``step()`` fails, and in a full handshake also makes the alert.
    package func refuse() {
        _ = unsafe TLSVerdict.refused.note(on: ssl)
    }

    /// The DER names of the CAs whose client certificates the server accepts (`SSL_get0_peer_CA_list`).
    package var requestedIssuers: [[UInt8]] {
        guard let names = unsafe SSL_get0_peer_CA_list(ssl) else { return [] }
        return unsafe (0..<COpenSSL_sk_X509_NAME_num(names)).map { index in
            unsafe derBytes { unsafe i2d_X509_NAME(COpenSSL_sk_X509_NAME_value(names, index), $0) }
        }
    }

    /// Answers the server's request for a certificate. Nil sends none. The next ``step()`` sends the answer.
    package func identify(as identity: OpenSSLIdentity?) throws(OpenSSLError) {
        OpenSSLError.clear()
        if let identity {
            guard unsafe SSL_use_certificate(ssl, identity.certificatePointer) == 1,
                unsafe SSL_use_PrivateKey(ssl, identity.keyPointer) == 1,
                unsafe COpenSSL_SSL_set1_chain(ssl, identity.chainPointer) == 1
            else { throw OpenSSLError.take() }
        }
        guard unsafe SSL_set_ex_data(ssl, TLSIdentityAnswer.index, UnsafeMutableRawPointer(bitPattern: 1)) == 1 else {
            throw OpenSSLError.take()
        }
    }

    /// Whether the server resumed the offered session (`SSL_session_reused`).
    package var isResumed: Bool { unsafe SSL_session_reused(ssl) == 1 }

    /// Returns the session for a later connection (`SSL_get1_session`), or nil while there is none that can be resumed.
    package func session() -> TLSSession? {
        guard let session = unsafe SSL_get1_session(ssl) else { return nil }
        return unsafe TLSSession(owning: session, timestamps: timestamps)
    }

    /// The list of timestamps that the server sent in an extension (RFC 6962, section 3.3.1), unchecked, or nil if
    /// there is none. For a resumed session it is that of the first handshake.
    package var timestamps: [UInt8]? { receivedTimestamps.bytes ?? (isResumed ? sessionTimestamps : nil) }

    /// The certificates the server sent, leaf first (`SSL_get_peer_cert_chain`). Empty before it sent them.
    package var presentedCertificates: [ReceivedCertificate] {
        guard let chain = unsafe SSL_get_peer_cert_chain(ssl) else { return [] }
        return unsafe (0..<COpenSSL_sk_X509_num(chain)).compactMap { index in
            unsafe COpenSSL_sk_X509_value(chain, index).map { unsafe ReceivedCertificate($0) }
        }
    }

    /// The OCSP response stapled to the certificate, DER (`SSL_get_tlsext_status_ocsp_resp`), or nil if none has
    /// arrived. In TLS 1.2 it arrives after the certificate.
    package var staple: [UInt8]? {
        var bytes: UnsafePointer<UInt8>?
        let count = unsafe COpenSSL_SSL_get_staple(ssl, &bytes)
        guard count > 0, let bytes = unsafe bytes else { return nil }
        return unsafe Array(UnsafeBufferPointer(start: bytes, count: count))
    }

    /// `TLSv1.3` or `TLSv1.2` (`SSL_get_version`).
    package var version: String { unsafe String(cString: SSL_get_version(ssl)) }

    /// The name of the agreed cipher suite (`SSL_CIPHER_get_name`): the current one, or the one the handshake will make
    /// current.
    package var cipherSuite: String {
        unsafe String(cString: SSL_CIPHER_get_name(SSL_get_current_cipher(ssl) ?? SSL_get_pending_cipher(ssl)))
    }

    /// The name of the agreed key exchange group (`SSL_get_negotiated_group`), spelled as in ``TLSContext/groups``, or
    /// nil if it isn't known yet. In TLS 1.2 the server sends it after its certificate.
    package var group: String? {
        guard let name = unsafe COpenSSL_SSL_group_name(ssl) else { return nil }
        let text = unsafe String(cString: name)
        return switch text {
        case "x25519": "X25519"
        case "secp256r1": "P-256"
        case "secp384r1": "P-384"
        case "secp521r1": "P-521"
        default: text
        }
    }

    /// The protocol the server chose (`SSL_get0_alpn_selected`), or nil if it chose none.
    package var applicationProtocol: String? {
        var name: UnsafePointer<UInt8>?
        var count: CUnsignedInt = 0
        unsafe SSL_get0_alpn_selected(ssl, &name, &count)
        guard count > 0 else { return nil }
        return unsafe String(decoding: UnsafeBufferPointer(start: name, count: Int(count)), as: UTF8.self)
    }
}

// MARK: Data

extension TLSClientEngine {
    /// Takes ciphertext from the peer.
    package func feed(_ ciphertext: Span<UInt8>) throws(OpenSSLError) {
        guard !ciphertext.isEmpty else { return }
        OpenSSLError.clear()
        let taken = unsafe ciphertext.withUnsafeBufferPointer { bytes in
            unsafe BIO_write(incoming, bytes.baseAddress, CInt(clamping: bytes.count))
        }
        guard Int(taken) == ciphertext.count else { throw OpenSSLError.take() }
    }

    /// The number of bytes that ``takeOutput()`` would return.
    package var outputCount: Int { unsafe BIO_ctrl_pending(outgoing) }

    /// Returns and removes the ciphertext waiting for the peer, empty if there is none.
    package func takeOutput() -> [UInt8] {
        let count = outputCount
        guard count > 0 else { return [] }
        return unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            filled = unsafe max(0, Int(BIO_read(outgoing, buffer.baseAddress, CInt(clamping: count))))
        }
    }

    /// Encrypts plaintext into the output. Throws before the handshake is established (`SSL_write_ex`).
    package func write(_ plaintext: Span<UInt8>) throws(OpenSSLError) {
        // mutant verdict-before-data: {} by TLSClientEngineTests HandshakeTests
        guard unsafe TLSVerdict(of: ssl) == .accepted, isEstablished else {
            throw OpenSSLError(code: 0, reason: "the handshake is not done")
        }
        guard !plaintext.isEmpty else { return }
        OpenSSLError.clear()
        var written = 0
        let result = unsafe plaintext.withUnsafeBufferPointer { bytes in
            unsafe SSL_write_ex(ssl, bytes.baseAddress, bytes.count, &written)
        }
        guard result == 1, written == plaintext.count else { throw OpenSSLError.take() }
    }

    /// Decrypts the ciphertext fed in, at most 64 KiB per call (`SSL_read_ex`).
    package func read() -> Input {
        if let readEnd { return readEnd }
        guard unsafe TLSVerdict(of: ssl) == .accepted, isEstablished else {
            return .failed(OpenSSLError(code: 0, reason: "the handshake is not done"))
        }
        // Ciphertext is never shorter than its plaintext. Plaintext of one more record may already be inside `ssl`.
        let room = unsafe min(
            Self.readLimit, max(Self.leastRead, BIO_ctrl_pending(incoming) + Int(SSL_pending(ssl))))
        let outputBefore = outputCount
        var end = Input.wantsInput
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: room) { buffer, filled in
            while filled < room {
                if filled > 0, isDrained { break }
                OpenSSLError.clear()
                var count = 0
                let free = unsafe UnsafeMutableRawBufferPointer(
                    rebasing: UnsafeMutableRawBufferPointer(buffer)[filled...])
                let result = unsafe SSL_read_ex(ssl, free.baseAddress, free.count, &count)
                guard result == 1 else {
                    end = outcome(ofRead: result)
                    if end == .wantsInput, hasStopped(since: outputBefore) { end = .message }
                    break
                }
                filled += count
            }
        }
        if end != .wantsInput, end != .message { readEnd = end }
        return bytes.isEmpty ? end : .bytes(bytes)
    }

    /// Whether OpenSSL may have stopped reading although it has more (``TLSContext``). It stops after most messages,
    /// and after it has answered one, which it does when it has the next record.
    private func hasStopped(since outputBefore: Int) -> Bool {
        let count = messageCount
        defer { knownMessageCount = count }
        return unsafe count > knownMessageCount || outputCount > outputBefore || BIO_ctrl_pending(incoming) > 0
    }

    /// The number of messages that the peer sent after the handshake.
    package var messageCount: Int { unsafe TLSMessageCount.value(of: ssl) - handshakeMessageCount }

    /// Whether ``read()`` returns nothing before more is fed in.
    package var isDrained: Bool {
        unsafe readEnd == nil && BIO_ctrl_pending(incoming) == 0 && SSL_has_pending(ssl) == 0
    }

    /// Whether the engine holds nothing from the peer: no plaintext, no end of input, and no part of a record
    /// (`SSL_has_pending`, `SSL_rstate_string`).
    package var isEmpty: Bool {
        // "RH" is the state between records. In "RB" a record's header was read and its body is awaited.
        unsafe isDrained && String(cString: SSL_rstate_string(ssl)) == "RH"
    }

    /// Sends close_notify (`SSL_shutdown`). Nothing can be written afterwards.
    package func close() {
        OpenSSLError.clear()
        _ = unsafe SSL_shutdown(ssl)
        OpenSSLError.clear()
    }

    private func outcome(ofRead result: CInt) -> Input {
        switch unsafe SSL_get_error(ssl, result) {
        case SSL_ERROR_WANT_READ: .wantsInput
        case SSL_ERROR_ZERO_RETURN: .closed
        default: .failed(OpenSSLError.take())
        }
    }
}

/// Returns a certificate's DER (`i2d_X509`), or an empty array if there is no memory for it. The signed part and the
/// key are the bytes that were received.
func derBytes(_ certificate: OpaquePointer?) -> [UInt8] {
    unsafe derBytes { unsafe i2d_X509(certificate, $0) }
}

/// Returns the output of an `i2d` function, or an empty array if there is no memory for it.
func derBytes(_ encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> CInt) -> [UInt8] {
    let count = Int(encode(nil))
    guard count > 0 else { return [] }
    return unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
        var end = buffer.baseAddress
        filled = unsafe max(0, Int(encode(&end)))
    }
}
