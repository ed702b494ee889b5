/// A short object identifier as one number, with its length octet before its contents. A `switch` can distinguish these
/// without strings. Identifiers longer than 15 bytes are all equal and match none of the constants.
struct ObjectIdentifierNumber: Equatable {
    private let value: UInt128

    init(_ bytes: Span<UInt8>, _ identifier: Range<Int>) {
        guard identifier.count <= 15 else {
            value = 0
            return
        }
        var value = UInt128(identifier.count)
        for index in identifier { value = value << 8 | UInt128(bytes[index]) }
        self.value = value
    }

    init(_ value: UInt128) { self.value = value }
}

extension ObjectIdentifierNumber {
    // Key algorithms (RFC 3279, RFC 4055, RFC 5480, RFC 8410).
    static let rsaEncryption = Self(0x09_2A86_4886_F70D_0101_01)
    static let rsaPSS = Self(0x09_2A86_4886_F70D_0101_0A)
    static let ecPublicKey = Self(0x07_2A86_48CE_3D02_01)
    static let ed25519 = Self(0x03_2B65_70)
    static let ed448 = Self(0x03_2B65_71)
    static let dsa = Self(0x07_2A86_48CE_3804_01)

    /// The arc of NIST's signature algorithms, `2.16.840.1.101.3.4.3`.
    static let signatureAlgorithms = Self(0x08_6086_4801_6503_0403)

    // Curves (RFC 5480, SEC 2, RFC 5639).
    static let p192 = Self(0x08_2A86_48CE_3D03_0101)
    static let p224 = Self(0x05_2B81_0400_21)
    static let p256 = Self(0x08_2A86_48CE_3D03_0107)
    static let p384 = Self(0x05_2B81_0400_22)
    static let p521 = Self(0x05_2B81_0400_23)
    static let secp256k1 = Self(0x05_2B81_0400_0A)
    static let brainpoolP256 = Self(0x09_2B24_0303_0208_0101_07)
    static let brainpoolP384 = Self(0x09_2B24_0303_0208_0101_0B)
    static let brainpoolP512 = Self(0x09_2B24_0303_0208_0101_0D)

    // Purposes in extendedKeyUsage (RFC 5280, section 4.2.1.12).
    static let anyExtendedKeyUsage = Self(0x04_551D_2500)
    static let serverAuth = Self(0x08_2B06_0105_0507_0301)
    static let clientAuth = Self(0x08_2B06_0105_0507_0302)
    static let ocspSigning = Self(0x08_2B06_0105_0507_0309)

    // Policy qualifiers (RFC 5280, section 4.2.1.4).
    static let practiceStatement = Self(0x08_2B06_0105_0507_0201)
    static let userNotice = Self(0x08_2B06_0105_0507_0202)

    // Name attributes (RFC 5280, section 4.1.2.4, and appendix A.1).
    static let commonName = Self(0x03_5504_03)
    static let organization = Self(0x03_5504_0A)
    static let emailAddress = Self(0x09_2A86_4886_F70D_0109_01)

    /// The extension authorityInfoAccess (RFC 5280, section 4.2.2.1).
    static let authorityInformationAccess = Self(0x08_2B06_0105_0507_0101)
}
