import OpenSSLBridge
import PinctlBasics

extension SubjectPublicKeyInfo {
    /// Whether signatures over messages can be made with the private half of this key: Ed25519 (RFC 8032), or ECDSA on
    /// P-256 with SHA-256 and a DER signature (FIPS 186-5). No other kind of key verifies anything.
    ///
    /// Only one encoding of a key does, since ``Fields`` and ``PublicKeyKind`` accept no other. Otherwise one person
    /// could be two of the signers that are required.
    package var signsMessages: Bool { hashing != nil }

    private var hashing: MessageHashing? {
        guard let fields = try? Fields(derBytes.span) else { return nil }
        // After the number of unused bits, which is 0.
        let octets = Array(derBytes[fields.key].dropFirst())
        switch keyKind {
        // mutant key-set-low-order: true for `!Self.isOfLowOrder(octets)` by PolicyBundleTests
        case .ed25519 where octets.count == 32 && !Self.isOfLowOrder(octets): return .bySignatureScheme
        // mutant key-set-point: true by PolicyBundleTests
        case .ellipticCurve("P-256") where octets.count == 65: return .sha256
        default: return nil
        }
    }

    /// Whether an Ed25519 key is a point of order 1, 2, 4 or 8, for which anyone can make signatures (RFC 8032,
    /// section 5.1). Its y is 0, 1, -1 or one of two more, and OpenSSL also reads those of p and p + 1.
    private static func isOfLowOrder(_ key: [UInt8]) -> Bool {
        let y = key.dropLast() + [key[31] & 0x7F]
        let small = y.dropFirst().allSatisfy { $0 == 0 } && y[0] <= 1
        let nearPrime = y[31] == 0x7F && y[1..<31].allSatisfy { $0 == 0xFF } && (0xEC...0xEE).contains(y[0])
        return small || nearPrime || yOfOrderEight.contains(Array(y))
    }

    /// The y of the points of order 8, little-endian.
    private static let yOfOrderEight: [[UInt8]] = [
        [
            0x26, 0xE8, 0x95, 0x8F, 0xC2, 0xB2, 0x27, 0xB0, 0x45, 0xC3, 0xF4, 0x89, 0xF2, 0xEF, 0x98, 0xF0,
            0xD5, 0xDF, 0xAC, 0x05, 0xD3, 0xC6, 0x33, 0x39, 0xB1, 0x38, 0x02, 0x88, 0x6D, 0x53, 0xFC, 0x05,
        ],
        [
            0xC7, 0x17, 0x6A, 0x70, 0x3D, 0x4D, 0xD8, 0x4F, 0xBA, 0x3C, 0x0B, 0x76, 0x0D, 0x10, 0x67, 0x0F,
            0x2A, 0x20, 0x53, 0xFA, 0x2C, 0x39, 0xCC, 0xC6, 0x4E, 0xC7, 0xFD, 0x77, 0x92, 0xAC, 0x03, 0x7A,
        ],
    ]

    /// Returns whether `signature` over `message` was made with the private half of this key.
    package func verifies(_ signature: [UInt8], over message: [UInt8]) -> Bool {
        guard let hashing else { return false }
        return verifySignature(of: message.span, signature.span, by: derBytes.span, hashing)
    }
}

/// A private key that signs messages: Ed25519 or ECDSA on P-256.
package final class MessageSigningKey: Sendable {
    /// The public half.
    package let publicKey: SubjectPublicKeyInfo
    private let key: OpenSSLPrivateKey
    private let hashing: MessageHashing

    /// Parses the private key of a PEM text, as ``ClientIdentity/init(pem:password:)`` does. Certificates in it are
    /// ignored.
    package init(pem: [UInt8], password: [UInt8]?) throws(ClientIdentityError) {
        guard pem.count <= ClientIdentity.sizeLimit else { throw .tooLarge(limit: ClientIdentity.sizeLimit) }
        var reading = IdentityPEM(password: password)
        try reading.read(pem)
        guard let key = reading.key else { throw .noPrivateKey }
        do throws(OpenSSLError) {
            publicKey = SubjectPublicKeyInfo(checked: try key.subjectPublicKeyInfo())
        } catch {
            throw .unusable(reason: error.reason)
        }
        switch publicKey.keyKind {
        case .ed25519: hashing = .bySignatureScheme
        case .ellipticCurve("P-256"): hashing = .sha256
        case let kind: throw .unusable(reason: "\(kind) can't sign policies: use Ed25519 or EC P-256")
        }
        self.key = key
    }

    /// Reads the private key of a PEM file. A file that other users can read is rejected.
    package convenience init(contentsOfFile path: String, password: [UInt8]?) throws(ClientIdentityError) {
        var contents = try ClientIdentity.contents(of: path, isSecret: true)
        defer { wipe(&contents) }
        do throws(ClientIdentityError) {
            try self.init(pem: contents, password: password)
        } catch {
            throw error.about(path, hasPassword: password != nil)
        }
    }

    /// Returns a signature over a message that ``publicKey`` verifies.
    package func sign(_ message: [UInt8]) throws(ClientIdentityError) -> [UInt8] {
        do throws(OpenSSLError) {
            return try key.sign(message.span, hashing)
        } catch {
            throw .unusable(reason: error.reason)
        }
    }
}
