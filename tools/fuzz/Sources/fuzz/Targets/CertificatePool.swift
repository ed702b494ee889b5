import CertificateTrust
import PinctlTestPKI

/// Certificates to build paths from, with what is known of each because it was minted that way.
struct CertificatePool: Sendable {
    /// A certificate and its properties, which nothing reads from the certificate itself.
    struct Entry: Sendable {
        var certificate: X509Certificate
        var subject: String
        var issuer: String
        /// The number of its own key.
        var key: Int
        /// The number of the key that signed it. `nil` if no key did.
        var signer: Int?
        var validity = CertificatePool.validity
        var isAuthority = true
        /// Whether it may be at any position at all.
        var isUsable = true
        var pathLength: Int?
        var excluded: String?
        var names: [String] = []
        /// Whether it may be the certificate of a TLS server.
        var servesTLS = true
    }

    static let validity: ClosedRange<Int64> = 1_700_000_000...1_900_000_000
    private static let earlier: ClosedRange<Int64> = 1_700_000_000...1_750_000_000

    private(set) var authorities: [Entry] = []
    private(set) var leaves: [Entry] = []
    private(set) var entries: [X509Certificate: Entry] = [:]

    /// The pool, minted on first use. Its keys differ in every process.
    static let shared: CertificatePool = {
        do { return try CertificatePool() } catch { preconditionFailure("no certificates: \(error)") }
    }()

    /// Names of CAs, each with two keys.
    private static let names = ["Root", "Middle", "Other"]

    private init() throws {
        var identities: [(name: String, key: Int, certificate: TestCertificate)] = []
        for key in 0..<6 {
            let name = Self.names[key / 2]
            identities.append((name, key, try .root(name, key: try TestKey())))
        }
        for issuer in identities {
            for subject in identities {
                try addAuthority(subject, issuer) { _, _ in }
            }
        }
        for (issuer, subject) in [(0, 2), (2, 4), (0, 0)] {
            let (issuer, subject) = (identities[issuer], identities[subject])
            try addAuthority(subject, issuer) { settings, entry in
                entry.validity = Self.earlier
                settings.notAfter = Self.earlier.upperBound
            }
            try addAuthority(subject, issuer) { settings, entry in
                entry.pathLength = 0
                settings.pathLength = 0
            }
            try addAuthority(subject, issuer) { settings, entry in
                entry.isAuthority = false
                settings.isAuthority = false
            }
            try addAuthority(subject, issuer) { settings, entry in
                entry.excluded = "a.test"
                settings.excludedSubtrees = [.dns("a.test")]
            }
            try addAuthority(subject, issuer) { settings, entry in
                entry.isUsable = false
                settings.extensions = [TestCertificate.Extension("1.3.6.1.4.1.55555.9", critical: true, [5, 0])]
            }
            try addAuthority(subject, issuer) { settings, entry in
                entry.isAuthority = false
                settings.keyUsage = .cRLSign
            }
            try addAuthority(subject, issuer) { settings, entry in
                entry.isUsable = false
                settings.extendedKeyUsages = [TestCertificate.ExtendedKeyUsage.clientAuth]
            }
            try addAuthority(subject, issuer) { settings, _ in
                settings.hasSubjectKeyIdentifier = false
                settings.hasAuthorityKeyIdentifier = false
            }
            try addAuthority(subject, issuer, isBroken: true) { _, _ in }
        }
        for issuer in identities {
            try addLeaf(["a.test", "b.test"], issuer) { _, _ in }
        }
        for issuer in [identities[2], identities[4]] {
            try addLeaf(["a.test"], issuer) { settings, entry in
                entry.validity = Self.earlier
                settings.notAfter = Self.earlier.upperBound
            }
            try addLeaf(["*.a.test"], issuer) { _, _ in }
            try addLeaf(["a.test"], issuer) { settings, entry in
                entry.servesTLS = false
                settings.extendedKeyUsages = [TestCertificate.ExtendedKeyUsage.clientAuth]
            }
            try addLeaf(["a.test"], issuer) { settings, entry in
                entry.servesTLS = false
                settings.keyUsage = .cRLSign
            }
            try addLeaf(["a.test"], issuer, isBroken: true) { _, _ in }
        }
        // A leaf that another one signed.
        var settings = TestCertificate.Settings.server(["a.test"])
        (settings.notBefore, settings.notAfter) = (Self.validity.lowerBound, Self.validity.upperBound)
        let leaf = try identities[2].certificate.issue(settings)
        try add(
            leaf,
            Entry(
                certificate: try X509Certificate(derBytes: leaf.derBytes), subject: "a.test", issuer: "Middle",
                key: 100,
                signer: 2, isAuthority: false, names: ["a.test"]))
        try addLeaf(["a.test"], (name: "a.test", key: 100, certificate: leaf)) { _, _ in }
    }

