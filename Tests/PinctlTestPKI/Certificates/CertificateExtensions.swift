extension TestCertificate.Extension {
    /// Returns basicConstraints. Without cA, it is the empty sequence.
    package static func basicConstraints(
        isAuthority: Bool, pathLength: Int? = nil, critical: Bool = true
    ) -> Self {
        Self(
            "2.5.29.19", critical: critical,
            TestDER.sequence(
                isAuthority ? TestDER.boolean(true) : [],
                pathLength.map { TestDER.integer($0) } ?? []))
    }

    package static func keyUsage(_ usage: TestCertificate.KeyUsage, critical: Bool = true) -> Self {
        var octets = [UInt8(usage.rawValue >> 8), UInt8(usage.rawValue & 0xFF)]
        while octets.last == 0 { octets.removeLast() }
        let unusedBits = UInt8(octets.last?.trailingZeroBitCount ?? 0)
        return Self("2.5.29.15", critical: critical, TestDER.bitString(octets, unusedBits: unusedBits))
    }

    package static func extendedKeyUsage(_ usages: [String], critical: Bool = false) -> Self {
        Self(
            "2.5.29.37", critical: critical,
            TestDER.element(0x30, usages.flatMap { TestDER.objectIdentifier($0) }))
    }

    package static func alternativeNames(
        _ names: [TestCertificate.GeneralName], critical: Bool = false
    ) -> Self {
        Self("2.5.29.17", critical: critical, TestDER.element(0x30, names.flatMap(\.derBytes)))
    }

    package static func nameConstraints(
        permitted: [TestCertificate.GeneralName] = [], excluded: [TestCertificate.GeneralName] = [],
        critical: Bool = true
    ) -> Self {
        func subtrees(_ number: UInt8, _ names: [TestCertificate.GeneralName]) -> [UInt8] {
            names.isEmpty ? [] : TestDER.constructed(number, names.flatMap { TestDER.sequence($0.derBytes) })
        }
        return Self(
            "2.5.29.30", critical: critical, TestDER.sequence(subtrees(0, permitted), subtrees(1, excluded)))
    }

    package static func certificatePolicies(_ policies: [String], critical: Bool = false) -> Self {
        Self(
            "2.5.29.32", critical: critical,
            TestDER.element(0x30, policies.flatMap { TestDER.sequence(TestDER.objectIdentifier($0)) }))
    }

    /// Returns policyMappings from pairs of an issuer's policy and a subject's policy.
    package static func policyMappings(_ pairs: [(String, String)], critical: Bool = true) -> Self {
        Self(
            "2.5.29.33", critical: critical,
            TestDER.element(
                0x30,
                pairs.flatMap {
                    TestDER.sequence(TestDER.objectIdentifier($0.0), TestDER.objectIdentifier($0.1))
                }))
    }

    /// Returns cRLDistributionPoints with names relative to the certificate's issuer.
    package static func distributionPoints(relativeNames names: [TestName.Attribute]) -> Self {
        Self(
            "2.5.29.31",
            TestDER.element(
                0x30,
                names.flatMap { name in
                    TestDER.sequence(TestDER.constructed(0, TestDER.constructed(1, name.derBytes)))
                }))
    }

    package static func policyConstraints(requireExplicit: Int, critical: Bool = true) -> Self {
        let skip = TestDER.integer(requireExplicit).dropFirst(2)
        return Self("2.5.29.36", critical: critical, TestDER.sequence(TestDER.primitive(0, Array(skip))))
    }

    package static func subjectKeyIdentifier(_ identifier: [UInt8]) -> Self {
        Self("2.5.29.14", TestDER.octetString(identifier))
    }

    package static func authorityKeyIdentifier(_ identifier: [UInt8]) -> Self {
        Self("2.5.29.35", TestDER.sequence(TestDER.primitive(0, identifier)))
    }

    /// Returns an authorityKeyIdentifier with authorityCertIssuer and authorityCertSerialNumber, without a key
    /// identifier.
    package static func authorityCertificate(issuer: TestName, serial: [UInt8]) -> Self {
        let name = TestCertificate.GeneralName.directory(issuer)
        return Self(
            "2.5.29.35",
            TestDER.sequence(TestDER.constructed(1, name.derBytes), TestDER.primitive(2, serial)))
    }
}

extension TestKey {
    /// The first 20 octets of the SubjectPublicKeyInfo's SHA-256 (RFC 7093, section 2, method 4).
    package var keyIdentifier: [UInt8] {
        get throws(TestPKIError) { Array(try publicKeyDigest.prefix(20)) }
    }
}

extension TestCertificate.Settings {
    /// Returns all extensions in the order in which they are written.
    func allExtensions(key: TestKey, issuerKey: TestKey) throws(TestPKIError) -> [TestCertificate.Extension] {
        var all: [TestCertificate.Extension] = []
        if isAuthority || pathLength != nil {
            all.append(.basicConstraints(isAuthority: isAuthority, pathLength: pathLength))
        }
        if !keyUsage.isEmpty { all.append(.keyUsage(keyUsage)) }
        if !extendedKeyUsages.isEmpty { all.append(.extendedKeyUsage(extendedKeyUsages)) }
        if !alternativeNames.isEmpty { all.append(.alternativeNames(alternativeNames)) }
        if !permittedSubtrees.isEmpty || !excludedSubtrees.isEmpty {
            all.append(.nameConstraints(permitted: permittedSubtrees, excluded: excludedSubtrees))
        }
        if hasSubjectKeyIdentifier { all.append(.subjectKeyIdentifier(try key.keyIdentifier)) }
        if hasAuthorityKeyIdentifier { all.append(.authorityKeyIdentifier(try issuerKey.keyIdentifier)) }
        return all + extensions
    }
}
