import CPinctlOpenSSL

/// An owned `EVP_PKEY` with its private half. OpenSSL wipes it when it is freed.
///
/// Unchecked Sendable: the key is never changed after `init`, and OpenSSL can sign with one key from many threads.
@safe package final class OpenSSLPrivateKey: @unchecked Sendable {
    let pointer: OpaquePointer

    init(owning pointer: OpaquePointer) { unsafe self.pointer = pointer }

    deinit { unsafe EVP_PKEY_free(pointer) }

    /// Parses `der`, which must be exactly one unencrypted key: PKCS#8, PKCS#1, SEC 1 or DSA (`d2i_AutoPrivateKey`).
    package convenience init(der: Span<UInt8>) throws(OpenSSLError) {
        OpenSSLError.clear()
        guard let key = unsafe parsePrivateKey(der) else { throw OpenSSLError.take() }
        unsafe self.init(owning: key)
    }

    /// Decrypts a DER EncryptedPrivateKeyInfo (RFC 5958, section 3; `PKCS8_decrypt`).
    package convenience init(encryptedPKCS8 der: Span<UInt8>, password: Span<UInt8>) throws(ProtectedKeyError) {
        var iterations = iterationLimit
        try self.init(encryptedPKCS8: der, password: password, iterations: &iterations)
    }

    /// Decrypts a DER EncryptedPrivateKeyInfo and deducts its iterations from `limit`, which several keys share.
    package convenience init(
        encryptedPKCS8 der: Span<UInt8>, password: Span<UInt8>, iterations limit: inout UInt64
    ) throws(ProtectedKeyError) {
        OpenSSLError.clear()
        let encrypted = unsafe der.withUnsafeBufferPointer { buffer in
            var cursor = buffer.baseAddress
            return unsafe d2i_X509_SIG(nil, &cursor, buffer.count)
        }
        guard let encrypted = unsafe encrypted else { throw .malformed }
        defer { unsafe X509_SIG_free(encrypted) }
        var algorithm: UnsafePointer<X509_ALGOR>?
        unsafe X509_SIG_get0(encrypted, &algorithm, nil)
        let iterations = unsafe KeyProtection.iterations(of: algorithm)
        guard iterations <= min(limit, iterationLimit) else { throw .tooManyIterations(iterations) }
        limit -= iterations
        OpenSSLError.clear()
        let information = unsafe password.withCharacters { unsafe PKCS8_decrypt(encrypted, $0, $1) }
        guard let information = unsafe information else { throw .decrypting(.take()) }
        defer { unsafe PKCS8_PRIV_KEY_INFO_free(information) }
        guard let key = unsafe EVP_PKCS82PKEY(information) else { throw .openSSL(.take()) }
        unsafe self.init(owning: key)
    }

    /// Decrypts the first block of a PEM text in OpenSSL's traditional encryption (RFC 1421 fields;
    /// `PEM_read_bio_PrivateKey`). That format derives the key from the password with a single round of MD5.
    package convenience init(encryptedPEM text: Span<UInt8>, password: Span<UInt8>) throws(ProtectedKeyError) {
        OpenSSLError.clear()
        let key = unsafe text.withUnsafeBufferPointer { text -> OpaquePointer? in
            guard let bio = unsafe BIO_new_mem_buf(text.baseAddress, CInt(clamping: text.count)) else { return nil }
            defer { unsafe BIO_free(bio) }
            return unsafe password.withUnsafeBytes { password in
                var password = unsafe password
                return unsafe PEM_read_bio_PrivateKey(bio, nil, givePassword, &password)
            }
        }
        guard let key = unsafe key else { throw .decrypting(.take()) }
        unsafe self.init(owning: key)
    }

    /// Returns the DER SubjectPublicKeyInfo of the public half (`i2d_PUBKEY`).
    package func subjectPublicKeyInfo() throws(OpenSSLError) -> [UInt8] {
        OpenSSLError.clear()
        return try unsafe OpenSSLBridge.subjectPublicKeyInfo(of: pointer)
    }

    /// Returns a signature over any bytes (`EVP_DigestSign`). An ECDSA signature is DER.
    package func sign(_ message: Span<UInt8>, _ hashing: MessageHashing) throws(OpenSSLError) -> [UInt8] {
        OpenSSLError.clear()
        guard let context = unsafe EVP_MD_CTX_new() else { throw OpenSSLError.take() }
        defer { unsafe EVP_MD_CTX_free(context) }
        guard
            unsafe EVP_DigestSignInit_ex(context, nil, hashing.name, LibraryContext.pointer, nil, pointer, nil) == 1
        else { throw OpenSSLError.take() }
        let signature = unsafe message.withUnsafeBufferPointer { message -> [UInt8]? in
            var count = 0
            guard unsafe EVP_DigestSign(context, nil, &count, message.baseAddress, message.count) == 1 else {
                return nil
            }
            var signature = [UInt8](repeating: 0, count: count)
            guard unsafe EVP_DigestSign(context, &signature, &count, message.baseAddress, message.count) == 1 else {
                return nil
            }
            return Array(signature.prefix(count))
        }
        guard let signature else { throw OpenSSLError.take() }
        return signature
    }

    /// Returns whether this is the private half of a certificate's key (`X509_check_private_key`).
    package func matches(_ certificate: OpenSSLCertificate) -> Bool {
        OpenSSLError.clear()
        defer { OpenSSLError.clear() }
        return unsafe X509_check_private_key(certificate.pointer, pointer) == 1
    }
}

/// Gives OpenSSL the password, or fails. Without a callback OpenSSL would prompt at the terminal.
private func givePassword(
    _ buffer: UnsafeMutablePointer<CChar>?, _ size: CInt, _: CInt, _ context: UnsafeMutableRawPointer?
) -> CInt {
    guard let buffer = unsafe buffer, let password = unsafe context?.load(as: UnsafeRawBufferPointer.self),
        password.count <= size
    else { return -1 }
    unsafe UnsafeMutableRawBufferPointer(start: buffer, count: password.count).copyMemory(from: password)
    return CInt(password.count)
}

extension ProtectedKeyError {
    /// Returns the error for a failed decryption. A wrong password leaves bad padding or bad DER behind.
    static func decrypting(_ error: OpenSSLError) -> ProtectedKeyError {
        error.isUnsupported ? .openSSL(error) : .wrongPassword
    }
}

extension Span<UInt8> {
    /// Calls `body` with the bytes as C's `char *` and their count.
    func withCharacters<Result>(_ body: (UnsafePointer<CChar>?, CInt) -> Result) -> Result {
        unsafe withUnsafeBytes { bytes in
            unsafe body(bytes.assumingMemoryBound(to: CChar.self).baseAddress, CInt(clamping: bytes.count))
        }
    }
}
