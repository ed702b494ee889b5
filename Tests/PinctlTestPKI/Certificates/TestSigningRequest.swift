/// A certificate signing request (PKCS#10, RFC 2986).
package struct TestSigningRequest: Sendable {
    package let derBytes: [UInt8]

    package var pemText: String { TestPEM.block("CERTIFICATE REQUEST", derBytes) }

    /// Creates a request with `extensions` in the extensionRequest attribute, if there are any. `subjectPublicKeyInfo`
    /// replaces the key's own.
    package init(
        _ subject: TestName, key: TestKey, extensions: [TestCertificate.Extension] = [],
        digest: TestDigest = .sha256, subjectPublicKeyInfo: [UInt8]? = nil
    ) throws(TestPKIError) {
        let publicKey = if let raw = subjectPublicKeyInfo { raw } else { try key.publicKeyDER }
        let requested = TestDER.sequence(
            TestDER.objectIdentifier("1.2.840.113549.1.9.14"),
            TestDER.set(TestDER.element(0x30, extensions.flatMap(\.derBytes))))
        derBytes = try key.signed(digest) { _ in
            TestDER.sequence(
                TestDER.integer(0), subject.derBytes, publicKey,
                TestDER.constructed(0, extensions.isEmpty ? [] : requested))
        }
    }
}
