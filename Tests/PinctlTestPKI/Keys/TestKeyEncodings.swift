import CPinctlOpenSSL

extension TestKey {
    /// The SubjectPublicKeyInfo in DER.
    package var publicKeyDER: [UInt8] {
        get throws(TestPKIError) {
            try unsafe encoded("i2d_PUBKEY_bio") { unsafe i2d_PUBKEY_bio($0, pointer) }
        }
    }

    /// The SHA-256 of the SubjectPublicKeyInfo from OpenSSL's own encoder, 32 octets.
    package var publicKeyDigest: [UInt8] {
        get throws(TestPKIError) {
            let key = try publicKeyDER
            var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
            unsafe SHA256(key, key.count, &digest)
            return digest
        }
    }

    /// The pin in the form `sha256/BASE64`.
    package var pin: String {
        get throws(TestPKIError) { "sha256/" + TestPEM.base64(try publicKeyDigest) }
    }

    /// The `PUBLIC KEY` block.
    package var publicKeyPEM: String {
        get throws(TestPKIError) { TestPEM.block("PUBLIC KEY", try publicKeyDER) }
    }

    /// The `PRIVATE KEY` block (PKCS#8).
    package var privateKeyPEM: String {
        get throws(TestPKIError) {
            try unsafe text("PEM_write_bio_PKCS8PrivateKey") {
                unsafe PEM_write_bio_PKCS8PrivateKey($0, pointer, nil, nil, 0, nil, nil)
            }
        }
    }

    /// The `RSA PRIVATE KEY`, `EC PRIVATE KEY` or `DSA PRIVATE KEY` block. RSA-PSS and Edwards keys don't have this
    /// form.
    package var traditionalPrivateKeyPEM: String {
        get throws(TestPKIError) {
            try unsafe text("PEM_write_bio_PrivateKey_traditional") {
                unsafe PEM_write_bio_PrivateKey_traditional($0, pointer, nil, nil, 0, nil, nil)
            }
        }
    }

    /// Returns the `ENCRYPTED PRIVATE KEY` block (PKCS#8), with AES-256-CBC.
    package func encryptedPrivateKeyPEM(passphrase: String) throws(TestPKIError) -> String {
        let secret = Array(passphrase.utf8CString)
        return try unsafe text("PEM_write_bio_PKCS8PrivateKey") {
            unsafe PEM_write_bio_PKCS8PrivateKey(
                $0, pointer, EVP_aes_256_cbc(), secret, Int32(secret.count - 1), nil, nil)
        }
    }

    /// Returns the traditional block in OpenSSL's old encryption (RFC 1421 fields): AES-256-CBC with one round of MD5.
    package func encryptedTraditionalPEM(passphrase: String) throws(TestPKIError) -> String {
        let secret = Array(passphrase.utf8)
        return try unsafe text("PEM_write_bio_PrivateKey_traditional") {
            unsafe PEM_write_bio_PrivateKey_traditional(
                $0, pointer, EVP_aes_256_cbc(), secret, Int32(secret.count), nil, nil)
        }
    }

    /// The PKCS#8 private key in DER.
    package var privateKeyDER: [UInt8] {
        get throws(TestPKIError) {
            try unsafe encoded("i2d_PKCS8PrivateKey_bio") {
                unsafe i2d_PKCS8PrivateKey_bio($0, pointer, nil, nil, 0, nil, nil)
            }
        }
    }

    private func text(_ operation: String, _ write: (OpaquePointer) -> Int32) throws(TestPKIError) -> String {
        String(decoding: try unsafe encoded(operation, write), as: UTF8.self)
    }

    private func encoded(_ operation: String, _ write: (OpaquePointer) -> Int32) throws(TestPKIError) -> [UInt8] {
        let bio = try unsafe make("BIO_new") { unsafe BIO_new(BIO_s_mem()) }
        defer { unsafe BIO_free(bio) }
        try check(operation) { unsafe write(bio) }
        var bytes = [UInt8](repeating: 0, count: unsafe BIO_ctrl_pending(bio))
        guard unsafe BIO_read(bio, &bytes, Int32(bytes.count)) == Int32(bytes.count) else {
            throw .openSSL("BIO_read")
        }
        return bytes
    }
}

/// A pin that no key has.
package let unknownPin = "sha256/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
