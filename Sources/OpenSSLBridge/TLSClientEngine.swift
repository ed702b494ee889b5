import COpenSSL

/// One TLS client connection (`SSL`) without any I/O: ciphertext is fed in and taken out, plaintext read and written.
///
/// The handshake stops at the server's certificate with ``Action/askTrust`` and goes on after ``accept()`` or
/// ``refuse()``. It stops again with ``Action/askIdentity`` when the server wants to know the client. A resumed session
/// is asked about like a new one, over the chain that its first handshake presented: until the answer the output, with
/// the client's last flight in it, is to be held back. Confined to one owner; whatever carries the ciphertext (a
/// socket, another engine) is theirs.
@safe package final class TLSClientEngine {
    /// What the handshake waits for, or how it ended. Output may have been made in any case.
    package enum Action: Sendable, Hashable {
        /// More ciphertext from the peer.
        case wantsInput
        /// An answer to ``presentedCertificates``.
        case askTrust
        /// An answer to the server's request for a certificate: ``identify(as:)``.
        case askIdentity
        /// The handshake is done and the server was accepted.
        case established
        /// The peer said close_notify.
        case closed
        /// The handshake failed; the output holds the alert that tells the peer.
        case failed(OpenSSLError)
    }

    /// What ``read()`` found.
    package enum Input: Sendable, Hashable {
        /// At least one byte of plaintext.
        case bytes([UInt8])
        /// More ciphertext from the peer.
        case wantsInput
        /// The peer said close_notify.
        case closed
        /// The connection failed; the output holds the alert that tells the peer.
        case failed(OpenSSLError)
    }

    private let ssl: OpaquePointer
    // Owned by `ssl`.
    private let incoming: OpaquePointer
    private let outgoing: OpaquePointer
    private let offeredProtocols: [String]
    private let offersSession: Bool
    private var hasAsked = false
    // SSL_is_init_finished turns false again while a ticket or a key update has come in part.
    private var isEstablished = false
    /// Found behind plaintext that was returned first.
    private var readEnd: Input?

    /// Plaintext returned by one ``read()`` at the most.
    private static let readLimit = 64 * 1024
    /// The plaintext of one record (RFC 8446, section 5.1).
    private static let recordLimit = 16 * 1024

    /// - Parameters:
    ///   - serverName: a DNS name for SNI; nil sends none, as for IP addresses (RFC 6066, section 3).
    ///   - applicationProtocols: ALPN names of 1 to 255 bytes, most wanted first; empty sends no ALPN.
    ///   - signatureAlgorithms: in the words of `SSL_set1_sigalgs_list`; nil offers OpenSSL's own.
    ///   - cipherList: for TLS 1.2, in the words of `SSL_set_cipher_list`; nil offers the context's.
    ///   - minimumVersion: the oldest version to offer.
    ///   - maximumVersion: the newest version to offer; nil for the newest there is.
    ///   - requestsStaple: whether to ask for an OCSP response with the certificate (RFC 6066, section 8).
    ///   - session: a session to resume, if the server will (`SSL_set_session`).
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
        // This one function returns 0 for success.
        guard unsafe protocols.isEmpty || SSL_set_alpn_protos(ssl, protocols, CUnsignedInt(protocols.count)) == 0
        else { throw OpenSSLError.take() }
    }

    deinit { unsafe SSL_free(ssl) }

    /// Each name behind its length (RFC 7301, section 3.1).
    private static func wireFormat(_ protocols: [String]) throws(OpenSSLError) -> [UInt8] {
        var wire: [UInt8] = []
        for name in protocols {
            guard (1...255).contains(name.utf8.count) else {
                throw OpenSSLError(code: 0, reason: "an ALPN name has 1 to 255 bytes")
            }
            wire.append(UInt8(name.utf8.count))
            wire += name.utf8
        }
        return wire
    }
}

// MARK: Handshake

