import CertificatePinning

/// NSPinnedDomains in an app's Info.plist (Apple's "Identity Pinning", iOS 14 and macOS 11 and later).
enum ApplePinnedDomains {
    /// Reads an Info.plist, XML or binary, as the system does: identities that it does not understand pin nothing, and
    /// the host stays pinned. A list that pins no host is a policy without pins, and a note.
    ///
    /// Each host is a rule; its requirement names the roles whose keys stand there, with or without pins.
    static func read(_ bytes: [UInt8], path: String) throws(PolicyFileError) -> DialectReading {
        let root = try PropertyList.read(bytes, path: path)
        var reader = ApplePinReader(path: path)
        let policy = reader.policy(root)
        return DialectReading(policy, notes: reader.notes.inOrder)
    }

    /// Writes a property list with the pinned domains alone. The policy is one that was converted to this dialect.
    static func write(_ policy: CanonicalPolicy) throws(DialectWriteError) -> String {
        let domains = try ApplePinWriter.domains(policy)
        return try checkedXML(PropertyList(nesting: ApplePinReader.path, domains).xmlDocument)
    }

    /// An Info.plist, XML, whose pinned domains are those of the policy, and every other byte as it was.
    static func replacing(
        _ bytes: [UInt8], path: String, with policy: CanonicalPolicy
    ) throws(DialectWriteError) -> [UInt8] {
        let domains = try ApplePinWriter.domains(policy)
        let result = try PropertyList.replacing(bytes, path: path, at: ApplePinReader.path, with: domains)
        try PinDialect.apple.check(result, path: path, says: try write(policy))
        return result
    }
}
