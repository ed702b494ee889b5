import CPinctlOpenSSL

/// OpenSSL's verdict on one path.
package enum PathVerdict: Sendable {
    case verified
    /// The path was rejected: `X509_STORE_CTX_get_error` and its depth, where the leaf is at 0.
    case refused(VerifyCode, depth: Int)
    /// OpenSSL couldn't reach a verdict, or verified another path than the given one.
    case failed(OpenSSLError)
}

/// The inputs of RFC 5280, section 6.1.1 (c) to (f), for OpenSSL's policy processing (`X509_V_FLAG_POLICY_CHECK`).
package struct PolicyProcessing: Sendable, Hashable {
    /// Object identifiers in dotted decimal.
    package var initialPolicies: [String]
    /// `X509_V_FLAG_EXPLICIT_POLICY`
    package var requiresExplicit: Bool
    /// `X509_V_FLAG_INHIBIT_MAP`
    package var inhibitsMapping: Bool
    /// `X509_V_FLAG_INHIBIT_ANY`
    package var inhibitsAnyPolicy: Bool

    package init(
        initialPolicies: [String], requiresExplicit: Bool, inhibitsMapping: Bool, inhibitsAnyPolicy: Bool
    ) {
        self.initialPolicies = initialPolicies
        self.requiresExplicit = requiresExplicit
        self.inhibitsMapping = inhibitsMapping
        self.inhibitsAnyPolicy = inhibitsAnyPolicy
    }
}

/// Depths in a path: 0 for the leaf, up to 63.
package struct SignatureDepths: Hashable, Sendable {
    fileprivate var bits: UInt

    package init() { bits = 0 }

    fileprivate init(bits: UInt) { self.bits = bits }

    /// Adds a depth. Larger ones than 63 aren't added.
    package mutating func insert(_ depth: Int) { bits |= 1 << UInt(clamping: depth) }

    package func contains(_ depth: Int) -> Bool { bits & 1 << UInt(clamping: depth) != 0 }
}

