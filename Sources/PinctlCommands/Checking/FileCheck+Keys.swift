import CertificatePinning
import CertificateTrust
import PinctlFoundation
import PinctlTLSTransport

extension FileCheck {
    /// Adds the results for the keys of a file that have no chain. Returns false if there are none.
    ///
    /// A key of a leaf is checked with its chain. In a directory, other keys and CA certificates may be for any
    /// purpose, so they count only if the policy has a pin for them.
    func addKeys(
        of file: CheckedFile, hasLeaf: Bool, besides leaves: Set<SPKIFingerprint>, _ used: Set<X509Certificate>,
        _ outcome: inout Check.Outcome
    ) -> Bool {
        var keys = file.keys.filter { !leaves.contains($0.fingerprint) || $0.kind == .record }
        if !hasLeaf {
            for entry in file.parts.flatMap(\.content.certificates) where !used.contains(entry.certificate) {
                keys.append(
                    CheckedFile.Key(
                        index: entry.index, kind: .authority, fingerprint: entry.certificate.spkiFingerprint,
                        certificate: entry.certificate.fingerprint, role: .ca)
                )
            }
        }
        var hasResult = false
        for key in keys {
            let title = keys.count > 1 ? "\(file.input.path)[\(key.index)]" : file.input.path
            let found = results(of: key, title, in: file.input.path)
            // The key of a request can't match the pins of CAs alone. Its certificate is judged when there is one.
            // mutant files-request-of-ca: true for `mayPin(key)` by FileCheckTests/requestBesideCAPins
            let isStrict = file.input.isNamed || key.kind == .request && mayPin(key) || key.kind == .record
            // mutant files-request: false for `isStrict` by FileLayoutTests FileCheckTests/keys
            let kept = isStrict ? found : found.filter(\.isAboutPin)
            // A key that fails for a rule by chance, without naming its host, isn't that host's certificate.
            for result in kept where result.verdict.isGood || !key.hosts.isEmpty {
                result.verdict.rule.map { outcome.coverage.add($0) }
            }
            outcome.results += kept
            hasResult = hasResult || !kept.isEmpty
        }
        return hasResult
    }

    /// Checks a key against the rules for its hosts, or against all rules if none of them is for its hosts.
    private func results(of key: CheckedFile.Key, _ title: String, in file: String) -> [CheckResult] {
        func result(_ verdict: Verdict, _ subject: String) -> CheckResult {
            CheckResult(
                verdict: verdict, subject: subject, source: .file, presented: [], now: judge.time,
                warnings: judge.ending(verdict), file: file)
        }
        let object = PinFingerprint.publicKey(key.fingerprint)
        let (rules, denied) = rules()
        let objects = [object] + (key.certificate.map { [.certificate($0)] } ?? [])
        // mutant files-denied-certificate: [object] for `objects` by FileLayoutTests/deniedAuthority
        if let pin = denied.first(where: { objects.contains($0.fingerprint) }) {
            return [result(.keyDenied(pin), title)]
        }
        guard !rules.isEmpty else { return [uncovered(title, key.subject, in: file)] }
        let hosts = endpoint.map { [$0.name] } ?? key.hosts
        let meant = rules.filter { rule in
            hosts.contains { rule.host == $0 || rule.includesSubdomains && $0.isSubdomain(of: rule.host) }
        }
        /// Returns the verdict of a rule that has these pins for the key, of which some may be for another role.
        func verdict(_ pinned: [Pin], _ rule: PinningRule) -> Verdict {
            let pins = pinned.filter { $0.role.overlaps(key.role) }
            if !pins.isEmpty { return .keyMatched(key.fingerprint, pins, rule) }
            return pinned.isEmpty
                ? .keyUnmatched(key.fingerprint, rule)
                : .keyInAnotherRole(key.fingerprint, pinned.map(\.role), rule)
        }
        let pinning = (meant.isEmpty ? rules : meant).map { rule in
            (rule, rule.pins.filter { $0.fingerprint == object })
        }
        // Without a rule for the key's hosts, only the rules that have a pin for the key apply.
        let deciding =
            meant.isEmpty ? pinning.filter { $0.1.contains { $0.role.overlaps(key.role) } } : pinning
        guard !deciding.isEmpty else {
            // A key that is pinned in another role fails for that reason.
            guard let (rule, pinned) = pinning.first(where: { !$0.1.isEmpty }) else {
                return [result(.keyUnmatched(key.fingerprint, rules.count == 1 ? rules.first : nil), title)]
            }
            return [result(verdict(pinned, rule), title)]
        }
        return deciding.map { rule, pinned in
            let subject = rule.location == nil ? title : "\(title) for \(rule.host)"
            if let expiry = rule.expiry, expiry.isPast(at: judge.time) {
                return result(.keyExpired(rule, expiry), subject)
            }
            return result(verdict(pinned, rule), subject)
        }
    }

