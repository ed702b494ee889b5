public import CertificateTrust
import PinctlBasics
public import PinctlFoundation

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
        at time: Date, settings: LintSettings, publicSuffixes: PublicSuffixes = .system,
        calendar: RootCalendar = RootCalendar(), renewals: [KeyRenewal]? = nil,
        providers: ProviderPools = .builtIn, besides others: [LintFinding]
    ) -> [LintFinding] {
        var linter = PolicyLinter(CanonicalPolicy(self), path: path, at: time, publicSuffixes: publicSuffixes)
        linter.marksBackups = true
        linter.calendar = calendar
        linter.renewals = renewals
        linter.providers = providers
        if root["domains"] == nil {
            linter.namedPins = (root["pins"]?.members ?? []).compactMap { member in
                names[member.key].map { pin in
                    var pin = CanonicalPin(pin)
                    pin.location = PolicyLocation(path: path, member.value.position)
                    return pin
                }
            }
        }
        for file in (linter.policy.rules.flatMap(\.pins) + linter.namedPins).compactMap(\.from)
        where linter.evidence[file] == nil && !filesOutsideBundle.contains(file) {
            linter.evidence[file] = LintEvidence(file: file, in: directory)
        }
        var anchors: [String: [X509Certificate]] = [:]
        for (rule, value) in zip(linter.policy.rules, root["domains"]?.elements ?? []) {
            linter.facts[linter.location(of: rule)] = PolicyLinter.RuleFacts(
                anchors: self.anchors(of: value, &anchors),
                reportsSince: value["x-report-since"]?.string.flatMap { Date(rfc3339: $0) },
                hasBackupSlot: value[PolicyDraft.slotKey] != nil, provider: value[Self.providerKey])
        }
        return linter.findings(
            allowing: allowances, settings: settings,
            besides: emptySlots(in: root) + capitals + unpinned(linter) + unusedPins + misspelledProviders + others)
    }

    /// Findings about named backups that no rule has, because they were added to the wrong list.
    private var unusedPins: [LintFinding] {
        // A list of pins alone is for other policies to include.
        guard let rules = root["domains"]?.elements else { return [] }
        let lists = rules.map { $0["pins"] } + [root["deny"]]
        let used = Set(lists.flatMap { $0?.elements ?? [] }.compactMap(\.string))
        return (root["pins"]?.members ?? []).filter { member in
            // mutant lint-unused-pin: false by LintRuleTests/unusedPin
            member.value["backup"]?.bool == true && !used.contains(member.key)
        }.map { member in
            LintFinding(
                .pinsNothing, .warning, at: PolicyLocation(path: path, member.keyPosition),
                "no rule has the backup \(quoted(member.key)): add the name to the \"pins\" of a rule, or remove it")
        }
    }

    /// The files that the policy names.
    private var directory: PolicyDirectory { bundle?.directory(besides: path) ?? .current }

    /// The files that pins of a bundled policy come from (`from`) and that aren't in the bundle, because programs don't
    /// need them. P013 can't compare these pins.
    package var filesOutsideBundle: [String] {
        guard bundle != nil else { return [] }
        var files: [String] = []
        for file in policy.rules.flatMap(\.pins).map(CanonicalPin.init).compactMap(\.from) where !files.contains(file) {
            if (try? directory.contents(file, PolicyBundle.maximumSize)) == nil { files.append(file) }
        }
        return files
    }

    /// Returns the certificates in the files of a rule's anchors, which the policy was read with.
    private func anchors(of rule: JSONValue, _ known: inout [String: [X509Certificate]]) -> [X509Certificate] {
        (rule["anchors"]?["files"]?.elements ?? []).compactMap(\.string).flatMap { name in
            let file = resolvedPath(name, besides: path)
            if let certificates = known[file] { return certificates }
            let bytes = (try? directory.contents(file, PolicyDirectory.maximumRoots)) ?? []
            let certificates = (try? CertificateFile.read(bytes, name: file)) ?? []
            known[file] = certificates
            return certificates
        }
    }

    /// Returns findings about a policy that is valid but pins nothing.
    private func unpinned(_ linter: PolicyLinter) -> [LintFinding] {
        let policy = linter.policy
        if let first = policy.rules.first, policy.rules.allSatisfy({ $0.mode == .off }), policy.denied.isEmpty,
            policy.unlisted == .trust
        {
            return [
                LintFinding(
                    .pinsNothing, at: linter.location(of: first),
                    "the mode of every rule is off, so the policy pins nothing: set \"mode\" to enforce")
            ]
        }
        return policy.rules.compactMap { rule in
            let anchors = linter.facts(of: rule).anchors
            // mutant lint-bypass: rule.trustsSystem ? nil : rule.stores.pinsApplyOnlyUnder for 2 by
            //   LintRuleTests/bypass
            guard rule.mode != .off, let store = rule.stores.pinsApplyOnlyUnder else { return nil }
            if !rule.trustsSystem, !anchors.isEmpty, !anchors.contains(where: store.contains) {
                return LintFinding(
                    .pinsNothing, at: linter.location(of: rule),
                    "\(rule.lintTitle) pins nothing: \"localAnchorsBypassPins\" accepts every chain that ends at an "
                        + "anchor outside the system's trust store, and all of the rule's anchors are: remove the "
                        + "setting"
                )
            }
            return LintFinding(
                .bypassedPins, at: linter.location(of: rule),
                "\"localAnchorsBypassPins\" accepts every chain for \(rule.lintTitle) that ends at an anchor outside "
                    + "the system's trust store, such as that of an intercepting proxy: remove the setting from a "
                    + "policy that ships")
        }
    }

    /// Findings about hosts with capitals, which rules have in lower case.
    private var capitals: [LintFinding] {
        (root["domains"]?.elements ?? []).compactMap { rule in
            guard let host = rule["host"], let message = host.string.flatMap(HostPattern.capitals(in:)) else {
                return nil
            }
            return LintFinding(.malformedHost, at: PolicyLocation(path: path, host.position), message)
        }
    }

    private func emptySlots(in value: JSONValue) -> [LintFinding] {
        let slots = (value.members ?? []).filter { $0.key == PolicyDraft.slotKey }.map { member in
            LintFinding(
                .emptyBackupSlot, at: PolicyLocation(path: path, member.keyPosition),
                "the backup slot isn't filled: create a backup key as it describes, add its pin to the \"pins\" of "
                    + "this rule, and remove the slot")
        }
        return slots + (value.members ?? []).flatMap { emptySlots(in: $0.value) }
            + (value.elements ?? []).flatMap(emptySlots)
    }
}
