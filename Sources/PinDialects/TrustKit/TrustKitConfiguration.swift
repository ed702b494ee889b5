import CertificatePinning
import CertificateTrust

/// TrustKit's configuration: the key TSKConfiguration of an app's Info.plist, or the dictionary alone.
enum TrustKitConfiguration {
    /// Reads a property list, XML or binary, as TrustKit does: what it raises an exception for is an error, what it passes
    /// over or takes otherwise than it looks is a note.
    ///
    /// Each domain is a rule. TrustKit asks the public suffix list of each; `publicSuffixes` is what it is asked here.
    static func read(
        _ bytes: [UInt8], path: String, publicSuffixes: PublicSuffixes = .system
    ) throws(PolicyFileError) -> DialectReading {
        let root = try PropertyList.read(bytes, path: path)
        var reader = TrustKitReader(path: path, publicSuffixes: publicSuffixes)
        let rules = reader.rules(root)
        guard reader.problems.isEmpty else { throw PolicyFileError(reader.problems, besides: reader.notes) }
        return DialectReading(CanonicalPolicy(rules: rules, combination: .closest), notes: reader.notes.inOrder)
    }

    /// Writes a property list with the configuration alone. The policy is one that was converted to this dialect.
    static func write(_ policy: CanonicalPolicy) throws(DialectWriteError) -> String {
        let domains = try TrustKitWriter.domains(policy)
        return try checkedXML(
            PropertyList(nesting: [TrustKitReader.rootKey, TrustKitReader.domainsKey], domains).xmlDocument)
    }

    /// A property list, XML, whose pinned domains are those of the policy, and every other byte as it was. One that has
    /// neither TSKConfiguration nor TSKPinnedDomains gets the former.
    static func replacing(
        _ bytes: [UInt8], path: String, with policy: CanonicalPolicy
    ) throws(DialectWriteError) -> [UInt8] {
        let domains = try TrustKitWriter.domains(policy)
        let isAlone = (try? PropertyList.read(bytes, path: path))?[TrustKitReader.domainsKey] != nil
        let keys = (isAlone ? [] : [TrustKitReader.rootKey]) + [TrustKitReader.domainsKey]
        let result = try PropertyList.replacing(bytes, path: path, at: keys, with: domains)
        try PinDialect.trustkit.check(result, path: path, says: try write(policy))
        return result
    }
}
