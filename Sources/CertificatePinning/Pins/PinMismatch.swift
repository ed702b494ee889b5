public import CertificateTrust

/// A verified path that does not hold what its rule asks for: what is served and what is pinned, side by side.
public struct PinMismatch: Sendable {
    /// The rule.
    public let rule: PinningRule
    /// The path; where several are valid, the best of them.
    public let path: VerifiedPath
    /// The port of the server.
    public let port: Int
    /// Pins that match all the same, where the rule requires more than one.
    public let matches: [PinMatch]
    /// The required roles without a match; `any` alone when no pin matches at all.
    public let unmetRoles: [PinRole]
    /// The rule's expiry where it is past, and the rule only reports.
    public let expiry: PinningExpiry?
}

extension PinMismatch: CustomStringConvertible {
    /// The failure in lines: every key of the path, leaf first, and every pin, each as `sha256/…` to paste.
    public var description: String {
        let served = path.certificates.map { rule.pins.objects(of: $0) }
        var lines = ["pin mismatch for \(path.name) port \(port): \(finding)", "  served, verified:"]
        for (index, certificate) in path.certificates.enumerated() {
            let role = PinRole(index: index, of: served.count).rawValue
            lines.append("    \(served[index][0])  \(role)  \(certificate.subject)")
            lines += served[index].dropFirst().map { "    \($0)" }
        }
        lines.append("  pinned:")
        lines += rule.pins.map { "    \($0.object)  \($0.role.rawValue)\(remarks(on: $0, served))" }
        lines.append(
            "if the served keys are yours (\(PinFailureCause.confirmation)), serve a pinned key again, as released apps "
                + "keep their pins, then ship the pin of the next key before it is served; if not, the connection may be "
                + "intercepted: pin nothing that is served here")
        return lines.joined(separator: "\n")
    }

    private var finding: String {
        let end = expiry.map { ", which only reports since \($0.end.rfc3339)," } ?? ""
        let rule = rule.title + end
        guard unmetRoles == [.any] else {
            return "\(rule) requires a match as \(unmetRoles.map(\.rawValue).joined(separator: " and as "))"
        }
        return "no pin of \(rule) is on the path"
    }

    private func remarks(on pin: Pin, _ served: [[PinnedObject]]) -> String {
        var remarks = pin.name.map { "  \(visibleText($0))" } ?? ""
        if pin.isBackup { remarks += "  backup" }
        if let match = matches.first(where: { $0.pin == pin }) {
            remarks += "  matches as \(match.role.rawValue)"
        } else if let index = served.firstIndex(where: { $0.contains(pin.object) }) {
            // The most puzzling mismatch is a key that is there, but not where its pin counts.
            remarks += "  served, but as \(PinRole(index: index, of: served.count).rawValue)"
        }
        return remarks
    }
}
