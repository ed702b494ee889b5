import CertificateTrust

/// Something in a valid policy that will cost its owner dear.
public struct LintFinding: Sendable, Hashable {
    /// How grave it is.
    @nonexhaustive
    public enum Severity: String, Sendable, Hashable {
        /// Worth a thought; the policy can ship.
        case warning
        /// The policy must not ship.
        case error
    }

    /// What was looked for, by an identifier that stays the same across versions.
    @nonexhaustive
    public enum Rule: String, Sendable, Hashable {
        /// A rule with one pin, or without one that is marked as backup.
        case noBackup = "P003"
        /// A slot for a backup key that is still to be made.
        case emptyBackupSlot = "P020"
    }

    /// What was looked for.
    public let rule: Rule
    /// How grave it is.
    public let severity: Severity
    /// Where it stands.
    public let location: PolicyLocation
    /// What was found, and what to do.
    public let message: String
}

extension LintFinding: CustomStringConvertible {
    /// `pins/pins.jsonc:31:5: warning[P003] …`, one line.
    public var description: String {
        "\(location): \(severity.rawValue)[\(rule.rawValue)] \(visibleText(message))"
    }
}

extension PolicyFile {
    /// Everything that lint finds, in the order of the file.
    public func lint() -> [LintFinding] {
        var findings = emptySlots(in: root)
        for (rule, value) in zip(policy.rules, root["domains"]?.elements ?? [])
        where rule.mode != .off && value[PolicyDraft.slotKey] == nil {
            guard rule.pins.count == 1 || !rule.pins.contains(where: \.isBackup) else { continue }
            let found = rule.pins.count == 1 ? "one pin" : "no pin marked as backup"
            findings.append(
                LintFinding(
                    rule: .noBackup, severity: .warning, location: PolicyLocation(path: path, value.position),
                    message: "\(rule.host) has \(found): when that key is lost, every client is locked out; "
                        + "add the pin of a key that is kept offline, with \"backup\": true"))
        }
        return findings.sorted { ($0.location.line, $0.location.column) < ($1.location.line, $1.location.column) }
    }

    private func emptySlots(in value: JSONValue) -> [LintFinding] {
        let slots = (value.members ?? []).filter { $0.key == PolicyDraft.slotKey }.map { member in
            LintFinding(
                rule: .emptyBackupSlot, severity: .error,
                location: PolicyLocation(path: path, member.keyPosition),
                message: "the backup slot is not filled: make a backup key as it says, add its pin to \"pins\", "
                    + "and remove the slot")
        }
        return slots + (value.members ?? []).flatMap { emptySlots(in: $0.value) }
            + (value.elements ?? []).flatMap(emptySlots)
    }
}