    private mutating func addAuthority(
        _ subject: (name: String, key: Int, certificate: TestCertificate),
        _ issuer: (name: String, key: Int, certificate: TestCertificate), isBroken: Bool = false,
        _ adjust: (inout TestCertificate.Settings, inout Entry) -> Void
    ) throws {
        var settings = TestCertificate.Settings.authority(subject.name)
        (settings.notBefore, settings.notAfter) = (Self.validity.lowerBound, Self.validity.upperBound)
        var entry = Entry(
            certificate: try X509Certificate(derBytes: subject.certificate.derBytes), subject: subject.name,
            issuer: issuer.name, key: subject.key, signer: isBroken ? nil : issuer.key)
        adjust(&settings, &entry)
        try add(try issuer.certificate.issue(settings, key: subject.certificate.key), entry, isBroken: isBroken)
    }

    private mutating func addLeaf(
        _ names: [String], _ issuer: (name: String, key: Int, certificate: TestCertificate), isBroken: Bool = false,
        _ adjust: (inout TestCertificate.Settings, inout Entry) -> Void
    ) throws {
        var settings = TestCertificate.Settings.server(names)
        (settings.notBefore, settings.notAfter) = (Self.validity.lowerBound, Self.validity.upperBound)
        var entry = Entry(
            certificate: try X509Certificate(derBytes: issuer.certificate.derBytes), subject: names[0],
            issuer: issuer.name, key: 1000 + leaves.count, signer: isBroken ? nil : issuer.key, isAuthority: false,
            names: names)
        adjust(&settings, &entry)
        try add(try issuer.certificate.issue(settings), entry, isBroken: isBroken)
    }

    private mutating func add(_ minted: TestCertificate, _ entry: Entry, isBroken: Bool = false) throws {
        var entry = entry
        entry.certificate = try X509Certificate(
            derBytes: isBroken ? minted.derBytesWithBrokenSignature : minted.derBytes)
        entries[entry.certificate] = entry
        if entry.names.isEmpty { authorities.append(entry) } else { leaves.append(entry) }
    }
}

extension CertificatePool {
    /// Whether a path, leaf first and anchor last, is valid for a name at a time: RFC 5280, section 6, for what this
    /// pool has. It is written from the properties, and calls nothing that it checks.
    func isValid(_ path: [Entry], for name: String, at time: Int64, maximumIntermediates: Int) -> Bool {
        guard let leaf = path.first, leaf.servesTLS, leaf.names.contains(where: { Self.covers($0, name) }) else {
            return false
        }
        guard path.allSatisfy({ $0.isUsable && $0.validity.contains(time) }) else { return false }
        // A leaf with nameConstraints isn't in the pool.
        var below = 0
        for (index, entry) in path.enumerated() where index > 0 {
            let last = path[index - 1]
            guard last.issuer == entry.subject, last.signer == entry.key, entry.isAuthority else { return false }
            if let limit = entry.pathLength, below > limit { return false }
            // Self-issued certificates don't count (RFC 5280, section 4.2.1.9).
            if entry.subject != entry.issuer { below += 1 }
            if let excluded = entry.excluded, leaf.names.contains(where: { Self.isBelow($0, excluded) }) {
                return false
            }
        }
        let intermediates = path.dropFirst().dropLast().count { $0.subject != $0.issuer }
        return intermediates <= maximumIntermediates && path.count <= 12
    }

    /// Whether a name in a certificate is at or below a name of a constraint.
    private static func isBelow(_ name: String, _ base: String) -> Bool { name == base || name.hasSuffix("." + base) }

    /// Whether a name in a certificate covers a hostname.
    static func covers(_ pattern: String, _ name: String) -> Bool {
        guard pattern.hasPrefix("*.") else { return pattern == name }
        let labels = name.split(separator: ".", maxSplits: 1)
        return labels.count == 2 && labels[1] == pattern.dropFirst(2)
    }
}
