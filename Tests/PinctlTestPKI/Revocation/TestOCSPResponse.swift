import CPinctlOpenSSL

/// An OCSP response with any contents. They aren't checked.
package struct TestOCSPResponse: Sendable {
    package enum Status: Sendable {
        case good
        /// The certificate is revoked, with a CRLReason if it isn't `nil`.
        case revoked(reason: UInt8?)
        case unknown
    }

    /// The certificate that the response covers, followed by its issuer.
    package var certificate: TestCertificate
    package var issuer: TestCertificate
    package var status = Status.good
    /// The time of the update in Unix seconds.
    package var thisUpdate: Int64 = 1_799_000_000
    package var nextUpdate: Int64? = 1_801_000_000
    /// Whether to name the certificate with SHA-256 instead of SHA-1.
    package var usesSHA256 = false
    /// Whether to name the responder by its key instead of its name.
    package var namesKey = false
    /// The OCSPResponseStatus. With any value except 0, there are no response bytes.
    package var responseStatus: UInt8 = 0
    /// Responses whose single responses follow this one's, under one signature.
    package var others: [TestOCSPResponse] = []
    /// The extensions of the single response.
    package var extensions: [TestCertificate.Extension] = []
    package var digest = TestDigest.sha256

    package init(_ certificate: TestCertificate, issuedBy issuer: TestCertificate) {
        self.certificate = certificate
        self.issuer = issuer
    }

    /// Returns the response in DER, signed by any certificate's key and with the `included` certificates.
    package func signed(
        by responder: TestCertificate, including included: [TestCertificate] = []
    ) throws(TestPKIError) -> [UInt8] {
        guard responseStatus == 0 else { return TestDER.sequence(TestDER.element(0x0A, [responseStatus])) }
        let signer = try TestKey.Signer(responder.key, digest)
        let responderID =
            namesKey
            ? TestDER.constructed(2, TestDER.octetString(Self.sha1(try Self.keyOctets(responder.key))))
            : TestDER.constructed(1, responder.subject.derBytes)
        var singles = try single
        for other in others { singles += try other.single }
        let data = TestDER.sequence(responderID, try Self.time(thisUpdate), TestDER.element(0x30, singles))
        let basic = TestDER.sequence(
            data, signer.algorithmIdentifier, TestDER.bitString(try signer.sign(data)),
            included.isEmpty ? [] : TestDER.constructed(0, TestDER.element(0x30, included.flatMap(\.derBytes))))
        return TestDER.sequence(
            TestDER.element(0x0A, [0]),
            TestDER.constructed(
                0,
                TestDER.sequence(TestDER.objectIdentifier("1.3.6.1.5.5.7.48.1.1"), TestDER.octetString(basic))))
    }

    private var single: [UInt8] {
        get throws(TestPKIError) {
            let key = try Self.keyOctets(issuer.key)
            let hash = usesSHA256 ? Self.sha256 : Self.sha1
            let identifier = TestDER.sequence(
                TestDER.sequence(
                    TestDER.objectIdentifier(usesSHA256 ? "2.16.840.1.101.3.4.2.1" : "1.3.14.3.2.26"), [0x05, 0x00]),
                TestDER.octetString(hash(issuer.subject.derBytes)), TestDER.octetString(hash(key)),
                TestDER.integer(octets: certificate.settings.serial))
            let status =
                switch self.status {
                case .good: TestDER.primitive(0, [])
                case .revoked(let reason):
                    TestDER.constructed(
                        1,
                        try Self.time(1_790_000_000)
                            + (reason.map { TestDER.constructed(0, TestDER.element(0x0A, [$0])) } ?? []))
                case .unknown: TestDER.primitive(2, [])
                }
            return TestDER.sequence(
                identifier, status, try Self.time(thisUpdate),
                try nextUpdate.map { (end) throws(TestPKIError) in TestDER.constructed(0, try Self.time(end)) } ?? [],
                extensions.isEmpty
                    ? [] : TestDER.constructed(1, TestDER.element(0x30, extensions.flatMap(\.derBytes))))
        }
    }

    /// Returns a GeneralizedTime for any year (`ASN1_GENERALIZEDTIME_set`).
    private static func time(_ unixSeconds: Int64) throws(TestPKIError) -> [UInt8] {
        ERR_clear_error()
        guard let time = unsafe ASN1_GENERALIZEDTIME_set(nil, time_t(unixSeconds)) else {
            throw .openSSL("ASN1_GENERALIZEDTIME_set")
        }
        defer { unsafe ASN1_GENERALIZEDTIME_free(time) }
        let text = unsafe UnsafeRawBufferPointer(
            start: ASN1_STRING_get0_data(time), count: Int(ASN1_STRING_length(time)))
        return unsafe TestDER.element(0x18, Array(text))
    }

    /// Returns the point of a P-256 key, which is at the end of its SubjectPublicKeyInfo.
    private static func keyOctets(_ key: TestKey) throws(TestPKIError) -> [UInt8] {
        guard key.kind == .p256 else { throw TestPKIError("OCSP identifiers", "the key is not P-256") }
        return Array(try key.publicKeyDER.suffix(65))
    }

    private static func sha1(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: Int(SHA_DIGEST_LENGTH))
        unsafe SHA1(bytes, bytes.count, &digest)
        return digest
    }

    private static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
        unsafe SHA256(bytes, bytes.count, &digest)
        return digest
    }
}
