import CertificatePinning
import CertificateTrust
import PinctlFoundation

/// The input that servers are going to serve: a chain, or the key it will be issued for.
struct NewChain: Sendable {
    enum Content: Sendable {
        case chain(PresentedChain)
        /// A key, whose certificate may be issued by any CA.
        case key(NewKey, isRequest: Bool)
        /// A chain below a root of a provider, of which only the root's key is known.
        case below(ProviderPools.Root)
    }

    /// The name of the file.
    let title: String
    let content: Content
    /// The names that it is for, empty if they aren't known, as for a key.
    let names: [SubjectAlternativeName]

    /// Returns whether it can be served for a host.
    func covers(_ host: ServerName) -> Bool {
        switch content {
        case .key where names.isEmpty, .below where names.isEmpty: true
        case .chain, .key, .below: names.contains { host.matches($0) }
        }
    }

    /// Returns why it can't be served for a host that it doesn't cover.
    func mismatch(with host: String) -> String {
        switch content {
        case .chain, .below: "the new certificate isn't valid for \(host), \([self].extent)"
        case .key: "the request isn't for \(host), \([self].extent)"
        }
    }

    /// The pin with which a rule accepts it: that of the leaf, or of the root if only that is known.
    var acceptingPin: String {
        switch content {
        case .chain(let chain): chain.leaf.spkiFingerprint.description
        case .key(let key, _): key.fingerprint.description
        case .below(let root): "\(root.key.name) (\(root.key.pin))"
        }
    }

    /// Whether it is a key, whose certificate may be issued by any CA.
    var isKey: Bool { if case .key = content { true } else { false } }

    /// Whether it is a chain of a provider, which chooses the keys.
    var isOfProvider: Bool { if case .below = content { true } else { false } }

    /// Returns the time at which to judge it: now, or when it becomes valid.
    func time(from now: Date) -> Date {
        if case .chain(let chain) = content { max(now, chain.leaf.notBefore) } else { now }
    }
}

/// A key for which a certificate will be issued.
struct NewKey: Sendable {
    let fingerprint: SPKIFingerprint
    /// The DER SubjectPublicKeyInfo, or `nil` if only its pin was given.
    let bytes: [UInt8]?

    /// Returns whether a pin is one of this key, whatever its digest is.
    func isPinned(by pin: CanonicalPin) -> Bool {
        guard pin.content == .publicKey else { return false }
        if let known = pin.spkiFingerprint { return known == fingerprint }
        return bytes.flatMap(pin.digest.value(of:)) == pin.value
    }
}

extension NewChain {
    /// Returns a chain for each root of a provider or CA.
    static func all(
        of pool: ProviderPools.Pool, names: [SubjectAlternativeName] = [], at time: Date
    ) -> [NewChain] {
        pool.roots(at: time).map { root in
            NewChain(title: "\(root.authority) (\(root.key.name))", content: .below(root), names: names)
        }
    }

    /// Returns the keys on the paths of a chain to roots of these stores, without the leaf's.
    func issuers(
        in stores: [TrustStore], _ policy: TrustPolicy, at time: Date
    ) throws(UsageError) -> Set<SPKIFingerprint> {
        guard case .chain(let presented) = content else { return [] }
        var keys: Set<SPKIFingerprint> = []
        var finding: TrustFinding?
        for store in stores {
            do throws(TrustFinding) {
                let paths = try ChainTrust(presented: presented, store: store, policy: policy).allPaths(
                    at: self.time(from: time), limit: ChainJudge.pathLimit)
                for path in paths { keys.formUnion(path.certificates.dropFirst().map(\.spkiFingerprint)) }
            } catch {
                finding = error
            }
        }
        if keys.isEmpty, let finding {
            throw .unusable([
                "\(title): its CA isn't known: \(finding). If the root is one of your own, give it with "
                    + Flag.caFile.dashed
            ])
        }
        return keys
    }
}

