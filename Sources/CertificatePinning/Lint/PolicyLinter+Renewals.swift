import CertificateTrust
import PinctlBasics

// Findings about pinned server keys that the program that renews the certificate replaces.

extension PolicyLinter {
    /// Returns the renewals of certificates for the rule's hosts.
    func renewals(of rule: CanonicalRule) -> [KeyRenewal] {
        (renewals ?? []).filter { renewal in
            // mutant lint-closer-rule: false for `isOverruled(rule, $0)` by PinctlTests.IssuanceTests/closerRules
            renewal.hosts(of: rule).contains { !isOverruled(rule, $0) }
        }
    }

    /// Returns whether a rule for a closer hostname decides about a host at every port.
    private func isOverruled(_ rule: CanonicalRule, _ host: HostPattern) -> Bool {
        guard policy.combination != .union, host.scope == .exact else { return false }
        /// Returns the length of the longest name by which a rule covers the host.
        func closeness(_ rule: CanonicalRule) -> Int {
            KeyRenewal.patterns(of: rule).filter { $0 == host || $0.covers(host) }.map(\.host.utf8.count).max() ?? 0
        }
        let own = closeness(rule)
        return policy.rules.contains { $0.ports == nil && closeness($0) > own }
    }

    /// Whether the configuration of every program that renews a certificate for the rule says what happens to the key,
    /// and the rule accepts the key that each has now.
    func hasKnownRenewals(_ rule: CanonicalRule) -> Bool {
        let renewals = renewals(of: rule)
        guard renewals.allSatisfy({ $0.effect != .unknown && $0.unread == nil }) else { return false }
        // mutant lint-short-lived-unpinned: false for `isUnpinned($0, by: rule)` by PinctlTests.IssuanceTests/unpinned
        return !renewals.isEmpty && renewals.allSatisfy { !isUnpinned($0, by: rule) }
    }

    /// Whether no pin of the rule is of the leaf that the server has now. An unknown leaf may be pinned.
    private func isUnpinned(_ renewal: KeyRenewal, by rule: CanonicalRule) -> Bool {
        guard let leaf = renewal.certificate else { return false }
        // Which port a certificate is for isn't known.
        let others = policy.rules.filter { $0.patterns == rule.patterns && $0.ports != rule.ports }
        return !(rule.pins + unitedPins(of: rule) + others.flatMap(\.pins)).contains {
            $0.role.covers(index: 0, of: 3) && $0.matches(leaf)
        }
    }

    /// Returns the first certificate in use whose key no pin of the rule has. A wildcard certificate doesn't count if a
    /// rule for one host has its own certificate.
    private func firstUnpinned(_ found: [KeyRenewal], by rule: CanonicalRule) -> KeyRenewal? {
        let own =
            rule.patterns.allSatisfy { $0.scope == .exact }
            ? found.filter { $0.hosts(of: rule).contains { $0.scope == .exact } } : []
        // mutant lint-unpinned-key: false for `isUnpinned($0, by: rule)` by PinctlTests.IssuanceTests/unpinned
        return (own.isEmpty ? found : own).first { isUnpinned($0, by: rule) }
    }

    /// Returns a finding about a certificate of the rule that isn't renewed, whatever the rule pins.
    private func stoppedFindings(_ rule: CanonicalRule) -> [LintFinding] {
        // mutant lint-stopped-renewal: false for `$0.effect == .stops` by PinctlTests.IssuanceTests
        renewals(of: rule).first { $0.effect == .stops }.map { renewal in
            [
                LintFinding(
                    .stoppedRenewal, at: location(of: rule),
                    "\(rule.lintTitle) has a certificate that \(renewal.program) refuses to renew, so it will expire "
                        + "(\(renewal.evidence)): \(renewal.remedy)")
            ]
        } ?? []
    }

    func renewalFindings(_ rule: CanonicalRule) -> [LintFinding] {
        guard renewals != nil, rule.mode != .off else { return [] }
        return stoppedFindings(rule) + keyFindings(rule) + unreadFindings(rule)
    }

    /// Returns a finding about a certificate that should be there and can't be read, whatever the rule pins. Without
    /// it, neither its key nor whether its program refuses to renew it is known, and a missing finding would look like
    /// proof of both.
    private func unreadFindings(_ rule: CanonicalRule) -> [LintFinding] {
        renewals(of: rule).compactMap { renewal in
            // mutant lint-unread-certificate: nil for `renewal.unread` by PinctlTests.IssuanceTests/unread
            guard let reason = renewal.unread else { return nil }
            return LintFinding(
                .changingKey, .warning, at: location(of: rule),
                "\(rule.lintTitle) has a certificate of \(renewal.program) that isn't compared with its pins, because "
                    + "\(reason) (\(renewal.location)): run pinctl where the certificate is, as a user who can read "
                    + "it, or renew it")
        }
    }

