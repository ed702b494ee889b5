public import CertificateTrust
public import FoundationEssentials

extension PolicyFile {
    /// Everything that lint finds as of `time`, in the order of the file.
    ///
    /// Files that pins are said to come from (`from`, `file`) are read, relative to the policy's folder. A comment
    /// `// pinctl-allow P011: reason` takes back findings of its line and the next.
    public func lint(
        at time: Date, settings: LintSettings = LintSettings(), publicSuffixes: PublicSuffixes = .system
    ) -> [LintFinding] {
        lint(at: time, settings: settings, publicSuffixes: publicSuffixes, besides: [])
    }

    /// The same with findings that somebody else made, under the same settings and comments.
    package func lint(
        at time: Date, settings: LintSettings, publicSuffixes: PublicSuffixes = .system, besides others: [LintFinding]
    ) -> [LintFinding] {
        var evidence: [String: LintEvidence] = [:]
        let values = root["domains"]?.elements ?? []
        let rules = zip(policy.rules, values).map { rule, value in
            LintedPolicy.Rule(
                hosts: [.init(rule.host.description, includesSubdomains: rule.includesSubdomains)], ports: rule.ports,
                pins: zip(rule.pins, value["pins"]?.elements ?? []).map { linted($0, $1, &evidence) },
                requirement: rule.requirement, mode: rule.mode, end: rule.expiry?.end,
                endsSilently: rule.expiry?.action == .stopPinning,
                reportsSince: value["x-report-since"]?.string.flatMap { Date(rfc3339: $0) },
                hasBackupSlot: value[PolicyDraft.slotKey] != nil, at: PolicyLocation(path: path, value.position))
        }
        return LintedPolicy(rules: rules, combination: .closest, marksBackups: true)
            .findings(
                at: time, in: path, allowances: allowances, settings: settings, publicSuffixes: publicSuffixes,
                besides: emptySlots(in: root) + others)
    }

    /// A pin of a rule, with the place where it is written out and the file it comes from.
    private func linted(
        _ pin: Pin, _ element: JSONValue, _ evidence: inout [String: LintEvidence]
    ) -> LintedPolicy.Pin {
        let written = element.string.flatMap { name in root["pins"]?[name] } ?? element
        let file = pin.from
        if let file, evidence[file] == nil { evidence[file] = LintEvidence(file: file) }
        let bytes: [32 of UInt8]
        let isOfCertificate: Bool
        switch pin.object {
        case .publicKey(let fingerprint): (bytes, isOfCertificate) = (fingerprint.bytes, false)
        case .certificate(let fingerprint): (bytes, isOfCertificate) = (fingerprint.bytes, true)
        }
        return LintedPolicy.Pin(
            bytes.indices.map { bytes[$0] }, by: .sha256, isOfCertificate: isOfCertificate, role: pin.role,
            isBackup: pin.isBackup, title: pin.title, at: PolicyLocation(path: path, written.position),
            evidence: file.flatMap { evidence[$0] })
    }

    private func emptySlots(in value: JSONValue) -> [LintFinding] {
        let slots = (value.members ?? []).filter { $0.key == PolicyDraft.slotKey }.map { member in
            LintFinding(
                .emptyBackupSlot, at: PolicyLocation(path: path, member.keyPosition),
                "the backup slot is not filled: make a backup key as it says, add its pin to \"pins\", "
                    + "and remove the slot")
        }
        return slots + (value.members ?? []).flatMap { emptySlots(in: $0.value) }
            + (value.elements ?? []).flatMap(emptySlots)
    }
}
