extension TestCertificate {
    /// The contents of a certificate. They aren't checked, because tests need invalid certificates.
    package struct Settings: Sendable {
        package var subject: TestName
        package var alternativeNames: [GeneralName] = []
        /// The start of the validity in Unix seconds.
        package var notBefore = Self.defaultNotBefore
        /// The end of the validity in Unix seconds.
        package var notAfter = Self.defaultNotAfter
        /// The contents octets of the serial number. `[0]` is zero, and `[0xFF]` is negative.
        package var serial: [UInt8] = [0x40] + (0..<15).map { _ in UInt8.random(in: 0...0xFF) }
        /// Whether to add critical basicConstraints with cA.
        package var isAuthority = false
        package var pathLength: Int?
        package var keyUsage: KeyUsage = []
        /// The object identifiers of the purposes. See ``ExtendedKeyUsage``.
        package var extendedKeyUsages: [String] = []
        package var permittedSubtrees: [GeneralName] = []
        package var excludedSubtrees: [GeneralName] = []
        package var hasSubjectKeyIdentifier = true
        package var hasAuthorityKeyIdentifier = true
        /// Extensions that are appended after the others.
        package var extensions: [Extension] = []
        package var version = 3
        /// Whether to write extensions even in a version that doesn't have them.
        package var hasExtensionsInAnyVersion = false
        package var digest = TestDigest.sha256
        /// Whether to write notBefore as GeneralizedTime, which RFC 5280 requires only from 2050 on.
        package var startsWithGeneralizedTime = false
        /// The contents of issuerUniqueID, a BIT STRING.
        package var uniqueIdentifier: [UInt8]?
        /// A replacement for the key's own SubjectPublicKeyInfo.
        package var subjectPublicKeyInfo: [UInt8]?
        /// A replacement for the AlgorithmIdentifier inside the signed part.
        package var innerSignatureAlgorithm: [UInt8]?
        /// A replacement for the AlgorithmIdentifier in front of the signature.
        package var outerSignatureAlgorithm: [UInt8]?
        /// A replacement for the signature.
        package var signature: [UInt8]?

        package init(subject: TestName) { self.subject = subject }

        /// 2026-01-01T00:00:00Z.
        package static let defaultNotBefore: Int64 = 1_767_225_600
        /// 2036-01-01T00:00:00Z.
        package static let defaultNotAfter: Int64 = 2_082_758_400
    }

    package struct KeyUsage: OptionSet, Sendable {
        package let rawValue: UInt16
        package init(rawValue: UInt16) { self.rawValue = rawValue }

        // Bit 0 of the BIT STRING is the top bit here.
        package static let digitalSignature = KeyUsage(rawValue: 0x8000)
        package static let keyEncipherment = KeyUsage(rawValue: 0x2000)
        package static let keyAgreement = KeyUsage(rawValue: 0x0800)
        package static let keyCertSign = KeyUsage(rawValue: 0x0400)
        package static let cRLSign = KeyUsage(rawValue: 0x0200)
    }

    package enum ExtendedKeyUsage {
        package static let serverAuth = "1.3.6.1.5.5.7.3.1"
        package static let clientAuth = "1.3.6.1.5.5.7.3.2"
        package static let ocspSigning = "1.3.6.1.5.5.7.3.9"
        package static let any = "2.5.29.37.0"
    }

    package enum GeneralName: Sendable {
        case dns(String)
        /// 4 or 16 octets. In name constraints, a mask of the same length follows.
        case ip([UInt8])
        case email(String)
        case uri(String)
        case directory(TestName)
        case registeredID(String)
        /// A whole GeneralName, including its tag.
        case raw([UInt8])

        package var derBytes: [UInt8] {
            switch self {
            case .email(let text): TestDER.primitive(1, Array(text.utf8))
            case .dns(let text): TestDER.primitive(2, Array(text.utf8))
            case .directory(let name): TestDER.constructed(4, name.derBytes)
            case .uri(let text): TestDER.primitive(6, Array(text.utf8))
            case .ip(let octets): TestDER.primitive(7, octets)
            case .registeredID(let dotted):
                TestDER.primitive(8, Array(TestDER.objectIdentifier(dotted).dropFirst(2)))
            case .raw(let bytes): bytes
            }
        }
    }

    package struct Extension: Sendable {
        package var identifier: String
        package var isCritical: Bool
        /// Whether the extension says that it isn't critical, which DER omits.
        package var hasEncodedDefault = false
        /// The DER inside the OCTET STRING.
        package var value: [UInt8]

        package init(_ identifier: String, critical isCritical: Bool = false, _ value: [UInt8]) {
            self.identifier = identifier
            self.isCritical = isCritical
            self.value = value
        }

        package var derBytes: [UInt8] {
            TestDER.sequence(
                TestDER.objectIdentifier(identifier),
                isCritical || hasEncodedDefault ? TestDER.boolean(isCritical) : [],
                TestDER.octetString(value))
        }
    }
}
