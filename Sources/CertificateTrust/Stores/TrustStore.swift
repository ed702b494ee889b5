import PinctlBasics

/// A set of trust anchors: certificates at which a path may end, found by subject. A store never changes after it is
/// created.
///
/// Opening a store reads its files and indexes them by subject. An anchor is parsed when a path first needs it.
public final class TrustStore: Sendable {
    private let sources: [any AnchorSource]
    private let cachedDigest = Locked<[UInt8]?>(nil)
    let verifiedSignatures = VerifiedSignatures()

    private init(sources: [any AnchorSource]) { self.sources = sources }

    /// Uses certificates as anchors, whatever they are: roots, intermediates, or a server's own.
    public convenience init(certificates: [X509Certificate]) {
        self.init(sources: [AnchorIndex(certificates: certificates)])
    }

    /// Reads every certificate of PEM or DER files. Throws if any file can't be read or has a malformed block, because
    /// a store that the user names must be complete.
    public convenience init(files: [String]) throws(TrustStoreError) {
        guard !files.isEmpty else { throw .empty(tried: []) }
        var sources: [any AnchorSource] = []
        for file in files { sources.append(try AnchorIndex(file: file)) }
        self.init(sources: sources)
    }

    /// Reads every certificate of a file's contents by the same rules. `file` is its name in errors.
    package convenience init(bytes: [UInt8], file: String) throws(TrustStoreError) {
        do throws(CertificateFileError) {
            self.init(certificates: try CertificateFile.read(bytes, name: file, trustSettings: .refused))
        } catch {
            throw .file(error)
        }
    }

    /// Reads every certificate of a PEM text by the same rules.
    public convenience init(pem text: String) throws(TrustStoreError) {
        try self.init(bytes: Array(text.utf8), file: "PEM text")
    }

    /// Uses the certificates in the files of a directory, without its subdirectories.
    ///
    /// If the files are named by subject hash (`openssl rehash`), each is read when its subject is requested. Any other
    /// directory is read as a whole on first use. Files without a certificate and malformed files are skipped.
    /// Directories are often maintained by several tools, and a missing root only reduces what is trusted.
    public convenience init(directory: String) throws(TrustStoreError) {
        self.init(sources: [try AnchorDirectory(path: directory)])
    }

    /// Combines the anchors of several stores.
    public convenience init(combining stores: [TrustStore]) {
        self.init(sources: stores.flatMap(\.sources))
    }

    /// Returns the operating system's trust store.
    ///
    /// If `SSL_CERT_FILE` (one file) or `SSL_CERT_DIR` (directories separated by colons) is set, only those are read.
    /// Otherwise the first readable bundle of the usual distributions is used, or else the first directory.
    ///
    /// `nil` means the environment of the process. A set-user-ID program has none, as in OpenSSL.
    public static func system(environment: [String: String]? = nil) throws(TrustStoreError) -> TrustStore {
        let environment = environment ?? processEnvironment
        let files = [environment["SSL_CERT_FILE"] ?? ""].filter { !$0.isEmpty }
        let directories = (environment["SSL_CERT_DIR"] ?? "").split(separator: ":").map(String.init)
        guard files.isEmpty, directories.isEmpty else {
            var stores: [TrustStore] = files.isEmpty ? [] : [try TrustStore(files: files)]
            for directory in directories { stores.append(try TrustStore(directory: directory)) }
            return TrustStore(combining: stores)
        }
        for bundle in systemBundles {
            if let store = try? TrustStore(files: [bundle]) { return store }
        }
        for directory in systemDirectories {
            if let store = try? TrustStore(directory: directory) { return store }
        }
        throw .empty(tried: systemBundles + systemDirectories)
    }

    /// The bundles of Debian and Alpine, Fedora, openSUSE and RHEL, and the default path of the BSDs and OpenSSL.
    private static let systemBundles = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/cert.pem",
    ]
    private static let systemDirectories = ["/etc/ssl/certs", "/etc/pki/tls/certs"]

    /// Returns the anchors whose subject is the issuer of this certificate.
    package func issuers(of certificate: X509Certificate) -> [X509Certificate] {
        anchors(named: certificate.canonicalIssuer, derName: certificate.issuer.derBytes)
    }

    /// The SHA-256 of the anchors, 32 bytes, which an approval records for the roots it relies on. Stores of files with
    /// the same certificates have the same digest. A directory is read on demand and gets a random digest each time it
    /// is opened.
    package var digest: [UInt8] {
        cachedDigest.withLock { digest in
            if let digest { return digest }
            let digests = sources.flatMap(\.digest)
            let computed = sha256Digest(digests.span)
            digest = computed
            return computed
        }
    }

    /// All anchors, or `nil` if some are read on demand from a directory.
    package var certificates: [X509Certificate]? {
        var certificates: [X509Certificate] = []
        for source in sources {
            guard let all = source.all else { return nil }
            certificates += all
        }
        return certificates
    }

    /// Whether an anchor has the subject and the key of this certificate, as a renewed root has.
    package func containsKey(of certificate: X509Certificate) -> Bool {
        anchors(named: certificate.canonicalSubject, derName: certificate.subject.derBytes)
            .contains { $0.spkiFingerprint == certificate.spkiFingerprint }
    }

    /// Whether this exact certificate is an anchor.
    public func contains(_ certificate: X509Certificate) -> Bool {
        anchors(named: certificate.canonicalSubject, derName: certificate.subject.derBytes).contains(certificate)
    }

    private func anchors(named subject: CanonicalName, derName: @autoclosure () -> [UInt8]) -> [X509Certificate] {
        guard sources.count > 1 else { return sources.first?.anchors(named: subject, derName: derName) ?? [] }
        var anchors: [X509Certificate] = []
        for source in sources {
            for anchor in source.anchors(named: subject, derName: derName) where !anchors.contains(anchor) {
                anchors.append(anchor)
            }
        }
        return anchors
    }
}

/// The reason why a trust store couldn't be created.
@nonexhaustive
public enum TrustStoreError: Error, Hashable, Sendable {
    /// No certificates could be read from one of the files.
    case file(CertificateFileError)
    /// The directory can't be listed.
    case unreadableDirectory(String)
    /// None of the files or directories contains a certificate.
    case empty(tried: [String])
}

extension TrustStoreError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .file(let error): "trust store: \(error)"
        case .unreadableDirectory(let path):
            "trust store: \(visibleText(path)): cannot be listed: check SSL_CERT_DIR and its permissions"
        case .empty(let tried):
            "trust store: no certificate in \(tried.map(visibleText).joined(separator: ", ")): "
                + "install ca-certificates or set SSL_CERT_FILE"
        }
    }
}
