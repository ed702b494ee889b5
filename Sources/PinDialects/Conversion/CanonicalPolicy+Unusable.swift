import CertificatePinning
import PinctlBasics

extension CanonicalPolicy {
    /// The errors about hosts that no server has, whose pins are never compared.
    func hostFaults(path: String) -> [LintFinding] {
        rules.filter { $0.mode != .off }.flatMap { rule in
            rule.patterns.compactMap { pattern in
                pattern.fault.map {
                    LintFinding(
                        .malformedHost, at: rule.location ?? PolicyLocation(path: path),
                        "host \(quoted(pattern.host)) \($0)")
                }
            }
        }
    }
}

extension CanonicalPin {
    /// The problem with the digest of an empty text or an empty line, which a failed command outputs, or `nil`.
    var emptyInputProblem: String? {
        guard digest == .sha256 else { return nil }
        do throws(PinTextError) {
            _ = try PinFingerprint(description)
            return nil
        } catch {
            return error.lintRule == .placeholderPin ? error.description : nil
        }
    }
}

extension [PinSighting] {
    /// Returns the errors about pins that readers found and that are digests of nothing, and gives these the standing
    /// of placeholders.
    mutating func takeEmpty() -> [LintFinding] {
        var found: [LintFinding] = []
        for index in indices where self[index].isInForce && self[index].dialect != nil {
            // mutant find-empty-read: nil by PinSearchTests/unusable
            guard let problem = self[index].pin.emptyInputProblem else { continue }
            found.append(LintFinding(.placeholderPin, at: self[index].location, problem))
            self[index].standing = .placeholder
        }
        return found
    }
}

extension PolicyProblem {
    init(_ finding: LintFinding) { self.init(location: finding.location, message: finding.message) }
}