/// Verifies exactly this path, leaf first and anchor last (`X509_verify_cert`): signatures, CA certificates, path
/// lengths, name constraints, critical extensions, and the strength of keys and digests. The caller checks times,
/// hostnames and purposes.
///
/// `verifiedSignatures` has the depths of the certificates whose signature the caller has seen verified, by the
/// certificate that follows them here. `securityLevel` is the level of `X509_VERIFY_PARAM_set_auth_level`, 1 to 5.
/// Without `policies`, certificate policies aren't processed.
///
/// Flags:
/// - `X509_V_FLAG_PARTIAL_CHAIN`, since the last certificate is an anchor even if it isn't self-signed.
/// - `X509_V_FLAG_NO_CHECK_TIME`, since OpenSSL rejects a certificate in its last valid second.
/// - `X509_CHECK_FLAG_NEVER_CHECK_SUBJECT`, so that common names aren't checked against name constraints.
///
/// No purpose is set: OpenSSL's server purpose would still accept the step-up usages of the 1990s (Netscape's and
/// Microsoft's).
package func verify(
    path: [OpenSSLCertificate], verifiedSignatures: SignatureDepths = SignatureDepths(), securityLevel: Int32 = 2,
    policies: PolicyProcessing? = nil
) -> PathVerdict {
    if let incompatibility = OpenSSLLibrary.incompatibility { return .failed(incompatibility) }
    OpenSSLError.clear()
    guard let leaf = path.first, let anchor = path.last, let store = unsafe PathStore.shared.pointer,
        let context = unsafe X509_STORE_CTX_new_ex(LibraryContext.pointer, nil)
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
        unsafe X509_STORE_CTX_init(context, store, leaf.pointer, untrusted) == 1,
        let parameters = unsafe X509_STORE_CTX_get0_param(context)
    else { return .failed(OpenSSLError.take()) }
    unsafe X509_STORE_CTX_set0_trusted_stack(context, trusted)
    // The bits themselves, for `verifySignatures`.
    let depths = unsafe UnsafeMutableRawPointer(bitPattern: verifiedSignatures.bits)
    guard unsafe X509_STORE_CTX_set_ex_data(context, 0, depths) == 1 else { return .failed(OpenSSLError.take()) }
    unsafe X509_VERIFY_PARAM_set_hostflags(parameters, UInt32(X509_CHECK_FLAG_NEVER_CHECK_SUBJECT))
    unsafe X509_VERIFY_PARAM_set_auth_level(parameters, securityLevel)
    unsafe X509_VERIFY_PARAM_set_depth(parameters, Int32(path.count))
    let flags = UInt(X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_NO_CHECK_TIME)
    guard unsafe X509_VERIFY_PARAM_set_flags(parameters, flags) == 1,
        policies.map({ unsafe $0.apply(to: parameters) }) ?? true
    else { return .failed(OpenSSLError.take()) }

    // Only 1 means verified. 0 and -1 are refusals, and -1 can come with error 0.
    let result = unsafe X509_verify_cert(context)
    let code = unsafe X509_STORE_CTX_get_error(context)
    // mutant path-verified: {} by ServerTrustTests RuleTests
    guard result == 1, code == X509_V_OK else {
        // Without memory, OpenSSL also finds keys too weak and signatures wrong. It says itself that memory ran out
        // if the tree of policies has too many nodes.
        let error = OpenSSLError.take()
        let isUnknown = error.isOutOfMemory && code != X509_V_ERR_OUT_OF_MEM
        guard code != X509_V_OK, !isUnknown else { return .failed(error) }
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

extension PolicyProcessing {
    fileprivate func apply(to parameters: OpaquePointer) -> Bool {
        var flags = UInt(X509_V_FLAG_POLICY_CHECK)
        if requiresExplicit { flags |= UInt(X509_V_FLAG_EXPLICIT_POLICY) }
        if inhibitsMapping { flags |= UInt(X509_V_FLAG_INHIBIT_MAP) }
        if inhibitsAnyPolicy { flags |= UInt(X509_V_FLAG_INHIBIT_ANY) }
        guard unsafe X509_VERIFY_PARAM_set_flags(parameters, flags) == 1 else { return false }
        for identifier in initialPolicies {
            // The 1 allows only dotted decimal, no names.
            guard let policy = unsafe OBJ_txt2obj(identifier, 1) else { return false }
            guard unsafe X509_VERIFY_PARAM_add0_policy(parameters, policy) == 1 else {
                unsafe ASN1_OBJECT_free(policy)
                return false
            }
        }
        return true
    }
}

/// Verifies the signatures of a context's path that aren't known to verify, the one below the anchor first. Sets the
/// error of the first that doesn't (`X509_STORE_CTX_verify_fn`, which takes the place of OpenSSL's `internal_verify`).
///
/// Like OpenSSL it also requires that an issuer's keyUsage, if it has one, includes keyCertSign. OpenSSL's function
/// would check times too, which `X509_V_FLAG_NO_CHECK_TIME` turns off.
private func verifySignatures(_ context: OpaquePointer) -> Bool {
    let known = unsafe SignatureDepths(bits: UInt(bitPattern: X509_STORE_CTX_get_ex_data(context, 0)))
    let chain = unsafe X509_STORE_CTX_get0_chain(context)
    func fail(_ code: Int32, at depth: Int32) -> Bool {
        unsafe X509_STORE_CTX_set_error_depth(context, depth)
        unsafe X509_STORE_CTX_set_error(context, code)
        return false
    }
    for depth in (0..<max(unsafe COpenSSL_sk_X509_num(chain) - 1, 0)).reversed() {
        let certificate = unsafe COpenSSL_sk_X509_value(chain, depth)
        let issuer = unsafe COpenSSL_sk_X509_value(chain, depth + 1)
        guard unsafe X509_get_key_usage(issuer) & UInt32(X509v3_KU_KEY_CERT_SIGN) != 0 else {
            return fail(X509_V_ERR_KEYUSAGE_NO_CERTSIGN, at: depth + 1)
        }
        guard !known.contains(Int(depth)) else { continue }
        guard let key = unsafe X509_get0_pubkey(issuer) else {
            return fail(X509_V_ERR_UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY, at: depth + 1)
        }
        // mutant certificate-signature: true for `X509_verify(certificate, key) == 1` by
        //   ServerTrustTests/brokenSignature
        guard unsafe X509_verify(certificate, key) == 1 else {
            return fail(X509_V_ERR_CERT_SIGNATURE_FAILURE, at: depth)
        }
    }
    return true
}

/// An empty `X509_STORE` that supplies the issuer check and the signature check for its contexts.
///
/// OpenSSL would choose among issuers, but here the path is already chosen. It would also skip an issuer whose key
/// identifier differs from the one in the subject, which RFC 5280 (section 4.2.1.1) and every browser treat as a hint.
/// Here the next certificate in the path is the issuer if its name matches, and the signature decides.
///
/// Unchecked Sendable: the object is never changed after `init`.
@safe private final class PathStore: @unchecked Sendable {
    static let shared = PathStore()
    let pointer: OpaquePointer?

    private init() {
        unsafe pointer = X509_STORE_new()
        guard let pointer = unsafe pointer else { return }
        unsafe X509_STORE_set_check_issued(pointer) { context, subject, issuer in
            guard let subject = unsafe subject, let issuer = unsafe issuer,
                unsafe isNext(issuer, after: subject, in: X509_STORE_CTX_get0_untrusted(context))
            else { return 0 }
            return unsafe X509_NAME_cmp(X509_get_issuer_name(subject), X509_get_subject_name(issuer)) == 0 ? 1 : 0
        }
        unsafe X509_STORE_set_verify(pointer) { context in
            guard let context = unsafe context else { return 0 }
            return unsafe verifySignatures(context) ? 1 : 0
        }
    }

    deinit { unsafe X509_STORE_free(pointer) }
}

/// Returns whether `issuer` follows `subject` in a path: the leaf, then `intermediates`, then the anchor. OpenSSL also
/// asks whether a certificate is its own issuer. In a path none is.
private func isNext(_ issuer: OpaquePointer, after subject: OpaquePointer, in intermediates: OpaquePointer?) -> Bool {
    let count = unsafe COpenSSL_sk_X509_num(intermediates)
    var (subjectIndex, issuerIndex) = (Int32(-1), count)
    for index in 0..<max(count, 0) {
        let certificate = unsafe COpenSSL_sk_X509_value(intermediates, index)
        if unsafe certificate == subject { subjectIndex = index }
        if unsafe certificate == issuer { issuerIndex = index }
    }
    return unsafe issuerIndex == subjectIndex + 1 && issuer != subject
}
