import CertificatePinning
import CertificateTrust
import PinctlBasics

/// TrustKit's configuration: the key TSKConfiguration of an app's Info.plist, or that dictionary alone.
enum TrustKitConfiguration {
    /// Reads a property list, XML or binary, or the dictionary in a program's source, the way TrustKit does.
    ///
    /// Input for which TrustKit raises an exception is an error. Input that TrustKit ignores, or reads differently from
    /// how it looks, becomes a note. Each domain becomes a rule. TrustKit looks up each domain in the public suffix
    /// list; `publicSuffixes` is the list used here.
    static func read(
        _ bytes: [UInt8], path: String, publicSuffixes: PublicSuffixes = .system
    ) throws(PolicyFileError) -> DialectReading {
        let (root, unread) = try PropertyList.reading(bytes, path: path, orLiteralWith: TrustKitReader.domainsKey)
        var reader = TrustKitReader(path: path, publicSuffixes: publicSuffixes)
        let rules = reader.rules(root)
        let named = rules.filter { $0.patterns.allSatisfy { (try? ServerName($0.host)) != nil } }
        guard unread.isEmpty else { throw PolicyFileError(problems: unread.sorted, known: named) }
        guard reader.problems.isEmpty else {
            throw PolicyFileError(reader.problems, besides: reader.notes, known: named)
        }
        return DialectReading(CanonicalPolicy(rules: rules, combination: .closest), notes: reader.notes.inOrder)
    }

    /// Returns the reason why TrustKit raises an exception for a host while it parses its configuration, or `nil` if it
    /// doesn't.
    ///
    /// TrustKit requires a suffix that its copy of the public suffix list has (`GetRegistryLength`). The copy is
    /// compiled in and not the list used here, so a suffix that was added later can still be unknown to TrustKit.
    static func problem(with name: ServerName, _ publicSuffixes: PublicSuffixes) -> String? {
        guard name.labels.count > 1 else {
            return "\(quoted(name.description)) isn't below a public suffix, as TrustKit requires: write the full name"
        }
        // mutant trustkit-unlisted: false by ConversionTests/notes
        guard publicSuffixes.registry(of: name) == nil else { return nil }
        publicSuffixes.noteRefusal()
        return
            "TrustKit finds no public suffix for \(quoted(name.description)), so the app crashes when it starts: use a "
            + "name below a suffix that publicsuffix.org lists, or pin this host with NSPinnedDomains"
    }

    /// Returns a property list with the configuration alone. The policy must have been converted to this dialect.
    static func write(_ policy: CanonicalPolicy) throws(DialectWriteError) -> String {
        let domains = try TrustKitWriter.domains(policy)
        return try checkedXML(
            PropertyList(nesting: [TrustKitReader.rootKey, TrustKitReader.domainsKey], domains).xmlDocument)
    }

    /// Returns an XML property list with the pinned domains of the policy, or a program with its pins and modes. Only
    /// the hosts, settings and hashes that differ are changed.
    ///
    /// A list that isn't TrustKit's configuration alone gets TSKConfiguration if it has none.
    static func replacing(
        _ bytes: [UInt8], path: String, with policy: CanonicalPolicy
    ) throws(DialectWriteError) -> [UInt8] {
        guard !PropertyList.areLiterals(bytes) else {
            return try LiteralEdit.replacing(bytes, path: path, of: .trustkit, with: policy) {
                (edit: inout LiteralEdit, policy: CanonicalPolicy) throws(DialectWriteError) in
                try changeSettings(in: bytes, path: path, to: policy, &edit)
            }
        }
        let domains = try TrustKitWriter.domains(policy)
        let root = try? PropertyList.read(bytes, path: path)
        let isAlone = root.map { TrustKitReader.isAlone($0, path: path) } ?? false
        let keys = (isAlone ? [] : [TrustKitReader.rootKey]) + [TrustKitReader.domainsKey]
        let result = try PropertyList.replacing(
            bytes, path: path, at: keys, with: domains, ownKeys: TrustKitReader.settingKeys,
            soleKey: TrustKitReader.excludeKey,
            defaults: [
                TrustKitReader.subdomainsKey: PropertyList(.bool(false)),
                TrustKitReader.enforceKey: PropertyList(.bool(true)),
                TrustKitReader.defaultReportKey: PropertyList(.bool(false)),
                TrustKitReader.reportsKey: PropertyList(.array([])),
            ], isSame: TrustKitReader.isSame)
        try PinDialect.trustkit.check(result, path: path, says: try write(policy))
        return result
    }

    /// Changes the settings of each host in a program that enforce pins and report to TrustKit's vendor.
    private static func changeSettings(
        in bytes: [UInt8], path: String, to policy: CanonicalPolicy, _ edit: inout LiteralEdit
    ) throws(DialectWriteError) {
        let domains = try? PropertyList.read(bytes, path: path, orLiteralWith: TrustKitReader.domainsKey)[
            TrustKitReader.domainsKey]
        for rule in policy.rules where rule.mode != .off {
            for pattern in rule.patterns {
                let domain = domains?[pattern.host]
                for (key, value, usual) in [
                    (TrustKitReader.enforceKey, rule.mode == .enforce, true),
                    (TrustKitReader.defaultReportKey, !rule.usesDefaultReport, false),
                ] {
                    if let found = domain?[key] {
                        try edit.set(PolicyLocation(path: path, found.position), to: value)
                    } else if value != usual {
                        throw DialectWriteError(
                            "\(visibleText(pattern.host)) has no \(key) here: add it with \(value)",
                            at: PolicyLocation(path: path, domain?.position ?? PropertyList.nowhere))
                    }
                }
            }
        }
    }
}
