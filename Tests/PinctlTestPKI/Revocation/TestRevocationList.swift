/// A certificate revocation list with any contents. They aren't checked, because tests need invalid lists.
package struct TestRevocationList: Sendable {
    package struct Entry: Sendable {
        package var serial: [UInt8]
        /// The time of the revocation in Unix seconds.
        package var date: Int64 = 1_790_000_000
        /// The CRLReason. There is none by default.
        package var reason: UInt8?
        package var extensions: [TestCertificate.Extension] = []

        package init(_ serial: [UInt8], reason: UInt8? = nil, extensions: [TestCertificate.Extension] = []) {
            self.serial = serial
            self.reason = reason
            self.extensions = extensions
        }

        package init(_ certificate: TestCertificate, reason: UInt8? = nil) {
            self.init(certificate.settings.serial, reason: reason)
        }

        /// Returns the entry for a certificate of this issuer. The issuer also applies to the entries after it.
        package func issued(by issuer: TestName) -> Entry {
            var entry = self
            let name = TestCertificate.GeneralName.directory(issuer)
            entry.extensions.append(.init("2.5.29.29", critical: true, TestDER.sequence(name.derBytes)))
            return entry
        }
    }

    package var issuer: TestName
    /// The time of the update in Unix seconds.
    package var thisUpdate: Int64 = 1_799_000_000
    package var nextUpdate: Int64? = 1_801_000_000
    package var entries: [Entry] = []
    package var number: Int? = 1
    /// The number of the list that this delta list updates.
    package var baseNumber: Int?
    /// The contents of issuingDistributionPoint. See ``scope(name:flags:reasons:)``.
    package var scope: [UInt8]?
    package var extensions: [TestCertificate.Extension] = []
    package var digest = TestDigest.sha256
    package var authorityKeyIdentifier: [UInt8]?
    /// A replacement for the AlgorithmIdentifier in both positions.
    package var signatureAlgorithm: [UInt8]?
    /// A replacement for the signature.
    package var signature: [UInt8]?

    package init(issuer: TestName) { self.issuer = issuer }

    /// Returns the contents of issuingDistributionPoint: a fullName, flags by their number (1 user, 2 authority, 4
    /// indirect, 5 attribute certificates), and the reasons.
    package static func scope(name: String? = nil, flags: [UInt8] = [], reasons: [UInt8]? = nil) -> [UInt8] {
        let uri = name.map { TestDER.constructed(0, TestDER.constructed(0, Self.uri($0))) } ?? []
        func flag(_ number: UInt8) -> [UInt8] { flags.contains(number) ? TestDER.primitive(number, [0xFF]) : [] }
        let some = reasons.map { TestDER.primitive(3, Self.reasonFlags($0)) } ?? []
        return uri + flag(1) + flag(2) + some + flag(4) + flag(5)
    }

    private static func uri(_ text: String) -> [UInt8] { TestCertificate.GeneralName.uri(text).derBytes }

    /// Returns the contents of ReasonFlags with these bits.
    fileprivate static func reasonFlags(_ bits: [UInt8]) -> [UInt8] {
        var octets: [UInt8] = [0, 0]
        for bit in bits { octets[Int(bit) / 8] |= 0x80 >> (bit % 8) }
        return [7] + octets
    }

    /// Returns the list in DER, signed by any key.
    package func signed(by key: TestKey) throws(TestPKIError) -> [UInt8] {
        let times = try TestDER.time(thisUpdate) + (try nextUpdate.map(TestDER.time) ?? [])
        var revoked: [UInt8] = []
        for entry in entries { revoked += try entry.derBytes }
        let all = extensionList
        return try key.signed(digest, algorithm: signatureAlgorithm, signature: signature) { algorithm in
            TestDER.sequence(
                TestDER.integer(1), signatureAlgorithm ?? algorithm, issuer.derBytes, times,
                revoked.isEmpty ? [] : TestDER.element(0x30, revoked),
                all.isEmpty ? [] : TestDER.constructed(0, TestDER.element(0x30, all.flatMap(\.derBytes))))
        }
    }

    private var extensionList: [TestCertificate.Extension] {
        var all: [TestCertificate.Extension] = []
        if let authorityKeyIdentifier { all.append(.authorityKeyIdentifier(authorityKeyIdentifier)) }
        if let number { all.append(.init("2.5.29.20", TestDER.integer(number))) }
        if let baseNumber { all.append(.init("2.5.29.27", critical: true, TestDER.integer(baseNumber))) }
        if let scope { all.append(.init("2.5.29.28", critical: true, TestDER.element(0x30, scope))) }
        return all + extensions
    }
}

extension TestRevocationList.Entry {
    fileprivate var derBytes: [UInt8] {
        get throws(TestPKIError) {
            var all = extensions
            if let reason { all.insert(.init("2.5.29.21", TestDER.element(0x0A, [reason])), at: 0) }
            return TestDER.sequence(
                TestDER.integer(octets: serial), try TestDER.time(date),
                all.isEmpty ? [] : TestDER.element(0x30, all.flatMap(\.derBytes)))
        }
    }
}

extension TestCertificate {
    /// Returns a list with this certificate's name, signed by its key.
    package func revocationList(
        _ entries: TestRevocationList.Entry..., adjusting adjust: (inout TestRevocationList) -> Void = { _ in }
    ) throws(TestPKIError) -> [UInt8] {
        var list = TestRevocationList(issuer: subject)
        list.entries = entries
        adjust(&list)
        return try list.signed(by: key)
    }
}

extension TestCertificate.Extension {
    /// Returns a distribution point with a URI, the reasons that its list covers, and the list's signer.
    package static func distributionPoint(
        _ uri: String? = nil, reasons: [UInt8]? = nil, listIssuer: TestName? = nil
    ) -> Self {
        let name = uri.map {
            TestDER.constructed(0, TestDER.constructed(0, TestCertificate.GeneralName.uri($0).derBytes))
        }
        let some = reasons.map { TestDER.primitive(1, TestRevocationList.reasonFlags($0)) }
        let issuer = listIssuer.map {
            TestDER.constructed(2, TestCertificate.GeneralName.directory($0).derBytes)
        }
        return Self(
            "2.5.29.31", TestDER.sequence(TestDER.sequence((name ?? []) + (some ?? []) + (issuer ?? []))))
    }

    /// The TLS feature status_request (RFC 7633).
    package static let mustStaple = Self("1.3.6.1.5.5.7.1.24", TestDER.sequence(TestDER.integer(5)))
    /// id-pkix-ocsp-nocheck.
    package static let ocspNoCheck = Self("1.3.6.1.5.5.7.48.1.5", [0x05, 0x00])
}
