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
    case wrongKey = "wrong_key"
    case bypassed
    case denied
    case expired
    case notCovered = "not_covered"
    case noCertificate = "no_certificate"
    case untrusted
    case nameMismatch = "name_mismatch"
    case chainExpired = "chain_expired"
    case unreachable

    /// The properties that follow from the word.
    struct Row: Sendable {
        let severity: Severity
        /// The line in `pinctl help verdicts`.
        let meaning: String
        /// The first step to take after a failure, or `nil` for a good verdict.
        let remedy: String?
        /// The same in a few words, if the step depends on whether the served key is the user's.
        let shortRemedy: String?
        /// The same for a file that was checked before it is served.
        let fileRemedy: String?

        fileprivate init(
            _ severity: Severity, _ meaning: String, do remedy: String? = nil, short: String? = nil,
            ofFile: String? = nil
        ) {
            self.severity = severity
            self.meaning = meaning
            self.remedy = remedy
            shortRemedy = short
            fileRemedy = ofFile ?? remedy
        }
    }

    var row: Row { Self.rows[self, default: makeRow()] }

    /// The rows of all words, which are made once.
    private static let rows = Dictionary(uniqueKeysWithValues: allCases.map { ($0, $0.makeRow()) })

    private func makeRow() -> Row {
        switch self {
        case .ok: Row(.ok, "the chain is trusted, and its pins match or none apply")
        case .okBackupOnly: Row(.ok, "only backup pins match: the regular key is no longer served")
        case .okSomePaths: Row(.ok, "pins match on some of the valid paths or trust stores, but not on all")
        case .okPinsOff: Row(.ok, "the chain is trusted; pinning is off for its rule")
        case .keyMatched: Row(.ok, "a key in a file matches a pin")
        case .pinMismatch:
            Row(
                .failed, "the chain is trusted, but no pin matches; or a key in a file isn't pinned",
                do: PinFailureCause.confirmed("serve a pinned key again, because released apps keep their pins"),
                short: "serve a pinned key again",
                ofFile: "don't deploy it: use a pinned or backup key, or ship the pin of this one before you serve it")
        case .keyMismatch:
            Row(
                .failed, "the pins match one of the server's keys, RSA or ECDSA, but not this one",
                do:
                    "if both keys are yours (\(PinFailureCause.confirmation)), stop serving this one until you have "
                    + "shipped a pin of it, or of a CA in both chains\(PinFailureCause.otherwise)",
                short: "stop serving this key until a pin of it is shipped")
        case .exportMismatch:
            Row(
                .failed, "the policy accepts the chain, but the system that reads an exported file rejects it",
                do: PinFailureCause.confirmed(
                    "serve a key that the file also pins, because released apps contain the file, then correct the "
                        + "file (pinctl export --check shows the differences)"),
                short: "serve a key that the file also pins",
                ofFile:
                    "don't deploy it: use a key that the exported file also pins, or ship a corrected file first "
                    + "(pinctl export --check shows the differences)")
        case .groupMismatch:
            Row(
                .failed, "the server doesn't use the required key exchange group",
                do:
                    "enable TLS 1.3 and the group in the server, or in what terminates TLS in front of it, and put it "
                    + "first if the server chooses by its own order")
        case .wrongOrder:
            Row(
                .failed, "the leaf isn't the first certificate in the file",
                do:
                    "put each leaf first in a file of its own, then its issuer, because servers present the first "
                    + "certificate as their own and fail to start if their key doesn't match it")
        case .wrongKey:
            Row(
                .failed, "the private key in or beside a certificate's file isn't that of the certificate",
                do:
                    "put the key beside the certificate that was issued for it, because servers fail to start with a "
                    + "key that doesn't match their certificate")
        case .bypassed:
            Row(
                .failed, "no pin matches, but clients connect: the root isn't one of the system roots",
                do:
                    "find out who added the root to this trust store, and remove \"localAnchorsBypassPins\" from a "
                    + "policy that ships"
            )
        case .denied:
            Row(
                .failed, "the chain contains a key or certificate that the policy denies",
                do: "have the certificate issued for another key, or by another CA")
        case .expired: Row(.failed, "the rule has expired", do: "ship a policy with a later expiry")
        case .notCovered: Row(.failed, "the policy has no rule for the host", do: "add a rule for the host")
        case .noCertificate:
            Row(
                .failed, "no certificate in the files is valid for this host of the policy",
                do:
                    "have one issued for this name too, or add the host's own certificate to the files; if they are "
                    + "meant for other hosts only, give \(Flag.allowMissing.dashed)")
        case .untrusted:
            Row(
                .notTrusted, "the chain is not trusted; pins were not checked",
                do: Self.untrusted(.served), ofFile: Self.untrusted(.file))
        case .nameMismatch:
            Row(
                .notTrusted, "hostname mismatch: the certificate is for other names",
                do:
                    "connect to a hostname that the certificate is valid for, or have it reissued for this hostname "
                    + "too; if the server presented its default certificate, configure the server for this hostname",
                ofFile: "have it reissued for this hostname too")
        case .chainExpired:
            Row(
                .notTrusted, "a certificate has expired",
                do: "renew it, with the same key if that is pinned, and have the server load it",
                ofFile: "renew it, with the same key if that is pinned")
        case .unreachable:
            Row(
                .couldNotCheck, "no chain was received: no connection, or the TLS handshake failed",
                do: "check the hostname, the network, and whether the server is running")
        }
    }

    private static func untrusted(_ origin: ChainOrigin) -> String {
        "fix the reported reason: \(origin.completion), have the certificate reissued, or trust the root of a private "
            + "CA with \(Flag.caFile.dashed)"
    }

    /// Returns the lines of `pinctl help verdicts`.
    static func lines(columns: Int) -> [String] {
        allCases.flatMap { word in
            tableRow(
                "\(padded(word.rawValue, 15))  \(word.row.severity.exitCode.rawValue)", width: 19, word.row.meaning,
                columns: columns)
                + (word.row.remedy.map { tableRow("", width: 19, "do: \($0)", columns: columns) } ?? [])
        }
    }
}
