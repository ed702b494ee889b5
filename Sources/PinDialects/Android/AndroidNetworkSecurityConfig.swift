import CertificatePinning

/// Android's network security config, an XML resource of an app (developer.android.com, "Network security
/// configuration"), with the elements that TrustKit-Android adds to it.
enum AndroidNetworkSecurityConfig {
    /// Reads a config the way Android's own parser does.
    ///
    /// Input that Android rejects is an error. Input that it ignores, or reads differently from how it looks, becomes a
    /// note. Each domain-config becomes a rule, including the settings it inherits. A config that pins no host becomes
    /// a policy without pins, and a note. The defaults of the system are those for `target`, if it is known.
    static func read(
        _ bytes: [UInt8], path: String, target: AndroidTarget? = nil
    ) throws(PolicyFileError) -> DialectReading {
        var problems = PolicyProblems(path: path)
        let root: XMLElement
        do throws(MarkupProblem) {
            root = try XMLReader.read(bytes)
        } catch {
            problems.add(error.message, at: error.position)
            throw PolicyFileError(problems: problems.sorted)
        }
        var reader = AndroidConfigReader(path: path, target: target, problems: problems)
        reader.read(root)
        guard reader.problems.isEmpty else {
            throw PolicyFileError(reader.problems, besides: reader.notes, known: reader.rules)
        }
        var policy = CanonicalPolicy(rules: reader.rules, combination: .closest)
        policy.unlistedTrust = reader.unlistedTrust
        return DialectReading(policy, notes: reader.notes.inOrder)
    }

    /// Returns a whole config. The policy must have been converted to this dialect.
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

    /// Returns a config with the pins of the policy. Only the hosts, pins and settings of the policy that differ are
    /// changed.
    ///
    /// The other settings that a domain-config has for its hosts, such as cleartext traffic, are kept, and so are its
    /// roots if the policy names none. Roots that override the pins are an error, unless the policy has them.
    static func replacing(
        _ bytes: [UInt8], path: String, with policy: CanonicalPolicy
    ) throws(DialectWriteError) -> [UInt8] {
        let replacement = try AndroidConfigReplacement(bytes, path: path)
        let result = try replacement.result(policy)
        try replacement.checkOverrides(in: result, policy)
        let hosts = Set(policy.rules.flatMap(\.patterns).map(\.host))
        let pinning = policy.pinningRules
        try PinDialect.android.check(result, path: path, says: try write(replacement.keepingAnchors(policy))) { rules in
            rules.filter { rule in
                let isKept = rule.mode == .off && rule.patterns.allSatisfy { !hosts.contains($0.host) }
                let isPinned = rule.patterns.contains { pinning.includes(byParent: $0.host) }
                return !isKept || isPinned
            }
        }
        return result
    }
}
