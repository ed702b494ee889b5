import CertificatePinning
import CertificateTrust
import TLSTransport

/// A check of files, without connections: whether the keys intended for servers match their pins.
struct FileCheck: Sendable {
    let source: PinSource
    let judge: ChainJudge
    let reader: InputReader

    /// The contents of a file.
    private struct Content {
        var certificates: [(index: Int, certificate: X509Certificate)] = []
        var keys: [Key] = []
        var problems: [String] = []
        var notes: [String] = []
    }

    /// A key without a chain.
    private struct Key {
        let index: Int
        let fingerprint: SPKIFingerprint
        /// The hosts that the key is for, as far as they are known.
        var hosts: [ServerName] = []
        var subject: X509Name?
        var role = PinRole.leaf
    }

    /// The maximum number of hosts for which a certificate is checked, since it may contain any number.
    private static let nameLimit = 200

    /// The hosts of the policy for which the files contain something.
    struct Coverage: Sendable {
        /// The rules for which there is a certificate or a key.
        private(set) var rules: Set<PolicyLocation> = []
        /// The names in all certificates.
        private(set) var names: [String] = []
        private(set) var hasCertificate = false
        /// Whether a certificate has too many names to check.
        fileprivate(set) var isCut = false

        fileprivate mutating func add(_ rule: PinningRule) {
            if let location = rule.location { rules.insert(location) }
        }

        fileprivate mutating func add(namesOf leaf: X509Certificate) {
            hasCertificate = true
            for entry in leaf.subjectAlternativeNames.prefix(FileCheck.nameLimit) { names.append(entry.description) }
        }

        mutating func formUnion(_ other: Coverage) {
            rules.formUnion(other.rules)
            names += other.names.filter { !names.contains($0) }.prefix(max(0, FileCheck.nameLimit - names.count))
            hasCertificate = hasCertificate || other.hasCertificate
            isCut = isCut || other.isCut
        }
    }

    /// Returns the results for one file.
    func outcome(of path: String, isNamed: Bool) -> Check.Outcome {
        var coverage = Coverage()
        var content = self.content(of: path, isNamed: isNamed)
        let leaves = content.certificates.filter { !$0.certificate.isCertificateAuthority }
        let others = content.certificates.map(\.certificate)
        var results: [CheckResult] = []
        for (index, leaf) in leaves {
            let title = leaves.count > 1 ? "\(path)[\(index)]" : path
            let chain = PresentedChain(leaf: leaf, intermediates: others.filter { $0 != leaf })
            coverage.add(namesOf: leaf)
            let (claims, isCut) = claims(of: leaf, &coverage)
            results += self.results(of: chain, by: claims, title)
            if isCut {
                coverage.isCut = true
                content.problems.append(
                    "\(title): is valid for more than \(Self.nameLimit) hosts of the policy, and the others were not "
                        + "checked: check the servers, or use a policy with fewer of the hosts")
            }
        }
        // A CA certificate without a leaf is checked as a key. In a directory it belongs to the chains in other files,
        // so it counts only if the policy has a pin for it.
        var keys = content.keys
        if leaves.isEmpty {
            keys += content.certificates.map {
                Key(index: $0.index, fingerprint: $0.certificate.spkiFingerprint, role: .ca)
            }
        }
        for key in keys {
            let found = self.results(of: key, keys.count > 1 ? "\(path)[\(key.index)]" : path)
            let kept = isNamed || key.role != .ca ? found : found.filter(\.isAboutPin)
            // A key that fails for a rule by chance, without naming its host, isn't that host's certificate.
            for result in kept where result.verdict.isGood || !key.hosts.isEmpty {
                result.verdict.rule.map { coverage.add($0) }
            }
            results += kept
        }
        return Check.Outcome(
            results: results.map { $0.found(in: path) }, problems: content.problems.map { ($0, []) },
            notes: content.notes, coverage: coverage)
    }

