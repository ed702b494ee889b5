package import OpenSSLBridge
import PinctlBasics

/// A client certificate with its chain and private key, for servers that request one.
///
/// The private key can't be read out, and no description shows more than the subject and the fingerprint.
public final class ClientIdentity: Sendable {
    /// The certificate of the key, followed by its issuers as far as they were given. They are sent in this order (RFC
    /// 8446, section 4.4.2).
    public let certificates: [X509Certificate]

    /// The same identity in OpenSSL, for a handshake.
    package let handle: OpenSSLIdentity
    /// The SHA-256 of the certificates, 32 bytes, which distinguishes identities.
    package let digest: [UInt8]

    private let key: OpenSSLPrivateKey

    /// The size limit of a file or text, in bytes.
    static let sizeLimit = 1 << 20

    private init(
        certificates: [X509Certificate], key: OpenSSLPrivateKey
    ) throws(ClientIdentityError) {
        do throws(OpenSSLError) {
            let parsed = try certificates.map { certificate throws(OpenSSLError) in try Self.parse(certificate) }
            guard let leaf = parsed.first else { throw OpenSSLError(code: 0, reason: "no certificate") }
            handle = try OpenSSLIdentity(leaf: leaf, key: key, chain: Array(parsed.dropFirst()))
        } catch {
            throw .unusable(reason: error.reason)
        }
        self.certificates = certificates
        self.key = key
        let bytes = certificates.flatMap(\.derBytes)
        digest = sha256Digest(bytes.span)
    }

    private convenience init(
        unordered certificates: [X509Certificate], key: OpenSSLPrivateKey?
    ) throws(ClientIdentityError) {
        guard !certificates.isEmpty else { throw .noCertificate }
        guard let key else { throw .noPrivateKey }
        let leaf = certificates.first { (try? Self.parse($0)).map(key.matches) ?? false }
        guard let leaf else { throw .keyMatchesNoCertificate }
        try self.init(certificates: Self.chain(from: leaf, certificates), key: key)
    }

    /// Parses the certificate's own bytes, which are the ones that are sent. ``X509Certificate/openSSLCertificate()``
    /// may use different ones.
    private static func parse(_ certificate: X509Certificate) throws(OpenSSLError) -> OpenSSLCertificate {
        let der = certificate.derBytes
        return try OpenSSLCertificate(parsing: der.span)
    }

    /// Returns the leaf, its issuers in order, and the remaining certificates after them.
    private static func chain(from leaf: X509Certificate, _ certificates: [X509Certificate]) -> [X509Certificate] {
        var rest = certificates.filter { $0 != leaf }
        var chain = [leaf]
        while let last = chain.last,
            let next = rest.firstIndex(where: { $0.canonicalSubject == last.canonicalIssuer })
        {
            chain.append(rest.remove(at: next))
        }
        return chain + rest
    }

    /// Returns the same certificate and key with other certificates sent after it, in this order. If `chain` is empty,
    /// the identity keeps its own.
    package func presenting(_ chain: [X509Certificate]) throws(ClientIdentityError) -> ClientIdentity {
        guard !chain.isEmpty else { return self }
        return try ClientIdentity(
            certificates: certificates.prefix(1) + chain.filter { $0 != certificates.first }, key: key)
    }

    /// Whether a server that names these CAs, each as a DER Name, would accept the identity: one of its certificates
    /// must be issued by one of them. A server that names no CA accepts any certificate (RFC 8446, section 4.2.4).
    public func matches(issuers: [[UInt8]]) -> Bool {
        guard !issuers.isEmpty else { return true }
        let named = Set(issuers.compactMap { try? CanonicalName($0.span, 0..<$0.count) })
        return certificates.contains { named.contains($0.canonicalIssuer) }
    }
}

extension ClientIdentity: Hashable {
    /// Whether both have the same certificates, and therefore the same key.
    public static func == (left: ClientIdentity, right: ClientIdentity) -> Bool { left.digest == right.digest }

    public func hash(into hasher: inout Hasher) { hasher.combine(digest) }
}

extension ClientIdentity: CustomStringConvertible, CustomReflectable {
    /// The subject and the fingerprint of the leaf.
    public var description: String {
        certificates.first.map { "ClientIdentity(\($0.subject), \($0.fingerprint))" } ?? "ClientIdentity"
    }

