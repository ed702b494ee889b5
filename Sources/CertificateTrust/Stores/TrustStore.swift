public import FoundationEssentials

/// The trust anchors: certificates at which a path may end, found by subject. Never changed after it is made.
///
/// Opening one reads its files and notes where each subject stands; an anchor is parsed when a path first needs it.
public final class TrustStore: Sendable {
    private let sources: [any AnchorSource]
    private let cachedDigest = Locked<[UInt8]?>(nil)

    private init(sources: [any AnchorSource]) { self.sources = sources }

    /// Certificates as anchors, whatever they are: roots, intermediates, a server's own.
    public convenience init(certificates: [X509Certificate]) {
        self.init(sources: [AnchorIndex(certificates: certificates)])
    }

    /// Every certificate of some PEM or DER files. A file that cannot be read, or a broken block in one, fails the
    /// whole store: a store that somebody names is meant as it is.
    public convenience init(files: [String]) throws(TrustStoreError) {
        guard !files.isEmpty else { throw .empty(tried: []) }
        var sources: [any AnchorSource] = []
        for file in files { sources.append(try AnchorIndex(file: file)) }
        self.init(sources: sources)
    }

    /// Every certificate of a file's contents, by the same rules; `file` names it in errors.
    package convenience init(bytes: [UInt8], file: String) throws(TrustStoreError) {
        // No reader of bytes tells the settings from the certificate in front of them.
        guard !Self.hasTrustSettings(bytes) else {
            throw .file(
                .malformed(
                    path: file, line: nil,
                    reason: "carries trust settings that are not evaluated: write it without (openssl x509)"))
        }
        var certificates: [X509Certificate] = []
        var failure: String?
        do throws(KeyFile.Failure) {
            try KeyFile.read(bytes) { item in
                switch item.content {
                case .failure(let error): failure = failure ?? error.description
                case .success(let material):
                    switch material.certificate {
                    case .success(let certificate): certificates.append(certificate)
                    case .failure(let error): failure = failure ?? "is malformed: \(error)"
                    case nil: break
                    }
                }
            }
        } catch {
            throw .file(.unreadable(path: file, reason: error.description))
        }
        if let failure { throw .file(.malformed(path: file, line: nil, reason: failure)) }
        guard !certificates.isEmpty else { throw .file(.noCertificate(path: file)) }
        self.init(certificates: certificates)
    }

    private static func hasTrustSettings(_ bytes: [UInt8]) -> Bool {
        String(decoding: bytes, as: UTF8.self).contains("-----BEGIN TRUSTED CERTIFICATE-----")
    }

    /// The certificates in the files of a directory, not below it.
    ///
    /// Where the files are named by subject hash (`openssl rehash`), one is read when its subject is asked for; other
    /// directories are read whole on first use. Files without a certificate are passed over, and so is a broken one:
    /// a directory is many hands' work, and one root less only narrows what is trusted.
    public convenience init(directory: String) throws(TrustStoreError) {
        self.init(sources: [try AnchorDirectory(path: directory)])
    }

    /// The anchors of several stores together.
    public convenience init(combining stores: [TrustStore]) {
        self.init(sources: stores.flatMap(\.sources))
    }

    /// The anchors of this machine.
    ///
    /// `SSL_CERT_FILE` (one file) and `SSL_CERT_DIR` (directories, joined by colons) name them where set, and then
    /// nothing else is read. Otherwise the first bundle of the usual distributions, otherwise the first directory.
    public static func system(
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(TrustStoreError) -> TrustStore {
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

    /// Debian and Alpine; Fedora; openSUSE; RHEL; the BSDs' and OpenSSL's own place.
    private static let systemBundles = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/cert.pem",
    ]
    private static let systemDirectories = ["/etc/ssl/certs", "/etc/pki/tls/certs"]

    /// Anchors that bear the name of this certificate's issuer.
    package func issuers(of certificate: X509Certificate) -> [X509Certificate] {
        anchors(named: certificate.canonicalIssuer, derName: certificate.issuer.derBytes)
    }

    /// SHA-256 over the anchors, 32 bytes: what an approval notes of the roots it rests on. Files with the same
    /// certificates have the same digest; a directory, which is read as it is needed, has one of its own.
    package var digest: [UInt8] {
        cachedDigest.withLock { digest in
            if let digest { return digest }
            let digests = sources.flatMap(\.digest)
            let computed = sha256Digest(digests.span)
            digest = computed
            return computed
        }
    }

    /// Whether this very certificate is an anchor.
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

/// Why there is no trust store.
@nonexhaustive
public enum TrustStoreError: Error, Hashable, Sendable {
    /// One of the files gave no certificates.
    case file(CertificateFileError)
    /// A directory cannot be listed.
    case unreadableDirectory(String)
    /// None of these holds a certificate.
    case empty(tried: [String])
}

extension TrustStoreError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .file(let error): "trust store: \(error)"
        case .unreadableDirectory(let path):
            "trust store: \(visibleText(path)): cannot be listed: check SSL_CERT_DIR and who may read it"
        case .empty(let tried):
            "trust store: no certificate in \(tried.map(visibleText).joined(separator: ", ")): "
                + "install ca-certificates or set SSL_CERT_FILE"
        }
    }
}
