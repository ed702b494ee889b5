/// A certificate with its private key. Any certificate can issue others, whether or not it is allowed to.
///
///     let root = try TestCertificate.root("Test Root")
///     let intermediate = try root.intermediate("Test Intermediate")
///     let leaf = try intermediate.leaf("api.example.test")
package struct TestCertificate: Sendable {
    package let derBytes: [UInt8]
    package let key: TestKey
    package let settings: Settings

    package var subject: TestName { settings.subject }
    package var pemText: String { TestPEM.block("CERTIFICATE", derBytes) }

    /// Returns a self-signed CA certificate.
    package static func root(
        _ commonName: String, key: TestKey? = nil, adjusting adjust: (inout Settings) -> Void = { _ in }
    ) throws(TestPKIError) -> TestCertificate {
        var settings = Settings.authority(commonName)
        settings.hasAuthorityKeyIdentifier = false
        adjust(&settings)
        return try selfSigned(settings, key: key)
    }

    /// Returns a self-signed certificate of any kind.
    package static func selfSigned(_ settings: Settings, key: TestKey? = nil) throws(TestPKIError) -> TestCertificate {
        let key = if let key { key } else { try TestKey() }
        return try TestCertificate(settings, key: key, issuer: settings.subject, issuerKey: key)
    }

    /// Returns a CA certificate issued by this one.
    package func intermediate(
        _ commonName: String, key: TestKey? = nil, adjusting adjust: (inout Settings) -> Void = { _ in }
    ) throws(TestPKIError) -> TestCertificate {
        var settings = Settings.authority(commonName)
        adjust(&settings)
        return try issue(settings, key: key)
    }

    /// Returns a server certificate for `dnsNames`, the first of which is also its common name.
    package func leaf(
        _ dnsNames: String..., key: TestKey? = nil, adjusting adjust: (inout Settings) -> Void = { _ in }
    ) throws(TestPKIError) -> TestCertificate {
        var settings = Settings.server(dnsNames)
        adjust(&settings)
        return try issue(settings, key: key)
    }

    /// Returns a certificate with the same subject and key, issued by this one: `newRoot.crossSign(oldRoot)`.
    package func crossSign(
        _ other: TestCertificate, adjusting adjust: (inout Settings) -> Void = { _ in }
    ) throws(TestPKIError) -> TestCertificate {
        var settings = other.settings
        settings.hasAuthorityKeyIdentifier = true
        adjust(&settings)
        return try issue(settings, key: other.key)
    }

    /// Returns a certificate of any kind issued by this one. By default, it has a fresh P-256 key.
    package func issue(_ settings: Settings, key: TestKey? = nil) throws(TestPKIError) -> TestCertificate {
        let key = if let key { key } else { try TestKey() }
        return try TestCertificate(settings, key: key, issuer: subject, issuerKey: self.key)
    }

    private init(
        _ settings: Settings, key: TestKey, issuer: TestName, issuerKey: TestKey
    ) throws(TestPKIError) {
        let extensions = try settings.allExtensions(key: key, issuerKey: issuerKey)
        var start = try TestDER.time(settings.notBefore)
        // A UTCTime of this century, with the century in front.
        if settings.startsWithGeneralizedTime { start = TestDER.element(0x18, Array("20".utf8) + start.dropFirst(2)) }
        let validity = TestDER.sequence(start, try TestDER.time(settings.notAfter))
        let uniqueIdentifier = settings.uniqueIdentifier.map { TestDER.primitive(1, $0) } ?? []
        let publicKey = if let raw = settings.subjectPublicKeyInfo { raw } else { try key.publicKeyDER }
        derBytes = try issuerKey.signed(
            settings.digest, algorithm: settings.outerSignatureAlgorithm, signature: settings.signature
        ) { algorithm in
            TestDER.sequence(
                settings.version == 1 ? [] : TestDER.constructed(0, TestDER.integer(settings.version - 1)),
                TestDER.integer(octets: settings.serial),
                settings.innerSignatureAlgorithm ?? algorithm,
                issuer.derBytes,
                validity,
                settings.subject.derBytes,
                publicKey,
                uniqueIdentifier,
                settings.version < 3 && !settings.hasExtensionsInAnyVersion || extensions.isEmpty
                    ? [] : TestDER.constructed(3, TestDER.element(0x30, extensions.flatMap(\.derBytes))))
        }
        self.key = key
        self.settings = settings
    }

    init(derBytes: [UInt8], key: TestKey, settings: Settings) {
        self.derBytes = derBytes
        self.key = key
        self.settings = settings
    }
}

extension TestCertificate.Settings {
    /// Returns the settings of a CA: cA, keyCertSign and cRLSign.
    package static func authority(_ commonName: String) -> Self {
        var settings = Self(subject: TestName(.commonName(commonName)))
        settings.isAuthority = true
        settings.keyUsage = [.keyCertSign, .cRLSign]
        return settings
    }

    /// Returns the settings of a server: digitalSignature, serverAuth, and the names as dNSNames.
    package static func server(_ dnsNames: [String]) -> Self {
        var settings = Self(subject: TestName(attributes: dnsNames.prefix(1).map { .commonName($0) }))
        settings.alternativeNames = dnsNames.map { .dns($0) }
        settings.keyUsage = .digitalSignature
        settings.extendedKeyUsages = [TestCertificate.ExtendedKeyUsage.serverAuth]
        return settings
    }

    /// Returns the settings of a client: digitalSignature and clientAuth.
    package static func client(_ commonName: String) -> Self {
        var settings = Self(subject: TestName(.commonName(commonName)))
        settings.keyUsage = .digitalSignature
        settings.extendedKeyUsages = [TestCertificate.ExtendedKeyUsage.clientAuth]
        return settings
    }
}