    private func keyFindings(_ rule: CanonicalRule) -> [LintFinding] {
        let primary = rule.pins.filter { !$0.isBackup }
        let found = renewals(of: rule)
        let served = found.flatMap { $0.former + [$0.certificate].compactMap(\.self) }
        /// Returns the role that the pin has, or that its key has in a certificate of the server.
        func role(_ pin: CanonicalPin) -> PinRole? {
            // mutant lint-former-leaf: nil for `.leaf` by PinctlTests.IssuanceTests/unknownRoles
            knownRole(of: pin) ?? (served.contains(where: pin.matches) ? .leaf : nil)
        }
        let leaves = primary.filter { role($0) == .leaf }
        let unknown = primary.filter { role($0) == nil }
        guard let pin = leaves.first ?? unknown.first else { return [] }
        func finding(_ severity: LintFinding.Severity, _ message: String) -> [LintFinding] {
            [LintFinding(.changingKey, severity, at: location(of: rule), "\(rule.lintTitle) \(message)")]
        }
        if let other = firstUnpinned(found, by: rule), let key = other.certificate?.spkiFingerprint {
            // That pin alone would last only until the next renewal.
            let next = other.effect == .changesKey ? ", and then \(other.remedy)" : ""
            let former = served.first(where: pin.matches) ?? holder(of: pin)?.certificate
            let act = "the newest certificate \(pin.difference(from: key, former)) (\(other.evidence))"
            guard !leaves.isEmpty else {
                return finding(
                    .warning,
                    "breaks if \(pin.lintTitle) is the \(pin.object) of its server, because \(act): ship a pin of "
                        + "\(key) before you deploy that certificate\(next), or give the pin its role")
            }
            return finding(
                requiresLeaf(rule, leaves, primary) ? .error : .warning,
                "pins \(pin.lintTitle), but \(act): serve a pinned \(pin.object), or ship a pin of \(key) before you "
                    + "deploy that certificate\(next)")
        }
        let changes = found.filter { $0.effect == .changesKey }
        if let change = changes.first {
            let others = changes.count > 1 ? ", and \(changes.count - 1) more" : ""
            let act =
                "\(change.program) creates a new key \(pin.content == .certificate ? "and certificate " : "")at each "
                + "renewal (\(change.evidence)\(others))"
            // To keep the key alone doesn't keep the certificate.
            let remedy = change.remedy + (pin.content == .certificate ? ", and pin the key, not its certificate" : "")
            guard !leaves.isEmpty else {
                return finding(
                    .warning,
                    "breaks if \(pin.lintTitle) is the \(pin.object) of its server, because \(act): \(remedy), "
                        + "or give the pin its role")
            }
            guard requiresLeaf(rule, leaves, primary) else {
                return finding(
                    .warning, "pins \(pin.lintTitle), which the next renewal ends, because \(act): \(remedy)")
            }
            return finding(.error, "pins \(pin.lintTitle), but \(act): \(remedy)")
        }
        guard !leaves.isEmpty else { return [] }
        // Whatever happens to the key, the next certificate doesn't match, which P022 says.
        guard pin.content == .publicKey else { return [] }
        if let open = found.first(where: { $0.effect == .unknown }) {
            return finding(
                .warning,
                "pins \(pin.lintTitle), and whether \(open.program) keeps the key isn't known (\(open.evidence)): "
                    + open.remedy)
        }
        guard found.isEmpty else { return [] }
        return finding(
            .warning,
            "pins \(pin.lintTitle), and no issuance file has its host, so nothing shows that the key is kept: add the "
                + "file that configures its renewal")
    }

    /// Whether a chain needs one of the leaf pins: their role is required, or no other pin could match.
    private func requiresLeaf(_ rule: CanonicalRule, _ leaves: [CanonicalPin], _ primary: [CanonicalPin]) -> Bool {
        rule.requirement.roles.contains(.leaf) || rule.requirement.roles.isEmpty && leaves.count == primary.count
    }
}

extension CanonicalPin {
    /// The word for what the pin names.
    fileprivate var object: String { content == .certificate ? "certificate" : "key" }

    /// Returns how a certificate with this key differs from what the pin names. `former` is the certificate with the
    /// pin, if it is known.
    fileprivate func difference(from key: SPKIFingerprint, _ former: X509Certificate?) -> String {
        guard content == .certificate else { return "has another key" }
        guard let former else { return "isn't the pinned one" }
        // mutant lint-same-key: false for `former.spkiFingerprint == key` by PinctlTests.IssuanceTests/wholeCertificate
        let isKept = former.spkiFingerprint == key
        return "isn't the pinned one" + (isKept ? ", although its key is the same" : " and has another key")
    }
}