    /// Whether a rule that decides about a key has a pin for keys in its role.
    private func mayPin(_ key: CheckedFile.Key) -> Bool {
        let (rules, denied) = rules()
        return !denied.isEmpty || rules.isEmpty
            || rules.contains { $0.pins.contains { $0.role.overlaps(key.role) } }
    }

    /// Returns the rules that decide about a key: with `--host`, the one for that host, if there is one.
    private func rules() -> (rules: [PinningRule], denied: [Pin]) {
        switch source {
        case .none: return ([], [])
        case .pins(let pins):
            // Any hostname will do if the pins were given without a policy.
            return ((try? ServerName("pins.invalid")).map { [PinningRule(host: $0, pins: pins)] } ?? [], [])
        case .policy(let file):
            guard let endpoint else { return (file.policy.rules, file.policy.deny) }
            let rule = file.policy.rule(for: endpoint.name, port: Int(endpoint.port))
            // mutant files-host-key: file.policy.rules for `rule.map { [$0] } ?? []` by FileLayoutTests/oneHost
            return (rule.map { [$0] } ?? [], file.policy.deny)
        }
    }
}

// MARK: - Keys beside certificates

extension FileCheck {
    /// Returns the keys that by their names may belong to certificates. For a file that was named, these are also the
    /// ones in its directory.
    func namedKeys(in files: [CheckedFile], _ outcome: inout Check.Outcome) -> NamedKeys {
        let sites = files.filter { $0.input.isNamed && $0.input.path != "-" && !$0.certificates.isEmpty }.map(\.input)
        var known = Set(files.compactMap { FileIdentity($0.input.path) })
        var others: [CheckedFile] = []
        for (_, sites) in Dictionary(grouping: sites, by: \.directory).sorted(by: { $0.key < $1.key }) {
            let names = Dictionary(sites.map { (KeyFileName($0), $0.path) }) { first, _ in first }
            for input in InputPath.beside(sites[0]) {
                // Another name of a file that was named.
                guard let identity = FileIdentity(input.path), known.insert(identity).inserted else { continue }
                let file = CheckedFile(input, reader)
                others.append(file)
                guard KeyFileName.isOfKey(input.name), let site = names[KeyFileName(input)] else { continue }
                if !file.problems.isEmpty, !FileManager.default.isReadableFile(atPath: input.path) {
                    outcome.notes.append(
                        "note: \(file.title) can't be read, so it wasn't compared with \(site): check its permissions")
                } else {
                    // mutant files-beside-broken: {} by FilesInUseTests/namedFiles
                    add(file, isChecked: true, nil, &outcome)
                }
            }
        }
        // mutant files-beside: files for `files + others` by FilesInUseTests/namedFiles
        let all = files + others
        return NamedKeys(all, CertificatePool(all.lazy.flatMap(\.certificates)))
    }
}

extension CheckResult {
    /// Whether the policy has a pin for the key.
    fileprivate var isAboutPin: Bool { verdict.word != .pinMismatch && verdict.word != .notCovered }
}
