import CPinctlOpenSSL

/// A key pair.
///
/// `@unchecked Sendable`: the `EVP_PKEY` never changes after `init`, and OpenSSL can read it from many threads.
@safe package final class TestKey: @unchecked Sendable {
    package enum Kind: Hashable, Sendable {
        case rsa(bits: Int)
        case rsaPSS(bits: Int)
        /// Any curve by OpenSSL's name, such as `secp224r1`.
        case curve(String)
        case ed25519
        case ed448
        case dsa(bits: Int)
        /// ML-DSA or SLH-DSA by OpenSSL's name, such as `ML-DSA-44`. OpenSSL 3.5 and later support them.
        case postQuantum(String)

        package static let p256 = Kind.curve("prime256v1")
        package static let p384 = Kind.curve("secp384r1")
        package static let p521 = Kind.curve("secp521r1")
        package static let rsa2048 = Kind.rsa(bits: 2048)
    }

    package let kind: Kind
    let pointer: OpaquePointer

    init(kind: Kind, owning pointer: OpaquePointer) {
        self.kind = kind
        unsafe self.pointer = unsafe pointer
    }

    deinit { unsafe EVP_PKEY_free(pointer) }

    /// Generates a key. RSA and DSA keys take a long time, see ``shared(_:)``.
    package convenience init(_ kind: Kind = .p256) throws(TestPKIError) {
        let pointer =
            switch kind {
            case .rsa(let bits):
                try unsafe Self.generate("RSA") { unsafe EVP_PKEY_CTX_set_rsa_keygen_bits($0, Int32(bits)) }
            case .rsaPSS(let bits):
                try unsafe Self.generate("RSA-PSS") { unsafe EVP_PKEY_CTX_set_rsa_keygen_bits($0, Int32(bits)) }
            case .curve(let name): try unsafe Self.generate("EC") { unsafe EVP_PKEY_CTX_set_group_name($0, name) }
            case .ed25519: try unsafe Self.generate("ED25519") { _ in 1 }
            case .ed448: try unsafe Self.generate("ED448") { _ in 1 }
            case .postQuantum(let name): try unsafe Self.generate(name) { _ in 1 }
            case .dsa(let bits): try unsafe Self.generateDSA(bits: bits)
            }
        unsafe self.init(kind: kind, owning: pointer)
    }

    private static let cache = Locked<[Kind: TestKey]>([:])

    /// Returns the only shared key of its kind in this process, for tests that work with any key.
    package static func shared(_ kind: Kind) throws(TestPKIError) -> TestKey {
        try cache.withLock { (keys) throws(TestPKIError) in
            if let key = keys[kind] { return key }
            let key = try TestKey(kind)
            keys[kind] = key
            return key
        }
    }

    private static func generate(
        _ algorithm: String, _ configure: (OpaquePointer) -> Int32
    ) throws(TestPKIError) -> OpaquePointer {
        let context = try unsafe make("EVP_PKEY_CTX_new_from_name") {
            unsafe EVP_PKEY_CTX_new_from_name(nil, algorithm, nil)
        }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        try check("EVP_PKEY_keygen_init") { unsafe EVP_PKEY_keygen_init(context) }
        try check("key parameters") { unsafe configure(context) }
        return try unsafe make("EVP_PKEY_generate") {
            var key: OpaquePointer?
            unsafe EVP_PKEY_generate(context, &key)
            return unsafe key
        }
    }

    private static func generateDSA(bits: Int) throws(TestPKIError) -> OpaquePointer {
        let forParameters = try unsafe make("EVP_PKEY_CTX_new_from_name") {
            unsafe EVP_PKEY_CTX_new_from_name(nil, "DSA", nil)
        }
        defer { unsafe EVP_PKEY_CTX_free(forParameters) }
        try check("EVP_PKEY_paramgen_init") { unsafe EVP_PKEY_paramgen_init(forParameters) }
        try check("DSA size") { unsafe EVP_PKEY_CTX_set_dsa_paramgen_bits(forParameters, Int32(bits)) }
        let parameters = try unsafe make("EVP_PKEY_generate") {
            var parameters: OpaquePointer?
            unsafe EVP_PKEY_generate(forParameters, &parameters)
            return unsafe parameters
        }
        defer { unsafe EVP_PKEY_free(parameters) }
        let forKey = try unsafe make("EVP_PKEY_CTX_new_from_pkey") {
            unsafe EVP_PKEY_CTX_new_from_pkey(nil, parameters, nil)
        }
        defer { unsafe EVP_PKEY_CTX_free(forKey) }
        try check("EVP_PKEY_keygen_init") { unsafe EVP_PKEY_keygen_init(forKey) }
        return try unsafe make("EVP_PKEY_generate") {
            var key: OpaquePointer?
            unsafe EVP_PKEY_generate(forKey, &key)
            return unsafe key
        }
    }
}
