import CPinctlOpenSSL

/// The digest of a signature. Ed25519, Ed448, ML-DSA and SLH-DSA have their own and ignore it.
package enum TestDigest: String, Sendable {
    case md5 = "MD5"
    case sha1 = "SHA1"
    case sha224 = "SHA224"
    case sha256 = "SHA256"
    case sha384 = "SHA384"
    case sha512 = "SHA512"
}

extension TestKey {
    /// A signer with the DER AlgorithmIdentifier of its signatures.
    @safe struct Signer: ~Copyable {
        private let context: OpaquePointer
        let algorithmIdentifier: [UInt8]

        init(_ key: TestKey, _ digest: TestDigest) throws(TestPKIError) {
            let context = try unsafe make("EVP_MD_CTX_new") { unsafe EVP_MD_CTX_new() }
            var parameters: OpaquePointer?
            let name: String? =
                switch key.kind {
                case .ed25519, .ed448, .postQuantum: nil
                default: digest.rawValue
                }
            do {
                try check("EVP_DigestSignInit_ex") {
                    unsafe EVP_DigestSignInit_ex(context, &parameters, name, nil, nil, key.pointer, nil)
                }
                if case .rsaPSS = key.kind {
                    // The salt is as long as the digest, which the Web requires (CA/Browser Forum 7.1.3.2.1).
                    try check("EVP_PKEY_CTX_set_rsa_pss_saltlen") {
                        unsafe EVP_PKEY_CTX_set_rsa_pss_saltlen(parameters, RSA_PSS_SALTLEN_DIGEST)
                    }
                }
                algorithmIdentifier = try unsafe Self.identifier(parameters, digest)
            } catch {
                unsafe EVP_MD_CTX_free(context)
                throw error
            }
            unsafe self.context = unsafe context
        }

        deinit { unsafe EVP_MD_CTX_free(context) }

        private static func identifier(
            _ parameters: OpaquePointer?, _ digest: TestDigest
        ) throws(TestPKIError) -> [UInt8] {
            var identifier = [UInt8](repeating: 0, count: 256)
            var count = 0
            try check("AlgorithmIdentifier of this key with \(digest.rawValue)") {
                unsafe identifier.withUnsafeMutableBytes { buffer in
                    unsafe "algorithm-id".withCString { name in
                        var list = unsafe [
                            OSSL_PARAM_construct_octet_string(name, buffer.baseAddress, buffer.count),
                            OSSL_PARAM_construct_end(),
                        ]
                        let done = unsafe EVP_PKEY_CTX_get_params(parameters, &list)
                        count = unsafe list[0].return_size
                        return done
                    }
                }
            }
            return Array(identifier.prefix(count))
        }

        func sign(_ message: [UInt8]) throws(TestPKIError) -> [UInt8] {
            var count = 0
            try check("EVP_DigestSign") { unsafe EVP_DigestSign(context, nil, &count, message, message.count) }
            var signature = [UInt8](repeating: 0, count: count)
            try check("EVP_DigestSign") { unsafe EVP_DigestSign(context, &signature, &count, message, message.count) }
            return Array(signature.prefix(count))
        }
    }

    /// Returns `SEQUENCE { body, algorithm, signature }`, the structure of certificates and requests. `algorithm` and
    /// `signature` replace the real ones after the body.
    func signed(
        _ digest: TestDigest, algorithm: [UInt8]? = nil, signature: [UInt8]? = nil,
        _ body: (_ algorithm: [UInt8]) -> [UInt8]
    ) throws(TestPKIError) -> [UInt8] {
        let signer = try Signer(self, digest)
        let body = body(signer.algorithmIdentifier)
        let signature = if let signature { signature } else { try signer.sign(body) }
        return TestDER.sequence(body, algorithm ?? signer.algorithmIdentifier, TestDER.bitString(signature))
    }
}
