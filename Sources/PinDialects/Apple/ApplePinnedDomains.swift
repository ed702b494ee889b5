import CertificatePinning

/// NSPinnedDomains in an app's Info.plist (Apple's "Identity Pinning", iOS 14 and macOS 11 and later).
enum ApplePinnedDomains {
    /// Reads an Info.plist, XML or binary, or its dictionary in a program's source, the way the system does.
    ///
    /// Identities that the system doesn't understand pin nothing, but the host stays pinned. A list that pins no host
    /// becomes a policy without pins, and a note. Each host becomes a rule, whose requirement lists the roles that have
    /// a key in the list, with or without pins.
    static func read(_ bytes: [UInt8], path: String) throws(PolicyFileError) -> DialectReading {
        let root = try PropertyList.read(bytes, path: path, orLiteralWith: ApplePinReader.path[0])
        var reader = ApplePinReader(path: path)
        let policy = reader.policy(root)
        return DialectReading(policy, notes: reader.notes.inOrder)
    }

    /// Returns a property list with the pinned domains alone. The policy must have been converted to this dialect.
    static func write(_ policy: CanonicalPolicy) throws(DialectWriteError) -> String {
        let domains = try ApplePinWriter.domains(policy)
        return try checkedXML(PropertyList(nesting: ApplePinReader.path, domains).xmlDocument)
    }

    /// Returns an XML Info.plist with the pinned domains of the policy. Only the hosts, roles and identities that
    /// differ are changed. In the configuration of an app in JavaScript or JSON, only the digests are.
    static func replacing(
        _ bytes: [UInt8], path: String, with policy: CanonicalPolicy
    ) throws(DialectWriteError) -> [UInt8] {
        guard !PropertyList.areLiterals(bytes) else {
            return try LiteralEdit.replacing(bytes, path: path, of: .apple, with: policy)
        }
        let domains = try ApplePinWriter.domains(policy)
        let result = try PropertyList.replacing(
            bytes, path: path, at: ApplePinReader.path, with: domains, ownKeys: Set(ApplePinReader.hostKeys),
            defaults: [ApplePinReader.hostKeys[0]: PropertyList(.bool(false))]
        ) { old, new in
            let digests = [old, new].map {
                $0[ApplePinReader.digestKey]?.string.flatMap { LenientBase64.decode($0.utf8) }
            }
            return old.bool.map { $0 == new.bool } ?? (digests[0].map { $0 == digests[1] } ?? false)
        }
        try PinDialect.apple.check(result, path: path, says: try write(policy))
        return result
    }
}
