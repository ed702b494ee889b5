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
    case groupMismatch = "group_mismatch"
    case wrongOrder = "wrong_order"
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
        case .pinMismatch, .keyMismatch, .exportMismatch, .groupMismatch, .wrongOrder, .bypassed, .denied, .expired,
            .notCovered, .noCertificate:
            .failed
        case .untrusted, .nameMismatch, .chainExpired: .notTrusted
        case .unreachable: .couldNotCheck
        }
    }

    /// The line in `pinctl help verdicts`.
    var meaning: String {
        switch self {
        case .ok: "the chain is trusted, and its pins match or none apply"
        case .okBackupOnly: "only backup pins match: the regular key is no longer served"
        case .okSomePaths: "pins match on some of the valid paths or trust stores, but not on all"
        case .okPinsOff: "the chain is trusted; pinning is off for its rule"
        case .keyMatched: "a key in a file matches a pin"
        case .pinMismatch: "the chain is trusted, but no pin matches; or a key in a file isn't pinned"
        case .keyMismatch: "the pins match one of the server's keys, RSA or ECDSA, but not this one"
        case .exportMismatch:
            "the policy accepts the chain, but the system that reads an exported file rejects it"
        case .groupMismatch: "the server doesn't use the required key exchange group"
        case .wrongOrder: "the leaf isn't the first certificate in the file"
        case .bypassed:
            "no pin matches, but clients connect: the root isn't one of the system roots"
        case .denied: "the chain contains a key that the policy denies"
        case .expired: "the rule has expired"
        case .notCovered: "the policy has no rule for the host"
        case .noCertificate: "no certificate in the files is valid for this host of the policy"
        case .untrusted: "the chain is not trusted; pins were not checked"
        case .nameMismatch: "hostname mismatch: the certificate is for other names"
        case .chainExpired: "a certificate has expired"
        case .unreachable: "no chain was received: no connection, or the TLS handshake failed"
        }
    }

    /// The first step to take after a failure, or `nil` for a good verdict.
    var remedy: String? {
        switch self {
        case .ok, .okBackupOnly, .okSomePaths, .okPinsOff, .keyMatched: nil
        case .pinMismatch:
            PinFailureCause.confirmed("serve a pinned key again, because released apps keep their pins")
        case .keyMismatch:
            "if both keys are yours (\(PinFailureCause.confirmation)), stop serving this one until you have shipped a pin of "
                + "it, or of a CA in both chains\(PinFailureCause.otherwise)"
        case .exportMismatch:
            PinFailureCause.confirmed(
                "serve a key that the file also pins, because released apps contain the file, then correct the file "
                    + "(pinctl export --check shows the differences)")
        case .groupMismatch:
            "enable TLS 1.3 and the group in the server, or in what terminates TLS in front of it, and put it first if the "
                + "server chooses by its own order"
        case .wrongOrder:
            "put the leaf first in the file, then its issuer, because servers present the first certificate as their "
                + "own and fail to start if their key doesn't match it"
        case .bypassed:
            "find out who added the root to this trust store, and remove \"localAnchorsBypassPins\" from a policy that ships"
        case .denied: "have the certificate issued for another key, or by another CA"
        case .expired: "ship a policy with a later expiry"
        case .notCovered: "add a rule for the host"
        case .noCertificate:
            "have one issued for this name too, or add the host's own certificate to the files; if they are meant for other "
                + "hosts only, give \(Flag.allowMissing.dashed)"
        case .untrusted:
            "fix the reported reason: send the intermediates, have the certificate reissued, or trust the root of a private "
                + "CA with --ca-file"
        case .nameMismatch:
            "connect to a hostname that the certificate is valid for, or have it reissued for this hostname too; if the server "
                + "presented its default certificate, configure the server for this hostname"
        case .chainExpired: "renew it, with the same key if that is pinned, and have the server load it"
        case .unreachable: "check the hostname, the network, and whether the server is running"
        }
    }

    /// Returns the lines of `pinctl help verdicts`.
    static func lines(columns: Int) -> [String] {
        allCases.flatMap { word in
            tableRow(
                "\(padded(word.rawValue, 15))  \(word.severity.exitCode.rawValue)", width: 19, word.meaning,
                columns: columns)
                + (word.remedy.map { tableRow("", width: 19, "do: \($0)", columns: columns) } ?? [])
        }
    }
}
