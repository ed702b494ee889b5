import CertificatePinning
import CertificateTrust
import PinctlTLSTransport

/// The contents of a file, sorted by how it is checked.
struct CheckedFile {
    /// The certificates and private keys in one place: those of a file, or of one value of a document.
    struct Part {
        let name: String?
        fileprivate(set) var content = FileChains()
        /// Whether it has a private key that is encrypted, for which no password was given.
        fileprivate(set) var hasEncryptedKey = false
    }

    /// A key without a chain.
    struct Key {
        enum Kind {
            case privateKey
            case publicKey
            case request
            case record
            case authority
        }

        let index: Int
        let kind: Kind
        let fingerprint: SPKIFingerprint
        /// The fingerprint of the certificate that has the key, if there is one.
        var certificate: CertificateFingerprint?
        /// The hosts that the key is for, as far as they are known.
        var hosts: [ServerName] = []
        var subject: X509Name?

        var role: PinRole
    }

    let input: InputPath
    private(set) var parts: [Part] = []
    private(set) var keys: [Key] = []
    /// The problems that are counted, with the object's position.
    private(set) var problems: [InputProblem] = []
    /// The kinds of the objects that aren't checked, such as a CRL.
    private(set) var irrelevant: [String] = []
    /// The reason why nothing in the file can be checked, if it is known.
    private(set) var reason: String?

    var title: String { DialectInput.title(input.path) }

    var certificates: [X509Certificate] { parts.flatMap { $0.content.certificates.map(\.certificate) } }

    /// Whether the file has only public keys, requests or certificates, although its name is that of a private key, or
    /// although it has the public key of its certificate where HAProxy and others look for the private one.
    var lacksPrivateKey: Bool {
        guard !parts.contains(where: \.content.hasKeys),
            keys.allSatisfy({ $0.kind == .publicKey || $0.kind == .request })
        else { return false }
        // mutant files-public-half: false by FilesInUseTests/publicKeys
        let isCombined = keys.contains { key in
            key.kind == .publicKey && certificates.contains { $0.spkiFingerprint == key.fingerprint }
        }
        return isCombined
            || KeyFileName.isOfPrivateKey(input.name) && (!certificates.isEmpty || !keys.isEmpty)
    }

    /// Whether the file has the private key of a certificate.
    func hasPrivateKey(among leaves: Set<SPKIFingerprint>) -> Bool {
        parts.contains {
            $0.content.hasKeys && $0.content.chains.contains { !leaves.isDisjoint(with: $0.keys.compactMap(\.self)) }
        }
    }

    /// Reads a file, or the contents of it that were read before.
    init(_ input: InputPath, _ reader: InputReader, contents: [UInt8]? = nil) {
        self.input = input
        do throws(InputProblem) {
            try reader.read(input, contents: contents) { add($0) }
        } catch {
            if let what = error.irrelevance {
                irrelevant.append(what)
                reason = error.reason
            } else {
                problems.append(InputProblem(reason: "\(title): \(error.reason)", kind: error.kind))
            }
        }
    }

    private mutating func add(_ object: InputObject) {
        guard !object.isOfClient else {
            irrelevant.append("certificate or key of a client")
            return
        }
        switch object.content {
        case .success(.key(let material)):
            switch material.certificate {
            case .success(let certificate): place(object) { $0.add(certificate, object) }
            case .failure(let error):
                add(InputProblem(reason: "the certificate is malformed: \(error)"), object)
            case nil:
                keys.append(Self.key(material, object))
                if object.isPrivateKey { place(object) { $0.add(key: material.fingerprint) } }
            }
        case .success(.pin(let fingerprint, let owner, let isAuthority)):
            keys.append(
                Key(
                    index: object.index, kind: .record, fingerprint: fingerprint,
                    hosts: (try? ServerName(owner)).map { [$0] } ?? [], role: isAuthority ? .ca : .leaf))
        case .failure(let problem): add(problem, object)
        }
    }

    /// Adds an object to the part that it is in.
    private mutating func place(_ object: InputObject, _ add: (inout FileChains) -> Void) {
        if parts.last?.name != object.part || parts.isEmpty { parts.append(Part(name: object.part)) }
        add(&parts[parts.count - 1].content)
    }

    private mutating func add(_ problem: InputProblem, _ object: InputObject) {
        if object.isPrivateKey { place(object) { $0.add(key: nil) } }
        if let what = problem.irrelevance {
            irrelevant.append(what)
            // mutant files-damaged: true for 1 by FileLayoutTests/oneFile
        } else if object.isPrivateKey, !input.isNamed {
            // In a directory, private keys are beside their certificates.
            // mutant files-broken-key: true for `problem.isEncrypted` by FilesInUseTests/unreadableKeys
            if problem.isEncrypted {
                irrelevant.append("encrypted private key")
                parts[parts.count - 1].hasEncryptedKey = true
            } else if problem.isOfSSH, !input.isNamedAsKeys {
                irrelevant.append("private SSH key")
            } else {
                problems.append(
                    InputProblem(reason: "\(title)[\(object.index)]: \(problem.reason)", kind: .unknown))
            }
        } else {
            problems.append(InputProblem(reason: "\(title)[\(object.index)]: \(problem.reason)", kind: problem.kind))
        }
    }

    /// Returns the key of a request, which is for the names in the request, or else for the common name, or another
    /// key.
    private static func key(_ material: KeyMaterial, _ object: InputObject) -> Key {
        var hosts = material.requestedNames.prefix(FileCheck.nameLimit).compactMap(FileCheck.host)
        if hosts.isEmpty, let name = material.subject?.commonName.flatMap({ try? ServerName($0) }) { hosts = [name] }
        let kind: Key.Kind =
            material.kind == .certificateRequest ? .request : object.isPrivateKey ? .privateKey : .publicKey
        return Key(
            index: object.index, kind: kind, fingerprint: material.fingerprint, hosts: hosts, subject: material.subject,
            role: .leaf)
    }
}

extension CheckedFile.Key.Kind {
    /// The name of a file of such keys that isn't checked.
    var word: String {
        switch self {
        case .privateKey: "private key"
        case .publicKey: "public key"
        case .request: "certificate request"
        case .record: "TLSA record"
        case .authority: "CA certificate"
        }
    }
}
