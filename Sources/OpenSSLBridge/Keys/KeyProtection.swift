import CPinctlOpenSSL

/// An error from decrypting a password-protected key or identity.
package enum ProtectedKeyError: Error, Hashable, Sendable {
    /// The password is wrong. For an encrypted key this is a guess, since nothing in the data shows which password is
    /// right.
    case wrongPassword
    /// Deriving the key from the password costs more than ``iterationLimit``. Nothing was derived.
    case tooManyIterations(UInt64)
    /// The data doesn't have the expected structure. Nothing was derived.
    case malformed
    /// No password was given. The contents aren't encrypted, but their MAC was made with a password.
    case unauthenticated
    /// The data is damaged, of another kind, or protected with an algorithm that OpenSSL doesn't support.
    case openSSL(OpenSSLError)
}

/// The most key derivation work spent on one file: iterations of PBKDF2 or the older PBE schemes, or blocks of scrypt.
/// The limit takes about two seconds. The highest count in common use is one million.
package let iterationLimit: UInt64 = 10_000_000

/// The cost of deriving a key from a password, read before any of the work is done.
enum KeyProtection {
    /// Returns the iterations that an encryption algorithm asks for: PBES2 with PBKDF2 or scrypt, PBES1 (RFC 8018), or
    /// the scheme of PKCS #12 (RFC 7292, appendix C). Returns zero for an unknown algorithm, which OpenSSL rejects.
    static func iterations(of algorithm: UnsafePointer<X509_ALGOR>?) -> UInt64 {
        guard let algorithm = unsafe algorithm else { return 0 }
        guard unsafe OBJ_obj2nid(algorithm.pointee.algorithm) == NID_pbes2 else {
            guard let parameters = unsafe parameters(of: algorithm, d2i_PBEPARAM) else { return 0 }
            defer { unsafe PBEPARAM_free(parameters) }
            return unsafe COpenSSL_count(parameters.pointee.iter)
        }
        guard let scheme = unsafe parameters(of: algorithm, d2i_PBE2PARAM) else { return 0 }
        defer { unsafe PBE2PARAM_free(scheme) }
        guard let derivation = unsafe UnsafePointer(scheme.pointee.keyfunc) else { return 0 }
        if unsafe OBJ_obj2nid(derivation.pointee.algorithm) == NID_id_scrypt {
            guard let parameters = unsafe parameters(of: derivation, d2i_SCRYPT_PARAMS) else { return 0 }
            defer { unsafe SCRYPT_PARAMS_free(parameters) }
            let cost = unsafe COpenSSL_count(parameters.pointee.costParameter)
            let block = unsafe COpenSSL_count(parameters.pointee.blockSize)
            let parallel = unsafe COpenSSL_count(parameters.pointee.parallelizationParameter)
            return cost.saturatingMultiplied(by: block).saturatingMultiplied(by: parallel)
        }
        guard let parameters = unsafe parameters(of: derivation, d2i_PBKDF2PARAM) else { return 0 }
        defer { unsafe PBKDF2PARAM_free(parameters) }
        // mutant iterations: 0 for `COpenSSL_count(parameters.pointee.iter)` by ClientIdentityTests
        return unsafe COpenSSL_count(parameters.pointee.iter)
    }

    private typealias Decoder<Parameters> = (
        UnsafeMutablePointer<UnsafeMutablePointer<Parameters>?>?,
        UnsafeMutablePointer<UnsafePointer<UInt8>?>?, Int
    ) -> UnsafeMutablePointer<Parameters>?

    private static func parameters<Parameters>(
        of algorithm: UnsafePointer<X509_ALGOR>, _ decode: Decoder<Parameters>
    ) -> UnsafeMutablePointer<Parameters>? {
        guard let value = unsafe algorithm.pointee.parameter, unsafe value.pointee.type == V_ASN1_SEQUENCE,
            let sequence = unsafe value.pointee.value.sequence
        else { return nil }
        var cursor = unsafe ASN1_STRING_get0_data(sequence)
        return unsafe decode(nil, &cursor, Int(ASN1_STRING_length(sequence)))
    }
}

extension UInt64 {
    fileprivate func saturatingMultiplied(by factor: UInt64) -> UInt64 {
        let (product, overflow) = multipliedReportingOverflow(by: factor)
        return overflow ? .max : product
    }
}