    /// Returns a failure for each host of the policy that no certificate in the files is valid for, if there are
    /// certificates at all.
    func lacking(_ coverage: Coverage) -> [CheckResult] {
        guard case .policy(let file) = source, coverage.hasCertificate, !coverage.isCut else { return [] }
        return file.policy.rules.filter { rule in
            rule.mode != .off && rule.location.map { !coverage.rules.contains($0) } ?? false
        }.map { rule in
            CheckResult(
                verdict: .noCertificate(rule, names: coverage.names), subject: "\(rule.host)", source: "file",
                presented: [], now: judge.time)
        }
    }

    private func content(of path: String, isNamed: Bool) -> Content {
        var content = Content()
        let title = DialectInput.title(path)
        do throws(InputProblem) {
            try reader.read(path, isInFolder: !isNamed) { object in
                switch object.content {
                case .success(.key(let material)):
                    switch material.certificate {
                    case .success(let certificate): content.certificates.append((object.index, certificate))
                    case .failure(let error): content.problems.append("\(title)[\(object.index)]: \(error)")
                    case nil: content.keys.append(Self.key(material, object.index))
                    }
                case .success(.pin(let fingerprint, let owner, let isAuthority)):
                    let host = try? ServerName(owner)
                    content.keys.append(
                        Key(
                            index: object.index, fingerprint: fingerprint, hosts: host.map { [$0] } ?? [],
                            role: isAuthority ? .ca : .leaf))
                case .failure(let problem): content.problems.append("\(title)[\(object.index)]: \(problem.reason)")
                }
            }
        } catch {
            // In a directory, other files are skipped.
            guard isNamed || !error.isStranger else {
                content.notes.append("\(title): skipped, it \(error.reason)")
                return content
            }
            content.problems.append("\(title): \(error.reason)")
        }
        if isNamed, content.certificates.isEmpty, content.keys.isEmpty, content.problems.isEmpty {
            content.problems.append("\(title): contains no certificate or key: give one of a server")
        }
        return content
    }

    /// Returns the key of a request. It is for the names in the request, or for the common name if there are none.
    private static func key(_ material: KeyMaterial, _ index: Int) -> Key {
        var hosts = material.requestedNames.prefix(nameLimit).compactMap(host)
        if hosts.isEmpty, let name = material.subject?.commonName.flatMap({ try? ServerName($0) }) { hosts = [name] }
        return Key(index: index, fingerprint: material.fingerprint, hosts: hosts, subject: material.subject)
    }
}

// MARK: - Chains

extension FileCheck {
    private func results(of chain: PresentedChain, by claims: [Claim], _ title: String) -> [CheckResult] {
        guard !claims.isEmpty else { return [uncovered(title, chain.leaf.subject)] }
        return claims.map { claim in
            judge.result(
                of: chain, name: claim.name, port: claim.port, subject: "\(title) for \(claim.name)", source: "file",
                expecting: claim.expectation)
        }
    }

    /// A host that a certificate is for, with a port that its rule covers.
    private typealias Claim = (name: ServerName, port: UInt16, expectation: Expectation)

    /// Returns the hosts of the policy that a certificate is for, up to a limit, and whether there are more.
    ///
    /// If the pins were given without a policy, the first host of the certificate is used.
    private func claims(of leaf: X509Certificate, _ coverage: inout Coverage) -> ([Claim], isCut: Bool) {
        let entries = leaf.subjectAlternativeNames
        let named = entries.prefix(Self.nameLimit).compactMap(Self.host)
        guard case .policy(let file) = source else {
            guard let name = named.first,
                let expectation = try? source.expectation(for: Endpoint(name: name, port: 443))
            else { return ([], false) }
            return ([(name, 443, expectation)], false)
        }
        let rest = entries.dropFirst(Self.nameLimit).compactMap(Self.host)
        var claims: [Claim] = []
        for rule in file.policy.rules {
            var hosts = entries.contains { rule.host.matches($0) } ? [rule.host] : []
            if rule.includesSubdomains {
                hosts += named.filter { $0.isSubdomain(of: rule.host) }
                if rest.contains(where: { $0.isSubdomain(of: rule.host) }) { return (claims, true) }
            }
            if !hosts.isEmpty { coverage.add(rule) }
            guard let port = UInt16(exactly: rule.ports?.min() ?? 443) else { continue }
            for name in hosts where !claims.contains(where: { $0.name == name && $0.port == port }) {
                // The rule for a closer hostname decides.
                guard file.policy.rule(for: name, port: Int(port))?.location == rule.location else { continue }
                guard claims.count < Self.nameLimit else { return (claims, true) }
                claims.append((name, port, .pins(file.policy)))
            }
        }
        return (claims, false)
    }