extension [NewChain] {
    /// The names that they are for, after a host that isn't one of them.
    var extent: String {
        var seen: Set<String> = []
        let unique = flatMap(\.names).map(\.description).filter { seen.insert($0).inserted }
        return unique.isEmpty ? "it has no names" : "only for \(FirstNames(unique, limit: 5))"
    }
}

extension NewChain {
    /// Reads the certificates of a file as one chain, leaf first, or each of its keys if there are none.
    static func read(_ path: String, _ reader: InputReader) throws(UsageError) -> [NewChain] {
        let title = DialectInput.title(path)
        var content = FileChains()
        var keys: [NewChain] = []
        var problems: [String] = []
        do throws(InputProblem) {
            try reader.read(InputPath(path: path, isNamed: true)) { object in
                let place = object.line.map { "\(title):\($0)" } ?? title
                func addKey(_ key: SPKIFingerprint?) { if object.isPrivateKey { content.add(key: key) } }
                switch object.content {
                case .failure(let problem):
                    addKey(nil)
                    problems.append("\(place): \(problem.reason)")
                case .success(.pin(let fingerprint, _, _)):
                    let key = NewKey(fingerprint: fingerprint, bytes: nil)
                    keys.append(NewChain(title: title, content: .key(key, isRequest: false), names: []))
                case .success(.key(let material)):
                    switch material.certificate {
                    case .success(let certificate): content.add(certificate, object)
                    case .failure(let error): problems.append("\(place): the certificate is malformed: \(error)")
                    case nil:
                        addKey(material.fingerprint)
                        let key = NewKey(fingerprint: material.fingerprint, bytes: material.subjectPublicKeyInfo)
                        keys.append(
                            NewChain(
                                title: title, content: .key(key, isRequest: material.kind == .certificateRequest),
                                names: material.requestedNames))
                    }
                }
            }
        } catch {
            throw .unusable(["\(title): \(error.reason)"])
        }
        guard problems.isEmpty else { throw .unusable(problems) }
        let pool = CertificatePool(content.certificates.map(\.certificate))
        let chains = content.chains.filter { !$0.certificates.isEmpty }
        guard chains.isEmpty else {
            var found: [NewChain] = []
            for chain in chains { found += try read(chain, pool, title) }
            return found
        }
        guard !keys.isEmpty else {
            throw .unusable(["\(title): has no certificate, request or key: give what servers will send"])
        }
        return keys
    }

    /// Returns what servers may present of a chain in a file.
    private static func read(
        _ chain: FileChains.Chain, _ pool: CertificatePool, _ title: String
    ) throws(UsageError) -> [NewChain] {
        let certificates = chain.certificates.map(\.certificate)
        let isOrdered = chain.certificates.allSatisfy(\.isOrdered)
        let leaves = (isOrdered ? Array(certificates.prefix(1)) : certificates).filter(pool.isLeaf)
        guard let first = leaves.first else {
            let alternatives = "\(Flag.nextIssuer.dashed) or \(Flag.provider.dashed)"
            throw .unusable([
                isOrdered
                    ? "\(title): its first certificate is a CA certificate: give the chain that servers will send, "
                        + "leaf first, or plan for the roots of the CA with \(alternatives)"
                    : "\(title): has only CA certificates: give the chain that servers will send, or plan for the "
                        + "roots of the CA with \(alternatives)"
            ])
        }
        // mutant plan-other-leaf: nil by FilesInUseTests/causeFirst
        if let other = certificates.first(where: { isOrdered && $0 != first && pool.isLeaf($0) }) {
            throw .unusable([
                "\(title): begins with \(first.subject), which servers present, and has another leaf behind it, "
                    + "\(other.subject): give each leaf in a file of its own, with its issuer behind it"
            ])
        }
        // Without an order, servers may send each of them.
        return leaves.map { leaf in
            let chain = PresentedChain(leaf: leaf, intermediates: certificates.filter { $0 != leaf })
            return NewChain(title: title, content: .chain(chain), names: leaf.subjectAlternativeNames)
        }
    }
}