    /// An empty mirror, which shows no more than ``description``.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

// MARK: Reading

extension ClientIdentity {
    /// Parses PEM with one private key, and its certificate among any others, in any order.
    ///
    /// The key is PKCS #8 (RFC 5958), PKCS #1 or SEC 1. It is unencrypted, or encrypted with `password` as PKCS #8 or
    /// in OpenSSL's old format. The text may have up to 1 MiB. Nothing is ever prompted for at a terminal.
    public convenience init(pem: [UInt8], password: [UInt8]? = nil) throws(ClientIdentityError) {
        guard pem.count <= Self.sizeLimit else { throw .tooLarge(limit: Self.sizeLimit) }
        var reading = IdentityPEM(password: password)
        try reading.read(pem)
        try self.init(unordered: reading.certificates, key: reading.key)
    }

    /// Parses PEM in two texts: the certificates, and the private key. See ``init(pem:password:)``.
    public convenience init(
        certificates: [UInt8], privateKey: [UInt8], password: [UInt8]? = nil
    ) throws(ClientIdentityError) {
        guard certificates.count <= Self.sizeLimit, privateKey.count <= Self.sizeLimit else {
            throw .tooLarge(limit: Self.sizeLimit)
        }
        var reading = IdentityPEM(password: password)
        try reading.read(certificates)
        try reading.read(privateKey)
        try self.init(unordered: reading.certificates, key: reading.key)
    }

    /// Parses PKCS #12 (RFC 7292), also called PFX: one private key, its certificate and others. The data may have up
    /// to 1 MiB. Deriving keys from the password may take at most 10,000,000 iterations.
    public convenience init(pkcs12: [UInt8], password: [UInt8]) throws(ClientIdentityError) {
        guard pkcs12.count <= Self.sizeLimit else { throw .tooLarge(limit: Self.sizeLimit) }
        let contents: PKCS12Contents
        do throws(ProtectedKeyError) {
            contents = try PKCS12Contents(pkcs12, password: password)
        } catch {
            throw ClientIdentityError(error, line: nil)
        }
        let certificates = try contents.certificates.map { der throws(ClientIdentityError) in
            do throws(DERError) { return try X509Certificate(derBytes: der) } catch {
                throw .malformed(line: nil, reason: "contains a malformed certificate: \(error)")
            }
        }
        guard contents.keys.count <= 1 else { throw .severalPrivateKeys }
        try self.init(unordered: certificates, key: contents.keys.first)
    }

    /// Reads a file of PEM or PKCS #12, or a PEM file of certificates and another with their private key.
    ///
    /// A file with a private key is rejected if others can read it, as ssh does. Only its owner may have rights to it,
    /// or also its group if this process doesn't own the file.
    public convenience init(
        contentsOfFile path: String, privateKeyFile: String? = nil, password: [UInt8]? = nil
    ) throws(ClientIdentityError) {
        var contents = try Self.contents(of: path, isSecret: privateKeyFile == nil)
        defer { wipe(&contents) }
        do throws(ClientIdentityError) {
            if let privateKeyFile {
                var key = try Self.contents(of: privateKeyFile, isSecret: true)
                defer { wipe(&key) }
                try self.init(certificates: contents, privateKey: key, password: password)
            } else if contents.starts(with: [DERTag.sequence]), contents.count > 1, contents[1] >= 0x80 {
                try self.init(pkcs12: contents, password: password ?? [])
            } else {
                try self.init(pem: contents, password: password)
            }
        } catch {
            throw error.about(privateKeyFile ?? path, hasPassword: password != nil)
        }
    }

    /// Returns the contents of a file, and throws if it is secret and others can read it.
    static func contents(of path: String, isSecret: Bool) throws(ClientIdentityError) -> [UInt8] {
        let permissions: UInt32?
        let contents: [UInt8]
        do throws(InputFileError) {
            var file = try InputFile(path: path)
            permissions = isSecret && file.isOpenToOthers ? file.permissions : nil
            contents = permissions == nil ? try file.contents(limit: sizeLimit, isSecret: isSecret) : []
        } catch {
            throw .unreadable(path: path, reason: error.description)
        }
        if let permissions { throw .readableByOthers(path: path, permissions: permissions) }
        return contents
    }
}
