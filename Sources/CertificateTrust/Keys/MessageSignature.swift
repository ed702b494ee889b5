import OpenSSLBridge
import PinctlBasics

extension SubjectPublicKeyInfo {
    /// Whether signatures over messages can be made with the private half of this key: Ed25519 (RFC 8032), or ECDSA on
    /// P-256 with SHA-256 and a DER signature (FIPS 186-5). No other kind of key verifies anything.
    package var signsMessages: Bool { hashing != nil }

    private var hashing: MessageHashing? {
        switch keyKind {
        case .ed25519: .bySignatureScheme
        case .ellipticCurve("P-256"): .sha256
        default: nil
        }
    }

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
        try self.init(pem: contents, password: password)
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
