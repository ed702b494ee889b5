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
    /// The private key is encrypted, and no password was given. `file` is the path, if it was read from a file.
    case passwordRequired(file: String?)
    /// The password is wrong. `file` is the path, if the private key was read from a file.
    case wrongPassword(file: String?)
    /// Deriving a key from the password takes more iterations than `limit`. None was made.
    case tooManyIterations(UInt64, limit: UInt64)
    /// The data has more than `limit` bytes.
    case tooLarge(limit: Int)
    /// OpenSSL can't read or use the key or a certificate. The reason is OpenSSL's.
    case unusable(reason: String)
}

extension ClientIdentityError {
    /// Returns the error with the path of the file, if it is about its password. PKCS #12 is tried with the empty
    /// password if none was given, which then isn't wrong, but missing.
    func about(_ path: String, hasPassword: Bool) -> ClientIdentityError {
        switch self {
        case .passwordRequired: .passwordRequired(file: path)
        case .wrongPassword: hasPassword ? .wrongPassword(file: path) : .passwordRequired(file: path)
        default: self
        }
    }
}

extension ClientIdentityError: CustomStringConvertible {
    public var description: String { (file.map { "\(visibleText($0)): " } ?? "") + reason }

    /// The path of the file that the error is about, if it names one.
    package var file: String? {
        switch self {
        case .unreadable(let path, _), .readableByOthers(let path, _): path
        case .passwordRequired(let file), .wrongPassword(let file): file
        default: nil
        }
    }

    /// The reason without the file's path.
    package var reason: String {
        switch self {
        case .unreadable(_, let reason): reason
        case .readableByOthers(_, let permissions):
            "contains a private key, but its permissions 0\(String(permissions, radix: 8)) "
                + "let other users read it: run chmod 600"
        case .malformed(let line?, let reason): "the block in line \(line) \(reason)"
        case .malformed(nil, let reason): "the identity \(reason)"
        case .noCertificate: "the identity has no certificate: add the certificate for the private key"
        case .noPrivateKey: "the identity has no private key: add the private key for the certificate"
        case .severalPrivateKeys: "the identity has several private keys: keep only one"
        case .keyMatchesNoCertificate:
            "the private key does not match any of the certificates: add the certificate that was issued for it"
        case .passwordRequired: "the private key is encrypted, and no password was given: provide its password"
        case .wrongPassword:
            "the password doesn't open the private key: provide the one that it was encrypted with, without a line "
                + "break or blank that isn't part of it"
        case .tooManyIterations(let count, let limit):
            "the private key is encrypted with \(count) iterations, more than the limit of \(limit): "
                + "encrypt it again with fewer"
        case .tooLarge(let limit):
            "the identity is larger than \(limit) bytes: keep only the private key, its certificate and the "
                + "intermediates"
        case .unusable(let reason):
            "OpenSSL cannot use the private key or a certificate (\(reason)): "
                + "export them again, with AES if there is a password"
        }
    }
}
