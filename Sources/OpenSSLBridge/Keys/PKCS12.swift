import CPinctlOpenSSL

/// The contents of a PKCS #12 file (RFC 7292): its certificates as DER, in file order, and its private keys.
package struct PKCS12Contents {
    package private(set) var certificates: [[UInt8]] = []
    package private(set) var keys: [OpenSSLPrivateKey] = []

    /// The iterations left to spend.
    private var iterations: UInt64

    /// The deepest nesting of safes that is read. Real files don't nest them.
    private static let depthLimit = 4

    /// Reads the PKCS #12 file at the start of `bytes`. It may be DER, or BER as written by old programs. Every
    /// iteration count is checked before the work is done.
    package init(
        _ bytes: [UInt8], password: [UInt8], iterations: UInt64 = iterationLimit
    ) throws(ProtectedKeyError) {
        var iterations = iterations
        try self.init(bytes, password: password, iterations: &iterations)
    }

    /// Reads a file and deducts its iterations from `limit`, which several files share.
    package init(_ bytes: [UInt8], password: [UInt8], iterations limit: inout UInt64) throws(ProtectedKeyError) {
        OpenSSLError.clear()
        let file = unsafe bytes.withUnsafeBufferPointer { buffer in
            var cursor = buffer.baseAddress
            return unsafe d2i_PKCS12(nil, &cursor, buffer.count)
        }
        guard let file = unsafe file else { throw .malformed }
        defer { unsafe PKCS12_free(file) }
        let result = unsafe password.withUnsafeBytes { bytes -> Result<PKCS12Contents, ProtectedKeyError> in
            var contents = PKCS12Contents(iterations: min(limit, iterationLimit))
            defer { limit -= min(limit, iterationLimit) - contents.iterations }
            do throws(ProtectedKeyError) {
                try unsafe contents.read(file, bytes)
                return .success(contents)
            } catch {
                return .failure(error)
            }
        }
        self = try result.get()
    }

    private init(iterations: UInt64) { self.iterations = iterations }

    private mutating func read(_ file: OpaquePointer, _ bytes: UnsafeRawBufferPointer) throws(ProtectedKeyError) {
        var password = unsafe Password(bytes)
        if unsafe PKCS12_mac_present(file) == 1 {
            try unsafe spend(COpenSSL_PKCS12_mac_count(file))
            guard unsafe try password.opens(file) else {
                throw unsafe bytes.isEmpty && !Self.isEncrypted(file) ? .unauthenticated : .wrongPassword
            }
        }
        OpenSSLError.clear()
        guard let safes = unsafe PKCS12_unpack_authsafes(file) else { throw .openSSL(.take()) }
        defer { unsafe COpenSSL_sk_PKCS7_pop_free(safes) }
        for index in unsafe 0..<max(0, COpenSSL_sk_PKCS7_num(safes)) {
            let safe = unsafe COpenSSL_sk_PKCS7_value(safes, index)
            guard let bags = unsafe try self.bags(in: safe, password) else { continue }
            defer { unsafe COpenSSL_sk_PKCS12_SAFEBAG_pop_free(bags) }
            unsafe try read(bags, password, depth: 0)
        }
    }

    /// Whether a part of the file is encrypted, or can't be read.
    private static func isEncrypted(_ file: OpaquePointer) -> Bool {
        OpenSSLError.clear()
        defer { OpenSSLError.clear() }
        guard let safes = unsafe PKCS12_unpack_authsafes(file) else { return true }
        defer { unsafe COpenSSL_sk_PKCS7_pop_free(safes) }
        for index in unsafe 0..<max(0, COpenSSL_sk_PKCS7_num(safes)) {
            guard let safe = unsafe COpenSSL_sk_PKCS7_value(safes, index),
                unsafe OBJ_obj2nid(safe.pointee.type) == NID_pkcs7_data, let bags = unsafe PKCS12_unpack_p7data(safe)
            else { return true }
            defer { unsafe COpenSSL_sk_PKCS12_SAFEBAG_pop_free(bags) }
            for place in unsafe 0..<max(0, COpenSSL_sk_PKCS12_SAFEBAG_num(bags)) {
                let bag = unsafe COpenSSL_sk_PKCS12_SAFEBAG_value(bags, place)
                if unsafe PKCS12_SAFEBAG_get_nid(bag) == NID_pkcs8ShroudedKeyBag { return true }
            }
        }
        return false
    }

    /// Returns the bags of a safe, or nil if the safe is encrypted to a public key.
    private mutating func bags(
        in safe: UnsafeMutablePointer<PKCS7>?, _ password: Password
    ) throws(ProtectedKeyError) -> OpaquePointer? {
        guard let safe = unsafe safe else { return nil }
        OpenSSLError.clear()
        switch unsafe OBJ_obj2nid(safe.pointee.type) {
        case NID_pkcs7_data:
            guard let bags = unsafe PKCS12_unpack_p7data(safe) else { throw .openSSL(.take()) }
            return unsafe bags
        case NID_pkcs7_encrypted:
            let algorithm = unsafe safe.pointee.d.encrypted?.pointee.enc_data?.pointee.algorithm
            try unsafe spend(KeyProtection.iterations(of: algorithm))
            guard let bags = unsafe PKCS12_unpack_p7encdata(safe, password.pointer, password.count) else {
                throw .decrypting(.take())
            }
            return unsafe bags
        default:
            return nil
        }
    }

    private mutating func read(
        _ bags: OpaquePointer?, _ password: Password, depth: Int
    ) throws(ProtectedKeyError) {
        for index in unsafe 0..<max(0, COpenSSL_sk_PKCS12_SAFEBAG_num(bags)) {
            let bag = unsafe COpenSSL_sk_PKCS12_SAFEBAG_value(bags, index)
            OpenSSLError.clear()
            switch unsafe PKCS12_SAFEBAG_get_nid(bag) {
            case NID_keyBag:
                try unsafe add(PKCS12_SAFEBAG_get0_p8inf(bag))
            case NID_pkcs8ShroudedKeyBag:
                var algorithm: UnsafePointer<X509_ALGOR>?
                unsafe X509_SIG_get0(PKCS12_SAFEBAG_get0_pkcs8(bag), &algorithm, nil)
                try unsafe spend(KeyProtection.iterations(of: algorithm))
                guard let key = unsafe PKCS12_decrypt_skey(bag, password.pointer, password.count) else {
                    throw .decrypting(.take())
                }
                defer { unsafe PKCS8_PRIV_KEY_INFO_free(key) }
                try unsafe add(key)
            case NID_certBag:
                // Nil if the bag holds another kind of certificate than X.509.
                guard let certificate = unsafe PKCS12_SAFEBAG_get1_cert(bag) else { continue }
                defer { unsafe X509_free(certificate) }
                certificates.append(unsafe derBytes(certificate))
            case NID_safeContentsBag where depth < Self.depthLimit:
                unsafe try read(PKCS12_SAFEBAG_get0_safes(bag), password, depth: depth + 1)
            default:
                continue
            }
        }
    }

    private mutating func add(_ information: OpaquePointer?) throws(ProtectedKeyError) {
        guard let key = unsafe EVP_PKCS82PKEY(information) else { throw .openSSL(.take()) }
        keys.append(unsafe OpenSSLPrivateKey(owning: key))
    }

    private mutating func spend(_ count: UInt64) throws(ProtectedKeyError) {
        guard count <= iterations else { throw .tooManyIterations(count) }
        iterations -= count
    }
}

/// A password as PKCS #12 takes it. No password and the empty password are different, and programs differ in which one
/// they mean.
@unsafe private struct Password {
    private(set) var pointer: UnsafePointer<CChar>?
    let count: CInt

    init(_ bytes: UnsafeRawBufferPointer) {
        unsafe pointer = bytes.isEmpty ? nil : bytes.assumingMemoryBound(to: CChar.self).baseAddress
        unsafe count = CInt(clamping: bytes.count)
    }

    /// Returns whether the file's MAC was made with this password. If the password is absent and the MAC was made with
    /// the empty one, switches to the empty one.
    mutating func opens(_ file: OpaquePointer) throws(ProtectedKeyError) -> Bool {
        if unsafe try isRight(for: file) { return true }
        guard unsafe pointer == nil else { return false }
        unsafe pointer = COpenSSL_empty()
        return unsafe try isRight(for: file)
    }

    private func isRight(for file: OpaquePointer) throws(ProtectedKeyError) -> Bool {
        OpenSSLError.clear()
        if unsafe PKCS12_verify_mac(file, pointer, count) == 1 { return true }
        // A wrong password leaves the queue empty.
        let error = OpenSSLError.take()
        if error.code != 0 { throw .openSSL(error) }
        return false
    }
}
