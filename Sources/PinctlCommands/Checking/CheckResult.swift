import CertificatePinning
import CertificateTrust
import PinctlBasics
import PinctlFoundation
import TLSTransport

/// The result of checking a chain, or a key in a file.
///
/// A result doesn't change. The functions that add to it return a new result.
struct CheckResult: Sendable {
    private(set) var verdict: Verdict
    /// The subject of the verdict, such as `host:port`.
    let subject: String
    /// The source of certificates that came with the chain: `served` or `file`. All others come from the trust store.
    let source: String
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
    private(set) var variant = ""
    /// The host and port, if the result is about one.
    private(set) var endpoint: (name: ServerName, port: UInt16)?
    /// The rule that names the host or the target, if any. It need not be the rule that decided.
    private(set) var rule: PinningRule?
    /// The line that listed the target, if any.
    private(set) var input: String?
    private(set) var address: String?
    /// The kind of key that was requested, or `nil` for the server's choice.
    private(set) var key: Probe.Key?
    /// The TLS version.
    private(set) var version: String?
    /// The cipher suite, such as `TLS_AES_256_GCM_SHA384`.
    private(set) var cipherSuite: String?
    /// The key exchange group, such as `X25519MLKEM768`, or `nil` if it isn't known.
    private(set) var group: String?
    private(set) var duration: Duration?
    /// The file that was checked instead of a server.
    private(set) var file: String?
    /// Whether the baseline contains this failure.
    private(set) var isKnown = false
    /// Whether the baseline contains a failure of the subject, which is good now.
    private(set) var isMended = false
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

    /// Returns the source of a certificate: `served`, `file` or `store`.
    func origin(of certificate: X509Certificate) -> String {
        presented.contains(certificate) ? source : "store"
    }
}

extension CheckResult {
    /// Returns the result with the host and the port that it is about.
    func about(_ name: ServerName, port: UInt16) -> CheckResult {
        var result = self
        result.endpoint = (name, port)
        return result
    }

    /// Returns the result with the rule that names its host or target.
    func named(by rule: PinningRule?) -> CheckResult {
        var result = self
        result.rule = rule ?? self.rule
        return result
    }

    /// Returns the result with the details of its probe.
    func measured(by probe: Probe) -> CheckResult {
        var result = about(probe.target.endpoint.name, port: probe.target.endpoint.port)
        (result.address, result.key, result.duration) = (probe.address, probe.key, probe.duration)
        if case .success(let served) = probe.outcome {
            (result.version, result.cipherSuite, result.group) = (served.version, served.cipherSuite, served.group)
        }
        return result
    }

    /// Returns the result with a failure if it is good, but the server didn't use the required key exchange group.
    func requiring(_ required: String?) -> CheckResult {
        guard let required, verdict.isGood, let path = verdict.path, group != required else { return self }
        let other = RequiredGroup(name: required, used: group, version: version ?? "")
        var result = judged(.otherGroup(other, path, verdict.rule))
        // Warnings are about good verdicts.
        result.warnings = []
        return result
    }

    /// Returns the result of a target that a line listed. A variant is named if the target was checked several times.
    func listed(as input: String?, namesVariant: Bool = false) -> CheckResult {
        var result = self
        result.input = input
        if namesVariant {
            result.variant = [address, key?.rawValue.uppercased()].compactMap(\.self).joined(separator: ", ")
        }
        return result
    }

    /// Returns the result of what a file contains.
    func found(in file: String) -> CheckResult {
        var result = self
        result.file = file
        return result
    }

    /// Returns the result with a verdict that takes other results into account.
    func judged(_ verdict: Verdict) -> CheckResult {
        var result = self
        result.verdict = verdict
        result.causes = verdict.causes(among: causes)
        return result
    }

    /// Returns the result with its place in a baseline.
    func compared(with baseline: Baseline) -> CheckResult {
        var result = self
        (result.isKnown, result.isMended) = (baseline.knows(self), baseline.isMended(self))
        return result
    }
}

/// A key exchange group that a server was required to use and didn't.
struct RequiredGroup: Sendable, Hashable {
    let name: String
    /// The group that it used instead, or `nil` if it isn't known.
    let used: String?
    /// The TLS version, such as `TLSv1.2`.
    let version: String
}
