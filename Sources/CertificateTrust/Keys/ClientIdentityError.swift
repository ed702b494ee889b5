import PinctlBasics

/// The reason why there is no identity to answer a server's request for a client certificate.
@nonexhaustive
public enum ClientIdentityError: Error, Hashable, Sendable {
    /// A file can't be opened or read.
    case unreadable(path: String, reason: String)
    /// Users other than its owner may read the file with the private key. `permissions` are the mode's last nine bits.
    case readableByOthers(path: String, permissions: UInt32)
    /// The data is neither PEM nor PKCS #12, or is malformed. In PEM, `line` is the first line of the malformed block.
    case malformed(line: Int?, reason: String)
    /// There is no certificate.
    case noCertificate
    /// There is no private key.
    case noPrivateKey
    /// There is more than one private key.
    case severalPrivateKeys
    /// The private key doesn't match any of the certificates.
    case keyMatchesNoCertificate
    /// The private key is encrypted, and no password was given.
    case passwordRequired
    /// The password is wrong.
    case wrongPassword
    /// Deriving a key from the password takes more iterations than `limit`. None was made.
    case tooManyIterations(UInt64, limit: UInt64)
    /// The data has more than `limit` bytes.
    case tooLarge(limit: Int)
    /// OpenSSL can't read or use the key or a certificate. The reason is OpenSSL's.
    case unusable(reason: String)
}

extension ClientIdentityError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unreadable(let path, let reason): "\(visibleText(path)): \(reason)"
        case .readableByOthers(let path, let permissions):
            "\(visibleText(path)): contains a private key, but its permissions 0\(String(permissions, radix: 8)) "
                + "let other users read it: run chmod 600"
        case .malformed(let line?, let reason): "the block in line \(line) \(reason)"
        case .malformed(nil, let reason): "the identity \(reason)"
        case .noCertificate: "the identity has no certificate: add the certificate for the private key"
        case .noPrivateKey: "the identity has no private key: add the private key for the certificate"
        case .severalPrivateKeys: "the identity has several private keys: keep only one"
        case .keyMatchesNoCertificate:
            "the private key does not match any of the certificates: add the certificate that was issued for it"
        case .passwordRequired: "the private key is encrypted: provide its password"
        case .wrongPassword: "wrong password for the private key: check it"
        case .tooManyIterations(let count, let limit):
            "the private key is encrypted with \(count) iterations, more than the limit of \(limit): "
                + "encrypt it again with fewer"
        case .tooLarge(let limit): "the identity is larger than \(limit) bytes: remove unneeded certificates"
        case .unusable(let reason):
            "OpenSSL cannot use the private key or a certificate (\(reason)): "
                + "create them again, and use AES if there is a password"
        }
    }
}
