import CertificatePinning

/// Android's network security config, an XML resource of an app (developer.android.com, "Network security
/// configuration"), with the elements that TrustKit-Android adds to it.
enum AndroidNetworkSecurityConfig {
    /// Reads a config as Android's own parser does: what that rejects is an error, what it passes over or takes
    /// otherwise than it looks is a note.
    ///
    /// Each domain-config is a rule with all that it inherits. A config that pins no host is a policy without pins, and
    /// a note.
    static func read(_ bytes: [UInt8], path: String) throws(PolicyFileError) -> DialectReading {
        var problems = PolicyProblems(path: path)
        let root: XMLElement
        do throws(MarkupProblem) {
            root = try XMLReader.read(bytes)
        } catch {
            problems.add(error.message, at: error.position)
            throw PolicyFileError(problems: problems.sorted)
        }
        var reader = AndroidConfigReader(path: path, problems: problems)
        reader.read(root)
        guard reader.problems.isEmpty else { throw PolicyFileError(reader.problems, besides: reader.notes) }
        return DialectReading(CanonicalPolicy(rules: reader.rules, combination: .closest), notes: reader.notes.inOrder)
    }

    /// Writes a whole config. The policy is one that was converted to this dialect.
    static func write(_ policy: CanonicalPolicy) throws(DialectWriteError) -> String {
        let configs = try AndroidConfigWriter.domainConfigs(policy, indent: "    ").joined(separator: "\n")
        return try checkedXML(
            """
            <?xml version="1.0" encoding="utf-8"?>
            <network-security-config>
            \(configs)
            </network-security-config>

            """)
    }

    /// A config with the domain-configs that hold pins replaced by those of the policy, and every other byte as it was.
    ///
    /// What a replaced one says besides of its hosts, cleartext traffic for example, its successor says too, and its
    /// roots where the policy names none. One whose hosts stay together changes in its pin-set alone.
    static func replacing(
        _ bytes: [UInt8], path: String, with policy: CanonicalPolicy
    ) throws(DialectWriteError) -> [UInt8] {
        let replacement = try AndroidConfigReplacement(bytes, path: path)
        let result = try replacement.result(policy)
        let hosts = Set(policy.rules.flatMap(\.patterns).map(\.host))
        let parents = policy.pinnedParents
        try PinDialect.android.check(result, path: path, says: try write(replacement.keepingAnchors(policy))) { rules in
            rules.filter { rule in
                let isKept = rule.mode == .off && rule.patterns.allSatisfy { !hosts.contains($0.host) }
                let isPinned = rule.patterns.contains { isBelow($0.host, oneOf: parents) }
                return !isKept || isPinned
            }
        }
        return result
    }
}
