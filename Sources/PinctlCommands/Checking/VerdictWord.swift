import CertificatePinning

/// A verdict as a stable word that doesn't change between versions. JSON, reports and baselines use it.
enum VerdictWord: String, Sendable, CaseIterable {
    case ok
    case okBackupOnly = "ok_backup_only"
    case okSomePaths = "ok_some_paths"
    case okPinsOff = "ok_pins_off"
    case keyMatched = "key_matched"
    case pinMismatch = "pin_mismatch"
    case keyMismatch = "key_mismatch"
    case exportMismatch = "export_mismatch"
    case bypassed
    case denied
    case expired
    case notCovered = "not_covered"
    case noCertificate = "no_certificate"
    case untrusted
    case nameMismatch = "name_mismatch"
    case chainExpired = "chain_expired"
    case unreachable

    var severity: Severity {
        switch self {
        case .ok, .okBackupOnly, .okSomePaths, .okPinsOff, .keyMatched: .ok
        case .pinMismatch, .keyMismatch, .exportMismatch, .bypassed, .denied, .expired, .notCovered, .noCertificate:
            .failed
        case .untrusted, .nameMismatch, .chainExpired: .notTrusted
        case .unreachable: .couldNotCheck
        }
    }

    /// The line in `pinctl help verdicts`.
    var meaning: String {
        switch self {
        case .ok: "the chain is trusted, and its pins match, or none were to be judged"
        case .okBackupOnly: "backups alone match: the key that was in use is gone"
        case .okSomePaths: "pins match on some of the valid paths, or under some of the stores, and not on all"
        case .okPinsOff: "the chain is trusted; the rule has its pins off"
        case .keyMatched: "a key in a file is one of the pins"
        case .pinMismatch: "the chain is trusted, and its pins do not match; or the key in a file is no pin"
        case .keyMismatch: "the pins match one of the server's keys, RSA or ECDSA, and not this one"
        case .exportMismatch:
            "the policy accepts the chain, and a file that it exports refuses it, as its own system judges"
        case .bypassed:
            "pins do not match, and clients let it pass: the path ends at an anchor that is not the system's"
        case .denied: "the chain holds a key that the policy denies"
        case .expired: "the rule has ended"
        case .notCovered: "the policy has no rule for it"
        case .noCertificate: "none of the certificates in the files is valid for a host of the policy"
        case .untrusted: "the chain is not trusted; pins were not judged"
        case .nameMismatch: "the certificate is for other names"
        case .chainExpired: "a certificate of the chain has expired"
        case .unreachable: "there was no chain to judge"
        }
    }

    /// The first step to take after a failure, or `nil` for a good verdict.
    var remedy: String? {
        switch self {
        case .ok, .okBackupOnly, .okSomePaths, .okPinsOff, .keyMatched: nil
        case .pinMismatch:
            "if this change is yours (\(PinFailureCause.confirmation)), serve a pinned key again, since released apps keep "
                + "their pins; if not, pin nothing that is served here"
        case .keyMismatch:
            "if both keys are yours (\(PinFailureCause.confirmation)), pin the other key too, or have the server use one kind "
                + "of key; if not, pin nothing that is served here"
        case .exportMismatch:
            "if this change is yours (\(PinFailureCause.confirmation)), serve a key that this file pins too, since released "
                + "apps have it, then export it again (pinctl export --check); if not, pin nothing that is served here"
        case .bypassed: "serve a pinned key again, and find out who added the anchor"
        case .denied: "have the certificate issued for another key, or by another authority"
        case .expired: "ship a policy with a later end"
        case .notCovered: "add a rule for it"
        case .noCertificate:
            "have the certificate issued for this name too, or check the host's own certificate with the others"
        case .untrusted: "mend what the reason names: send the intermediates, or have the certificate reissued"
        case .nameMismatch:
            "connect to a name that the certificate has, or reissue it with this one; a default certificate shows that the "
                + "server does not know the name"
        case .chainExpired: "renew it, for the same key where that is pinned, and have the server load it"
        case .unreachable: "check the name, the way there, and that the server runs"
        }
    }

    /// Returns the lines of `pinctl help verdicts`.
    static func lines(columns: Int) -> [String] {
        allCases.flatMap { word in
            ["\(padded(word.rawValue, 15))  \(padded(String(word.severity.exitCode.rawValue), 2))  \(word.meaning)"]
                + (word.remedy.map { folded("do: \($0)", columns: columns - 21) } ?? [])
                .map { padded("", 21) + $0 }
        }
    }
}
