import CPinctlOpenSSL

/// PKCS #12 files (RFC 7292), both as OpenSSL writes them and as it never would.
package enum TestPKCS12 {
    /// Returns an identity encrypted with a password, with AES-256-CBC and an HMAC with SHA-256. An iteration count of
    /// 1 makes tests fast. With -1 as `macIterations`, there is no MAC. A `nil` password differs from an empty one.
    package static func file(
        _ certificate: TestCertificate, chain: [TestCertificate] = [], password: String?, iterations: Int32 = 1,
        macIterations: Int32 = 1
    ) throws(TestPKIError) -> [UInt8] {
        let leaf = try unsafe x509(certificate)
        defer { unsafe X509_free(leaf) }
        let others = try unsafe make("sk_X509_new_reserve") {
            unsafe COpenSSL_sk_X509_new_reserve(Int32(chain.count))
        }
        defer {
            for index in unsafe 0..<COpenSSL_sk_X509_num(others) {
                unsafe X509_free(COpenSSL_sk_X509_value(others, index))
            }
            unsafe COpenSSL_sk_X509_free(others)
        }
        for certificate in chain { _ = try unsafe COpenSSL_sk_X509_push(others, x509(certificate)) }
        let secret = password.map { Array($0.utf8CString) }
        let file = try unsafe make("PKCS12_create") {
            unsafe PKCS12_create(
                secret, nil, certificate.key.pointer, leaf, others, NID_aes_256_cbc, NID_aes_256_cbc, iterations,
                macIterations, 0)
        }
        defer { unsafe PKCS12_free(file) }
        return try unsafe encoded(file)
    }

    /// Returns a file of bags that OpenSSL wouldn't combine, unencrypted and without a MAC.
    package static func file(bags: [[UInt8]]) -> [UInt8] {
        let safe = contentInfo(data, TestDER.octetString(TestDER.element(0x30, bags.flatMap(\.self))))
        return file(authenticatedSafe: safe, mac: [])
    }

    package static func keyBag(_ key: TestKey) throws(TestPKIError) -> [UInt8] {
        bag("1.2.840.113549.1.12.10.1.1", try key.privateKeyDER)
    }

    /// Returns a bag with a key that takes this many iterations to decrypt.
    package static func shroudedKeyBag(iterations: Int) -> [UInt8] {
        bag("1.2.840.113549.1.12.10.1.2", encryptedKey(iterations: iterations))
    }

    package static func certificateBag(_ certificate: TestCertificate) -> [UInt8] {
        bag(
            "1.2.840.113549.1.12.10.1.3",
            TestDER.sequence(
                TestDER.objectIdentifier("1.2.840.113549.1.9.22.1"),
                TestDER.constructed(0, TestDER.octetString(certificate.derBytes))))
    }

    /// Returns a file whose certificates take this many iterations to decrypt.
    package static func encryptedSafe(iterations: Int) -> [UInt8] {
        let content = TestDER.sequence(
            TestDER.objectIdentifier(data), pbes2(pbkdf2(iterations)),
            TestDER.primitive(0, [UInt8](repeating: 0, count: 32)))
        let safe = contentInfo("1.2.840.113549.1.7.6", TestDER.sequence(TestDER.integer(0), content))
        return file(authenticatedSafe: safe, mac: [])
    }

    /// Returns a file whose MAC takes this many iterations.
    package static func macced(iterations: Int) -> [UInt8] {
        let sha256 = TestDER.sequence(
            TestDER.objectIdentifier("2.16.840.1.101.3.4.2.1"), TestDER.element(0x05, []))
        let mac = TestDER.sequence(
            TestDER.sequence(sha256, TestDER.octetString([UInt8](repeating: 0, count: 32))),
            TestDER.octetString(salt), TestDER.integer(iterations))
        return file(authenticatedSafe: contentInfo(data, TestDER.octetString([0x30, 0])), mac: mac)
    }

    /// Returns an EncryptedPrivateKeyInfo with PBES2 that takes this many iterations of PBKDF2. It has no real
    /// contents.
    package static func encryptedKey(iterations: Int) -> [UInt8] { encryptedKey(pbes2(pbkdf2(iterations))) }

    /// Returns an EncryptedPrivateKeyInfo with scrypt (RFC 7914, section 7).
    package static func encryptedKey(scryptCost: Int, blockSize: Int, parallelization: Int) -> [UInt8] {
        encryptedKey(
            pbes2(
                TestDER.sequence(
                    TestDER.objectIdentifier("1.3.6.1.4.1.11591.4.11"),
                    TestDER.sequence(
                        TestDER.octetString(salt), TestDER.integer(scryptCost), TestDER.integer(blockSize),
                        TestDER.integer(parallelization)))))
    }

    /// Returns an EncryptedPrivateKeyInfo with PBES1, MD5 and DES (RFC 8018, appendix A.3), which OpenSSL 3 doesn't
    /// provide by default.
    package static func encryptedKeyOfDES(iterations: Int) -> [UInt8] {
        encryptedKey(
            TestDER.sequence(
                TestDER.objectIdentifier("1.2.840.113549.1.5.3"),
                TestDER.sequence(TestDER.octetString(salt), TestDER.integer(iterations))))
    }

    private static let data = "1.2.840.113549.1.7.1"
    private static let salt = [UInt8](repeating: 7, count: 8)

    private static func encryptedKey(_ algorithm: [UInt8]) -> [UInt8] {
        TestDER.sequence(algorithm, TestDER.octetString([UInt8](repeating: 0, count: 32)))
    }

    private static func pbes2(_ derivation: [UInt8]) -> [UInt8] {
        let cipher = TestDER.sequence(
            TestDER.objectIdentifier("2.16.840.1.101.3.4.1.42"), TestDER.octetString([UInt8](repeating: 0, count: 16)))
        return TestDER.sequence(
            TestDER.objectIdentifier("1.2.840.113549.1.5.13"), TestDER.sequence(derivation, cipher))
    }

    private static func pbkdf2(_ iterations: Int) -> [UInt8] {
        TestDER.sequence(
            TestDER.objectIdentifier("1.2.840.113549.1.5.12"),
            TestDER.sequence(TestDER.octetString(salt), TestDER.integer(iterations)))
    }

    private static func bag(_ type: String, _ value: [UInt8]) -> [UInt8] {
        TestDER.sequence(TestDER.objectIdentifier(type), TestDER.constructed(0, value))
    }

    private static func contentInfo(_ type: String, _ content: [UInt8]) -> [UInt8] {
        TestDER.sequence(TestDER.objectIdentifier(type), TestDER.constructed(0, content))
    }

    private static func file(authenticatedSafe safe: [UInt8], mac: [UInt8]) -> [UInt8] {
        TestDER.sequence(
            TestDER.integer(3), contentInfo(data, TestDER.octetString(TestDER.sequence(safe))), mac)
    }

    private static func x509(_ certificate: TestCertificate) throws(TestPKIError) -> OpaquePointer {
        let der = certificate.derBytes
        return try unsafe make("d2i_X509") {
            unsafe der.withUnsafeBufferPointer { buffer in
                var cursor = buffer.baseAddress
                return unsafe d2i_X509(nil, &cursor, buffer.count)
            }
        }
    }

    private static func encoded(_ file: OpaquePointer) throws(TestPKIError) -> [UInt8] {
        var encoding: UnsafeMutablePointer<UInt8>?
        let count = unsafe i2d_PKCS12(file, &encoding)
        guard count > 0, let encoding = unsafe encoding else { throw .openSSL("i2d_PKCS12") }
        defer { unsafe COpenSSL_free(encoding) }
        return unsafe Array(UnsafeBufferPointer(start: encoding, count: Int(count)))
    }
}
