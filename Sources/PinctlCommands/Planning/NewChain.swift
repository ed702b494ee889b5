import CertificatePinning
import CertificateTrust
import FoundationEssentials

/// What servers are to show: a chain, or as long as there is none the key that it is to be issued for.
struct NewChain: Sendable {
    enum Content: Sendable {
        case chain(PresentedChain)
        /// Whatever authority issues it.
        case key(SPKIFingerprint, isRequest: Bool)
    }

    /// The file.
    let title: String
    let content: Content
    /// The names it is for; empty when they are not known, as of a key.
    let names: [SubjectAlternativeName]

    /// Whether it may be shown for a host.
    func covers(_ host: ServerName) -> Bool {
        if case .key = content, names.isEmpty { return true }
        return names.contains { host.matches($0) }
    }

    var leafFingerprint: SPKIFingerprint {
        switch content {
        case .chain(let chain): chain.leaf.spkiFingerprint
        case .key(let fingerprint, _): fingerprint
        }
    }

    /// When it is judged: now, or when it begins to be valid.
    func time(from now: Date) -> Date {
        if case .chain(let chain) = content { max(now, chain.leaf.notBefore) } else { now }
    }
}

extension NewChain {
    /// Reads the certificates of a file as one chain, leaf first; where there are none, each key of it.
    static func read(_ path: String) throws(UsageError) -> [NewChain] {
        let title = DialectInput.title(path)
        let bytes = try DialectInput.contents(path)
        var certificates: [X509Certificate] = []
        var keys: [(SPKIFingerprint, isRequest: Bool)] = []
        var problems: [String] = []
        do throws(KeyFile.Failure) {
            try KeyFile.read(bytes) { item in
                let place = item.line.map { "\(title):\($0)" } ?? title
                switch item.content {
                case .failure(let error): problems.append("\(place): \(error)")
                case .success(let material):
                    guard let der = material.certificate else {
                        keys.append((material.fingerprint, material.kind == .certificateRequest))
                        return
                    }
                    do throws(DERError) {
                        certificates.append(try X509Certificate(derBytes: der))
                    } catch {
                        problems.append("\(place): the certificate is malformed: \(error)")
                    }
                }
            }
        } catch {
            throw .unusable(["\(title): \(error)"])
        }
        guard problems.isEmpty else { throw .unusable(problems) }
        if let leaf = certificates.first {
            guard certificates.count > 1 || !leaf.isCertificateAuthority else {
                throw .unusable([
                    "\(title): its certificate is an authority's: give the chain that servers are to show, leaf first"
                ])
            }
            let chain = PresentedChain(leaf: leaf, intermediates: Array(certificates.dropFirst()))
            return [NewChain(title: title, content: .chain(chain), names: leaf.subjectAlternativeNames)]
        }
        guard !keys.isEmpty else {
            throw .unusable(["\(title): holds no certificate, request or key: give what servers are to show"])
        }
        // A file of several requests says for none of its keys alone which names it asks for.
        let names = keys.count == 1 ? KeyFile.requestedNames(in: bytes) : []
        return keys.map { NewChain(title: title, content: .key($0, isRequest: $1), names: names) }
    }
}
