import CertificatePinning
import CertificateTrust
import TLSTransport

/// Checks files: whether the keys that servers are to have match their pins. Nothing is connected to.
struct FileCheck: Sendable {
    let source: PinSource
    let judge: ChainJudge

    /// What the objects of a file hold.
    private struct Content {
        var certificates: [(index: Int, certificate: X509Certificate)] = []
        var keys: [(index: Int, material: KeyMaterial)] = []
        var problems: [String] = []
    }

    /// Hosts that one certificate is judged for; it may name any number.
    private static let nameLimit = 200

    /// The results for one file, and what could not be read in it.
    func results(of path: String, isNamed: Bool) -> (results: [CheckResult], problems: [String]) {
        var content = Self.content(of: path, isNamed: isNamed)
        let leaves = content.certificates.filter { !$0.certificate.isCertificateAuthority }
        let others = content.certificates.map(\.certificate)
        var results: [CheckResult] = []
        for (index, leaf) in leaves {
            let title = leaves.count > 1 ? "\(path)[\(index)]" : path
            let chain = PresentedChain(leaf: leaf, intermediates: others.filter { $0 != leaf })
            let (claims, isCut) = claims(of: leaf)
            results += self.results(of: chain, by: claims, title)
            if isCut {
                content.problems.append(
                    "\(title): is for more than \(Self.nameLimit) hosts of the policy, and those behind them are not "
                        + "judged: check the servers, or a policy with fewer of the hosts")
            }
        }
        // An authority's certificate alone is its key.
        var keys = content.keys.map { ($0.index, $0.material.fingerprint, $0.material.subject, PinRole.leaf) }
        if leaves.isEmpty {
            keys += content.certificates.map { ($0.index, $0.certificate.spkiFingerprint, nil, PinRole.ca) }
        }
        for (index, key, subject, role) in keys {
            results += self.results(of: key, subject, as: role, keys.count > 1 ? "\(path)[\(index)]" : path)
        }
        for index in results.indices { results[index].file = path }
        return (results, content.problems)
    }

    private static func content(of path: String, isNamed: Bool) -> Content {
        var content = Content()
        let title = DialectInput.title(path)
        do throws(KeyFile.Failure) {
            let file: InputFile
            do throws(InputFileError) {
                file = path == "-" ? .standardInput() : try InputFile(path: path)
            } catch {
                throw .file(error)
            }
            try KeyFile.read(file) { item in
                switch item.content {
                case .success(let material):
                    guard let der = material.certificate else { return content.keys.append((item.index, material)) }
                    do throws(DERError) {
                        content.certificates.append((item.index, try X509Certificate(derBytes: der)))
                    } catch {
                        content.problems.append("\(title)[\(item.index)]: \(error)")
                    }
                case .failure(let error): content.problems.append("\(title)[\(item.index)]: \(error)")
                }
            }
        } catch {
            // In a folder other files are passed over.
            guard isNamed || !InputProblem(error).isStranger else { return content }
            content.problems.append("\(title): \(error)")
        }
        if isNamed, content.certificates.isEmpty, content.keys.isEmpty, content.problems.isEmpty {
            content.problems.append("\(title): holds no certificate and no key: give one of a server")
        }
        return content
    }
}

// MARK: - Chains

extension FileCheck {
    private func results(of chain: PresentedChain, by claims: [Claim], _ title: String) -> [CheckResult] {
        guard !claims.isEmpty else { return [uncovered(title, chain.leaf.subject)] }
        return claims.map { claim in
            CheckResult(
                text: judge.verdict(
                    on: chain, name: claim.name, port: claim.port, subject: "\(title) for \(claim.name)",
                    source: "file",
                    expecting: claim.expectation))
        }
    }

    /// A host that a certificate is for, with a port at which its rule holds.
    private typealias Claim = (name: ServerName, port: UInt16, expectation: Expectation)

    /// Every host of the policy that a certificate is for, up to a limit, and whether there are more; of pins given by
    /// themselves any.
    private func claims(of leaf: X509Certificate) -> ([Claim], isCut: Bool) {
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
            guard let port = UInt16(exactly: rule.ports?.min() ?? 443) else { continue }
            for name in hosts where !claims.contains(where: { $0.name == name && $0.port == port }) {
                // The rule of a name nearer to it decides about it.
                guard file.policy.rule(for: name, port: Int(port))?.location == rule.location else { continue }
                guard claims.count < Self.nameLimit else { return (claims, true) }
                claims.append((name, port, .pins(file.policy)))
            }
        }
        return (claims, false)
    }

    /// A name that an entry covers: of a wildcard one of the many.
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
            text: VerdictText(
                verdict: .unlisted(policy: policy), subject: name, source: "file", presented: [], now: judge.time))
    }
}

// MARK: - Keys

extension FileCheck {
    /// A key is judged by the rules for the host that a request names, else by every rule.
    private func results(
        of key: SPKIFingerprint, _ subject: X509Name?, as role: PinRole, _ title: String
    ) -> [CheckResult] {
        func result(_ verdict: Verdict, _ subject: String) -> CheckResult {
            var text = VerdictText(
                verdict: verdict, subject: subject, source: "file", presented: [], now: judge.time)
            if verdict.status == .good, let rule = verdict.rule, let warnings = judge.warnings {
                text.warnings = warnings.ending(rule, at: judge.time)
            }
            return CheckResult(text: text)
        }
        let object = PinnedObject.publicKey(key)
        let (rules, denied) = rules()
        if let pin = denied.first(where: { $0.object == object }) { return [result(.keyDenied(pin), title)] }
        guard !rules.isEmpty else { return [uncovered(title, subject)] }
        let host = subject?.commonName.flatMap { try? ServerName($0) }
        let meant = rules.filter { rule in
            host.map { rule.host == $0 || rule.includesSubdomains && $0.isSubdomain(of: rule.host) } == true
        }
        let matches = (meant.isEmpty ? rules : meant).map { rule in
            (rule, rule.pins.filter { $0.object == object && $0.role.overlaps(role) })
        }
        // Of all rules those that know the key are meant; a request's host says which they are.
        let told = meant.isEmpty ? matches.filter { !$0.1.isEmpty } : matches
        guard !told.isEmpty else {
            return [result(.keyStrange(key, rules.count == 1 ? rules.first : nil), title)]
        }
        return told.map { rule, pins in
            let subject = rule.location == nil ? title : "\(title) for \(rule.host)"
            if let expiry = rule.expiry, expiry.isPast(at: judge.time) {
                return result(.keyExpired(rule, expiry), subject)
            }
            return result(pins.isEmpty ? .keyStrange(key, rule) : .keyMatched(pins, rule), subject)
        }
    }

    private func rules() -> (rules: [PinningRule], denied: [Pin]) {
        switch source {
        case .none: ([], [])
        case .pins(let pins):
            // Any host will do where the pins are given by themselves.
            ((try? ServerName("pins.invalid")).map { [PinningRule(host: $0, pins: pins)] } ?? [], [])
        case .policy(let file): (file.policy.rules, file.policy.deny)
        }
    }
}
