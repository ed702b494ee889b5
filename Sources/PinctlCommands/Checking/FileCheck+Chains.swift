import CertificatePinning
import CertificateTrust
import PinctlTLSTransport

extension FileCheck {
    func results(of chain: PresentedChain, by claims: [Claim], _ title: String, in file: String) -> [CheckResult] {
        guard !claims.isEmpty else { return [uncovered(title, chain.leaf.subject, in: file)] }
        return claims.map { claim in
            var result = judge.result(
                of: chain, name: claim.name, port: claim.port, subject: "\(title) for \(claim.name)", source: .file,
                expecting: source)
            result.file = file
            return result
        }
    }

    /// A host that a certificate is for, with a port that its rule covers.
    typealias Claim = (name: ServerName, port: UInt16)

    /// Returns the hosts of the policy that a certificate is for, up to a limit, and whether there are more.
    ///
    /// With `--host`, it is that host. If the pins were given without a policy, the first host of the certificate is
    /// used.
    func claims(of leaf: X509Certificate, _ coverage: inout Coverage) -> ([Claim], isCut: Bool) {
        if let endpoint {
            // mutant files-host: leaf.subjectAlternativeNames.first.flatMap(Self.host) ?? endpoint.name for
            //   `endpoint.name` by FileLayoutTests/oneHost
            return ([(endpoint.name, endpoint.port)], false)
        }
        let entries = leaf.subjectAlternativeNames
        let named = entries.prefix(Self.nameLimit).compactMap(Self.host)
        guard case .policy(let file) = source else {
            return (named.prefix(1).map { ($0, 443) }, false)
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
                claims.append((name, port))
            }
        }
        return (claims, false)
    }

    /// Returns a hostname that the entry covers, for a wildcard any one of them.
    static func host(of entry: SubjectAlternativeName) -> ServerName? {
        let text = entry.description
        do throws(ServerNameError) {
            return try ServerName(text.hasPrefix("*.") ? "any" + text.dropFirst() : text)
        } catch {
            return nil
        }
    }

    func uncovered(_ title: String, _ subject: X509Name?, in file: String) -> CheckResult {
        let policy = source.path ?? "the run"
        let name = subject.map { $0.description.isEmpty ? title : "\(title) (\($0))" } ?? title
        return CheckResult(
            verdict: .unlisted(by: policy), subject: name, source: .file, presented: [], now: judge.time, file: file)
    }
}
