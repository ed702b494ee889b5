import CertificatePinning
import CertificateTrust
import PinctlFoundation

/// The input that servers are going to serve: a chain, or the key it will be issued for.
struct NewChain: Sendable {
    enum Content: Sendable {
        case chain(PresentedChain)
        /// A key, whose certificate may be issued by any CA.
        case key(SPKIFingerprint, isRequest: Bool)
    }

    /// The name of the file.
    let title: String
    let content: Content
    /// The names that it is for, empty if they aren't known, as for a key.
    let names: [SubjectAlternativeName]

    /// Returns whether it can be served for a host.
    func covers(_ host: ServerName) -> Bool {
        if case .key = content, names.isEmpty { return true }
        return names.contains { host.matches($0) }
    }

    /// Returns why it can't be served for a host that it doesn't cover.
    func mismatch(with host: String) -> String {
        switch content {
        case .chain: "the new certificate isn't valid for \(host), \([self].extent)"
        case .key: "the request isn't for \(host), \([self].extent)"
        }
    }

    var leafFingerprint: SPKIFingerprint {
        switch content {
        case .chain(let chain): chain.leaf.spkiFingerprint
        case .key(let fingerprint, _): fingerprint
        }
    }

    /// Returns the time at which to judge it: now, or when it becomes valid.
    func time(from now: Date) -> Date {
        if case .chain(let chain) = content { max(now, chain.leaf.notBefore) } else { now }
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
        var certificates: [X509Certificate] = []
        var isOrdered = true
        var keys: [NewChain] = []
        var problems: [String] = []
        do throws(InputProblem) {
            try reader.read(InputPath(path: path, isNamed: true)) { object in
                let place = object.line.map { "\(title):\($0)" } ?? title
                switch object.content {
                case .failure(let problem): problems.append("\(place): \(problem.reason)")
                case .success(.pin(let fingerprint, _, _)):
                    keys.append(NewChain(title: title, content: .key(fingerprint, isRequest: false), names: []))
                case .success(.key(let material)):
                    switch material.certificate {
                    case .success(let certificate):
                        certificates.append(certificate)
                        isOrdered = isOrdered && object.isOrdered
                    case .failure(let error): problems.append("\(place): the certificate is malformed: \(error)")
                    case nil:
                        let content = Content.key(
                            material.fingerprint, isRequest: material.kind == .certificateRequest)
                        keys.append(NewChain(title: title, content: content, names: material.requestedNames))
                    }
                }
            }
        } catch {
            throw .unusable(["\(title): \(error.reason)"])
        }
        guard problems.isEmpty else { throw .unusable(problems) }
        let pool = CertificatePool(certificates)
        if !certificates.isEmpty {
            let leaves = (isOrdered ? Array(certificates.prefix(1)) : certificates).filter(pool.isLeaf)
            guard !leaves.isEmpty else {
                throw .unusable([
                    isOrdered
                        ? "\(title): its first certificate is a CA certificate: give the chain that servers will send, "
                            + "leaf first"
                        : "\(title): has only CA certificates: give the chain that servers will send"
                ])
            }
            // Without an order, servers may send each of them.
            return leaves.map { leaf in
                let chain = PresentedChain(leaf: leaf, intermediates: certificates.filter { $0 != leaf })
                return NewChain(title: title, content: .chain(chain), names: leaf.subjectAlternativeNames)
            }
        }
        guard !keys.isEmpty else {
            throw .unusable(["\(title): has no certificate, request or key: give what servers will send"])
        }
        return keys
    }
}