    /// Returns a hostname that the entry covers, for a wildcard any one of them.
    private static func host(of entry: SubjectAlternativeName) -> ServerName? {
        let text = entry.description
        do throws(ServerNameError) {
            return try ServerName(text.hasPrefix("*.") ? "any" + text.dropFirst() : text)
        } catch {
            return nil
        }
    }

    private func uncovered(_ title: String, _ subject: X509Name?) -> CheckResult {
        var policy = "the run"
        if case .policy(let file) = source { policy = file.path }
        let name = subject.map { $0.description.isEmpty ? title : "\(title) (\($0))" } ?? title
        return CheckResult(
            verdict: .unlisted(policy: policy), subject: name, source: "file", presented: [], now: judge.time)
    }
}

// MARK: - Keys

extension FileCheck {
    /// Checks a key against the rules for its hosts, or against all rules if none of them is for its hosts.
    private func results(of key: Key, _ title: String) -> [CheckResult] {
        func result(_ verdict: Verdict, _ subject: String) -> CheckResult {
            CheckResult(
                verdict: verdict, subject: subject, source: "file", presented: [], now: judge.time,
                warnings: judge.ending(verdict))
        }
        let object = PinFingerprint.publicKey(key.fingerprint)
        let (rules, denied) = rules()
        if let pin = denied.first(where: { $0.fingerprint == object }) { return [result(.keyDenied(pin), title)] }
        guard !rules.isEmpty else { return [uncovered(title, key.subject)] }
        let meant = rules.filter { rule in
            key.hosts.contains { rule.host == $0 || rule.includesSubdomains && $0.isSubdomain(of: rule.host) }
        }
        let matches = (meant.isEmpty ? rules : meant).map { rule in
            (rule, rule.pins.filter { $0.fingerprint == object && $0.role.overlaps(key.role) })
        }
        // Without a rule for the key's hosts, only the rules that have a pin for the key apply.
        let told = meant.isEmpty ? matches.filter { !$0.1.isEmpty } : matches
        guard !told.isEmpty else {
            // A key that is pinned in another role fails for that reason.
            let pinned = rules.first { $0.pins.contains { $0.fingerprint == object } }
            return [result(.keyStrange(key.fingerprint, pinned ?? (rules.count == 1 ? rules.first : nil)), title)]
        }
        return told.map { rule, pins in
            let subject = rule.location == nil ? title : "\(title) for \(rule.host)"
            if let expiry = rule.expiry, expiry.isPast(at: judge.time) {
                return result(.keyExpired(rule, expiry), subject)
            }
            return result(pins.isEmpty ? .keyStrange(key.fingerprint, rule) : .keyMatched(pins, rule), subject)
        }
    }

    private func rules() -> (rules: [PinningRule], denied: [Pin]) {
        switch source {
        case .none: ([], [])
        case .pins(let pins):
            // Any hostname will do if the pins were given without a policy.
            ((try? ServerName("pins.invalid")).map { [PinningRule(host: $0, pins: pins)] } ?? [], [])
        case .policy(let file): (file.policy.rules, file.policy.deny)
        }
    }
}

extension CheckResult {
    /// Whether the policy has a pin for the key.
    fileprivate var isAboutPin: Bool {
        switch verdict {
        case .keyStrange, .unlisted: false
        default: true
        }
    }
}
