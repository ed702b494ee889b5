import Basics
public import CertificateTrust
public import FoundationEssentials

extension PolicyFile {
    /// Returns everything that lint finds at `time`, in file order.
    ///
    /// Reads the files that pins claim to come from (`from`, `file`), relative to the policy's directory. A comment
    /// `// pinctl-allow P011: reason` suppresses findings on its line and the next.
    public func lint(
        at time: Date, settings: LintSettings = LintSettings(), publicSuffixes: PublicSuffixes = .system
    ) -> [LintFinding] {
        lint(at: time, settings: settings, publicSuffixes: publicSuffixes, besides: [])
    }

    /// Returns the findings together with `others`, to which the same settings and comments apply.
    package func lint(
        at time: Date, settings: LintSettings, publicSuffixes: PublicSuffixes = .system, besides others: [LintFinding]
    ) -> [LintFinding] {
        var evidence: [String: LintEvidence] = [:]
        var anchors: [String: [X509Certificate]] = [:]
        var rules: [LintedPolicy.Rule] = []
        for (rule, value) in zip(policy.rules, root["domains"]?.elements ?? []) {
            let pins = zip(rule.pins, value["pins"]?.elements ?? []).map { self.linted($0, $1, &evidence) }
            let isPrivate = value["anchors"]?["files"] != nil && value["anchors"]?["system"]?.bool != true
            rules.append(
                LintedPolicy.Rule(
                    hosts: [.init(rule.host.description, includesSubdomains: rule.includesSubdomains)],
                    ownsPublicSuffix: rule.ownsPublicSuffix,
                    ports: rule.ports, pins: pins, requirement: rule.requirement, mode: rule.mode,
                    end: rule.expiry?.end, endsSilently: rule.expiry?.action == .stopPinning,
                    reportsSince: value["x-report-since"]?.string.flatMap { Date(rfc3339: $0) },
                    hasBackupSlot: value[PolicyDraft.slotKey] != nil, anchors: self.anchors(of: value, &anchors),
                    trustsSystem: !isPrivate, at: PolicyLocation(path: path, value.position)))
        }
        var linted = LintedPolicy(rules: rules, combination: .closest, marksBackups: true)
        if root["domains"] == nil {
            linted.namedPins = (root["pins"]?.members ?? []).compactMap { member in
                names[member.key].map { self.linted($0, member.value, &evidence) }
            }
        }
        return linted.findings(
            at: time, in: path, allowances: allowances, settings: settings, publicSuffixes: publicSuffixes,
            besides: emptySlots(in: root) + unpinned(rules) + others)
    }

    /// Returns the certificates in the files of a rule's anchors, which the policy was read with.
    private func anchors(of rule: JSONValue, _ known: inout [String: [X509Certificate]]) -> [X509Certificate] {
        (rule["anchors"]?["files"]?.elements ?? []).compactMap(\.string).flatMap { name in
            let file = resolvedPath(name, besides: path)
            if let certificates = known[file] { return certificates }
            let certificates = (try? CertificateFile.read(file)) ?? []
            known[file] = certificates
            return certificates
        }
    }

    /// Returns findings about a policy that is valid but pins nothing.
    private func unpinned(_ linted: [LintedPolicy.Rule]) -> [LintFinding] {
        if let first = linted.first, linted.allSatisfy({ $0.mode == .off }), policy.deny.isEmpty,
            policy.unlisted == .trust
        {
            return [
                LintFinding(
                    .pinsNothing, at: first.location,
                    "the mode of every rule is off, so the policy pins nothing: set \"mode\" to enforce")
            ]
        }
        return zip(policy.rules, linted).compactMap { rule, linted in
            guard rule.mode != .off, let store = rule.pinsApplyOnlyUnder, !linted.trustsSystem,
                !linted.anchors.isEmpty, !linted.anchors.contains(where: store.contains)
            else { return nil }
            return LintFinding(
                .pinsNothing, at: linted.location,
                "\(linted.title) pins nothing: \"localAnchorsBypassPins\" accepts every chain that ends at an anchor "
                    + "outside the system's trust store, and all of its anchors are: remove it")
        }
    }

    /// Returns a pin of a rule with the location of its definition and the file it comes from.
    private func linted(
        _ pin: Pin, _ element: JSONValue, _ evidence: inout [String: LintEvidence]
    ) -> LintedPolicy.Pin {
        let written = element.string.flatMap { name in root["pins"]?[name] } ?? element
        let file = pin.from
        if let file, evidence[file] == nil { evidence[file] = LintEvidence(file: file) }
        let bytes: [32 of UInt8]
        let isOfCertificate: Bool
        switch pin.fingerprint {
        case .publicKey(let fingerprint): (bytes, isOfCertificate) = (fingerprint.bytes, false)
        case .certificate(let fingerprint): (bytes, isOfCertificate) = (fingerprint.bytes, true)
        }
        return LintedPolicy.Pin(
            bytes.indices.map { bytes[$0] }, by: .sha256, isOfCertificate: isOfCertificate, role: pin.role,
            isBackup: pin.isBackup, title: pin.title, at: PolicyLocation(path: path, written.position),
            evidence: file.flatMap { evidence[$0] }, isDenied: policy.deny.contains { $0.denies(pin) })
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

extension Pin {
    /// Returns whether this pin names the same object as another one, and counts at every position where that one can
    /// match.
    fileprivate func denies(_ pin: Pin) -> Bool {
        fingerprint == pin.fingerprint
            && (0..<3).allSatisfy { !pin.role.covers(index: $0, of: 3) || role.covers(index: $0, of: 3) }
    }
}
