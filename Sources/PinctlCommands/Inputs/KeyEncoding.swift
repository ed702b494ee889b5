/// An encoder of public key numbers as DER SubjectPublicKeyInfo (RFC 3279, RFC 5480, RFC 8410).
enum KeyEncoding {
    enum Curve: String {
        case p256 = "nistp256"
        case p384 = "nistp384"
        case p521 = "nistp521"

        /// The size of a coordinate in bytes.
        var size: Int {
            switch self {
            case .p256: 32
            case .p384: 48
            case .p521: 66
            }
        }

        fileprivate var identifier: [UInt8] {
            switch self {
            case .p256: [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]
            case .p384: [0x2B, 0x81, 0x04, 0x00, 0x22]
            case .p521: [0x2B, 0x81, 0x04, 0x00, 0x23]
            }
        }
    }

    enum Edwards {
        case ed25519
        case ed448
    }

    /// Encodes an RSA key from big-endian numbers, ignoring leading zeros. Returns `nil` if a number is zero.
    static func rsa(modulus: [UInt8], exponent: [UInt8]) -> [UInt8]? {
        guard let modulus = integer(modulus), let exponent = integer(exponent) else { return nil }
        let algorithm = element(
            0x30, element(0x06, [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01]) + element(0x05, []))
        return info(algorithm, element(0x30, modulus + exponent))
    }

    /// Encodes an uncompressed point (SEC 1, section 2.3.3). Returns `nil` if its length is wrong.
    static func elliptic(_ curve: Curve, point: [UInt8]) -> [UInt8]? {
        guard point.count == 1 + 2 * curve.size, point.first == 4 else { return nil }
        let algorithm = element(
            0x30, element(0x06, [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]) + element(0x06, curve.identifier))
        return info(algorithm, point)
    }

    /// Encodes an Edwards curve key. Returns `nil` if its length is wrong.
    static func edwards(_ curve: Edwards, _ key: [UInt8]) -> [UInt8]? {
        let (last, size): (UInt8, Int) = curve == .ed25519 ? (0x70, 32) : (0x71, 57)
        guard key.count == size else { return nil }
        return info(element(0x30, element(0x06, [0x2B, 0x65, last])), key)
    }

    private static func info(_ algorithm: [UInt8], _ key: [UInt8]) -> [UInt8] {
        element(0x30, algorithm + element(0x03, [0] + key))
    }

    private static func integer(_ bytes: [UInt8]) -> [UInt8]? {
        let digits = bytes.drop { $0 == 0 }
        guard let first = digits.first else { return nil }
        return element(0x02, (first >= 0x80 ? [0] : []) + digits)
    }

    private static func element(_ tag: UInt8, _ contents: [UInt8]) -> [UInt8] {
        guard contents.count >= 0x80 else { return [tag, UInt8(contents.count)] + contents }
        var length: [UInt8] = []
        var rest = contents.count
        while rest > 0 {
            length.insert(UInt8(rest & 0xFF), at: 0)
            rest >>= 8
        }
        return [tag, 0x80 | UInt8(length.count)] + length + contents
    }
}
