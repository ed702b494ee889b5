import CPinctlOpenSSL

extension TestCertificate {
    /// The certificate's bytes with one bit of the signature changed.
    package var derBytesWithBrokenSignature: [UInt8] {
        var bytes = derBytes
        bytes[bytes.count - 1] ^= 1
        return bytes
    }
}

extension TestKey {
    /// Returns a SubjectPublicKeyInfo with an unknown algorithm, for a certificate's settings.
    package static func unknownPublicKeyDER(bits: [UInt8] = [1, 2, 3, 4]) -> [UInt8] {
        TestDER.sequence(
            TestDER.sequence(TestDER.objectIdentifier("1.3.6.1.4.1.55555.1")), TestDER.bitString(bits))
    }

    /// Returns an RSA SubjectPublicKeyInfo without a private key. Its odd modulus has `bits` bits, and its last octet
    /// distinguishes it from others.
    package static func rsaPublicKeyDER(bits: Int, exponent: [UInt8] = [1, 0, 1], last: UInt8 = 1) -> [UInt8] {
        let first: [UInt8] = bits % 8 == 0 ? [0, 0xC5] : [1 << UInt8(bits % 8 - 1), 0xC5]
        let modulus = first + [UInt8](repeating: 0xC5, count: bits / 8 - 2) + [last | 1]
        return TestDER.sequence(
            TestDER.sequence(TestDER.objectIdentifier("1.2.840.113549.1.1.1"), [0x05, 0x00]),
            TestDER.bitString(
                TestDER.sequence(TestDER.integer(octets: modulus), TestDER.integer(octets: exponent))))
    }

    /// Returns a DSA SubjectPublicKeyInfo without a private key. p, g and y have `bits` bits, and q has 256.
    package static func dsaPublicKeyDER(bits: Int, last: UInt8 = 1) -> [UInt8] {
        func number(_ first: UInt8, bits: Int) -> [UInt8] {
            TestDER.integer(octets: [0, first] + [UInt8](repeating: 0xC5, count: bits / 8 - 2) + [last | 1])
        }
        return TestDER.sequence(
            TestDER.sequence(
                TestDER.objectIdentifier("1.2.840.10040.4.1"),
                TestDER.sequence(number(0xC5, bits: bits), number(0xC5, bits: 256), number(0xA1, bits: bits))),
            TestDER.bitString(number(0xB1, bits: bits)))
    }

    /// Returns a P-256 key that claims the public key of `victim` and can't sign for it, as if the certificate were
    /// stolen.
    package static func impostor(of victim: TestKey) throws(TestPKIError) -> TestKey {
        guard victim.kind == .p256 else { throw TestPKIError("impostor", "the victim's key is not P-256") }
        // An ECPrivateKey (RFC 5915) whose scalar and point don't match. The point is at the end of the public key.
        let key = TestDER.sequence(
            TestDER.integer(1), TestDER.octetString([UInt8](repeating: 7, count: 32)),
            TestDER.constructed(0, TestDER.objectIdentifier("1.2.840.10045.3.1.7")),
            TestDER.constructed(1, TestDER.bitString(try victim.publicKeyDER.suffix(65))))
        let pointer = try unsafe make("d2i_PrivateKey") {
            unsafe key.withUnsafeBufferPointer { buffer in
                var input = buffer.baseAddress
                return unsafe d2i_PrivateKey(EVP_PKEY_EC, nil, &input, buffer.count)
            }
        }
        return unsafe TestKey(kind: .p256, owning: pointer)
    }
}
