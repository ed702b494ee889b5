import COpenSSL

/// What OpenSSL said of one path.
package enum PathVerdict: Sendable {
    case verified
    /// `X509_STORE_CTX_get_error` and its depth, leaf is 0.
    case refused(VerifyCode, depth: Int)
    /// OpenSSL could not judge, or judged another path than the one it was given.
    case failed(OpenSSLError)
}

/// Verifies exactly this path, leaf first and anchor last, for a TLS server: signatures, constraints, purposes, key and
/// digest strength (`X509_verify_cert`). Validity times and the server's name are the caller's to check.
///
/// Flags: `X509_V_FLAG_PARTIAL_CHAIN`, since the last certificate is an anchor whatever it is;
/// `X509_V_FLAG_NO_CHECK_TIME`, since OpenSSL refuses the last valid second; `X509_CHECK_FLAG_NEVER_CHECK_SUBJECT`, so
/// that a common name is not held against name constraints. Security level 2.
package func verify(path: [OpenSSLCertificate]) -> PathVerdict {
    OpenSSLError.clear()
    guard let leaf = path.first, let anchor = path.last,
        let context = unsafe X509_STORE_CTX_new()
    else { return .failed(OpenSSLError.take()) }
    defer { unsafe X509_STORE_CTX_free(context) }
    guard let untrusted = unsafe COpenSSL_sk_X509_new_reserve(Int32(path.count)) else {
        return .failed(OpenSSLError.take())
    }
    defer { unsafe COpenSSL_sk_X509_free(untrusted) }
    guard let trusted = unsafe COpenSSL_sk_X509_new_reserve(1) else { return .failed(OpenSSLError.take()) }
    defer { unsafe COpenSSL_sk_X509_free(trusted) }
    for certificate in path.dropFirst().dropLast() {
        guard unsafe COpenSSL_sk_X509_push(untrusted, certificate.pointer) > 0 else {
            return .failed(OpenSSLError.take())
        }
    }
    guard unsafe COpenSSL_sk_X509_push(trusted, anchor.pointer) > 0,
        unsafe X509_STORE_CTX_init(context, nil, leaf.pointer, untrusted) == 1,
        let parameters = unsafe X509_STORE_CTX_get0_param(context)
    else { return .failed(OpenSSLError.take()) }
    unsafe X509_STORE_CTX_set0_trusted_stack(context, trusted)
    unsafe X509_VERIFY_PARAM_set_hostflags(parameters, UInt32(X509_CHECK_FLAG_NEVER_CHECK_SUBJECT))
    unsafe X509_VERIFY_PARAM_set_auth_level(parameters, 2)
    unsafe X509_VERIFY_PARAM_set_depth(parameters, Int32(path.count))
    let flags = UInt(X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_NO_CHECK_TIME)
    guard unsafe X509_VERIFY_PARAM_set_flags(parameters, flags) == 1,
        unsafe X509_VERIFY_PARAM_set_purpose(parameters, X509_PURPOSE_SSL_SERVER) == 1,
        unsafe X509_VERIFY_PARAM_set_trust(parameters, X509_TRUST_SSL_SERVER) == 1
    else { return .failed(OpenSSLError.take()) }

    // 1 alone means verified; 0 and -1 are refusals, and -1 can come with error 0.
    let result = unsafe X509_verify_cert(context)
    let code = unsafe X509_STORE_CTX_get_error(context)
    guard result == 1, code == X509_V_OK else {
        guard code != X509_V_OK else { return .failed(OpenSSLError.take()) }
        OpenSSLError.clear()
        return unsafe .refused(VerifyCode(rawValue: code), depth: Int(X509_STORE_CTX_get_error_depth(context)))
    }
    guard let chain = unsafe X509_STORE_CTX_get0_chain(context),
        unsafe COpenSSL_sk_X509_num(chain) == Int32(path.count)
    else { return .failed(OpenSSLError(code: 0, reason: "another path was verified")) }
    for (index, certificate) in path.enumerated() {
        guard unsafe COpenSSL_sk_X509_value(chain, Int32(index)) == certificate.pointer else {
            return .failed(OpenSSLError(code: 0, reason: "another path was verified"))
        }
    }
    return .verified
}
