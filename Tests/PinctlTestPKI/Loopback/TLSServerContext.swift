import CPinctlOpenSSL

/// An `SSL_CTX` that serves what its settings specify, at security level 0.
///
/// `@unchecked Sendable`: nothing changes after `init`, and OpenSSL locks the sessions inside.
@safe final class TLSServerContext: @unchecked Sendable {
    let pointer: OpaquePointer
    private let applicationProtocols: [[UInt8]]
    private let forcedProtocol: UnsafeMutableBufferPointer<UInt8>
    fileprivate let staple: [UInt8]

    init(_ settings: LoopbackServer.Settings) throws(TestPKIError) {
        unsafe pointer = try make("SSL_CTX_new") { unsafe SSL_CTX_new(TLS_server_method()) }
        applicationProtocols = settings.applicationProtocols.map { Array($0.utf8) }
        staple = settings.staple
        unsafe forcedProtocol = .allocate(capacity: settings.forcedApplicationProtocol?.utf8.count ?? 0)
        if let name = settings.forcedApplicationProtocol { unsafe _ = forcedProtocol.initialize(from: name.utf8) }

        unsafe SSL_CTX_set_security_level(pointer, 0)
        try unsafe control(SSL_CTRL_SET_MIN_PROTO_VERSION, Int(settings.protocolVersions.lowerBound.rawValue))
        try unsafe control(SSL_CTRL_SET_MAX_PROTO_VERSION, Int(settings.protocolVersions.upperBound.rawValue))
        try check("SSL_CTX_set_cipher_list") { unsafe SSL_CTX_set_cipher_list(pointer, settings.cipherList) }
        if let groups = settings.groups {
            try check("SSL_CTX_set1_groups_list") { unsafe COpenSSL_SSL_CTX_set1_groups_list(pointer, groups) }
        }
        // Send only the given certificates.
        try unsafe control(SSL_CTRL_MODE, Int(SSL_MODE_NO_AUTO_CHAIN))
        if !settings.chain.isEmpty {
            try unsafe withCertificates(settings.chain) { leaf, others in
                unsafe SSL_CTX_use_cert_and_key(pointer, leaf, settings.key?.pointer, others, 1)
            }
        }
        if let leaf = settings.otherChain.first {
            try unsafe withCertificates(settings.otherChain.map(\.derBytes)) { certificate, others in
                unsafe SSL_CTX_use_cert_and_key(pointer, certificate, leaf.key.pointer, others, 1)
            }
        }
        if !staple.isEmpty {
            unsafe SSL_CTX_callback_ctrl(
                pointer, SSL_CTRL_SET_TLSEXT_STATUS_REQ_CB,
                unsafeBitCast(stapleResponse, to: (@convention(c) () -> Void).self))
            try unsafe control(
                SSL_CTRL_SET_TLSEXT_STATUS_REQ_CB_ARG, 0, Unmanaged.passUnretained(self).toOpaque())
        }
        if !settings.timestamps.isEmpty { try send(timestamps: settings.timestamps) }
        try askForCertificate(settings.clientAuthentication)
        try resume(settings)
        if let bits = settings.finiteFieldBits { try useFiniteField(bits: bits) }
        if let limit = settings.recordLimit {
            try unsafe control(SSL_CTRL_SET_MAX_SEND_FRAGMENT, limit)
            // A server that accepts the server name writes it into session tickets, which makes them long.
            unsafe SSL_CTX_callback_ctrl(
                pointer, SSL_CTRL_SET_TLSEXT_SERVERNAME_CB,
                unsafeBitCast(acceptName, to: (@convention(c) () -> Void).self))
        }
        unsafe SSL_CTX_set_info_callback(pointer, noteReceivedAlert)
        unsafe SSL_CTX_set_keylog_callback(pointer, noteKey)
        unsafe SSL_CTX_set_alpn_select_cb(pointer, selectProtocol, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit {
        unsafe SSL_CTX_free(pointer)
        unsafe forcedProtocol.deallocate()
    }

    func control(
        _ command: Int32, _ number: Int, _ argument: UnsafeMutableRawPointer? = nil
    ) throws(TestPKIError) {
        ERR_clear_error()
        guard unsafe SSL_CTX_ctrl(pointer, command, number, argument) != 0 else {
            throw .openSSL("SSL_CTX_ctrl \(command)")
        }
    }

    /// Sends a list of timestamps with the certificate, but not when a session is resumed
    /// (`SSL_CTX_use_serverinfo_ex`).
    private func send(timestamps: [UInt8]) throws(TestPKIError) {
        let context =
            SSL_EXT_CLIENT_HELLO | SSL_EXT_TLS1_2_SERVER_HELLO | SSL_EXT_TLS1_3_CERTIFICATE
            | SSL_EXT_IGNORE_ON_RESUMPTION
        let type = TLSEXT_TYPE_signed_certificate_timestamp
        let header = [
            0, 0, context >> 8, context, type >> 8, type, Int32(timestamps.count >> 8), Int32(timestamps.count),
        ]
        let information = header.map { UInt8(truncatingIfNeeded: $0) } + timestamps
        try check("SSL_CTX_use_serverinfo_ex") {
            unsafe SSL_CTX_use_serverinfo_ex(
                pointer, UInt32(SSL_SERVERINFOV2), information, information.count)
        }
    }

    /// Returns the server's first choice from the client's list. The result points into either list.
    fileprivate func select(from offered: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8>? {
        if unsafe !forcedProtocol.isEmpty { return unsafe UnsafeBufferPointer(forcedProtocol) }
        for wanted in applicationProtocols {
            var start = 0
            while start < offered.count {
                let end = unsafe min(start + 1 + Int(offered[start]), offered.count)
                let name = unsafe UnsafeBufferPointer(rebasing: offered[(start + 1)..<end])
                if unsafe name.elementsEqual(wanted) { return unsafe name }
                start = end
            }
        }
        return nil
    }
}

private let acceptName:
    @convention(c) (OpaquePointer?, UnsafeMutablePointer<Int32>?, UnsafeMutableRawPointer?) -> Int32 = {
        _, _, _ in SSL_TLSEXT_ERR_OK
    }

/// Returns a copy to OpenSSL, which frees it.
private let stapleResponse: @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Int32 = { session, argument in
    guard let argument = unsafe argument else { return SSL_TLSEXT_ERR_NOACK }
    let staple = unsafe Unmanaged<TLSServerContext>.fromOpaque(argument).takeUnretainedValue().staple
    guard let copy = unsafe CRYPTO_malloc(staple.count, nil, 0) else { return SSL_TLSEXT_ERR_NOACK }
    unsafe copy.copyMemory(from: staple, byteCount: staple.count)
    _ = unsafe SSL_ctrl(session, SSL_CTRL_SET_TLSEXT_STATUS_REQ_OCSP_RESP, staple.count, copy)
    return SSL_TLSEXT_ERR_OK
}

private func selectProtocol(
    _: OpaquePointer?, _ chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
    _ chosenCount: UnsafeMutablePointer<UInt8>?, _ offered: UnsafePointer<UInt8>?, _ offeredCount: UInt32,
    _ argument: UnsafeMutableRawPointer?
) -> Int32 {
    guard let argument = unsafe argument else { return SSL_TLSEXT_ERR_NOACK }
    let context = unsafe Unmanaged<TLSServerContext>.fromOpaque(argument).takeUnretainedValue()
    let list = unsafe UnsafeBufferPointer(start: offered, count: Int(offeredCount))
    guard let name = unsafe context.select(from: list) else { return SSL_TLSEXT_ERR_NOACK }
    unsafe chosen?.pointee = name.baseAddress
    unsafe chosenCount?.pointee = UInt8(name.count)
    return SSL_TLSEXT_ERR_OK
}

private func noteReceivedAlert(_ session: OpaquePointer?, _ place: Int32, _ value: Int32) {
    guard place == SSL_CB_ALERT | SSL_CB_READ else { return }
    unsafe connection(of: session)?
        .received(LoopbackServer.Alert(level: UInt8(value >> 8 & 0xFF), code: UInt8(value & 0xFF)))
}

private func noteKey(_ session: OpaquePointer?, _ line: UnsafePointer<CChar>?) {
    if let line = unsafe line { unsafe connection(of: session)?.note(keyLogLine: String(cString: line)) }
}

private func connection(of session: OpaquePointer?) -> LoopbackServer.Connection? {
    guard let connection = unsafe SSL_get_ex_data(session, 0) else { return nil }
    return unsafe Unmanaged<LoopbackServer.Connection>.fromOpaque(connection).takeUnretainedValue()
}
