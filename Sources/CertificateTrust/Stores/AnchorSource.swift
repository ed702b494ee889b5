import OpenSSLBridge
import PinctlBasics
import PinctlFoundation

/// A source of anchors for a trust store.
protocol AnchorSource: Sendable {
    /// Returns the anchors with this subject. `derName` returns the name in the encoding of some certificate.
    func anchors(named subject: CanonicalName, derName: () -> [UInt8]) -> [X509Certificate]

    /// A digest that two sources share only if they have the same anchors.
    var digest: [UInt8] { get }

    /// All anchors, or `nil` if they are read on demand.
    var all: [X509Certificate]? { get }
}

/// The certificates in memory, indexed by subject and parsed on first use.
///
/// A certificate that turns out to be malformed when it is parsed isn't used as an anchor.
final class AnchorIndex: AnchorSource {
    private let derBySubject: [CanonicalName: [[UInt8]]]
    private let certificates: [[UInt8]]
    private let parsed: Locked<[CanonicalName: [X509Certificate]]>

    init(certificates: [X509Certificate]) {
        var index: [CanonicalName: [X509Certificate]] = [:]
        for certificate in certificates
        where index[certificate.canonicalSubject]?.contains(certificate) != true {
            index[certificate.canonicalSubject, default: []].append(certificate)
        }
        derBySubject = [:]
        self.certificates = certificates.map(\.derBytes)
        parsed = Locked(index)
    }

    init(file: String) throws(TrustStoreError) {
        var index: [CanonicalName: [[UInt8]]] = [:]
        var certificates: [[UInt8]] = []
        do throws(CertificateFileError) {
            try CertificateFile.forEachCertificate(in: file, trustSettings: .refused) { der throws(DERError) in
                let layout = try CertificateLayout(der)
                let bytes = Array(copying: der)
                index[try CanonicalName(der, layout.subject), default: []].append(bytes)
                certificates.append(bytes)
            }
        } catch {
            throw .file(error)
        }
        derBySubject = index
        self.certificates = certificates
        parsed = Locked([:])
    }

    var digest: [UInt8] {
        let fingerprints = certificates.map { sha256Digest($0.span) }.sorted { $0.lexicographicallyPrecedes($1) }
        let all = Array(fingerprints.joined())
        return sha256Digest(all.span)
    }

    var all: [X509Certificate]? { certificates.compactMap { try? X509Certificate(derBytes: $0) } }

    func anchors(named subject: CanonicalName, derName: () -> [UInt8]) -> [X509Certificate] {
        parsed.withLock { parsed in
            if let anchors = parsed[subject] { return anchors }
            guard let encoded = derBySubject[subject] else { return [] }
            var anchors: [X509Certificate] = []
            for der in encoded {
                guard let anchor = try? X509Certificate(derBytes: der), !anchors.contains(anchor) else { continue }
                anchors.append(anchor)
            }
            parsed[subject] = anchors
            return anchors
        }
    }
}

/// A directory of certificate files.
final class AnchorDirectory: AnchorSource {
    private let path: String
    private let names: [String]
    /// A random value, because the files may change while the directory is in use. No two directories are considered
    /// equal.
    let digest = (0..<32).map { _ in UInt8.random(in: 0...0xFF) }
    var all: [X509Certificate]? { nil }
    /// Whether files are named by the hash of their subject, such as `8b59b1ad.0`.
    private let isHashed: Bool
    private let whole = Locked<AnchorIndex?>(nil)
    private let byHash = Locked<[String: [X509Certificate]]>([:])

    init(path: String) throws(TrustStoreError) {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else {
            throw .unreadableDirectory(path)
        }
        guard !names.isEmpty else { throw .empty(tried: [path]) }
        self.path = path
        self.names = names.sorted()
        isHashed = names.contains(where: Self.isHashName)
    }

    func anchors(named subject: CanonicalName, derName: () -> [UInt8]) -> [X509Certificate] {
        guard isHashed else {
            let index = whole.withLock { whole in
                if let whole { return whole }
                let index = AnchorIndex(certificates: names.flatMap(read))
                whole = index
                return index
            }
            return index.anchors(named: subject, derName: derName)
        }
        let name = derName()
        guard let hash = subjectNameHash(name.span) else { return [] }
        let prefix = Hexadecimal.encode(hash) + "."
        return byHash.withLock { byHash in
            if let anchors = byHash[prefix] { return anchors }
            let files = names.filter { $0.hasPrefix(prefix) }
            // Only hashes with files are cached, because peers can make up any number of issuers.
            guard !files.isEmpty else { return [] }
            let anchors = files.flatMap(read)
            byHash[prefix] = anchors
            return anchors
        }
        .filter { $0.canonicalSubject == subject }
    }

    private func read(_ name: String) -> [X509Certificate] {
        (try? CertificateFile.read(path + "/" + name, trustSettings: .refused)) ?? []
    }

    private static func isHashName(_ name: String) -> Bool {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 2 && parts[0].utf8.count == 8 && UInt32(parts[0], radix: 16) != nil
            && UInt16(parts[1]) != nil
    }
}
