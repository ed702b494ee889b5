import CertificatePinning
import CertificateTrust
import PinctlBasics
import PinctlFoundation
import PinctlTLSTransport

/// The result of checking a chain, or a key in a file: the verdict, and what is known about its subject.
struct CheckResult: Sendable {
    private(set) var verdict: Verdict
    /// The subject of the verdict, such as `host:port`.
    let subject: String
    /// The source of the certificates that came with the chain. All others come from the trust store.
    let source: ChainOrigin
    let presented: [X509Certificate]
    /// The time of the check.
    let now: Date
    /// The possible causes.
    private(set) var causes: [PinFailureCause] = []
    /// The warnings about a good verdict that won't stay good by itself.
    private(set) var warnings: [CheckWarning] = []
    /// The exported files that reject the chain.
    private(set) var refusals: [ExportRefusal] = []
    /// The variant if the subject was checked several times, such as `203.0.113.7:443, ECDSA`.
    var variant = ""
    /// The host and port, if the result is about one.
    var endpoint: (name: ServerName, port: UInt16)?
    /// The rule that names the host or the target, if any. It need not be the rule that decided.
    var rule: PinningRule?
    /// The line that listed the target, if any.
    var input: String?
    var address: String?
    /// The URL of the proxy that was used, without its login, if any.
    var proxy: String?
    /// The kind of key that was requested, or `nil` for the server's choice.
    var key: Probe.Key?
    /// The TLS version.
    var version: String?
    /// The cipher suite, such as `TLS_AES_256_GCM_SHA384`.
    var cipherSuite: String?
    /// The key exchange group, such as `X25519MLKEM768`, or `nil` if it isn't known.
    var group: String?
    var duration: Duration?
    /// The file that was checked instead of a server.
    var file: String?
    /// Whether the baseline contains this failure.
    var isKnown = false
    /// Whether the baseline contains a failure of the subject, which is good now.
    var isFixed = false
}

extension CheckResult {
    /// The verdict as a word that takes the warnings into account.
    var word: VerdictWord {
        verdict.isGood && warnings.contains { $0.kind == .somePaths } ? .okSomePaths : verdict.word
    }

    /// The severity, which takes the warnings and the baseline into account.
    var severity: Severity {
        guard !isKnown else { return .known }
        return verdict.isGood && !warnings.isEmpty ? .warning : verdict.severity
    }

    /// The certificates of the verified path, or as they were presented if there is none, leaf first, with their roles.
    /// Without a path, a self-issued certificate is a root.
    var certificates: [(PinRole, X509Certificate)] {
        verdict.path?.roles
            ?? presented.enumerated().map { index, certificate in
                (index == 0 ? .leaf : certificate.isSelfIssued ? .root : .intermediate, certificate)
            }
    }

    /// The subject, and in parentheses what distinguishes the result from others about it.
    var title: String { qualifier.isEmpty ? subject : "\(subject) (\(qualifier))" }

    /// The variant, and the proxy that the chain came through. Failures before a chain name the proxy in their text.
    var qualifier: String {
        let way = word == .unreachable ? nil : proxy.map { "through \($0)" }
        return [variant.isEmpty ? nil : variant, way].compactMap(\.self).joined(separator: ", ")
    }

    /// Returns the source of a certificate: `served`, `file` or `store`.
    func origin(of certificate: X509Certificate) -> String {
        presented.contains(certificate) ? source.rawValue : "store"
    }
}

extension CheckResult {
    /// Adds the details of the probe that received the chain.
    mutating func add(_ probe: Probe) {
        endpoint = (probe.target.endpoint.name, probe.target.endpoint.port)
        (address, key, duration) = (probe.address, probe.key, probe.duration)
        proxy = probe.proxy?.description
        if case .success(let served) = probe.outcome {
            (version, cipherSuite, group) = (served.version, served.cipherSuite, served.group)
        }
    }

    /// Replaces a good verdict if the server didn't use the required key exchange group.
    mutating func require(_ required: String?) {
        guard let required, verdict.isGood, verdict.path != nil, group != required else { return }
        judge(verdict.lacking(RequiredGroup(name: required, used: group, version: version ?? "")))
        // Warnings are about good verdicts.
        warnings = []
    }

    /// Adds a warning if a good chain needs one of these issuers, which only the files of other certificates contain.
    mutating func warn(ofBorrowed issuers: [X509Certificate]) {
        // mutant files-borrowed: false for `verdict.isGood` by FileLayoutTests/neighbours
        guard verdict.isGood, let path = verdict.path,
            // The anchor comes from the trust store.
            let issuer = path.certificates.dropLast().first(where: issuers.contains)
        else { return }
        warnings.append(
            CheckWarning(
                kind: .separateIssuer,
                text: "its issuer, \(issuer.subject), is only in the file of another certificate: deploy the leaf with "
                    + "its whole chain in one file"))
    }

    /// Adds a warning to a good result if another file has the leaf, and no issuer beside it.
    mutating func warn(ofCopyAlone file: String) {
        guard verdict.isGood else { return }
        warnings.append(
            CheckWarning(
                kind: .separateIssuer,
                text: "\(file) has the leaf without its issuers: a server that gets this file sends an incomplete "
                    + "chain"))
    }

    /// Replaces the verdict by one that takes other results into account.
    mutating func judge(_ verdict: Verdict) {
        self.verdict = verdict
        causes = verdict.causes(among: causes)
    }
}

/// A key exchange group that a server was required to use and didn't.
struct RequiredGroup {
    let name: String
    /// The group that it used instead, or `nil` if it isn't known.
    let used: String?
    /// The TLS version, such as `TLSv1.2`.
    let version: String

    /// The finding in one line.
    var finding: String {
        let found =
            used.map { "the key exchange uses \($0)" }
            ?? "\(version) is used, in which the key exchange isn't known in time"
        return "\(found), but \(name) is required"
    }
}

extension VerifiedPath {
    /// The certificates with the roles of their positions, leaf first.
    var roles: [(PinRole, X509Certificate)] {
        certificates.enumerated().map { (PinRole(index: $0, of: certificates.count), $1) }
    }
}
