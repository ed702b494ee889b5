public import FoundationEssentials

/// The trust anchors: certificates at which a path may end, indexed by subject. Never changed after it is made.
///
/// Opening one reads and indexes the files; OpenSSL parses an anchor when a path first ends at it.
public final class TrustStore: Sendable {
    private let bySubject: [CanonicalName: [X509Certificate]]

    /// How many anchors there are.
    public let count: Int

    /// Certificates as anchors, whatever they are: roots, intermediates, a server's own. Doubles count once.
    public init(certificates: [X509Certificate]) {
        var index: [CanonicalName: [X509Certificate]] = [:]
        var count = 0
        for certificate in certificates {
            if index[certificate.canonicalSubject]?.contains(certificate) == true { continue }
            index[certificate.canonicalSubject, default: []].append(certificate)
            count += 1
        }
        bySubject = index
        self.count = count
    }

    /// Every certificate of some PEM or DER files. A file that cannot be read, or a broken block in one, fails the
    /// whole store: a store that somebody names is meant as it is.
    public convenience init(files: [String]) throws(TrustStoreError) {
        var certificates: [X509Certificate] = []
        for file in files {
            do throws(CertificateFileError) {
                certificates += try CertificateFile.read(file, trustSettings: .refused)
            } catch {
                throw .file(error)
            }
        }
        guard !certificates.isEmpty else { throw .empty(tried: files) }
        self.init(certificates: certificates)
    }

    /// Every certificate in the files of a directory, not below it. Files without one are passed over, and so is a
    /// broken one: a directory is many hands' work, and one root less only narrows what is trusted.
    public convenience init(directory: String) throws(TrustStoreError) {
        let certificates = try Self.certificates(inDirectory: directory)
        guard !certificates.isEmpty else { throw .empty(tried: [directory]) }
        self.init(certificates: certificates)
    }

    /// The anchors of several stores together.
    public convenience init(combining stores: [TrustStore]) {
        self.init(certificates: stores.flatMap { $0.bySubject.values.joined() })
    }

    /// The anchors of this machine.
    ///
    /// `SSL_CERT_FILE` (one file) and `SSL_CERT_DIR` (directories, joined by colons) name them where set, and then
    /// nothing else is read. Otherwise the first bundle of the usual distributions, otherwise the first directory.
    public static func system(
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(TrustStoreError) -> TrustStore {
        let file = environment["SSL_CERT_FILE"].flatMap { $0.isEmpty ? nil : $0 }
        let directories = (environment["SSL_CERT_DIR"] ?? "").split(separator: ":").map(String.init)
        if file != nil || !directories.isEmpty {
            var certificates: [X509Certificate] = []
            if let file {
                do throws(CertificateFileError) {
                    certificates += try CertificateFile.read(file, trustSettings: .refused)
                } catch {
                    throw .file(error)
                }
            }
            for directory in directories { certificates += try Self.certificates(inDirectory: directory) }
            guard !certificates.isEmpty else { throw .empty(tried: [file].compactMap(\.self) + directories) }
            return TrustStore(certificates: certificates)
        }
        for bundle in systemBundles {
            if let certificates = try? CertificateFile.read(bundle, trustSettings: .refused) { return TrustStore(certificates: certificates) }
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

    private static func certificates(inDirectory directory: String) throws(TrustStoreError) -> [X509Certificate] {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: directory) else {
            throw .unreadableDirectory(directory)
        }
        return names.sorted().flatMap { (try? CertificateFile.read(directory + "/" + $0, trustSettings: .refused)) ?? [] }
    }

    /// Anchors with this subject.
    func anchors(named subject: CanonicalName) -> [X509Certificate] { bySubject[subject] ?? [] }

    /// Whether this very certificate is an anchor.
    public func contains(_ certificate: X509Certificate) -> Bool {
        bySubject[certificate.canonicalSubject]?.contains(certificate) == true
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
