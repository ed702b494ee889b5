import CertificatePinning
import CertificateTrust
import PinctlBasics

/// The text of a result.
///
/// After a pin mismatch follows all that is needed in an emergency: the served and the pinned keys side by side, ready
/// to be copied, then what to do.
extension CheckResult {
    /// The first line: the severity as a word, the subject and the reason.
    var headline: String { headline(finding) }

    /// The first line without the remedy, for a failure whose cause was explained before.
    var shortHeadline: String { headline(verdict.text.problem) }

    private func headline(_ finding: String) -> String {
        "\(padded(severity.mark, 4))  \(title)  \(isKnown ? "known: " : "")\(finding)"
    }

    /// The finding in one line. The remedy is left out if a cause has its own, which is more precise.
    var finding: String {
        verdict.distrust != nil && !causes.isEmpty ? verdict.text.problem : "\(verdict.text)"
    }

    /// The lines of the verified path, leaf first, or of the presented certificates if there is none.
    var chain: [String] {
        guard let path = verdict.path else {
            guard !presented.isEmpty else { return [] }
            return ["  presented, not verified:"] + presented.map { "  " + certificateLine($0) }
        }
        return path.roles.map { role, certificate in
            "  \(padded(role.rawValue, 12))  \(certificateLine(certificate))  \(origin(of: certificate))"
        }
    }

    private func certificateLine(_ certificate: X509Certificate) -> String {
        "\(certificate.spkiFingerprint)  \(certificate.subjectPublicKeyInfo.keyKind)  \(certificate.subject)  "
            + expiry(certificate, now: now)
    }

    /// The lines below the headline of a failure or warning, empty for other verdicts.
    var explanation: [String] { explanation(columns: nil) }

    /// The width from which the served and the pinned keys may be side by side, if they fit.
    private static let wide = 120

    /// The same lines for a terminal of this width, or for lines of any length if it is `nil`.
    func explanation(columns: Int?) -> [String] {
        let files = filesRemedy.map { ["  do: \($0)"] } ?? []
        guard let mismatch = verdict.mismatch else {
            return verdict.isGood ? warnings.map { "  warning: \($0.text)" } : files + causeLines
        }
        // The remedy of a cause is more precise than that of a mismatch.
        let isExplained = (verdict.also ?? word) == .pinMismatch && causes.contains(where: \.explainsMismatch)
        let beside = sideBySide(mismatch)
        let isWide = columns.map { width in width >= Self.wide && beside.allSatisfy { $0.width <= width } } ?? true
        return (isWide ? beside : stacked(mismatch)) + certificates(mismatch)
            + refusals.map { "  also rejected by \($0.finding)" }
            + files + causeLines + (isExplained ? [] : ["  do: \(remedy ?? "")"])
    }

    /// The explanation, with the chain in front unless it is already included.
    var details: [String] { details(columns: nil) }

    /// The same lines for a terminal of this width.
    func details(columns: Int?) -> [String] {
        (verdict.mismatch == nil ? chain : []) + explanation(columns: columns)
    }

    /// The lines of the causes, or the remedy if there is no cause and the finding doesn't contain it.
    private var causeLines: [String] {
        let isMissing = advice.isEmpty && verdict.mismatch == nil && !chainRemedy.isEmpty
        guard isMissing, verdict.text.remedy == nil, !verdict.text.problem.hasSuffix(chainRemedy) else {
            return advice.flatMap { ["  cause: \($0.finding)", "  do: \($0.remedy)"] }
        }
        return ["  do: \(chainRemedy)"]
    }

    /// Returns the lines with served and pinned keys side by side.
    private func sideBySide(_ mismatch: PinMismatch) -> [String] {
        let served = mismatch.path.roles.map { role, certificate in
            "\(padded(role.rawValue, 12))  \(certificate.spkiFingerprint)"
        }
        let nameWidth = mismatch.rule.pins.map { $0.name?.width ?? 0 }.max() ?? 0
        let pinned = mismatch.rule.pins.map { pin in
            let name = nameWidth > 0 ? padded(pin.name ?? "", nameWidth) + "  " : ""
            let backup = pin.isBackup ? "backup, " : ""
            return "\(pin.fingerprint)  \(padded(pin.role.rawValue, 12))  \(name)\(backup)\(standing(of: pin))"
        }
        let width = served.map(\.width).max() ?? 0
        return ["  \(padded("verified path", width))  pinned"]
            + (0..<max(served.count, pinned.count)).map { row in
                guard row < pinned.count else { return "  \(served[row])" }
                return "  \(padded(row < served.count ? served[row] : "", width))  \(pinned[row])"
            }
    }

    /// Returns the lines with the pinned keys below the served ones.
    private func stacked(_ mismatch: PinMismatch) -> [String] {
        let served = mismatch.path.roles.map { role, certificate in
            "    \(padded(role.rawValue, 12))  \(certificate.spkiFingerprint)"
        }
        let pinned = mismatch.rule.pins.flatMap { pin in
            let name = (pin.name.map { $0 + ", " } ?? "") + (pin.isBackup ? "backup, " : "")
            return [
                "    \(padded(pin.role.rawValue, 12))  \(pin.fingerprint)",
                "                  \(name)\(standing(of: pin))",
            ]
        }
        return ["  verified path:"] + served + ["  pinned:"] + pinned
    }

    private func certificates(_ mismatch: PinMismatch) -> [String] {
        mismatch.path.roles.map { role, certificate in
            let subject = certificate.subject.description
            return "  \(padded(role.rawValue, 12))  \(subject.isEmpty ? "no subject" : subject), "
                + "valid from \(certificate.notBefore.day) "
                + "until \(expiry(certificate, now: now)), \(origin(of: certificate))"
        }
    }
}