extension TLSClientEngine {
    /// Takes the handshake as far as it goes without more input (`SSL_do_handshake`).
    package func step() -> Action {
        OpenSSLError.clear()
        let result = unsafe SSL_do_handshake(ssl)
        switch unsafe SSL_get_error(ssl, result) {
        case SSL_ERROR_NONE:
            if isResumed, offersSession, unsafe TLSVerdict(of: ssl) == .undecided { return askTrust() }
            // An established handshake that never asked, or whose answer is not a yes, is no handshake of ours.
            guard result == 1, hasAsked, unsafe TLSVerdict(of: ssl) == .accepted else {
                return .failed(OpenSSLError(code: 0, reason: "the server was not accepted"))
            }
            // Not every OpenSSL 3 compares the choice with the offer.
            guard applicationProtocol.map(offeredProtocols.contains) ?? true else {
                return .failed(OpenSSLError(code: 0, reason: "the server chose a protocol that was not offered"))
            }
            isEstablished = true
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

    /// Accepts the server; without effect unless ``Action/askTrust`` was the last thing said.
    package func accept() {
        guard hasAsked, unsafe TLSVerdict(of: ssl) == .undecided else { return }
        // An answer that cannot be noted leaves the question open, and the handshake where it is.
        _ = unsafe TLSVerdict.accepted.note(on: ssl)
    }

    /// Refuses the server: the next ``step()`` fails and makes the alert.
    package func refuse() {
        _ = unsafe TLSVerdict.refused.note(on: ssl)
    }

    /// DER names of the authorities whose certificates the server says it takes (`SSL_get0_peer_CA_list`).
    package var requestedIssuers: [[UInt8]] {
        guard let names = unsafe SSL_get0_peer_CA_list(ssl) else { return [] }
        return unsafe (0..<COpenSSL_sk_X509_NAME_num(names)).map { index in
            unsafe derBytes { unsafe i2d_X509_NAME(COpenSSL_sk_X509_NAME_value(names, index), $0) }
        }
    }

    /// Answers the server's request for a certificate, nil with none; the next ``step()`` sends it.
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

    /// Whether the server took up the session that was offered (`SSL_session_reused`).
    package var isResumed: Bool { unsafe SSL_session_reused(ssl) == 1 }

    /// The session for a later connection (`SSL_get1_session`); nil while there is none that can be resumed.
    package func session() -> TLSSession? {
        guard let session = unsafe SSL_get1_session(ssl) else { return nil }
        return unsafe TLSSession(owning: session)
    }

    /// The certificates the server sent, leaf first; empty before it sent them (`SSL_get_peer_cert_chain`).
    package var presentedCertificates: [ReceivedCertificate] {
        guard let chain = unsafe SSL_get_peer_cert_chain(ssl) else { return [] }
        return unsafe (0..<COpenSSL_sk_X509_num(chain)).compactMap { index in
            unsafe COpenSSL_sk_X509_value(chain, index).map { unsafe ReceivedCertificate($0) }
        }
    }

    /// The OCSP response that came with the certificate, DER (`SSL_get_tlsext_status_ocsp_resp`); nil before it came,
    /// which in TLS 1.2 is behind the certificate.
    package var staple: [UInt8]? {
        var bytes: UnsafePointer<UInt8>?
        let count = unsafe COpenSSL_SSL_get_staple(ssl, &bytes)
        guard count > 0, let bytes = unsafe bytes else { return nil }
        return unsafe Array(UnsafeBufferPointer(start: bytes, count: count))
    }

    /// `TLSv1.3` or `TLSv1.2` (`SSL_get_version`).
    package var version: String { unsafe String(cString: SSL_get_version(ssl)) }

    /// The agreed suite's name (`SSL_CIPHER_get_name`): the current one, or the one that the handshake is to make current.
    package var cipherSuite: String {
        unsafe String(cString: SSL_CIPHER_get_name(SSL_get_current_cipher(ssl) ?? SSL_get_pending_cipher(ssl)))
    }

    /// The protocol the server chose (`SSL_get0_alpn_selected`), nil when it chose none.
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

    /// How many bytes ``takeOutput()`` would give.
    package var outputCount: Int { unsafe BIO_ctrl_pending(outgoing) }

    /// Gives the ciphertext that waits for the peer; empty when there is none.
    package func takeOutput() -> [UInt8] {
        let count = outputCount
        guard count > 0 else { return [] }
        return unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            filled = unsafe max(0, Int(BIO_read(outgoing, buffer.baseAddress, CInt(clamping: count))))
        }
    }

    /// Encrypts plaintext into the output; only once established (`SSL_write_ex`).
    package func write(_ plaintext: Span<UInt8>) throws(OpenSSLError) {
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

    /// Decrypts what was fed, at most 64 KiB of it at a time (`SSL_read_ex`).
    package func read() -> Input {
        if let readEnd { return readEnd }
        guard unsafe TLSVerdict(of: ssl) == .accepted, isEstablished else {
            return .failed(OpenSSLError(code: 0, reason: "the handshake is not done"))
        }
        // Ciphertext is never shorter than its plaintext; one record may already be inside `ssl`.
        let room = unsafe min(Self.readLimit, BIO_ctrl_pending(incoming) + Self.recordLimit)
        var end = Input.wantsInput
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: room) { buffer, filled in
            while filled < room {
                OpenSSLError.clear()
                var count = 0
                let free = unsafe UnsafeMutableRawBufferPointer(
                    rebasing: UnsafeMutableRawBufferPointer(buffer)[filled...])
                let result = unsafe SSL_read_ex(ssl, free.baseAddress, free.count, &count)
                guard result == 1 else {
                    end = outcome(ofRead: result)
                    break
                }
                filled += count
            }
        }
        if end != .wantsInput { readEnd = end }
        return bytes.isEmpty ? end : .bytes(bytes)
    }

    /// Whether nothing is in it that came from the peer: no plaintext, no end, and no part of a record (`SSL_has_pending`,
    /// `SSL_rstate_string`).
    package var isEmpty: Bool {
        // "RH" is the state between records; "RB" has read a record's header and waits for its body.
        unsafe readEnd == nil && BIO_ctrl_pending(incoming) == 0 && SSL_has_pending(ssl) == 0
            && String(cString: SSL_rstate_string(ssl)) == "RH"
    }

    /// Says close_notify (`SSL_shutdown`); nothing can be written after it.
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

/// A certificate's DER (`i2d_X509`), whose signed part and key are the bytes that were received; empty when there is
/// no memory for it.
func derBytes(_ certificate: OpaquePointer?) -> [UInt8] {
    unsafe derBytes { unsafe i2d_X509(certificate, $0) }
}

/// What an `i2d` function writes; empty when there is no memory for it.
private func derBytes(_ encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> CInt) -> [UInt8] {
    let count = Int(encode(nil))
    guard count > 0 else { return [] }
    return unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
        var end = buffer.baseAddress
        filled = unsafe max(0, Int(encode(&end)))
    }
}
