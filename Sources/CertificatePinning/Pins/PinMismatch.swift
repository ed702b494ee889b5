public import CertificateTrust
import PinctlBasics

/// A verified path that doesn't meet the requirement of its rule, with the served keys and the pins.
public struct PinMismatch: Sendable {
    /// The rule.
    public let rule: PinningRule
    /// The path. If several paths are valid, this is the best one.
    public let path: VerifiedPath
    /// The port of the server.
    public let port: Int
    /// The pins that do match, if the rule requires more than one match.
    public let matches: [PinMatch]
    /// The required roles without a match. Only `any` if no pin matches at all.
    public let unmetRoles: [PinRole]
    /// The rule's expiry, if the rule has expired and only reports since then.
    public let expiry: PinningExpiry?
    /// Whether ``description`` is only the first line, because the error that carries the mismatch has the whole text.
    package var isSummarized = false
}

extension PinMismatch: CustomStringConvertible {
    /// The failure as text of several lines: every key of the path, leaf first, and every pin. Each has the form
    /// `sha256/…`, ready to paste.
    public var description: String {
        guard !isSummarized else { return summary }
        return facts + "\n"
            + PinFailureCause.confirmed(
                "\(PinFailureCause.serveAgain), and ship the pin of the next key before you serve it")
    }

    /// The first line.
    private var summary: String { "pin mismatch for \(path.name) port \(port): \(finding)" }

    /// The text without a remedy, for a caller that knows the cause.
    package var facts: String {
        let served = path.certificates.map { rule.pins.fingerprints(of: $0) }
        var lines = [summary, "  served, verified:"]
        for (index, certificate) in path.certificates.enumerated() {
            let role = PinRole(index: index, of: served.count).rawValue
            lines.append("    \(served[index][0])  \(role)  \(certificate.subject)")
            lines += served[index].dropFirst().map { "    \($0)" }
        }
        lines.append("  pinned:")
        lines += rule.pins.map { "    \($0.fingerprint)  \($0.role.rawValue)\(remarks(on: $0, served))" }
        return lines.joined(separator: "\n")
    }

    private var finding: String {
        let end = expiry.map { ", which expired at \($0.end.rfc3339) and now only reports," } ?? ""
        let rule = rule.title + end
        guard unmetRoles == [.any] else {
            return "\(rule) requires a match as \(unmetRoles.map(\.rawValue).joined(separator: " and as "))"
        }
        return "no pin of \(rule) matches the verified path"
    }

    private func remarks(on pin: Pin, _ served: [[PinFingerprint]]) -> String {
        var remarks = pin.name.map { "  \(visibleText($0))" } ?? ""
        if pin.isBackup { remarks += "  backup" }
        if let match = matches.first(where: { $0.pin == pin }) {
            remarks += "  matches as \(match.role.rawValue)"
        } else if let index = served.firstIndex(where: { $0.contains(pin.fingerprint) }) {
            // A served key that doesn't count because of its position is the most confusing mismatch.
            remarks += "  served, but as \(PinRole(index: index, of: served.count).rawValue)"
        }
        return remarks
    }
}
